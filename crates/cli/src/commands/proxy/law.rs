//! The law with targets, TCP-AV in the kernel.

use crate::outcome::Failure;
use fairwave_bpf::{Aims, Store, Target};
use fairwave_proxy::Aim;
use fairwave_units::BitRate;
use std::io;
use std::path::Path;

/// The law where it is loaded; `None` where it is not, or where this user may not set targets.
pub(crate) fn loaded(pin: Option<&Path>) -> Result<Option<Box<dyn Aim>>, Failure> {
    let store = Store::at(pin);
    if !rustix::process::geteuid().is_root() || !Aims::are_loaded(&store) {
        return Ok(None);
    }
    let aims = Aims::open(&store)?;
    Ok(Some(Box::new(Law(aims))))
}

struct Law(Aims);

impl Aim for Law {
    fn law(&self) -> &str {
        Aims::LAW
    }

    /// A loss never leaves less than Reno would: ahead of its target, the law alone falls to two
    /// segments (docs/models/tcp-av.md).
    fn set(&mut self, cookie: u64, rate: Option<BitRate>) -> io::Result<()> {
        let target = rate.map(|rate| Target { rate, cap: false, floor: true });
        self.0.set(cookie, target).map_err(io::Error::other)
    }
}
