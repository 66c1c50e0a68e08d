//! Benchmarks that count instructions by callgrind: their programs, arguments and lengths.
//!
//! The number of instructions does not depend on other programs on the machine, as seconds do. It
//! depends on the compiler, and a little on the C library and the processor, by which that chooses
//! its `memcpy`.

use crate::callgrind;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;

/// One benchmark.
pub(crate) struct Benchmark {
    /// Its name in tables and records.
    pub(crate) name: &'static str,
    /// The unit of its work, such as a frame.
    pub(crate) unit: &'static str,
    /// The example of `benches` that it runs.
    pub(crate) program: &'static str,
    /// The arguments; `{}` stands for the length, or for the scenario of that length.
    arguments: &'static [&'static str],
    length: Length,
    /// Whether `--recorded` runs it, too.
    pub(crate) is_quick: bool,
}

/// Length of a run, and its work.
#[derive(Clone, Copy)]
enum Length {
    /// Two lengths, at each of which the program prints its work. The difference has no set-up.
    Printed([u32; 2]),
    /// Two lengths, each of which is the work.
    Given([u32; 2]),
    /// A scenario file without its sweep, its sampling interval, and two durations in seconds; its
    /// events are the work.
    Scenario(&'static str, &'static str, [u32; 2]),
    /// A single run with this work, set-up included.
    Whole(u64),
}

use Length::{Given, Printed, Scenario, Whole};

/// Instructions of one benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Count {
    /// Instructions for each unit of work.
    pub(crate) instructions: f64,
    /// Work that was measured. It differs between two versions that simulate differently.
    pub(crate) work: u64,
}

/// Files of one version that its benchmarks use.
pub(crate) struct Programs {
    /// Directory with the programs.
    pub(crate) programs: PathBuf,
    /// The version's tree, for scenario files.
    pub(crate) tree: PathBuf,
    /// Directory for scenarios of other lengths, and for what runs record.
    pub(crate) scratch: PathBuf,
}

const fn sends(
    name: &'static str,
    unit: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    length: Length,
) -> Benchmark {
    Benchmark { name, unit, program, arguments, length, is_quick: false }
}

const fn run(name: &'static str, args: &'static [&'static str], lengths: [u32; 2]) -> Benchmark {
    sends(name, "frame", "one-run", args, Printed(lengths))
}

const fn shake(name: &'static str, arguments: &'static [&'static str]) -> Benchmark {
    sends(name, "segment", "shake-segments", arguments, Printed([250, 500]))
}

const fn turns(name: &'static str, arguments: &'static [&'static str]) -> Benchmark {
    sends(name, "turn", "scheduler-turns", arguments, Given([20_000, 60_000]))
}

const fn forwards(name: &'static str, queue: &'static [&'static str]) -> Benchmark {
    sends(name, "packet", "forwarding", queue, Whole(1_010_000))
}

const fn scenario(
    name: &'static str,
    arguments: &'static [&'static str],
    length: Length,
) -> Benchmark {
    sends(name, "event", "measured-run", arguments, length)
}

/// Rounds of `shake-records`.
const RECORDS: Length = Printed([100, 200]);
/// Without observation.
const BARE: &[&str] = &["{}", "none"];
/// As a sweep that records nothing.
const OFF: &[&str] = &["{}", "off"];
/// With everything that a scenario records.
const RECORDED: &[&str] = &["{}", "recorded"];
/// The sampling interval of scenarios that state none.
const USUAL: &str = "100 ms";

const WEB: &str = "scenarios/web-beside-download.toml";
const PROBE: &str = "scenarios/probe.toml";
const CALL: &str = "scenarios/call-beside-tcp.toml";
const SATURATION: &str = "benches/ns3/saturation.toml";
const UPLOADS: &str = "benches/ns3/uploads.toml";
const DOWNLOADS: &str = "benches/ns3/he-downloads.toml";

/// Every benchmark, in the order of the records of 2026-11-23.
pub(crate) const ALL: &[Benchmark] = &[
    run("one-run udp, 10 stations", &["udp", "{}", "10"], [500, 1500]).quick(),
    run("one-run udp, 50 stations", &["udp", "{}", "50"], [500, 1500]).quick(),
    run("one-run udp, 999 stations", &["udp", "{}", "999"], [500, 1000]),
    run("one-run tcp, 16 stations", &["tcp", "{}", "16"], [4000, 6000]).quick(),
    run("one-run tcp, 100 stations", &["tcp", "{}", "100"], [3000, 4000]),
    shake("shake-segments, 2 paths", &["2", "{}"]),
    shake("shake-segments, 3 paths", &["3", "{}"]),
    shake("shake-segments, 8 paths", &["8", "{}"]),
    sends("shake-records, 2 paths", "datagram", "shake-records", &["2", "{}"], RECORDS),
    turns("scheduler-turns drr, 64 hosts", &["drr", "64", "4", "{}"]),
    turns("scheduler-turns wfq, 64 hosts", &["wfq", "64", "4", "{}"]),
    turns("scheduler-turns wf2q+, 64 hosts", &["wf2q+", "64", "4", "{}"]),
    turns("scheduler-turns h-fsc, 64 hosts", &["h-fsc", "64", "4", "{}"]),
    turns("scheduler-turns iwfq, 64 hosts", &["iwfq", "64", "4", "{}"]),
    turns("scheduler-turns socps, 64 hosts", &["socps", "64", "4", "{}"]),
    scenario("web-beside-download", BARE, Scenario(WEB, USUAL, [5, 10])),
    scenario("probe", BARE, Scenario(PROBE, USUAL, [1, 3])),
    scenario("call-beside-tcp", BARE, Scenario(CALL, USUAL, [20, 60])),
    scenario("saturation, summary", OFF, Scenario(SATURATION, USUAL, [2, 4])),
    scenario("uploads, summary", OFF, Scenario(UPLOADS, USUAL, [5, 10])),
    scenario("uploads, series of 10 ms", RECORDED, Scenario(UPLOADS, "10 ms", [5, 10])),
    scenario("he-downloads, summary", OFF, Scenario(DOWNLOADS, USUAL, [1, 2])),
    forwards("forwarding fifo", &["fifo"]),
    forwards("forwarding fq-codel", &["fq-codel"]),
    forwards("forwarding mac80211", &["mac80211"]),
    forwards("forwarding airtime-drr", &["airtime-drr"]),
    forwards("forwarding drr", &["drr"]),
    forwards("forwarding wfq", &["wfq"]),
    forwards("forwarding wf2q+", &["wf2q+"]),
    forwards("forwarding h-fsc", &["h-fsc"]),
    forwards("forwarding csdps", &["csdps"]),
    forwards("forwarding iwfq", &["iwfq"]),
    forwards("forwarding cif-q", &["cif-q"]),
    forwards("forwarding socps", &["socps"]),
    forwards("forwarding socps-traffic", &["socps-traffic"]),
    forwards("forwarding socps over h-fsc", &["socps over h-fsc"]),
];

impl Benchmark {
    const fn quick(self) -> Self {
        Self { is_quick: true, ..self }
    }

    /// Counts its instructions; `None` where this version has no such program or queue.
    fn count(&self, of: &Programs) -> Result<Option<Count>, String> {
        let program = of.programs.join(self.program);
        if !program.exists() {
            return Ok(None);
        }
        let at = |length: String, work: &dyn Fn(&str) -> Option<u64>| {
            let arguments = self.arguments.iter().map(|argument| match *argument {
                "recorded" => of.scratch.join("run").display().to_string(),
                argument => argument.replace("{}", &length),
            });
            let (instructions, printed) =
                callgrind::count(&program, &arguments.collect::<Vec<_>>())?;
            Ok::<_, String>(work(&printed).map(|work| (instructions, work)))
        };
        let between = |of: [Option<(u64, u64)>; 2]| {
            let [Some(short), Some(long)] = of else { return None };
            let work = long.1.checked_sub(short.1).filter(|work| *work > 0)?;
            let instructions = long.0.saturating_sub(short.0) as f64 / work as f64;
            Some(Count { instructions, work })
        };
        match self.length {
            Printed(lengths) => {
                let [short, long] = lengths.map(|l| at(l.to_string(), &|p| p.trim().parse().ok()));
                Ok(between([short?, long?]))
            }
            Given(lengths) => {
                let [short, long] = lengths.map(|l| at(l.to_string(), &|_| Some(l.into())));
                Ok(between([short?, long?]))
            }
            Scenario(file, every, seconds) => {
                let made = |seconds: u32| self.made(of, file, every, seconds);
                let [short, long] = seconds.map(|seconds| at(made(seconds)?, &events));
                Ok(between([short?, long?]))
            }
            Whole(work) => {
                let is_known = |printed: &str| (!printed.trim().is_empty()).then_some(work);
                let run = at(String::new(), &is_known)?;
                let count = |(instructions, work): (u64, u64)| Count {
                    instructions: instructions as f64 / work as f64,
                    work,
                };
                Ok(run.map(count))
            }
        }
    }

    /// Writes a scenario of this version with another duration, and returns its path.
    fn made(&self, of: &Programs, file: &str, every: &str, seconds: u32) -> Result<String, String> {
        let path = of.tree.join(file);
        let text = fs::read_to_string(&path);
        let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
        let made = of.scratch.join(format!("{}, {seconds} s.toml", self.name));
        fs::write(&made, lasting(&text, every, seconds))
            .map_err(|error| format!("{}: {error}", made.display()))?;
        Ok(made.display().to_string())
    }
}

/// Counts the instructions of benchmarks, `jobs` of them at once; `None` where a version lacks one.
pub(crate) fn count(
    benchmarks: &[&Benchmark],
    of: &Programs,
    jobs: usize,
) -> Result<Vec<Option<Count>>, String> {
    fs::create_dir_all(&of.scratch)
        .map_err(|error| format!("{}: {error}", of.scratch.display()))?;
    let waiting = Mutex::new(benchmarks.iter().enumerate());
    let next = || waiting.lock().expect("no thread panics with it").next();
    let counts = Mutex::new(vec![Ok(None); benchmarks.len()]);
    let work = || {
        while let Some((at, benchmark)) = next() {
            let count = benchmark.count(of);
            let count = count.map_err(|error| format!("{}: {error}", benchmark.name));
            counts.lock().expect("no thread panics with it")[at] = count;
        }
    };
    thread::scope(|scope| {
        (1..jobs).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    counts.into_inner().expect("no thread panics with it").into_iter().collect()
}

/// The events of a run that `measured-run` reports.
fn events(printed: &str) -> Option<u64> {
    let reported: serde_json::Value = serde_json::from_str(printed).ok()?;
    reported["events"].as_u64()
}

/// A scenario without its sweep and warm-up, with this duration and sampling interval.
pub(crate) fn lasting(text: &str, every: &str, seconds: u32) -> String {
    let mut is_sweep = false;
    let mut made = format!("duration = \"{seconds} s\"\nrecord.sample_every = \"{every}\"\n");
    for line in text.lines() {
        if line.starts_with('[') {
            is_sweep = line == "[sweep]";
        }
        let is_length = ["duration =", "warm_up ="].iter().any(|key| line.starts_with(key));
        if !is_sweep && !is_length {
            made.push_str(line);
            made.push('\n');
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_loses_its_sweep_and_gets_its_length() {
        let text = "title = \"a\"\nduration = \"9 s\"\nwarm_up = \"1 s\"\n[cell]\nx = 1\n\
                    [sweep]\n\"node.ap.queue\" = [1]\nseeds = 3\n[[flow]]\ny = 2\n";
        assert_eq!(
            lasting(text, "10 ms", 5),
            "duration = \"5 s\"\nrecord.sample_every = \"10 ms\"\ntitle = \"a\"\n[cell]\nx = 1\n\
             [[flow]]\ny = 2\n"
        );
    }

    #[test]
    fn names_differ() {
        let of = |at: usize| ALL[..at].iter().all(|before| before.name != ALL[at].name);
        assert!((0..ALL.len()).all(of));
    }
}
