//! What packets of flows carry beside their lengths, as bytes for captures.
//!
//! Nothing of this is done in a run that captures nothing.

use fairwave_wire::datagram::{Contents, Piece};
use fairwave_wire::rtp;

/// An RTP packet: its header, and the pattern where the datagram with this identification has it.
pub(super) fn media(header: &rtp::Header, payload_bytes: u32, id: u16) -> Contents {
    let position = (u32::from(id) << 16) + rtp::HEADER_LEN as u32;
    let payload = Piece::Pattern { position, len: payload_bytes };
    Contents::Payload(vec![Piece::Bytes(header.bytes().to_vec()), payload])
}
