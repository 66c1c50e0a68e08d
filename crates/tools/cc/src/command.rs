//! The commands that load and unload algorithms, and the way to all others.

pub mod options;

use crate::outcome::{announce, done, failure};
use crate::report::{self, CcCost};
use crate::target::{self, Wanted};
use crate::{Progress, keep, status, trace};
use fairwave_bpf::bench::{self, Cost};
use fairwave_bpf::{ALGORITHMS, Algorithm, Error, Life, Store, find, load, unload};
use fairwave_console::{Console, Failure};
use options::{Cc, CcTask};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;

/// Runs the command. `progress` receives the progress of a trace, and `None` at its end.
///
/// # Errors
/// If the options are wrong, or the kernel refuses a step.
pub fn run(
    console: &dyn Console,
    progress: &mut dyn FnMut(Option<Progress<'_>>),
    cc: &Cc,
) -> Result<(), Failure> {
    // The keeper process has another working directory, so the path must be absolute.
    let pin = cc.pin.as_deref().map(std::path::absolute).transpose().map_err(Failure::run)?;
    let pin = pin.as_deref();
    match &cc.task {
        CcTask::Load { names, all, lasts } => {
            let every = || ALGORITHMS.iter().map(|algorithm| algorithm.name.to_owned()).collect();
            let names = if *all { every() } else { names.clone() };
            match lasts {
                None => load_all(console, pin, &names),
                Some(lasts) => keep::start(console, pin, &algorithms(&names)?, *lasts),
            }
        }
        CcTask::Keep { name, lasts } => keep::keep(console, pin, name, *lasts),
        CcTask::Unload { names, all: false } => unload_some(console, pin, names),
        CcTask::Unload { all: true, .. } => unload_all(console, pin),
        CcTask::List => status::list(console, &Store::at(pin)),
        CcTask::Status { watch: true, .. } => status::watch(console, &Store::at(pin)),
        CcTask::Status { prometheus: None, .. } => status::status(console, &Store::at(pin)),
        CcTask::Status { prometheus: Some(at), .. } => status::serve(console, Store::at(pin), *at),
        CcTask::Target { whose, rate, cap, floor_at_reno, remove } => {
            let wanted = Wanted { rate: *rate, cap: *cap, floor: *floor_at_reno };
            target::run(console, &Store::at(pin), whose.as_deref(), &wanted, *remove)
        }
        CcTask::Trace(requested) => trace::run(console, requested, progress),
        CcTask::Bench { names, seconds_each, rounds, offload } => {
            let requested =
                if names.is_empty() { ALGORITHMS.iter().collect() } else { algorithms(names)? };
            let plan = bench::Plan { lasts: *seconds_each, rounds: *rounds, offload: *offload };
            costs(console, &bench::run(&requested, plan).map_err(failure)?)
        }
    }
}

/// The algorithms of these names, each once.
fn algorithms(names: &[String]) -> Result<Vec<&'static Algorithm>, Failure> {
    let algorithms = names.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>();
    let mut algorithms = algorithms.map_err(failure)?;
    let mut known = BTreeSet::new();
    algorithms.retain(|algorithm| known.insert(algorithm.name));
    Ok(algorithms)
}

/// Applies `act` to one algorithm after the other. If one fails, the error lists the algorithms
/// `done` before it.
fn in_turn(
    console: &dyn Console,
    algorithms: &[&'static Algorithm],
    done: &str,
    act: impl Fn(&'static Algorithm) -> Result<(), Error>,
) -> Result<Vec<&'static str>, Failure> {
    let mut names = Vec::new();
    for algorithm in algorithms {
        if let Err(error) = act(algorithm) {
            if !names.is_empty() {
                console.warn(&format!("{done} before that: {}", names.join(", ")));
            }
            return Err(failure(error));
        }
        names.push(algorithm.name);
    }
    Ok(names)
}

fn load_all(console: &dyn Console, pin: Option<&Path>, names: &[String]) -> Result<(), Failure> {
    let algorithms = algorithms(names)?;
    let store = Store::ready(pin).map_err(failure)?;
    announce(console, &store);
    let loaded = in_turn(console, &algorithms, "loaded", |algorithm| {
        load(&store, algorithm, Life::Pinned).map(drop)
    })?;
    done(console, "loaded", &loaded)
}

fn unload_some(console: &dyn Console, pin: Option<&Path>, names: &[String]) -> Result<(), Failure> {
    let algorithms = algorithms(names)?;
    let unloaded =
        in_turn(console, &algorithms, "unloaded", |algorithm| unload(&Store::at(pin), algorithm))?;
    done(console, "unloaded", &unloaded)
}

fn unload_all(console: &dyn Console, pin: Option<&Path>) -> Result<(), Failure> {
    let names = Store::at(pin).clear().map_err(failure)?;
    done(console, "unloaded", &names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Shows the costs of algorithms, beside those of the kernel's own.
fn costs(console: &dyn Console, costs: &[Cost]) -> Result<(), Failure> {
    let floor = costs.iter().find(|cost| cost.name == "fw_b_floor");
    let floor = floor.and_then(Cost::nanoseconds_per_ack);
    let found: Vec<CcCost> = costs.iter().map(|cost| CcCost::of(cost, floor)).collect();
    console.show(&json!(found), &report::costs(&found))
}
