//! Options of the command line that add to the scenario.

use core::str::FromStr;
use fairwave_scenario::plan::{Job, Plan};
use fairwave_scenario::{Program, Scenario};
use fairwave_units::Duration;

/// A program to start: `NODE=COMMAND`, or `NODE@TIME=COMMAND`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramOption(pub Program);

impl FromStr for ProgramOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (place, command) = text
            .split_once('=')
            .ok_or_else(|| format!("{text:?} names no node; write NODE=COMMAND"))?;
        let (node, start) = match place.split_once('@') {
            Some((node, time)) => {
                let start = time.parse().map_err(|error| format!("{time:?}: {error}"))?;
                (node, start)
            }
            None => (place, Duration::ZERO),
        };
        if node.trim().is_empty() || command.trim().is_empty() {
            return Err(format!("{text:?}: write NODE=COMMAND"));
        }
        let (node, command) = (node.trim().to_owned(), command.trim().to_owned());
        Ok(Self(Program { node, command, start, stop: None }))
    }
}

/// An uplink of the emulation: `NODE=INTERFACE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uplink {
    /// The node.
    pub node: String,
    /// An interface of this machine.
    pub interface: String,
}

impl FromStr for Uplink {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((node, interface)) if !node.is_empty() && !interface.is_empty() => {
                Ok(Self { node: node.to_owned(), interface: interface.to_owned() })
            }
            _ => Err(format!("{text:?}: write NODE=INTERFACE")),
        }
    }
}

/// Maximum number of nodes that a message names.
const MAX_NAMED: usize = 24;

/// Adds programs of the command line to those of the scenario of `job`.
///
/// # Errors
/// If the node of one is not real, or the run ends before it starts.
pub fn add_programs(plan: &mut Plan, job: Job, options: &[ProgramOption]) -> Result<(), String> {
    let scenario = &mut plan.points[job.point].scenario;
    for ProgramOption(program) in options {
        let before = scenario.programs().len();
        scenario.program.push(program.clone());
        if scenario.programs().len() == before {
            return Err(no_real_node("--exec", &program.node, &real_names(scenario, job)));
        }
        if program.start >= scenario.duration {
            let (start, node) = (program.start, &program.node);
            return Err(format!(
                "--exec: the program of {node:?} at {start} may start only after the run has ended"
            ));
        }
    }
    Ok(())
}

/// Checks that `node`, which is to have a shell, is real.
///
/// # Errors
/// If it is not.
pub fn check_shell(plan: &Plan, job: Job, node: Option<&str>) -> Result<(), String> {
    let names = real_names(&plan.points[job.point].scenario, job);
    match node.filter(|node| !names.iter().any(|name| name == node)) {
        Some(node) => Err(no_real_node("--shell", node, &names)),
        None => Ok(()),
    }
}

/// Checks that no node has two uplinks, as it has one default route.
///
/// # Errors
/// If one has.
pub fn check_uplinks(uplinks: &[Uplink]) -> Result<(), String> {
    let twice = (0..).zip(uplinks).find(|(place, uplink): &(usize, _)| {
        uplinks[..*place].iter().any(|earlier| earlier.node == uplink.node)
    });
    match twice {
        Some((_, Uplink { node, .. })) => Err(format!("--uplink: {node:?} has two uplinks")),
        None => Ok(()),
    }
}

fn real_names(scenario: &Scenario, job: Job) -> Vec<String> {
    let world = scenario.to_world(job.seed);
    let real = scenario.real_nodes().into_iter();
    real.map(|id| world.nodes[id.0 as usize].name.clone()).collect()
}

fn no_real_node(option: &str, node: &str, names: &[String]) -> String {
    let names = names[..names.len().min(MAX_NAMED)].join(", ");
    format!("{option}: {node:?} is no real node; those are {names}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_names_a_node_and_maybe_a_time() {
        let ProgramOption(program) = "sta3=iperf3 -c server -p 5=6".parse().expect("an option");
        assert_eq!((&*program.node, &*program.command), ("sta3", "iperf3 -c server -p 5=6"));
        assert_eq!(program.start, Duration::ZERO);
        let ProgramOption(program) = "sta*@1.5 s=true".parse().expect("an option");
        assert_eq!(program.start, Duration::from_millis(1500));
    }

    #[test]
    fn what_is_no_option_is_refused_with_its_text() {
        for (text, why) in [
            ("iperf3", "\"iperf3\" names no node; write NODE=COMMAND"),
            ("=true", "\"=true\": write NODE=COMMAND"),
            ("sta= ", "\"sta= \": write NODE=COMMAND"),
        ] {
            assert_eq!(text.parse::<ProgramOption>().expect_err(text), why);
        }
        let error = "sta@now=true".parse::<ProgramOption>().expect_err("`now` is no duration");
        assert!(error.starts_with("\"now\": "), "{error}");
        assert!("server".parse::<Uplink>().is_err());
        assert!("server=eth0".parse::<Uplink>().is_ok());
    }

    #[test]
    fn a_program_starts_before_the_end_of_the_run() {
        let scenario = "duration = \"2 s\"\n\
            node = [{ name = \"a\", kind = \"host\" }, { name = \"b\", kind = \"host\" }]\n\
            link = [{ ends = [\"a\", \"b\"] }]\n";
        let mut plan = Plan::parse("s", scenario, &[]).expect("a scenario");
        let job = plan.jobs()[0];
        let mut added = |text: &str| add_programs(&mut plan, job, &[text.parse().expect("one")]);
        assert_eq!(added("a@1.9 s=true"), Ok(()));
        let error = added("a@2 s=true").expect_err("it would never run");
        assert!(error.contains("only after the run has ended"), "{error}");
    }

    #[test]
    fn a_node_has_one_uplink() {
        let uplinks = ["server=eth0", "sta1=eth0", "server=eth1"];
        let uplinks = uplinks.map(|text| text.parse::<Uplink>().expect("an uplink"));
        assert_eq!(check_uplinks(&uplinks[..2]), Ok(()));
        let error = check_uplinks(&uplinks).expect_err("the first has two");
        assert!(error.contains("\"server\""), "{error}");
    }
}
