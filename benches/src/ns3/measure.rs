//! One round: ns-3's program, then ours, each in its own process whose user time is measured.

use super::pairs::Pair;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use xtask::shell::{command, shown};
use xtask::workspace;

/// Cost of one run of both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Round {
    /// User CPU seconds per simulated second, in ns-3.
    pub(crate) theirs: f64,
    /// The same, here.
    pub(crate) ours: f64,
    /// Frames simulated per CPU second, here.
    pub(crate) frames_per_s: f64,
    /// Events handled per CPU second, here.
    pub(crate) events_per_s: f64,
}

/// Seconds of traffic in the run of ns-3 whose time is subtracted, to exclude construction.
const BASE_S: u32 = 1;

/// Runs both sides once.
pub(crate) fn round(
    pair: &Pair,
    programs: &Path,
    round: u32,
    seconds: u32,
) -> Result<Round, String> {
    // The difference of two lengths excludes ns-3's construction and the association of stations.
    let base = peer(pair, programs, round, BASE_S)?;
    let whole = peer(pair, programs, round, seconds)?;
    let out = workspace::target().join("ns3/out");
    let (out, seed) = (out.to_string_lossy(), round.to_string());
    let args =
        ["run", pair.scenario, "--json", "--quiet", "--force", "--seed", &seed, "--out", &out];
    let (cpu_s, text) = user_time(&workspace::fairwave("release", &args))?;
    let [simulated_s, frames, events] = simulated(&text)?;
    Ok(Round {
        theirs: (whole - base) / f64::from(seconds - BASE_S),
        ours: cpu_s / simulated_s,
        frames_per_s: frames / cpu_s,
        events_per_s: events / cpu_s,
    })
}

/// User time of ns-3's program for a number of seconds of traffic.
fn peer(pair: &Pair, programs: &Path, run: u32, seconds: u32) -> Result<f64, String> {
    let mut program = command(&programs.join(pair.peer).to_string_lossy(), pair.arguments);
    program.args([format!("--run={run}"), format!("--dur={seconds}")]);
    let (cpu_s, text) = user_time(&program)?;
    if text.contains("WARNING") {
        return Err(format!("`{}` simulated something else:\n{text}", shown(&program)));
    }
    Ok(cpu_s)
}

/// Seconds simulated, frames put on the air and events handled, from `fairwave run --json`.
fn simulated(text: &str) -> Result<[f64; 3], String> {
    let reported: Value =
        serde_json::from_str(text).map_err(|error| format!("run --json: {error}"))?;
    let [simulated_s, frames] = ["simulated_s", "frames"].map(|key| positive(&reported, key));
    Ok([simulated_s?, frames?, positive(&reported["summary"], "events")?])
}

/// Reads a number that must be present and positive.
pub(crate) fn positive(reported: &Value, key: &str) -> Result<f64, String> {
    let found = reported[key].as_f64().filter(|number| *number > 0.0);
    found.ok_or_else(|| format!("no positive number {key:?} in {reported}"))
}

/// User CPU seconds of the whole process, and its output. Other programs lengthen wall time, and
/// hardly change user time. The shell's own `time` measures to the
/// millisecond, without a library.
pub(crate) fn user_time(program: &Command) -> Result<(f64, String), String> {
    let line = shown(program);
    let mut timed = command("bash", &["-c", "TIMEFORMAT=%3U; time \"$0\" \"$@\""]);
    timed.env("LC_ALL", "C").arg(program.get_program()).args(program.get_args());
    let output = timed.output().map_err(|error| format!("bash: {error}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("`{line}` ended with {}:\n{errors}", output.status));
    }
    let seconds = errors.lines().last().and_then(|line| line.trim().parse().ok());
    let seconds = seconds.ok_or_else(|| format!("`{line}`: no time in {errors:?}"))?;
    Ok((seconds, String::from_utf8_lossy(&output.stdout).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_timed_and_its_words_are_kept() {
        let script = r#"echo 999 >&2; echo "$@""#;
        let program = command("bash", &["-c", script, "bash", "two words", "three"]);
        let (seconds, text) = user_time(&program).unwrap();
        assert!(seconds < 999.0, "{seconds} s is a number of the program's own");
        assert_eq!(text, "two words three\n");
    }

    #[test]
    fn a_process_that_fails_is_named() {
        let failed = user_time(&command("bash", &["-c", "echo broken >&2; exit 3"]));
        assert!(failed.is_err_and(|why| why.contains("broken") && why.contains('3')));
        assert!(user_time(&command("no-such-program", &[])).is_err());
    }

    #[test]
    fn gaps_in_a_summary_are_named() {
        let whole = r#"{"simulated_s": 3.5, "frames": 70, "summary": {"events": 90}}"#;
        assert_eq!(simulated(whole), Ok([3.5, 70.0, 90.0]));
        assert!(simulated(&whole.replace("70", "0")).is_err_and(|why| why.contains("frames")));
        assert!(simulated(r#"{"simulated_s": 3.5, "frames": 7}"#).is_err());
        assert!(simulated("nothing").is_err());
    }
}
