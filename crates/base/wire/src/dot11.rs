//! IEEE 802.11 frames (IEEE 802.11-2020 clause 9): the ones a basic service set needs.
//!
//! Data and QoS data frames with LLC/SNAP, A-MSDUs, ACK, compressed BlockAck, RTS, CTS, beacon,
//! and association request and response. Fragments, encrypted frames and everything else are
//! refused by name. [`on_air`], [`data_frame`] and [`amsdu_frame`] make the bytes of a capture:
//! frame check sequence included.

mod codec;
mod elements;
mod fcs;
mod payload;
mod qos;

pub use codec::{amsdu_frame, data_frame, on_air, parse};
pub use elements::{Elements, Rate, Rates, Ssid};
pub use fcs::{FCS_LEN, fcs, strip_fcs};
pub use payload::Payload;
pub use qos::{
    AMSDU_MAX, AckPolicy, Amsdu, AmsduError, Bitmap, BlockAck, BlockAckReq, Qos, Subframe,
    Subframes, Tid, subframes,
};

use crate::ethernet::{EtherType, Mac};
use crate::reader::Truncated;
use thiserror::Error;

/// Largest value of the Duration field in microseconds (clause 9.2.4.2).
pub const DURATION_MAX_US: u16 = 32_767;

/// Capability bit of an access point (clause 9.4.1.4).
pub const CAPABILITY_ESS: u16 = 0x0001;
/// Capability bit of short preambles (clause 9.4.1.4).
pub const CAPABILITY_SHORT_PREAMBLE: u16 = 0x0020;
/// Capability bit of short slots (clause 9.4.1.4).
pub const CAPABILITY_SHORT_SLOT: u16 = 0x0400;

/// A sequence number, 0..4096 (clause 9.2.4.4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sequence(u16);

impl Sequence {
    /// The sequence number congruent to `number` modulo 4096.
    pub const fn new(number: u16) -> Self {
        Self(number % 4096)
    }

    /// Its number.
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// An association identifier, 1..=2007 (clause 9.4.1.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AssociationId(u16);

impl AssociationId {
    /// The identifier of this number; `None` outside 1..=2007.
    pub const fn new(number: u16) -> Option<Self> {
        if number == 0 || number > 2007 { None } else { Some(Self(number)) }
    }

    /// Its number.
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// Direction of a data frame across the access point (clause 9.2.4.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From a station to its access point (To DS).
    ToAp,
    /// From the access point to a station or to all (From DS).
    FromAp,
}

/// The header of a data frame of one MSDU (clause 9.3.2.1) with its LLC/SNAP type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Its direction.
    pub direction: Direction,
    /// Retry bit.
    pub retry: bool,
    /// Duration field in microseconds, at most [`DURATION_MAX_US`].
    pub duration_us: u16,
    /// The access point's address.
    pub bssid: Mac,
    /// Source of the payload, perhaps beyond the access point.
    pub source: Mac,
    /// Destination of the payload, perhaps beyond the access point.
    pub destination: Mac,
    /// Sequence number.
    pub sequence: Sequence,
    /// QoS Control; `None` without.
    pub qos: Option<Qos>,
    /// Type of the payload.
    pub ether_type: EtherType,
}

/// The header of a management frame (clause 9.3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Management {
    /// Retry bit.
    pub retry: bool,
    /// Duration field in microseconds, at most [`DURATION_MAX_US`].
    pub duration_us: u16,
    /// Receiver.
    pub destination: Mac,
    /// Transmitter.
    pub source: Mac,
    /// The access point's address.
    pub bssid: Mac,
    /// Sequence number.
    pub sequence: Sequence,
}

/// A beacon (clause 9.3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beacon {
    /// Header.
    pub header: Management,
    /// The access point's clock in microseconds.
    pub timestamp_us: u64,
    /// Time between beacons in time units of 1024 microseconds.
    pub interval_tu: u16,
    /// Capability bits.
    pub capabilities: u16,
    /// Elements.
    pub elements: Elements,
}

/// A station asks to join (clause 9.3.3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssociationRequest {
    /// Header.
    pub header: Management,
    /// Capability bits.
    pub capabilities: u16,
    /// Longest sleep in beacon intervals.
    pub listen_interval: u16,
    /// Elements.
    pub elements: Elements,
}

/// The access point's answer (clause 9.3.3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssociationResponse {
    /// Header.
    pub header: Management,
    /// Capability bits.
    pub capabilities: u16,
    /// Status code; zero is success (clause 9.4.1.9).
    pub status: u16,
    /// The station's identifier; `None` if it was refused.
    pub id: Option<AssociationId>,
    /// Elements.
    pub elements: Elements,
}

/// A frame; the payload of a data frame is not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A data frame.
    Data(Data),
    /// A data frame whose body is an A-MSDU: see [`subframes`].
    Amsdu(Amsdu),
    /// A compressed block acknowledgement.
    BlockAck(BlockAck),
    /// A request for a compressed block acknowledgement.
    BlockAckReq(BlockAckReq),
    /// An acknowledgement (clause 9.3.1.4).
    Ack {
        /// The station that it answers.
        receiver: Mac,
        /// Duration field in microseconds, at most [`DURATION_MAX_US`].
        duration_us: u16,
    },
    /// Request to send (clause 9.3.1.2).
    Rts {
        /// The station that shall answer.
        receiver: Mac,
        /// Who asks.
        transmitter: Mac,
        /// Duration field in microseconds, at most [`DURATION_MAX_US`].
        duration_us: u16,
    },
    /// Clear to send (clause 9.3.1.3).
    Cts {
        /// The station that it answers.
        receiver: Mac,
        /// Duration field in microseconds, at most [`DURATION_MAX_US`].
        duration_us: u16,
    },
    /// A beacon.
    Beacon(Beacon),
    /// An association request.
    AssociationRequest(AssociationRequest),
    /// An association response.
    AssociationResponse(AssociationResponse),
}

/// Reason for which bytes are no frame for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes ended early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// No room for a frame check sequence.
    #[error("truncated frame check sequence: needs 4 bytes, has {have}")]
    NoFcs {
        /// Number of bytes.
        have: usize,
    },
    /// The frame was damaged.
    #[error("frame check sequence is {found:#010x}, should be {expected:#010x}")]
    Fcs {
        /// Value in the frame.
        found: u32,
        /// Value computed from its bytes.
        expected: u32,
    },
    /// A protocol version other than zero.
    #[error("protocol version at offset 0 is {version}, not 0")]
    Version {
        /// The version found.
        version: u8,
    },
    /// A type that Fairwave does not speak.
    #[error("frame type {kind} subtype {subtype} at offset 0 is not supported")]
    Kind {
        /// Type: 0 management, 1 control, 2 data.
        kind: u8,
        /// Subtype.
        subtype: u8,
    },
    /// Flags that Fairwave does not speak: both or neither of To DS and From DS, encryption, or
    /// HT Control.
    #[error("frame flags {flags:#04x} at offset 1 are not supported")]
    Flags {
        /// The second byte of frame control.
        flags: u8,
    },
    /// A fragment.
    #[error("fragment {number} at offset 22 (more fragments {more}) is not supported")]
    Fragment {
        /// Its number.
        number: u8,
        /// Whether others follow.
        more: bool,
    },
    /// A Duration field that is no duration.
    #[error("duration at offset 2 is {value:#06x}, above 32767 us")]
    Duration {
        /// The value found.
        value: u16,
    },
    /// The payload is not LLC/SNAP with an ether type.
    #[error("llc header at offset {offset} is not snap: {found:02x?}")]
    Llc {
        /// Its offset in bytes.
        offset: usize,
        /// The bytes found.
        found: [u8; 6],
    },
    /// A length where the SNAP header should hold a type.
    #[error("ether type at offset {offset} is {number:#06x}: below 0x0600 it is a length")]
    EtherType {
        /// Its offset in bytes.
        offset: usize,
        /// The number found.
        number: u16,
    },
    /// The third address of an A-MSDU is not the access point's.
    #[error("address at offset 16 of an A-MSDU is {found:02x?}, not that of the access point")]
    AmsduAddress {
        /// The bytes found.
        found: [u8; 6],
    },
    /// A block acknowledgement, or a request for one, other than the compressed.
    #[error("block ack control at offset 16 has type {number}, not 2")]
    BlockAckType {
        /// The type found.
        number: u16,
    },
    /// A bitmap of a length other than 64 and 256.
    #[error("starting sequence control at offset 18 has bitmap code {code}, neither 0 nor 4")]
    BlockAckBitmap {
        /// The code found, in place of a fragment number.
        code: u16,
    },
    /// An association identifier above 2007.
    #[error("association id at offset 28 is {number}, above 2007")]
    AssociationId {
        /// The number found.
        number: u16,
    },
    /// An element whose content is impossible for its kind.
    #[error("element {id} at offset {offset} has impossible content of {len} bytes")]
    Element {
        /// Its kind.
        id: u8,
        /// Its offset in the frame, in bytes.
        offset: usize,
        /// Its length in bytes.
        len: usize,
    },
}

#[cfg(test)]
mod tests;
