//! `cargo xtask bench-trace`: speed of the analysis of captures here and in other programs, with
//! the same file on the same machine.

use crate::machine::{load, processor, words};
use crate::packages;
use crate::record;
use clap::Args;
use std::fs;
use std::path::Path;
use std::process::Command;
use xtask::shell::{Outcome, cargo, command, note, run_aside, shown};
use xtask::workspace;

/// Options of `bench-trace`.
#[derive(Args)]
pub(crate) struct Options {
    /// Rounds; figures are medians over them.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Size of the large capture in MB; the small one has a tenth.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..))]
    megabytes: u32,
    /// Append the figures to `benches/runs/DATE-trace.md`.
    #[arg(long)]
    record: bool,
}

/// A program that reads a capture.
struct Reader {
    title: &'static str,
    program: &'static str,
    /// Arguments before the name of the capture.
    arguments: &'static [&'static str],
}

/// Readers of captures, ours first: the others are compared with it.
const READERS: [Reader; 6] = [
    Reader { title: "fairwave trace", program: "fairwave", arguments: &["trace", "--quiet"] },
    Reader {
        title: "tshark -q -z conv,tcp",
        program: "tshark",
        arguments: &["-n", "-q", "-z", "conv,tcp", "-r"],
    },
    Reader {
        title: "tshark -q -z io,stat,1",
        program: "tshark",
        arguments: &["-n", "-q", "-z", "io,stat,1", "-r"],
    },
    Reader { title: "tcptrace -n -l -r", program: "tcptrace", arguments: &["-n", "-l", "-r"] },
    Reader { title: "capinfos", program: "capinfos", arguments: &[] },
    Reader {
        title: "tcpdump (to nowhere)",
        program: "tcpdump",
        arguments: &["-n", "-w", "/dev/null", "-r"],
    },
];

/// Cost of one reading.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    wall_s: f64,
    cpu_s: f64,
    /// Maximum resident memory.
    rss_kib: f64,
}

/// Makes both captures, reads them in turns, and reports the costs, for any ratio.
pub(crate) fn bench(options: &Options) -> Outcome {
    packages::readers()?;
    run_aside(cargo(&["build", "--release", "-p", "fairwave-cli"]))?;
    let maker = ["build", "--release", "-p", "fairwave-benches", "--example", "make-capture"];
    run_aside(cargo(&maker))?;
    let place = workspace::target().join("trace");
    fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let before = load();
    let mut section = String::new();
    for megabytes in [options.megabytes / 10, options.megabytes] {
        let capture = place.join(format!("{megabytes}.pcap"));
        make(&capture, megabytes)?;
        let measured = measure(&capture, options.rounds)?;
        section.push_str(&table(megabytes, packets(&capture)?, &measured));
        // Kept captures would fill the page cache, from which the next one is read.
        fs::remove_file(&capture).map_err(|error| format!("{}: {error}", capture.display()))?;
    }
    let text = conditions(options, [&before, &load()])? + &section;
    println!("{text}");
    if options.record {
        let date = words("date", &["+%F"])?;
        record::append(&date, "trace", "reading captures", &text)?;
    }
    Ok(())
}

fn make(capture: &Path, megabytes: u32) -> Outcome {
    let program = workspace::target().join("release/examples/make-capture");
    let bytes = (u64::from(megabytes) * 1_000_000).to_string();
    let (program, capture) = (program.to_string_lossy(), capture.to_string_lossy());
    run_aside(command(&program, &[&capture, &bytes]))
}

/// Costs of each reader, round by round. The very first reading fills the system's cache and does
/// not count.
fn measure(capture: &Path, rounds: u32) -> Result<Vec<Vec<Cost>>, String> {
    timed(&READERS[0].reading(capture))?;
    let mut costs = vec![Vec::new(); READERS.len()];
    for round in 1..=rounds {
        for (reader, costs) in READERS.iter().zip(&mut costs) {
            note(&format!("round {round}: {}", reader.title));
            costs.push(timed(&reader.reading(capture))?);
        }
    }
    Ok(costs)
}

impl Reader {
    fn reading(&self, capture: &Path) -> Command {
        let program = match self.program {
            "fairwave" => {
                workspace::target().join("release/fairwave").to_string_lossy().into_owned()
            }
            program => program.to_owned(),
        };
        let mut reading = command(&program, self.arguments);
        reading.arg(capture);
        reading
    }
}

/// Runs a program under GNU time; its output is discarded.
fn timed(program: &Command) -> Result<Cost, String> {
    let line = shown(program);
    let mut time = command("/usr/bin/time", &["-f", "%e %U %S %M"]);
    time.env("LC_ALL", "C").arg(program.get_program()).args(program.get_args());
    let output = time.output().map_err(|error| format!("/usr/bin/time: {error}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("`{line}` ended with {}:\n{errors}", output.status));
    }
    cost(&errors).ok_or_else(|| format!("`{line}`: no time in {errors:?}"))
}

/// Parses the last line that GNU time prints.
fn cost(errors: &str) -> Option<Cost> {
    let words = errors.lines().last()?.split_whitespace();
    let numbers: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
    match numbers?[..] {
        [wall_s, user_s, system_s, rss_kib] => {
            Some(Cost { wall_s, cpu_s: user_s + system_s, rss_kib })
        }
        _ => None,
    }
}

/// Number of packets in a capture, as counted by capinfos.
fn packets(capture: &Path) -> Result<f64, String> {
    let reported = words("capinfos", &["-M", "-c", "-T", "-r", &capture.to_string_lossy()])?;
    let count = reported.rsplit('\t').next().and_then(|word| word.trim().parse().ok());
    count.ok_or_else(|| format!("capinfos: no count in {reported:?}"))
}

fn median(costs: &[Cost], part: fn(&Cost) -> f64) -> f64 {
    let mut values: Vec<f64> = costs.iter().map(part).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn table(megabytes: u32, packets: f64, measured: &[Vec<Cost>]) -> String {
    let mut text = format!(
        "\n{megabytes} MB, {packets} packets:\n\n\
         | reader | wall s | CPU s | packets/s of wall | max RSS MiB | times our wall |\n\
         |---|---|---|---|---|---|\n"
    );
    let ours = median(&measured[0], |cost| cost.wall_s);
    for (reader, costs) in READERS.iter().zip(measured) {
        let wall_s = median(costs, |cost| cost.wall_s);
        let cpu_s = median(costs, |cost| cost.cpu_s);
        let rss = median(costs, |cost| cost.rss_kib) / 1024.0;
        let (title, rate, ratio) = (reader.title, packets / wall_s, wall_s / ours);
        text.push_str(&format!(
            "| `{title}` | {wall_s:.2} | {cpu_s:.2} | {rate:.0} | {rss:.1} | {ratio:.1} |\n"
        ));
    }
    text
}

fn conditions(options: &Options, loads: [&str; 2]) -> Result<String, String> {
    let unknown = || "unknown".to_owned();
    let first =
        |text: String| text.lines().next().unwrap_or_default().trim_end_matches('.').to_owned();
    let tshark = words("tshark", &["--version"]).map(first)?;
    let tcptrace = words("dpkg-query", &["-W", "-f", "${Version}", "tcptrace"])?;
    let commit = words("git", &["describe", "--always", "--dirty"]).unwrap_or_else(|_| unknown());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let (rounds, processor) = (options.rounds, processor().unwrap_or_else(unknown));
    let [before, after] = loads;
    Ok(format!(
        "\n## Commit {commit}\n\n{processor}, {cores} cores, load {before} before and {after} \
         after; {tshark}; tcptrace {tcptrace}. Medians of {rounds} rounds; the capture is in the \
         page cache. `cargo xtask bench-trace` makes it: 16 TCP connections, one in a hundred \
         segments lost.\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_what_gnu_time_says_last() {
        let reported = "Running as root.\n1.50 1.20 0.10 20480\n";
        let expected = Cost { wall_s: 1.5, cpu_s: 1.3, rss_kib: 20480.0 };
        let found = cost(reported).unwrap();
        assert!((found.cpu_s - expected.cpu_s).abs() < 1e-9, "{found:?}");
        assert_eq!((found.wall_s, found.rss_kib), (expected.wall_s, expected.rss_kib));
        assert_eq!(cost("Command exited"), None);
        assert_eq!(cost(""), None);
    }

    #[test]
    fn ours_is_the_reader_that_others_are_compared_with() {
        let costs = |wall_s| vec![Cost { wall_s, cpu_s: wall_s, rss_kib: 1024.0 }];
        let measured: Vec<_> = (1..=6).map(|n| costs(f64::from(n))).collect();
        let text = table(1000, 1e6, &measured);
        assert!(
            text.contains("| `fairwave trace` | 1.00 | 1.00 | 1000000 | 1.0 | 1.0 |"),
            "{text}"
        );
        assert!(text.contains("| `tshark -q -z conv,tcp` | 2.00 | 2.00 | 500000 | 1.0 | 2.0 |"));
    }
}
