//! Configuration of a connection.

use crate::ccid::{Ccid, Receiver, Sender};
use crate::{PathLimits, QueueLimits};
use core::fmt;
use fairwave_units::{Duration, Instant};
use fairwave_wire::seal::Key;

/// Makes the halves of congestion control profiles.
pub trait Profiles: Send {
    /// The sender's half of a profile, if there is one of this number.
    fn sender(&mut self, ccid: Ccid, now: Instant) -> Option<Box<dyn Sender>>;

    /// The receiver's half.
    fn receiver(&mut self, ccid: Ccid, now: Instant) -> Option<Box<dyn Receiver>>;
}

impl fmt::Debug for dyn Profiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Profiles")
    }
}

/// Parameters of a [`crate::Connection`].
#[derive(Clone, Debug)]
pub struct Config {
    /// Port of this end.
    pub local_port: u16,
    /// Port of the other end; a listener that has zero here learns it.
    pub remote_port: u16,
    /// Service code (RFC 4340 section 8.1.2) that a client asks for and a server offers.
    pub service: u32,
    /// Profiles for data sent from here, best first. Other than CCID 2 alone is negotiated.
    pub send_ccids: Vec<Ccid>,
    /// Profiles for data received here, best first.
    pub receive_ccids: Vec<Ccid>,
    /// Sequence Window of this end at the beginning, 32 to 2^46 - 1 (RFC 4340 section 7.5.2).
    pub sequence_window: u64,
    /// Maximum to which it is widened, to keep it at five times the packets in flight. A wide
    /// window is easier to hit for an attacker.
    pub sequence_window_max: u64,
    /// Whether to ask for short sequence numbers on data and acknowledgements sent from here.
    pub short_seqnos: bool,
    /// Whether this end can read ECN fields; if not, it says so (RFC 4340 section 12.1).
    pub ecn: bool,
    /// Whether to ask the other end for NDP Counts (RFC 4340 section 7.7).
    pub ask_ndp_count: bool,
    /// Checksum coverage of data sent from here, 0 to 15; other than 0, it is negotiated.
    pub coverage: u8,
    /// Minimum coverage of data accepted here, 0 to 15; 0 accepts covered data only.
    pub minimum_coverage: u8,
    /// Whether data sent from here carry a CRC that the other end has to check.
    pub data_checksum: bool,
    /// Whether data that fail that check are delivered with a note, instead of dropped.
    pub deliver_corrupt: bool,
    /// Largest application data of a packet in bytes.
    pub max_payload: u32,
    /// The send queue.
    pub queue: QueueLimits,
    /// Datagrams received and not taken; more are dropped and reported so.
    pub receive_queue: usize,
    /// Time for which a close waits for the send queue.
    pub linger: Duration,
    /// First wait for a Response; doubles up to [`Config::request_max`].
    pub retry_first: Duration,
    /// Longest wait between Requests.
    pub request_max: Duration,
    /// Longest wait between Closes, and acknowledgements of a Response.
    pub retry_max: Duration,
    /// Time at which a client gives up (RFC 4340 section 8.1.1: three minutes, for example).
    pub give_up: Duration,
    /// Maximum segment lifetime: two minutes (RFC 4340 section 3.4).
    pub max_segment_lifetime: Duration,
    /// Syncs a second in answer to invalid packets (RFC 4340 section 7.5.4).
    pub syncs_a_second: u32,
    /// Time without packets sent after which an open connection sends a Sync, to which the other
    /// end answers: a translator of addresses on the way keeps the connection in its table, and
    /// both ends know that the other one lives. `None` sends none.
    pub keep_alive: Option<Duration>,
    /// Sizes between which the largest packet that the path takes is searched; `None` does not
    /// search.
    pub path: Option<PathLimits>,
    /// Whether packets longer than the path takes may be fragmented on the way. If not, those that
    /// probes found too long are dropped (RFC 4340 section 14).
    pub is_fragmented: bool,
    /// With a key, a listener keeps no state before the handshake is complete, but sends an Init
    /// Cookie (RFC 4340 section 8.1.4).
    pub cookie: Option<Key>,
}

impl Default for Config {
    /// CCID 2 both ways, the initial value of every feature, times as the RFC has them.
    fn default() -> Self {
        Self {
            local_port: 0,
            remote_port: 0,
            service: 0,
            send_ccids: vec![Ccid::TCP_LIKE],
            receive_ccids: vec![Ccid::TCP_LIKE],
            sequence_window: 100,
            sequence_window_max: 1 << 16,
            short_seqnos: false,
            ecn: true,
            ask_ndp_count: false,
            coverage: 0,
            minimum_coverage: 0,
            data_checksum: false,
            deliver_corrupt: false,
            max_payload: 1400,
            queue: QueueLimits::default(),
            receive_queue: 1000,
            linger: Duration::from_secs(2),
            retry_first: Duration::from_secs(1),
            request_max: Duration::from_secs(64),
            retry_max: Duration::from_secs(64),
            give_up: Duration::from_secs(180),
            max_segment_lifetime: Duration::from_secs(120),
            syncs_a_second: 8,
            keep_alive: None,
            path: None,
            is_fragmented: true,
            cookie: None,
        }
    }
}
