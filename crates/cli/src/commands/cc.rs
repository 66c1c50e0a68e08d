//! `fairwave cc`: congestion control algorithms in the kernel.

mod keep;
mod prometheus;
mod show;
mod target;
mod told;
mod trace;
mod trace_table;

use crate::args::Common;
use crate::args_cc::{Cc, CcTask};
use crate::outcome::Failure;
use crate::output;
use fairwave_bpf::{Error, LAWS, Law, Life, Store, find, load, unload};
use std::path::Path;
use told::{announce, done};

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Unknown { .. } => Self::Usage(error.to_string()),
            _ => Self::run(error),
        }
    }
}

/// Runs the command.
pub(crate) fn run(common: &Common, cc: &Cc) -> Result<(), Failure> {
    // The keeper process has another working directory, so the path must be absolute.
    let pin = cc.pin.as_deref().map(std::path::absolute).transpose().map_err(Failure::run)?;
    let pin = pin.as_deref();
    match &cc.task {
        CcTask::Load { names, lasts: None } => load_all(common, pin, names),
        CcTask::Load { names, lasts: Some(lasts) } => {
            laws(names)?;
            keep::start(common, pin, names, *lasts)
        }
        CcTask::Keep { names, lasts } => keep::keep(pin, &laws(names)?, *lasts),
        CcTask::Unload { names, all: false } => unload_some(common, pin, names),
        CcTask::Unload { all: true, .. } => unload_all(common, pin),
        CcTask::List => show::list(common, &Store::at(pin)),
        CcTask::Status { watch: true, .. } => show::watch(common, &Store::at(pin)),
        CcTask::Status { prometheus: None, .. } => show::status(common, &Store::at(pin)),
        CcTask::Status { prometheus: Some(at), .. } => prometheus::serve(Store::at(pin), *at),
        CcTask::Target { whose, rate, cap, floor_at_reno, remove } => {
            let asked = target::Asked { rate: *rate, cap: *cap, floor: *floor_at_reno };
            target::run(common, &Store::at(pin), whose.as_deref(), &asked, *remove)
        }
        CcTask::Trace(asked) => trace::run(common, asked),
        CcTask::Bench { names, seconds_each, rounds, offload } => {
            let asked = if names.is_empty() { LAWS.iter().collect() } else { laws(names)? };
            let plan = fairwave_bpf::bench::Plan {
                lasts: *seconds_each,
                rounds: *rounds,
                offload: *offload,
            };
            show::costs(common, &fairwave_bpf::bench::run(&asked, plan)?)
        }
    }
}

/// The algorithms of these names, each once.
fn laws(names: &[String]) -> Result<Vec<&'static Law>, Failure> {
    let mut laws = names.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()?;
    let mut known = std::collections::BTreeSet::new();
    laws.retain(|law| known.insert(law.name));
    Ok(laws)
}

/// Applies `act` to one algorithm after the other. If one fails, the error lists the algorithms
/// `done` before it.
fn in_turn(
    laws: &[&'static Law],
    done: &str,
    act: impl Fn(&'static Law) -> Result<(), Error>,
) -> Result<Vec<&'static str>, Failure> {
    let mut names = Vec::new();
    for law in laws {
        if let Err(error) = act(law) {
            if !names.is_empty() {
                output::warn(&format!("{done} before that: {}", names.join(", ")));
            }
            return Err(error.into());
        }
        names.push(law.name);
    }
    Ok(names)
}

fn load_all(common: &Common, pin: Option<&Path>, names: &[String]) -> Result<(), Failure> {
    let laws = laws(names)?;
    let store = Store::ready(pin)?;
    if !common.json {
        announce(&store);
    }
    let loaded = in_turn(&laws, "loaded", |law| load(&store, law, Life::Pinned).map(drop))?;
    done(common, "loaded", &loaded)
}

fn unload_some(common: &Common, pin: Option<&Path>, names: &[String]) -> Result<(), Failure> {
    let laws = laws(names)?;
    let unloaded = in_turn(&laws, "unloaded", |law| unload(&Store::at(pin), law))?;
    done(common, "unloaded", &unloaded)
}

fn unload_all(common: &Common, pin: Option<&Path>) -> Result<(), Failure> {
    let names = Store::at(pin).clear()?;
    done(common, "unloaded", &names.iter().map(String::as_str).collect::<Vec<_>>())
}
