//! Windows of flows on the kernel's sockets at each ACK: the table `windows.parquet`.
//!
//! A thread reads them from the tracepoint `tcp_probe` and writes the table, so that the emulator's
//! loop waits for neither.

#[cfg(feature = "kernel-cc")]
mod connections;
#[cfg(feature = "kernel-cc")]
mod trace;
mod wanted;

pub use wanted::{NoWindows, Windows, check_windows};
pub(crate) use wanted::{Tracing, Wanted};

use std::path::Path;

/// Starts tracing into `directory`. Returns once the kernel traces.
#[cfg(feature = "kernel-cc")]
pub(crate) fn trace(wanted: &Wanted<'_>, directory: &Path) -> Result<Box<dyn Tracing>, NoWindows> {
    let connections = connections::Connections::of(wanted)?;
    Ok(Box::new(trace::Trace::start(connections, directory)?))
}

/// A program without the loader of BPF programs cannot trace.
#[cfg(not(feature = "kernel-cc"))]
pub(crate) fn trace(_: &Wanted<'_>, _: &Path) -> Result<Box<dyn Tracing>, NoWindows> {
    Err(NoWindows::NotBuilt)
}
