//! What is traced, what comes of it, and why it cannot be.

use crate::emulation::flows::spec_of;
use crate::traffic::Load;
use fairwave_linux::clock::Clock;
use fairwave_netns::{Namespaces, Standing};
use fairwave_scenario::Scenario;
use fairwave_sim::world::World;
use fairwave_trace::{FlowId, NodeId};
use std::io;

/// What the table of windows holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Its rows.
    pub rows: u64,
    /// Segments without a row, as they came faster than the rows were taken.
    pub missed: u64,
}

/// Why windows cannot be traced.
#[derive(Debug, thiserror::Error)]
pub enum NoWindows {
    /// The program has no loader.
    #[error(
        "this fairwave cannot read windows at each ACK: build it with `cargo build --release \
         --features kernel-laws`; flows.cwnd_bytes has them every record.sample_every"
    )]
    NotBuilt,
    /// The user is nobody to the kernel's tracing.
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
    /// The kernel refused.
    #[cfg(feature = "kernel-laws")]
    #[error(transparent)]
    Refused(#[from] fairwave_bpf::Error),
    /// The table could not be written.
    #[error(transparent)]
    Table(#[from] fairwave_lab::results::Error),
    /// A namespace could not be asked for its number.
    #[error(transparent)]
    Namespaces(#[from] fairwave_netns::Error),
    /// There is no thread for it.
    #[error("a thread for the windows: {0}")]
    Thread(#[from] io::Error),
}

/// Says beforehand why windows of the kernel flows of `scenario` cannot be traced, as far as that
/// is known without trying.
///
/// # Errors
/// [`NoWindows`].
pub fn check_windows(
    scenario: &Scenario,
    world: &World,
    standing: Standing,
) -> Result<(), NoWindows> {
    if !cfg!(feature = "kernel-laws") {
        return Err(NoWindows::NotBuilt);
    }
    if standing == Standing::Inside {
        return Err(NoWindows::NotRoot);
    }
    let laws = scenario.kernel_laws();
    let is_connection = |id: &FlowId| {
        spec_of(world, *id, &laws).is_ok_and(|spec| matches!(spec.load, Load::Connection(_)))
    };
    match scenario.kernel_flows().iter().any(is_connection) {
        true => Ok(()),
        false => Err(NoWindows::NoConnection),
    }
}

/// Windows that are being traced.
pub(crate) trait Tracing {
    /// The run begins, with `clock` as its time.
    fn begin(&self, clock: Clock);

    /// Ends, and completes the table.
    fn end(self: Box<Self>) -> Result<Windows, NoWindows>;
}

/// Flows whose windows are wanted: those among `ids` that are connections.
#[cfg_attr(
    not(feature = "kernel-laws"),
    expect(dead_code, reason = "without its loader nothing looks at flows")
)]
pub(crate) struct Wanted<'a> {
    pub(crate) world: &'a World,
    pub(crate) ids: &'a [FlowId],
    pub(crate) namespaces: &'a Namespaces,
    /// The nodes of the namespaces.
    pub(crate) real: &'a [NodeId],
}
