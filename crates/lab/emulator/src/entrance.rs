//! Entry of packets into the world, both real ones and those of a record.

use crate::packet::{Description, Endpoints};
use fairwave_sim::{Error, Simulation};
use fairwave_units::Instant;
use fairwave_wire::datagram::Contents;

/// Numbers packets, and passes their bytes to captures.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entrance {
    count: u16,
}

impl Entrance {
    /// Lets a packet enter at `now`; `bytes` is its recorded part.
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
        // The IP identification does not suffice: many kernels set it in few packets, and IPv6 has
        // none. Captures need a number that distinguishes packets.
        self.count = self.count.wrapping_add(1);
        let packet = description.enter(handle, ends, self.count);
        if simulation.shows_packets() {
            simulation.note_contents(&packet, Contents::Packet(bytes.to_vec()));
        }
        simulation.inject(&packet, now)
    }
}
