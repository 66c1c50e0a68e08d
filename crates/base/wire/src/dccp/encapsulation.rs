//! DCCP inside UDP (RFC 6773): the UDP checksum stands for the DCCP one, which is zero.

use super::codec::fields;
use super::{Error, Header, Options, Packet};
use crate::pseudo::Pseudo;
use crate::udp;
use thiserror::Error;

/// The UDP port at which a server listens by default (RFC 6773 section 3.8).
pub const UDP_PORT: u16 = 6511;

/// Offset of the checksum in a UDP header.
const UDP_CHECKSUM: usize = 6;

/// Reason for which bytes are no DCCP packet inside UDP, or one cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UdpError {
    /// The UDP datagram.
    #[error("udp: {0}")]
    Udp(#[from] udp::Error),
    /// No UDP checksum: here it is the only one (RFC 6773 section 3.3).
    #[error("checksum at offset 6 is zero; DCCP in UDP must have one")]
    NoChecksum,
    /// The DCCP packet; offsets count from its first byte.
    #[error("dccp: {0}")]
    Dccp(#[from] Error),
}

/// Reads a UDP datagram with a DCCP packet in it. The checksum of UDP is checked, that of DCCP
/// ignored (RFC 6773 section 3.3); its coverage must be possible all the same.
pub fn parse_udp(bytes: &[u8], pseudo: Pseudo) -> Result<(udp::Header, Packet<'_>), UdpError> {
    if bytes.get(UDP_CHECKSUM..UDP_CHECKSUM + 2) == Some(&[0, 0]) {
        return Err(UdpError::NoChecksum);
    }
    let (ports, inner) = udp::parse(bytes, pseudo)?;
    Ok((ports, parse_in_udp(inner)?))
}

/// Reads the DCCP packet that is the payload of a UDP datagram whose checksum was checked before,
/// such as by a kernel's socket.
pub fn parse_in_udp(payload: &[u8]) -> Result<Packet<'_>, Error> {
    let (packet, _) = fields(payload)?;
    let (coverage, payload) = (packet.header.coverage, packet.payload.len());
    match packet.header.covered(payload) {
        Some(_) => Ok(packet),
        None => Err(Error::Coverage { coverage, payload }),
    }
}

/// Appends a DCCP packet as the payload of a UDP datagram: without a checksum of its own.
///
/// # Errors
/// As [`Header::write`]; then nothing is appended.
pub fn write_in_udp(
    out: &mut Vec<u8>,
    header: &Header,
    options: &Options,
    payload: &[u8],
) -> Result<(), Error> {
    header.write_unsummed(out, options, payload).map(|_| ())
}

/// Appends a UDP datagram with a DCCP packet in it.
///
/// # Errors
/// As [`Header::write`], and a packet longer than UDP carries; then nothing is appended.
pub fn write_udp(
    out: &mut Vec<u8>,
    ports: udp::Header,
    header: &Header,
    pseudo: Pseudo,
    options: &Options,
    payload: &[u8],
) -> Result<(), UdpError> {
    let mut inner = Vec::with_capacity(header.wire_len() + payload.len());
    write_in_udp(&mut inner, header, options, payload)?;
    Ok(ports.write(out, pseudo, &inner)?)
}
