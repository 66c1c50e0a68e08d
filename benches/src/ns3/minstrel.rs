//! `cargo xtask ns3-minstrel`: ns-3's Minstrel-HT beside its own best fixed MCS, the table of
//! results/validation.md.

use super::build;
use super::goodput::{number, output};
use super::spread::aligned;
use crate::machine::words;
use crate::packages;
use clap::Args;
use xtask::shell::{Outcome, command, note};
use xtask::workspace;

/// Options of `ns3-minstrel`.
#[derive(Args)]
pub(crate) struct Options {
    /// Only places whose title contains this, such as "11ac 80 MHz" or "40 m".
    #[arg(long, default_value = "")]
    only: String,
    /// Runs of Minstrel-HT.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

/// A station at a distance from its access point.
#[derive(Clone, Copy, Debug)]
struct Place {
    standard: &'static str,
    width_mhz: u32,
    streams: u32,
    metres: u32,
}

/// The program of ns-3.
const PROGRAM: &str = "s4";
/// Grid of the comparison: standards with their widths, then streams and distances of each.
const PHYS: [(&str, u32); 5] = [("n", 20), ("n", 40), ("ac", 80), ("ax", 20), ("ax", 80)];
const STREAMS: [u32; 2] = [1, 2];
const METRES: [u32; 3] = [3, 20, 40];

impl Place {
    fn all() -> impl Iterator<Item = Self> {
        PHYS.into_iter().flat_map(|(standard, width_mhz)| {
            let of =
                move |streams| METRES.map(|metres| Self { standard, width_mhz, streams, metres });
            STREAMS.into_iter().flat_map(of)
        })
    }

    fn title(self) -> String {
        let Self { standard, width_mhz, streams, metres } = self;
        format!("11{standard} {width_mhz} MHz, {streams}, {metres} m")
    }

    /// Arguments of the program that are the same for every rate.
    fn arguments(self) -> Vec<String> {
        let Self { standard, width_mhz, streams, metres } = self;
        let mut all = vec![
            format!("--std={standard}"),
            format!("--width={width_mhz}"),
            format!("--nss={streams}"),
            format!("--radius={metres}"),
        ];
        all.extend(["--n=1", "--warm=3", "--dur=3"].map(str::to_owned));
        if standard == "ax" {
            all.push("--ba=256".to_owned());
        }
        all
    }

    /// The highest MCS of a stream.
    fn highest(self) -> u32 {
        match self.standard {
            "n" => 7,
            "ac" => 9,
            _ => 11,
        }
    }

    /// Goodput in Mbps with the remaining arguments; `None` if the program aborts, as it does in
    /// some cases.
    fn mbps(self, more: &[String]) -> Option<f64> {
        let program = workspace::target().join("ns3").join(PROGRAM);
        let mut peer = command(&program.to_string_lossy(), &[]);
        peer.args(self.arguments()).args(more);
        match output(peer) {
            Ok(reported) => number(&reported, "goodput_Mbps"),
            Err(why) => {
                note(&why);
                None
            }
        }
    }
}

/// Builds ns-3's program, runs it and prints the table.
pub(crate) fn compare(options: &Options) -> Outcome {
    packages::ns3()?;
    let version = words("dpkg-query", &["-W", "-f", "${Version}", "libns3-dev"])?;
    build(PROGRAM, &workspace::target().join("ns3"), &version)?;
    let mut rows = Vec::new();
    for place in Place::all().filter(|place| place.title().contains(&options.only)) {
        note(&place.title());
        rows.push(row(place, options.runs)?);
    }
    let runs = format!("Minstrel-HT, runs 1 to {}", options.runs);
    let heads =
        ["PHY, streams, distance".to_owned(), "best fixed MCS".to_owned(), "Mbps".to_owned()];
    let [phy, best, mbps] = heads;
    println!("{}", aligned(&[phy, best, mbps, runs], &rows));
    Ok(())
}

fn row(place: Place, runs: u32) -> Result<[String; 4], String> {
    let fixed = |mcs: u32| Some((mcs, place.mbps(&[format!("--mcs={mcs}")])?));
    let best = (0..=place.highest()).filter_map(fixed).max_by(|a, b| a.1.total_cmp(&b.1));
    let (mcs, max) = best.ok_or_else(|| format!("{}: no fixed MCS ran", place.title()))?;
    let adaptive = |run: u32| {
        let more = ["--manager=MinstrelHt".to_owned(), format!("--run={run}")];
        let share = place.mbps(&more).map(|mbps| format!("{:.0} %", 100.0 * mbps / max));
        share.unwrap_or_else(|| "crash".to_owned())
    };
    let shares: Vec<String> = (1..=runs).map(adaptive).collect();
    Ok([place.title(), mcs.to_string(), format!("{max:.1}"), shares.join(", ")])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of results/validation.md has exactly one row for each place.
    #[test]
    fn the_places_are_those_of_the_table() {
        let page = std::fs::read_to_string(xtask::shell::root().join("results/validation.md"));
        let page = page.expect("the page");
        let (_, after) = page.split_once("ns-3's Minstrel-HT").expect("the section");
        let rows = after.lines().filter(|line| line.starts_with("| 11"));
        let titles: Vec<&str> =
            rows.filter_map(|row| row.split('|').nth(1)).map(str::trim).collect();
        let places: Vec<String> = Place::all().map(Place::title).collect();
        assert_eq!(titles[..places.len()], places);
    }
}
