//! A packet as streams receive it.

use fairwave_units::Instant;
use fairwave_wire::ip;

/// A packet of a stream.
#[derive(Clone, Copy)]
pub(super) struct Arrival<'a> {
    pub(super) at: Instant,
    pub(super) packet: &'a ip::Packet<'a>,
    /// Number of its tunnel's network, if the tunnel has such; its kind is in the upper half.
    pub(super) network: Option<u64>,
    /// Whether its transport checksum is known to be wrong.
    pub(super) wrong: bool,
    /// Whether IP identifications of its sender are known to count the packets of several streams.
    pub(super) has_shared_ids: bool,
}
