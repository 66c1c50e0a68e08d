//! DCCP packets as bytes (RFC 4340 sections 5.1 to 5.7 and 9).

use super::{HEADER_LEN_MAX, Header, Kind, Options, ResetCode, Seq48};
use crate::ipv4::{PAYLOAD_LEN_MAX, PROTOCOL_DCCP};
use crate::pseudo::Pseudo;
use crate::reader::{Reader, Truncated};
use thiserror::Error;

/// Reason for which bytes are no DCCP packet, or one cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes ended early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// A type that is reserved.
    #[error("type at offset 8 is {number}, the last known one is 9")]
    Type {
        /// The type stated.
        number: u8,
    },
    /// Short numbers where long ones are required.
    #[error("type {number} at offset 8 has short sequence numbers; only 2, 3 and 4 may")]
    Short {
        /// The type stated.
        number: u8,
    },
    /// A data offset inside the header or behind the packet.
    #[error("data offset at offset 4 is {stated} bytes; the header has {header}, the packet {len}")]
    DataOffset {
        /// The offset stated, in bytes.
        stated: usize,
        /// Fewest bytes of a header of this type.
        header: usize,
        /// Length of the packet in bytes.
        len: usize,
    },
    /// The packet was damaged.
    #[error("checksum at offset 6 is {found:#06x}, does not match the covered bytes")]
    Checksum {
        /// Length by the header.
        found: u16,
    },
    /// A checksum that claims to cover more data than there is.
    #[error("coverage at offset 5 is {coverage}, the application data have {payload} bytes only")]
    Coverage {
        /// The field's value.
        coverage: u8,
        /// Length of the data in bytes.
        payload: usize,
    },
    /// A field of four bits with a greater value.
    #[error("{field} is {value}, above 15")]
    Nibble {
        /// Which field.
        field: &'static str,
        /// Its value.
        value: u8,
    },
    /// A sequence number that does not fit a short header.
    #[error("sequence number {number} has more than 24 bits and the header is short")]
    ShortNumber {
        /// The number.
        number: Seq48,
    },
    /// Options that do not fit the room that the header states, or more than a header holds.
    #[error("options of {len} bytes do not fit, there is room for {room}")]
    OptionsLength {
        /// Their length in bytes.
        len: usize,
        /// The room in bytes.
        room: usize,
    },
    /// A longer packet than IPv4 carries.
    #[error("packet of {len} bytes does not fit, the limit is 65515")]
    PacketLength {
        /// The packet's length in bytes.
        len: usize,
    },
}

/// Result of [`parse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The header.
    pub header: Header,
    /// The options area, padding and all; [`super::Items`] reads it.
    pub options: &'a [u8],
    /// The application data area.
    pub payload: &'a [u8],
}

/// Reads a packet that fills `bytes` and checks its sum, in the order of RFC 4340 section 8.5,
/// step 1. Options are not looked into: one that is broken is no reason to refuse a packet.
pub fn parse(bytes: &[u8], pseudo: Pseudo) -> Result<Packet<'_>, Error> {
    let (packet, found) = fields(bytes)?;
    let Packet { header, payload, .. } = packet;
    let coverage = Error::Coverage { coverage: header.coverage, payload: payload.len() };
    let covered = header.covered(payload.len());
    // A coverage that is too large leaves nothing to check a sum over but everything.
    let end = bytes.len() - payload.len() + covered.unwrap_or(payload.len());
    if u16::try_from(bytes.len()).is_err() {
        return Err(Error::PacketLength { len: bytes.len() });
    }
    let rest = pseudo.sum(PROTOCOL_DCCP, bytes.len()).add(&bytes[..end]).finish();
    match (covered, rest) {
        (None, _) => Err(coverage),
        (Some(_), 0) => Ok(packet),
        (Some(_), _) => Err(Error::Checksum { found }),
    }
}

/// A packet and its checksum field, which is not checked.
pub(super) fn fields(bytes: &[u8]) -> Result<(Packet<'_>, u16), Error> {
    let mut reader = Reader::new(bytes);
    let source_port = reader.u16_be("source port")?;
    let destination_port = reader.u16_be("destination port")?;
    let stated = usize::from(reader.u8("data offset")?) * 4;
    let nibbles = reader.u8("ccval and coverage")?;
    let checksum = reader.u16_be("checksum")?;
    let byte = reader.u8("type")?;
    let (number, short) = (byte >> 1 & 0xf, byte & 1 == 0);
    if number > 9 {
        return Err(Error::Type { number });
    }
    if short && !matches!(number, 2..=4) {
        return Err(Error::Short { number });
    }
    let seq = if short {
        u24(&mut reader, "sequence number")?
    } else {
        reader.u8("reserved")?;
        u48(&mut reader, "sequence number")?
    };
    let kind = kind(&mut reader, number, short)?;
    let header_len = reader.offset();
    if stated < header_len || stated > bytes.len() {
        return Err(Error::DataOffset { stated, header: header_len, len: bytes.len() });
    }
    let options = reader.take(stated - header_len, "options")?;
    let header = Header {
        source_port,
        destination_port,
        ccval: nibbles >> 4,
        coverage: nibbles & 0xf,
        seq,
        short,
        kind,
        options_words: (options.len() / 4) as u8,
    };
    Ok((Packet { header, options, payload: reader.rest() }, checksum))
}

fn kind(reader: &mut Reader<'_>, number: u8, short: bool) -> Result<Kind, Truncated> {
    let ack = match (number, short) {
        (0 | 2, _) => Seq48::ZERO,
        (_, true) => {
            reader.u8("reserved")?;
            u24(reader, "acknowledgement number")?
        }
        (_, false) => {
            reader.u16_be("reserved")?;
            u48(reader, "acknowledgement number")?
        }
    };
    Ok(match number {
        0 => Kind::Request { service: reader.u32_be("service code")? },
        1 => Kind::Response { ack, service: reader.u32_be("service code")? },
        2 => Kind::Data,
        3 => Kind::Ack { ack },
        4 => Kind::DataAck { ack },
        5 => Kind::CloseReq { ack },
        6 => Kind::Close { ack },
        7 => {
            let [code, data @ ..] = reader.array::<4>("reset code")?;
            Kind::Reset { ack, code: ResetCode(code), data }
        }
        8 => Kind::Sync { ack },
        _ => Kind::SyncAck { ack },
    })
}

fn u24(reader: &mut Reader<'_>, field: &'static str) -> Result<Seq48, Truncated> {
    let [a, b, c] = reader.array(field)?;
    Ok(Seq48::new(u32::from_be_bytes([0, a, b, c]).into()))
}

fn u48(reader: &mut Reader<'_>, field: &'static str) -> Result<Seq48, Truncated> {
    let [a, b, c, d, e, f] = reader.array(field)?;
    Ok(Seq48::new(u64::from_be_bytes([0, 0, a, b, c, d, e, f])))
}

impl Header {
    /// Appends header, options with padding behind them, and payload, checksum included.
    ///
    /// # Errors
    /// Whatever of the fields has no place on the wire, and options that take more than
    /// [`Header::options_words`]; then nothing is appended.
    pub fn write(
        &self,
        out: &mut Vec<u8>,
        pseudo: Pseudo,
        options: &Options,
        payload: &[u8],
    ) -> Result<(), Error> {
        let start = self.write_unsummed(out, options, payload)?;
        let len = out.len() - start;
        let covered = self.covered(payload.len()).unwrap_or(payload.len());
        let end = out.len() - payload.len() + covered;
        let sum = pseudo.sum(PROTOCOL_DCCP, len).add(&out[start..end]).finish();
        out[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
        Ok(())
    }

    /// Appends everything with a checksum of zero; returns where it begins.
    pub(super) fn write_unsummed(
        &self,
        out: &mut Vec<u8>,
        options: &Options,
        payload: &[u8],
    ) -> Result<usize, Error> {
        self.writable(options.len(), payload.len())?;
        let start = out.len();
        out.extend(self.source_port.to_be_bytes());
        out.extend(self.destination_port.to_be_bytes());
        out.extend([(self.wire_len() / 4) as u8, self.ccval << 4 | self.coverage, 0, 0]);
        out.push(self.kind.number() << 1 | u8::from(!self.short));
        let seq = self.seq.value().to_be_bytes();
        if self.short {
            out.extend(&seq[5..]);
        } else {
            out.push(0);
            out.extend(&seq[2..]);
        }
        self.write_kind(out);
        out.extend(options.as_bytes());
        out.resize(start + self.wire_len(), 0);
        out.extend(payload);
        Ok(start)
    }

    fn write_kind(&self, out: &mut Vec<u8>) {
        if let Some(ack) = self.kind.ack() {
            // The reserved bits before the number are zero in both forms.
            let bytes = ack.value().to_be_bytes();
            out.extend(if self.short { &bytes[4..] } else { &bytes[..] });
        }
        match self.kind {
            Kind::Request { service } | Kind::Response { service, .. } => {
                out.extend(service.to_be_bytes());
            }
            Kind::Reset { code, data, .. } => {
                out.push(code.0);
                out.extend(data);
            }
            _ => {}
        }
    }

    fn writable(&self, options: usize, payload: usize) -> Result<(), Error> {
        for (field, value) in [("ccval", self.ccval), ("coverage", self.coverage)] {
            if value > 15 {
                return Err(Error::Nibble { field, value });
            }
        }
        if self.short && !self.kind.may_be_short() {
            return Err(Error::Short { number: self.kind.number() });
        }
        for number in [Some(self.seq), self.kind.ack()].into_iter().flatten() {
            if self.short && !number.is_short() {
                return Err(Error::ShortNumber { number });
            }
        }
        let fixed = self.kind.fixed_len(self.short);
        let room = (HEADER_LEN_MAX - fixed).min(4 * usize::from(self.options_words));
        if options > room || self.wire_len() > HEADER_LEN_MAX {
            return Err(Error::OptionsLength { len: options.max(self.wire_len() - fixed), room });
        }
        if self.covered(payload).is_none() {
            return Err(Error::Coverage { coverage: self.coverage, payload });
        }
        let len = self.wire_len() + payload;
        if len > PAYLOAD_LEN_MAX as usize {
            return Err(Error::PacketLength { len });
        }
        Ok(())
    }
}
