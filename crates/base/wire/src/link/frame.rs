//! A frame of any link.

use super::content::Content;
use crate::ethernet::Mac;
use crate::reader::{Reader, Truncated};
use thiserror::Error;

/// A frame that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its 802.11 header, if it is a frame of the air.
    pub mpdu: Option<Mpdu>,
    /// The addresses of Ethernet or of the radio hop: destination and source.
    pub addresses: Option<[Mac; 2]>,
    pub(super) packets: Packets<'a>,
}

/// Fields that distinguish an MPDU from others and from its own retransmissions (802.11-2020 clause
/// 9.2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mpdu {
    /// Address 1: the receiver.
    pub receiver: Mac,
    /// Address 2: the transmitter.
    pub transmitter: Mac,
    /// Traffic identifier of QoS data; sequence numbers are counted for each.
    pub tid: Option<u8>,
    /// Sequence number, 0..4096.
    pub sequence: u16,
    /// Fragment number, 0..16.
    pub fragment: u8,
    /// Retry bit: it was sent before.
    pub retry: bool,
    /// Whether the capturing radio says that the check sequence is wrong.
    pub bad_fcs: bool,
}

/// The IP packets of a frame, as an iterator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets<'a>(pub(super) Inner<'a>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inner<'a> {
    None,
    One(Captured<'a>),
    Amsdu(Captured<'a>),
}

/// Bytes of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured<'a> {
    /// Captured bytes, link padding included.
    pub bytes: &'a [u8],
    /// Length on the wire in bytes.
    pub wire_len: u32,
}

/// Reason for which a frame has no IP packet to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Closed {
    /// Cut before the IP header, or too short for its link.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// It carries another protocol.
    #[error("carries no IP packet but {0}")]
    NotIp(Content),
    /// An 802.11 frame that is no data frame: control, management, or data without payload.
    #[error("802.11 control or management")]
    Control,
    /// An encrypted 802.11 frame.
    #[error("encrypted")]
    Encrypted,
    /// A fragment of an MSDU other than the first.
    #[error("later fragment of an MSDU")]
    Fragment,
    /// A link header that breaks its own format.
    #[error("broken link header")]
    Broken,
    /// A link type that Fairwave does not open, by its number.
    #[error("link type {0} is not supported")]
    Unsupported(u16),
}

impl<'a> Frame<'a> {
    pub(crate) fn of(packet: Captured<'a>) -> Self {
        Self { mpdu: None, addresses: None, packets: Packets(Inner::One(packet)) }
    }

    /// The IP packets within, in their order.
    pub const fn packets(&self) -> Packets<'a> {
        self.packets
    }
}

impl<'a> Captured<'a> {
    pub(crate) fn new(bytes: &'a [u8], original_len: u32) -> Self {
        let wire_len = original_len.max(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        Self { bytes, wire_len }
    }

    /// Without its first bytes.
    pub(crate) fn skip(self, len: usize) -> Result<Self, Truncated> {
        let mut reader = Reader::new(self.bytes);
        reader.take(len, "link header")?;
        Ok(Self { bytes: reader.rest(), wire_len: self.wire_len.saturating_sub(len as u32) })
    }

    /// Without its last bytes on the wire, which may not have been captured.
    pub(super) fn shorten(self, len: u32) -> Self {
        let wire_len = self.wire_len.saturating_sub(len);
        Self { bytes: &self.bytes[..self.bytes.len().min(wire_len as usize)], wire_len }
    }
}
