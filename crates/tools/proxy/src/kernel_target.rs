//! The congestion control algorithm with target rates, TCP-AV in the kernel.

use crate::TargetControl;
use fairwave_bpf::{Aims, Store, Target};
use fairwave_console::Failure;
use fairwave_units::BitRate;
use std::io;
use std::path::Path;

/// The algorithm if it is loaded; `None` if it is not, or if this user may not set targets.
pub(crate) fn loaded(pin: Option<&Path>) -> Result<Option<Box<dyn TargetControl>>, Failure> {
    let store = Store::at(pin);
    if !rustix::process::geteuid().is_root() || !Aims::are_loaded(&store) {
        return Ok(None);
    }
    let aims = Aims::open(&store).map_err(Failure::run)?;
    Ok(Some(Box::new(KernelTarget(aims))))
}

struct KernelTarget(Aims);

impl TargetControl for KernelTarget {
    fn kernel_target(&self) -> &str {
        Aims::ALGORITHM
    }

    /// Sets the target. A loss never leaves a smaller window than Reno's: a connection ahead of its
    /// target would otherwise fall to two segments (docs/models/tcp-av.md).
    fn set(&mut self, cookie: u64, rate: Option<BitRate>) -> io::Result<()> {
        let target = rate.map(|rate| Target { rate, cap: false, floor: true });
        self.0.set(cookie, target).map_err(io::Error::other)
    }
}
