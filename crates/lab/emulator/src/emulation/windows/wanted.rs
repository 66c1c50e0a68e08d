//! Request to trace windows, its result, and its errors.

use crate::emulation::flows::{Choices, spec_of};
use crate::traffic::Load;
use fairwave_linux::clock::Clock;
use fairwave_netns::{Namespaces, Standing};
use fairwave_scenario::Scenario;
use fairwave_sim::world::World;
use fairwave_trace::{FlowId, NodeId};
use std::io;

/// Totals of the table of windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Its rows.
    pub rows: u64,
    /// Segments without a row, as they arrived faster than they were read.
    pub missed: u64,
}

/// Errors of tracing windows.
#[derive(Debug, thiserror::Error)]
pub enum NoWindows {
    /// The program was built without the loader.
    #[error(
        "this fairwave cannot read windows at each ACK: build it with `cargo build --release \
         --features kernel-cc`; flows.cwnd_bytes has them every record.sample_every"
    )]
    NotBuilt,
    /// The process lacks the privilege to trace.
    #[error(
        "windows at each ACK need the machine's root (CAP_BPF and CAP_PERFMON); flows.cwnd_bytes \
         has them every record.sample_every"
    )]
    NotRoot,
    /// No flow is a connection of the kernel.
    #[error(
        "no flow of TCP is on the kernel's sockets; name one with --kernel-flows or in \
         emulate.kernel_flows"
    )]
    NoConnection,
    /// The kernel refused the program.
    #[cfg(feature = "kernel-cc")]
    #[error(transparent)]
    Refused(#[from] fairwave_bpf::Error),
    /// The table could not be written.
    #[error(transparent)]
    Table(#[from] fairwave_lab::results::Error),
    /// The number of a namespace could not be read.
    #[error(transparent)]
    Namespaces(#[from] fairwave_netns::Error),
    /// There is no thread for it.
    #[error("a thread for the windows: {0}")]
    Thread(#[from] io::Error),
}

/// Checks beforehand whether windows of the kernel flows of `scenario` can be traced, as far as
/// this is known without an attempt.
///
/// # Errors
/// [`NoWindows`].
pub fn check_windows(
    scenario: &Scenario,
    world: &World,
    standing: Standing,
) -> Result<(), NoWindows> {
    if !cfg!(feature = "kernel-cc") {
        return Err(NoWindows::NotBuilt);
    }
    if standing == Standing::Inside {
        return Err(NoWindows::NotRoot);
    }
    let choices = Choices::of(scenario);
    let is_connection = |id: &FlowId| {
        spec_of(world, *id, &choices).is_ok_and(|spec| matches!(spec.load, Load::Connection(_)))
    };
    match scenario.kernel_flows().iter().any(is_connection) {
        true => Ok(()),
        false => Err(NoWindows::NoConnection),
    }
}

/// Tracing in progress.
pub(crate) trait Tracing {
    /// Marks the beginning of the run, whose time is that of `clock`.
    fn begin(&self, clock: Clock);

    /// Ends tracing, and completes the table.
    fn end(self: Box<Self>) -> Result<Windows, NoWindows>;
}

/// Request for the windows of those flows among `ids` that are connections.
#[cfg_attr(
    not(feature = "kernel-cc"),
    expect(dead_code, reason = "without its loader nothing looks at flows")
)]
pub(crate) struct Wanted<'a> {
    pub(crate) world: &'a World,
    pub(crate) ids: &'a [FlowId],
    pub(crate) namespaces: &'a Namespaces,
    /// The nodes of the namespaces.
    pub(crate) real: &'a [NodeId],
    pub(crate) choices: &'a Choices,
}
