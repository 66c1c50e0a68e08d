//! The kernel's congestion control algorithms over a grid of emulated links. [`Grid`] defines the
//! runs, [`run`] makes them in real time and optionally in the simulator, [`Findings`] are the
//! means.
//!
//! The axes of a grid are the algorithm, its competing flows and the axes of the scenario's
//! sweep. For each combination the scenario is copied with the flows that it needs, which use
//! sockets of the kernel ([`fairwave_scenario::Emulate::kernel_congestion_control`]).

mod algorithms;
mod axis;
mod competing;
mod figures;
mod findings;
mod grid;
mod measure;
mod page;
mod run;

pub use algorithms::{AlgorithmError, algorithms};
pub use axis::axis;
pub use competing::Competing;
pub use findings::{Findings, Left};
pub use grid::{Entry, Error, Flows, Grid, Half, MatrixRequest};
pub use measure::{FIGURES, Figure};
pub use page::Context;
pub use run::{Fault, Progress, Running, run};

/// Additional axes of a matrix.
const HOST: &str = "host";
const ALGORITHM: &str = "algorithm";
const COMPETING: &str = "company";

/// Values of the axis of hosts.
const KERNEL: &str = "kernel";
const SIMULATOR: &str = "simulator";

/// The distinct items, in the order of their first occurrence.
fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut list = Vec::new();
    for one in all {
        if !list.contains(&one) {
            list.push(one);
        }
    }
    list
}
