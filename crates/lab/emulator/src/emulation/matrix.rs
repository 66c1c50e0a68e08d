//! The kernel's congestion controls over a grid of emulated links: [`Grid`] says what is run,
//! [`run`] runs it in real time and, if wanted, in the simulator, [`Findings`] are the means.
//!
//! A grid has the law, the company of its flow and the axes of the scenario's sweep. For each of
//! their combinations the scenario is copied with the flows that it needs, which sockets of the
//! kernel carry ([`fairwave_scenario::Emulate::kernel_laws`]).

mod algorithms;
mod axis;
mod company;
mod figures;
mod findings;
mod grid;
mod measure;
mod page;
mod run;

pub use algorithms::{AlgorithmError, algorithms};
pub use axis::axis;
pub use company::Company;
pub use findings::{Findings, Left};
pub use grid::{Asked, Entry, Error, Flows, Grid, Half};
pub use measure::{FIGURES, Figure};
pub use page::Context;
pub use run::{Fault, Progress, Running, run};

/// Axes that a matrix has beside those of its scenario.
const HOST: &str = "host";
const LAW: &str = "law";
const COMPANY: &str = "company";

/// The hosts, as the axis has them.
const KERNEL: &str = "kernel";
const SIMULATOR: &str = "simulator";

/// Each once, in the order in which they come.
fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut list = Vec::new();
    for one in all {
        if !list.contains(&one) {
            list.push(one);
        }
    }
    list
}
