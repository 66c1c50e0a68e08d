//! DCCP packets (RFC 4340): header, options, and DCCP inside UDP (RFC 6773).
//!
//! A [`Header`] is small and `Copy`, because the simulator carries it with every datagram; of the
//! options it knows only how much room they take. The options themselves are [`Options`] beside
//! it, or the bytes that [`parse`] returns.

mod captured;
mod ccid3;
mod codec;
mod encapsulation;
mod option;
mod seq;
mod vector;

pub use captured::Captured;
pub use ccid3::{LossInterval, LossIntervals, SKIP_LENGTH_MAX};
pub use codec::{Error, Packet, parse};
pub use encapsulation::{UDP_PORT, UdpError, parse_in_udp, parse_udp, write_in_udp, write_udp};
pub use option::{Item, Items, OptionError, Options, Side, Value};
pub use seq::Seq48;
pub use vector::{Arrival, DropCode, Dropped, Runs};

/// Maximum length that [`parse`] and [`Header::write`] accept: data offset has eight bits and
/// counts words.
pub const HEADER_LEN_MAX: usize = 255 * 4;

/// Reason for which a connection was reset (RFC 4340 section 5.6, table 2). Every number is legal;
/// one without a meaning counts as [`ResetCode::UNSPECIFIED`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResetCode(pub u8);

impl ResetCode {
    /// No reason given.
    pub const UNSPECIFIED: Self = Self(0);
    /// A close in good order.
    pub const CLOSED: Self = Self(1);
    /// The sender gave up for lack of progress.
    pub const ABORTED: Self = Self(2);
    /// There is no such connection.
    pub const NO_CONNECTION: Self = Self(3);
    /// A valid packet of an unexpected type, which is the first byte of data.
    pub const PACKET_ERROR: Self = Self(4);
    /// An option that cannot be borne: its type, and two bytes of it.
    pub const OPTION_ERROR: Self = Self(5);
    /// A mandatory option could not be processed: its type, and two bytes of it.
    pub const MANDATORY_ERROR: Self = Self(6);
    /// No socket listens at the port.
    pub const CONNECTION_REFUSED: Self = Self(7);
    /// The port's service has another code.
    pub const BAD_SERVICE_CODE: Self = Self(8);
    /// No new connections now.
    pub const TOO_BUSY: Self = Self(9);
    /// The echoed cookie is wrong or missing.
    pub const BAD_INIT_COOKIE: Self = Self(10);
    /// The peer does not slow down as it must.
    pub const AGGRESSION_PENALTY: Self = Self(11);
    /// The UDP ports carry another connection already (RFC 6773 section 3.8).
    pub const ENCAPSULATED_PORT_REUSE: Self = Self(12);

    /// Its name in the RFC.
    pub const fn name(self) -> &'static str {
        match self.0 {
            1 => "Closed",
            2 => "Aborted",
            3 => "No Connection",
            4 => "Packet Error",
            5 => "Option Error",
            6 => "Mandatory Error",
            7 => "Connection Refused",
            8 => "Bad Service Code",
            9 => "Too Busy",
            10 => "Bad Init Cookie",
            11 => "Aggression Penalty",
            12 => "Encapsulated Port Reuse",
            _ => "Unspecified",
        }
    }
}

/// The type of a packet with the fields that belong to it (RFC 4340 sections 5.2 to 5.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A client opens a connection.
    Request {
        /// The service it wants.
        service: u32,
    },
    /// A server answers a request.
    Response {
        /// Number of the request.
        ack: Seq48,
        /// The service asked for.
        service: u32,
    },
    /// Application data.
    Data,
    /// An acknowledgement.
    Ack {
        /// The greatest number received.
        ack: Seq48,
    },
    /// Application data with an acknowledgement.
    DataAck {
        /// The greatest number received.
        ack: Seq48,
    },
    /// A server asks its client to close.
    CloseReq {
        /// The greatest number received.
        ack: Seq48,
    },
    /// An end closes.
    Close {
        /// The greatest number received.
        ack: Seq48,
    },
    /// The connection is over.
    Reset {
        /// The greatest number received.
        ack: Seq48,
        /// Reason.
        code: ResetCode,
        /// Data 1 to 3, as the code has it.
        data: [u8; 3],
    },
    /// Asks where the other end is.
    Sync {
        /// Number of the packet that made it necessary.
        ack: Seq48,
    },
    /// Answers a Sync.
    SyncAck {
        /// Number of the Sync.
        ack: Seq48,
    },
}

impl Kind {
    /// Its number (RFC 4340 section 5.1, table 1).
    pub const fn number(self) -> u8 {
        match self {
            Self::Request { .. } => 0,
            Self::Response { .. } => 1,
            Self::Data => 2,
            Self::Ack { .. } => 3,
            Self::DataAck { .. } => 4,
            Self::CloseReq { .. } => 5,
            Self::Close { .. } => 6,
            Self::Reset { .. } => 7,
            Self::Sync { .. } => 8,
            Self::SyncAck { .. } => 9,
        }
    }

    /// Its acknowledgement number; a request and plain data have none.
    pub const fn ack(self) -> Option<Seq48> {
        match self {
            Self::Request { .. } | Self::Data => None,
            Self::Response { ack, .. }
            | Self::Ack { ack }
            | Self::DataAck { ack }
            | Self::CloseReq { ack }
            | Self::Close { ack }
            | Self::Reset { ack, .. }
            | Self::Sync { ack }
            | Self::SyncAck { ack } => Some(ack),
        }
    }

    /// The same with another acknowledgement number, where it has one.
    #[must_use]
    pub const fn with_ack(mut self, number: Seq48) -> Self {
        match &mut self {
            Self::Request { .. } | Self::Data => {}
            Self::Response { ack, .. }
            | Self::Ack { ack }
            | Self::DataAck { ack }
            | Self::CloseReq { ack }
            | Self::Close { ack }
            | Self::Reset { ack, .. }
            | Self::Sync { ack }
            | Self::SyncAck { ack } => *ack = number,
        }
        self
    }

    /// Whether it may have short sequence numbers (RFC 4340 section 5.1).
    pub const fn may_be_short(self) -> bool {
        matches!(self, Self::Data | Self::Ack { .. } | Self::DataAck { .. })
    }

    /// Whether it is a data packet in the sense of the NDP Count (RFC 4340 section 7.7), with or
    /// without data.
    pub const fn is_data_packet(self) -> bool {
        matches!(
            self,
            Self::Request { .. } | Self::Response { .. } | Self::Data | Self::DataAck { .. }
        )
    }

    /// Bytes of a header without options.
    const fn fixed_len(self, short: bool) -> usize {
        let (generic, subheader) = if short { (12, 4) } else { (16, 8) };
        let ack = if self.ack().is_some() { subheader } else { 0 };
        let has_word =
            matches!(self, Self::Request { .. } | Self::Response { .. } | Self::Reset { .. });
        generic + ack + if has_word { 4 } else { 0 }
    }
}

/// A header without its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// For the sender's congestion control, at most 15; a window counter in CCID 3.
    pub ccval: u8,
    /// Checksum coverage, at most 15: 0 covers all data, n the first (n - 1) * 4 bytes
    /// (RFC 4340 section 9.2).
    pub coverage: u8,
    /// Sequence number; of a short header, the low 24 bits.
    pub seq: Seq48,
    /// Whether the numbers have 24 bits instead of 48; only data and acknowledgements may.
    pub short: bool,
    /// Type, with an acknowledgement number of as many bits.
    pub kind: Kind,
    /// Room for options, in words of four bytes.
    pub options_words: u8,
}

impl Header {
    /// Length on the wire in bytes, options included.
    pub const fn wire_len(&self) -> usize {
        self.kind.fixed_len(self.short) + 4 * self.options_words as usize
    }

    /// Number of `payload_len` bytes the checksum covers; `None` if it claims more than there are
    /// (RFC 4340 section 9.2).
    pub const fn covered(&self, payload_len: usize) -> Option<usize> {
        match self.coverage {
            0 => Some(payload_len),
            n => {
                let covered = (n as usize - 1) * 4;
                if covered <= payload_len { Some(covered) } else { None }
            }
        }
    }
}

#[cfg(test)]
mod tests;
