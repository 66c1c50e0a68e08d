//! An emulation, as JSON and as text, and the warnings about it.

use super::{agreement, real_time};
use crate::emulation::{Emulated, Request, Uplink, Windows, inert_settings};
use crate::traffic::Report;
use fairwave_lab::lints::lints;
use fairwave_lab::report::run::{RunOfSweep, simulated_s};
use fairwave_lab::report::summary;
use fairwave_lab::results::ProgramSummary;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// Output of `fairwave emulate --json`. The summary also reports how well real time was kept.
#[derive(Serialize, JsonSchema)]
pub struct EmulateOutput {
    #[serde(flatten)]
    run: RunOfSweep,
    /// The scenario file.
    scenario: String,
    /// The flows on sockets beside the same flows in the simulator, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement: Option<Value>,
}

impl EmulateOutput {
    /// An emulation of the file `scenario`, with the warnings about it.
    pub fn new(emulated: &Emulated, scenario: &Path, warnings: Vec<String>) -> Self {
        Self {
            run: RunOfSweep::new(emulated.run.clone(), warnings),
            scenario: scenario.display().to_string(),
            agreement: emulated.agreement.as_ref().map(agreement::json),
        }
    }
}

/// Reason why an emulation has no valid results.
#[derive(Debug)]
pub enum Fault {
    /// It ended early, or a program or a flow on sockets failed.
    Failed(String),
    /// It did not keep real time.
    Late(String),
}

impl Emulated {
    /// The fault of the emulation, if it has one.
    pub fn fault(&self) -> Option<Fault> {
        if let Some(broken) = &self.broken {
            return Some(Fault::Failed(format!("{broken}; results are those until then")));
        }
        let summary = self.run.summary.emulation.as_ref()?;
        if let Some(program) = summary.programs.iter().find(|program| program.failed) {
            return Some(Fault::Failed(failure(program)));
        }
        if let Some(failure) = self.sockets.as_ref().and_then(Report::failure) {
            return Some(Fault::Failed(failure));
        }
        let reason = summary.invalid_reason.as_ref()?;
        Some(Fault::Late(format!("this run is not valid: {reason}")))
    }
}

/// The failure of a program, in words.
fn failure(program: &ProgramSummary) -> String {
    let (node, command) = (&program.node, &program.command);
    let status = match (program.status, program.signal) {
        (Some(status), _) => format!(" with status {status}"),
        (None, Some(signal)) => format!(", ended by signal {signal}"),
        (None, None) => String::new(),
    };
    let log = program.log.as_ref().map(|log| format!("; its output is in {log}"));
    format!("{node}: `{command}` failed{status}{}", log.unwrap_or_default())
}

/// Tables of flows, queues and nodes, the comparison with the simulation, and how well real time
/// was kept.
pub fn text(emulated: &Emulated, directory: &Path) -> String {
    let summary = &emulated.run.summary;
    let tables = summary::summary(summary);
    let beside = emulated.agreement.as_ref().map(agreement::text).unwrap_or_default();
    let meter = summary.emulation.as_ref().map(real_time::emulation).unwrap_or_default();
    format!("{tables}{beside}{meter}Run directory: {}\n", directory.display())
}

/// Warnings for the reader of the results.
pub fn warnings(request: &Request<'_>, emulated: &Emulated) -> Vec<String> {
    let scenario = &request.plan.points[request.job.point].scenario;
    let mut warnings = scenario.warnings();
    warnings.extend(inert_settings(scenario));
    warnings.extend(lints(&emulated.run.summary).into_iter().map(|lint| lint.text));
    warnings.extend(request.uplinks.iter().filter_map(lack));
    warnings.extend(emulated.incomplete_record.clone());
    warnings.extend(emulated.sockets.iter().flat_map(Report::warnings));
    warnings.extend(emulated.windows.and_then(missing_windows));
    warnings.extend(emulated.no_realtime.as_ref().map(usual_priority));
    warnings.extend(
        emulated.no_carrier.as_ref().map(|cause| {
            format!("real stations kept their carrier between access points: {cause}")
        }),
    );
    if emulated.is_ended {
        let (ran_s, lasts_s) = (simulated_s(&emulated.run), scenario.duration.as_secs_f64());
        warnings.push(format!(
            "the run was ended at {ran_s:.1} of {lasts_s:.1} s; results are those until then"
        ));
    } else if request.beside_simulation && emulated.agreement.is_none() {
        let why = emulated.incomparable.unwrap_or("the simulation was ended");
        warnings.push(format!("{why}: there is nothing to compare this run with"));
    }
    warnings
}

/// Traffic that a node's uplink does not carry.
fn lack(uplink: &Uplink) -> Option<String> {
    let Uplink { node, interface } = uplink;
    let lack = fairwave_netns::lack_of_ipv6(interface)?;
    Some(format!("--uplink {node}={interface}: {lack}"))
}

/// Warning about a table of windows with missing rows.
fn missing_windows(windows: Windows) -> Option<String> {
    let Windows { rows, missed } = windows;
    (missed > 0).then(|| {
        format!(
            "windows.parquet: {missed} segments arrived too fast and have no row; {rows} have one"
        )
    })
}

/// Warning if a real-time priority was requested without the permission.
pub fn no_realtime(realtime: bool) -> Option<String> {
    let refused = realtime.then(fairwave_linux::may_become_realtime)?.err()?;
    Some(usual_priority(&refused))
}

fn usual_priority(refused: &fairwave_netns::Error) -> String {
    format!("the loop has its usual priority, as --realtime was not permitted: {refused}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests' user may or may not have the permission; the test holds in both cases.
    #[test]
    fn a_refused_priority_gives_a_warning() {
        assert_eq!(no_realtime(false), None);
        let is_refused = fairwave_linux::may_become_realtime().is_err();
        assert_eq!(no_realtime(true).is_some(), is_refused);
    }
}
