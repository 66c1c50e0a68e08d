//! Progress of a flow of DCCP.

use crate::traffic::progress;
use crate::traffic::stamp::Stamp;
use fairwave_dccp_host::Connection;
use fairwave_units::Instant;

/// A datagram that the sink's application has received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Time of its reception.
    pub(super) at: Instant,
    /// Its length.
    pub(super) bytes: u32,
    /// Its number and the time of its sending.
    pub(super) stamp: Option<Stamp>,
}

/// Progress of a flow, with the connection as each end has it.
pub(super) type Progress = progress::Progress<Arrival, Connection>;
