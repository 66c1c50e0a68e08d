//! Where packets enter the world: the same for real ones and for those of a record.

use crate::packet::{Description, Endpoints};
use fairwave_sim::{Error, Simulation};
use fairwave_units::Instant;
use fairwave_wire::datagram::Contents;

/// Gives packets their numbers, and tells captures what is in them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entrance {
    count: u16,
}

impl Entrance {
    /// A packet enters at `now`; `bytes` are the packet as far as it is kept.
    ///
    /// # Errors
    /// As [`Simulation::inject`].
    pub(crate) fn inject(
        &mut self,
        simulation: &mut Simulation<'_>,
        now: Instant,
        description: &Description,
        bytes: &[u8],
        handle: u64,
        ends: Endpoints,
    ) -> Result<(), Error> {
        // Many kernels number few of their packets, and IPv6 has no numbers: captures could not
        // tell packets apart by those.
        self.count = self.count.wrapping_add(1);
        let packet = description.enter(handle, ends, self.count);
        if simulation.shows_packets() {
            simulation.note_contents(&packet, Contents::Packet(bytes.to_vec()));
        }
        simulation.inject(&packet, now)
    }
}
