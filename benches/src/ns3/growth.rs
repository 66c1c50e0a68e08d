//! Our side alone: cost of a frame for growing numbers of stations and cells, cost of observing a
//! run, and memory of many stations.

use super::measure;
use super::spread::{Spread, aligned};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use xtask::shell::note;
use xtask::workspace;

/// Extent of a run's observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Observed {
    /// None: the simulator alone.
    Nobody,
    /// A summary without files, as in a sweep without recording.
    Summary,
    /// The run directory's series too.
    Series,
}

/// A cell, copied and filled from a template.
#[derive(Debug, Clone, Copy)]
struct Load {
    title: &'static str,
    cells: u32,
    /// Number of stations in each cell.
    stations: u32,
    /// Whether traffic is TCP to the access point; otherwise it is saturated UDP.
    tcp: bool,
    simulated_s: u32,
    observed: Observed,
}

const fn udp(title: &'static str, cells: u32, stations: u32, simulated_s: u32) -> Load {
    Load { title, cells, stations, tcp: false, simulated_s, observed: Observed::Summary }
}

/// 802.11a with saturated uplinks, except for the last row. The simulated time shrinks as the load
/// grows, so that each takes about a second. A scenario has at most 1000 nodes.
const LOADS: [Load; 11] = [
    udp("10 stations in a cell", 1, 10, 100),
    udp("100 stations in a cell", 1, 100, 60),
    udp("999 stations in a cell", 1, 999, 20),
    udp("1 cell of 10 stations", 1, 10, 100),
    udp("4 cells of 10 stations", 4, 10, 25),
    udp("16 cells of 10 stations", 16, 10, 6),
    udp("64 cells of 10 stations", 64, 10, 2),
    Load { observed: Observed::Nobody, ..udp("50 stations, no sink", 1, 50, 100) },
    udp("50 stations, recording off", 1, 50, 100),
    Load { observed: Observed::Series, ..udp("50 stations, series recorded", 1, 50, 100) },
    Load { tcp: true, ..udp("200 uploads by TCP, recording off", 1, 200, 60) },
];

/// Indices in [`LOADS`] of loads that are compared with each other.
const BARE: usize = 7;
const OFF: usize = 8;
const RECORDED: usize = 9;
const CROWD: usize = 10;

/// Maximum memory of the load with 200 uploads.
const MEMORY_GOAL_MB: f64 = 64.0;

/// One run's figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cost {
    /// Simulated seconds of a CPU second.
    speed: f64,
    frames_per_s: f64,
    events_per_s: f64,
    peak_mb: f64,
}

/// A load's figures over the rounds.
struct Line {
    title: &'static str,
    speed: Spread,
    frames_per_s: Spread,
    events_per_s: Spread,
    peak_mb: Spread,
}

/// Figures of all loads.
pub(crate) struct Growth(Vec<Line>);

/// Runs each load once a round, one after another.
pub(crate) fn measure(rounds: u32) -> Result<Growth, String> {
    let directory = workspace::target().join("ns3");
    let mut found: Vec<Vec<Cost>> = vec![Vec::new(); LOADS.len()];
    for round in 1..=rounds {
        // Loads alternate, so that a busy phase of the machine does not affect only one of them.
        for (load, costs) in LOADS.iter().zip(&mut found) {
            note(&format!("round {round}: {}", load.title));
            costs.push(cost(*load, &directory, round)?);
        }
    }
    Ok(Growth(LOADS.iter().zip(&found).map(|(load, costs)| Line::of(load.title, costs)).collect()))
}

fn cost(load: Load, directory: &Path, seed: u32) -> Result<Cost, String> {
    let file = directory.join("load.toml");
    fs::write(&file, scenario(load, seed)).map_err(|e| format!("{}: {e}", file.display()))?;
    let out = directory.join("recorded");
    let sink = match load.observed {
        Observed::Nobody => "none".into(),
        Observed::Summary => "off".into(),
        Observed::Series => {
            if out.exists() {
                fs::remove_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
            }
            out.to_string_lossy()
        }
    };
    let program = workspace::target().join("release/examples/measured-run");
    let arguments = [file.to_string_lossy(), sink];
    let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
    let run = xtask::shell::command(&program.to_string_lossy(), &arguments);
    let (cpu_s, text) = measure::user_time(&run)?;
    parsed(&text, cpu_s)
}

/// Parses the output of `measured-run`, and divides by the CPU time that it took.
fn parsed(text: &str, cpu_s: f64) -> Result<Cost, String> {
    let reported: Value = serde_json::from_str(text).map_err(|error| format!("{text}: {error}"))?;
    let number = |key| measure::positive(&reported, key);
    Ok(Cost {
        speed: number("simulated_s")? / cpu_s,
        frames_per_s: number("frames")? / cpu_s,
        events_per_s: number("events")? / cpu_s,
        peak_mb: number("peak_kib")? * 1024.0 / 1e6,
    })
}

/// The scenario file of a load.
fn scenario(load: Load, seed: u32) -> String {
    let Load { cells, stations, simulated_s, tcp, .. } = load;
    let mut text = format!("title = \"Load\"\nduration = \"{simulated_s} s\"\nseed = {seed}\n");
    let traffic = if tcp { "" } else { "transport = \"udp\"\ntraffic = \"saturate\"\n" };
    for cell in 1..=cells {
        // Cells on one frequency would share its medium.
        let mhz = 5_000 + 20 * cell;
        text += &format!(
            "[[cell]]\nname = \"c{cell}\"\nstandard = \"802.11a\"\n\
             frequency = \"{mhz} MHz\"\n\
             [[node]]\nname = \"ap{cell}-\"\nkind = \"access-point\"\ncell = \"c{cell}\"\n\
             data_rate = \"54 Mbps\"\n\
             [[node]]\nname = \"sta{cell}-\"\nkind = \"station\"\nap = \"ap{cell}-\"\n\
             count = {stations}\ndata_rate = \"54 Mbps\"\n\
             [[flow]]\nname = \"up{cell}\"\nfrom = \"sta{cell}-*\"\nto = \"ap{cell}-\"\n{traffic}"
        );
    }
    text
}

impl Line {
    fn of(title: &'static str, costs: &[Cost]) -> Self {
        let over = |figure: fn(&Cost) -> f64| Spread::of(costs.iter().map(figure));
        Self {
            title,
            speed: over(|cost| cost.speed),
            frames_per_s: over(|cost| cost.frames_per_s),
            events_per_s: over(|cost| cost.events_per_s),
            peak_mb: over(|cost| cost.peak_mb),
        }
    }

    fn row(&self) -> [String; 6] {
        [
            self.title.to_owned(),
            self.speed.shown(1),
            format!("{:.0}", self.frames_per_s.median()),
            format!("{:.0}", 1e9 / self.frames_per_s.median()),
            format!("{:.0}", 1e9 / self.events_per_s.median()),
            format!("{:.1}", self.peak_mb.median()),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "load": self.title,
            "simulated_s_per_cpu_s": self.speed.json(),
            "frames_per_cpu_s": self.frames_per_s.json(),
            "events_per_cpu_s": self.events_per_s.json(),
            "ns_per_frame": 1e9 / self.frames_per_s.median(),
            "peak_mb": self.peak_mb.json(),
        })
    }
}

impl Growth {
    /// Additional cost of one load's simulated second over another's, in percent.
    fn over(&self, load: usize, base: usize) -> f64 {
        (self.0[base].speed.median() / self.0[load].speed.median() - 1.0) * 100.0
    }

    /// A table, and sentences on recording and memory.
    pub(crate) fn table(&self) -> String {
        let heads = [
            "load",
            "simulated s per CPU s",
            "frames per CPU s",
            "ns per frame",
            "ns per event",
            "peak MB",
        ];
        let rows: Vec<_> = self.0.iter().map(Line::row).collect();
        let [off, recorded] = [OFF, RECORDED].map(|load| self.over(load, BARE));
        let peak = self.0[CROWD].peak_mb.median();
        format!(
            "{}\nOver no sink at all, recording that is off costs {off:+.1} % and series \
             {recorded:+.1} %.\n\
             200 uploads without recording take {peak:.1} MB at the most; the goal is under \
             {MEMORY_GOAL_MB:.0} MB.\n",
            aligned(&heads.map(str::to_owned), &rows),
        )
    }

    /// The same as JSON.
    pub(crate) fn json(&self) -> Value {
        json!({
            "loads": self.0.iter().map(Line::json).collect::<Vec<_>>(),
            "recording_off_over_no_sink_percent": self.over(OFF, BARE),
            "recorded_over_no_sink_percent": self.over(RECORDED, BARE),
            "peak_mb_of_200_uploads": self.0[CROWD].peak_mb.json(),
            "peak_mb_goal": MEMORY_GOAL_MB,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth() -> Growth {
        let cost = |speed| Cost { speed, frames_per_s: 4e6, events_per_s: 8e6, peak_mb: 12.5 };
        let mut lines: Vec<Line> =
            LOADS.iter().map(|load| Line::of(load.title, &[cost(100.0)])).collect();
        lines[OFF] = Line::of("off", &[cost(80.0), cost(125.0), cost(80.0)]);
        lines[RECORDED] = Line::of("recorded", &[cost(50.0)]);
        Growth(lines)
    }

    #[test]
    fn the_places_are_those_of_the_loads_they_name() {
        let observed = [BARE, OFF, RECORDED].map(|place| LOADS[place].observed);
        assert_eq!(observed, [Observed::Nobody, Observed::Summary, Observed::Series]);
        assert!([OFF, RECORDED].iter().all(|&place| {
            let (one, bare) = (LOADS[place], LOADS[BARE]);
            (one.cells, one.stations, one.tcp) == (bare.cells, bare.stations, bare.tcp)
        }));
        assert_eq!((LOADS[CROWD].stations, LOADS[CROWD].observed), (200, Observed::Summary));
    }

    #[test]
    fn overheads_are_of_medians_over_no_sink() {
        let reported = growth().json();
        assert_eq!(reported["recording_off_over_no_sink_percent"], 25.0);
        assert_eq!(reported["recorded_over_no_sink_percent"], 100.0);
        assert_eq!(reported["loads"][0]["ns_per_frame"], 250.0);
    }

    #[test]
    fn the_table_ends_with_memory_and_its_goal() {
        let table = growth().table();
        assert!(table.ends_with("take 12.5 MB at the most; the goal is under 64 MB.\n"), "{table}");
        assert!(table.contains("costs +25.0 % and series +100.0 %"), "{table}");
    }

    #[test]
    fn a_load_becomes_as_many_cells_with_a_flow_each() {
        let text = scenario(LOADS[4], 9);
        assert_eq!(text.matches("[[cell]]").count(), 4);
        assert!(text.contains("5020 MHz") && text.contains("5080 MHz"));
        assert_eq!(text.matches("traffic = \"saturate\"").count(), 4);
        assert!(text.contains("seed = 9\n") && text.contains("from = \"sta4-*\"\nto = \"ap4-\""));
        assert!(!scenario(LOADS[CROWD], 1).contains("udp"));
    }

    #[test]
    fn costs_are_over_cpu_time() {
        let text = r#"{"simulated_s": 10, "frames": 4000, "events": 8000, "peak_kib": 1000}"#;
        let cost = parsed(text, 0.5).expect("all keys are there");
        assert_eq!(
            cost,
            Cost { speed: 20.0, frames_per_s: 8e3, events_per_s: 16e3, peak_mb: 1.024 }
        );
        assert!(parsed("{}", 0.5).is_err_and(|why| why.contains("simulated_s")));
    }
}
