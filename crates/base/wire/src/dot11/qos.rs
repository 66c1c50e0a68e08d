//! QoS data: the QoS Control field, A-MSDUs and the block acknowledgement (IEEE 802.11-2020
//! clauses 9.2.4.5, 9.3.2.2 and 9.3.1.8).

use super::{Direction, Error, Payload, Sequence};
use crate::datagram;
use crate::ethernet::{EtherType, Mac};
use crate::reader::Reader;
use thiserror::Error as ThisError;

/// A traffic identifier, 0..16; those of EDCA are user priorities, 0..8 (clause 9.2.4.5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tid(u8);

impl Tid {
    /// The identifier of this number; `None` above 15.
    pub const fn new(number: u8) -> Option<Self> {
        if number > 15 { None } else { Some(Self(number)) }
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// Acknowledgement policy of a frame (clause 9.2.4.5.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckPolicy {
    /// By an ACK, or within an A-MPDU by a BlockAck.
    #[default]
    Normal,
    /// Not at all.
    None,
    /// Neither by an ACK nor now: of power-save multi-poll.
    NotExplicit,
    /// On request by a BlockAckReq.
    Block,
}

/// The QoS Control field; of its upper byte nothing is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Qos {
    /// Traffic identifier of the frame.
    pub tid: Tid,
    /// Its acknowledgement policy.
    pub ack_policy: AckPolicy,
}

/// A-MSDU Present, bit 7 of QoS Control.
const AMSDU_PRESENT: u16 = 0x80;

impl Qos {
    /// Reads the field; also whether an A-MSDU follows.
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<(Self, bool), Error> {
        let word = reader.u16_le("qos control")?;
        let ack_policy = match word >> 5 & 3 {
            0 => AckPolicy::Normal,
            1 => AckPolicy::None,
            2 => AckPolicy::NotExplicit,
            _ => AckPolicy::Block,
        };
        let tid = Tid((word & 0xf) as u8);
        Ok((Self { tid, ack_policy }, word & AMSDU_PRESENT != 0))
    }

    pub(super) fn write(self, is_amsdu: bool, out: &mut Vec<u8>) {
        let policy = match self.ack_policy {
            AckPolicy::Normal => 0,
            AckPolicy::None => 1,
            AckPolicy::NotExplicit => 2,
            AckPolicy::Block => 3,
        };
        let present = if is_amsdu { AMSDU_PRESENT } else { 0 };
        let word = u16::from(self.tid.0) | policy << 5 | present;
        out.extend(word.to_le_bytes());
    }
}

/// The header of a QoS data frame whose body is an A-MSDU (clause 9.3.2.2). It names no source
/// and destination: each subframe has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amsdu {
    /// Its direction.
    pub direction: Direction,
    /// Retry bit.
    pub retry: bool,
    /// Duration field in microseconds, at most [`super::DURATION_MAX_US`].
    pub duration_us: u16,
    /// The access point's address.
    pub bssid: Mac,
    /// The station's address.
    pub station: Mac,
    /// Sequence number.
    pub sequence: Sequence,
    /// QoS Control.
    pub qos: Qos,
}

/// The header of an A-MSDU subframe with the LLC/SNAP type of its MSDU (clause 9.3.2.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subframe {
    /// Destination of the payload.
    pub destination: Mac,
    /// Source of the payload.
    pub source: Mac,
    /// Type of the payload.
    pub ether_type: EtherType,
}

/// Maximum number of bytes of an A-MSDU (table 9-25).
pub const AMSDU_MAX: usize = 11_454;

/// Reason for which an A-MSDU cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
pub enum AmsduError {
    /// A datagram has no form on the wire.
    #[error(transparent)]
    Datagram(#[from] datagram::Error),
    /// More than [`AMSDU_MAX`].
    #[error("an A-MSDU of {len} bytes, above 11454")]
    Length {
        /// Number of bytes that it would have.
        len: usize,
    },
}

/// LLC with SNAP, encapsulated Ethernet (IEEE 802-2014 clause 9.2; RFC 1042).
const LLC_SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];

/// Appends LLC/SNAP.
pub(super) fn write_llc(ether_type: EtherType, out: &mut Vec<u8>) {
    out.extend(LLC_SNAP);
    out.extend(ether_type.number().to_be_bytes());
}

/// Reads LLC/SNAP.
pub(super) fn parse_llc(reader: &mut Reader<'_>) -> Result<EtherType, Error> {
    let offset = reader.offset();
    let found = reader.array("llc header")?;
    if found != LLC_SNAP {
        return Err(Error::Llc { offset, found });
    }
    let offset = reader.offset();
    let number = reader.u16_be("ether type")?;
    EtherType::new(number).ok_or(Error::EtherType { offset, number })
}

impl Subframe {
    /// Appends the subframe with its payload, without padding.
    pub(super) fn write(
        self,
        payload: &Payload<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), datagram::Error> {
        out.extend(self.destination.0);
        out.extend(self.source.0);
        let length = out.len();
        out.extend([0; 2]);
        write_llc(self.ether_type, out);
        payload.write(out)?;
        let msdu = (out.len() - length - 2) as u16;
        out[length..length + 2].copy_from_slice(&msdu.to_be_bytes());
        Ok(())
    }
}

/// The subframes of an A-MSDU, from the body that [`super::parse`] left; each with its payload.
/// Offsets in errors count from the start of the body, and of LLC from the start of the MSDU.
/// After an error there is nothing more.
pub fn subframes(body: &[u8]) -> Subframes<'_> {
    Subframes { reader: Reader::new(body) }
}

/// See [`subframes`].
#[derive(Clone, Debug)]
pub struct Subframes<'a> {
    reader: Reader<'a>,
}

impl<'a> Subframes<'a> {
    fn read(&mut self) -> Result<(Subframe, &'a [u8]), Error> {
        let reader = &mut self.reader;
        let destination = Mac(reader.array("subframe destination")?);
        let source = Mac(reader.array("subframe source")?);
        let len = usize::from(reader.u16_be("subframe length")?);
        let mut msdu = Reader::new(reader.take(len, "subframe")?);
        let ether_type = parse_llc(&mut msdu)?;
        if !reader.is_empty() {
            reader.align(4, "subframe padding")?;
        }
        Ok((Subframe { destination, source, ether_type }, msdu.rest()))
    }
}

impl<'a> Iterator for Subframes<'a> {
    type Item = Result<(Subframe, &'a [u8]), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_empty() {
            return None;
        }
        let read = self.read();
        if read.is_err() {
            self.reader = Reader::new(&[]);
        }
        Some(read)
    }
}

/// MPDUs acknowledged by a block acknowledgement, one bit for each from its start on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bitmap {
    /// Of 64 MPDUs, the first in the lowest bit.
    Of64(u64),
    /// Of 256 MPDUs, the first 64 in the first word (802.11ax-2021 clause 9.3.1.8.2).
    Of256([u64; 4]),
}

/// A compressed block acknowledgement (clause 9.3.1.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAck {
    /// The station that it answers.
    pub receiver: Mac,
    /// Who answers.
    pub transmitter: Mac,
    /// Duration field in microseconds, at most [`super::DURATION_MAX_US`].
    pub duration_us: u16,
    /// Traffic identifier of the MPDUs.
    pub tid: Tid,
    /// Sequence number of the first MPDU of the bitmap.
    pub start: Sequence,
    /// Which arrived.
    pub bitmap: Bitmap,
}

/// A request for a compressed block acknowledgement (clause 9.3.1.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAckReq {
    /// The station that shall answer.
    pub receiver: Mac,
    /// Who asks.
    pub transmitter: Mac,
    /// Duration field in microseconds, at most [`super::DURATION_MAX_US`].
    pub duration_us: u16,
    /// Traffic identifier of the MPDUs.
    pub tid: Tid,
    /// Sequence number of the first MPDU asked about: the receiver waits for none before it.
    pub start: Sequence,
}

impl BlockAckReq {
    /// Reads the fields after the addresses.
    pub(super) fn parse(
        addresses: [Mac; 2],
        duration_us: u16,
        reader: &mut Reader<'_>,
    ) -> Result<Self, Error> {
        let [receiver, transmitter] = addresses;
        let (tid, start, _) = compressed(reader)?;
        Ok(Self { receiver, transmitter, duration_us, tid, start })
    }

    /// Appends the fields after the addresses.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        write_compressed(self.tid, self.start, 0, out);
    }
}

/// Reads the BA or BAR Control field of the compressed variant, and the starting sequence control:
/// TID, starting sequence number and Fragment Number.
fn compressed(reader: &mut Reader<'_>) -> Result<(Tid, Sequence, u16), Error> {
    let control = reader.u16_le("block ack control")?;
    if control & TYPE != COMPRESSED {
        return Err(Error::BlockAckType { number: (control & TYPE) >> 1 });
    }
    let start = reader.u16_le("starting sequence control")?;
    Ok((Tid((control >> 12) as u8), Sequence::new(start >> 4), start & 0xf))
}

/// Appends these fields.
fn write_compressed(tid: Tid, start: Sequence, fragment: u16, out: &mut Vec<u8>) {
    out.extend((COMPRESSED | u16::from(tid.0) << 12).to_le_bytes());
    out.extend((start.number() << 4 | fragment).to_le_bytes());
}

/// BA Type of BA Control, and BAR Type of BAR Control, bits 1 to 4: compressed is 2.
const TYPE: u16 = 0x001e;
const COMPRESSED: u16 = 2 << 1;

/// Fragment Number of the starting sequence control that says 256 bits; 64 bits is zero.
const BITS_256: u16 = 4;

impl BlockAck {
    /// Reads the fields after the addresses.
    pub(super) fn parse(
        addresses: [Mac; 2],
        duration_us: u16,
        reader: &mut Reader<'_>,
    ) -> Result<Self, Error> {
        let [receiver, transmitter] = addresses;
        let (tid, start, fragment) = compressed(reader)?;
        let bitmap = match fragment {
            0 => Bitmap::Of64(reader.u64_le("block ack bitmap")?),
            BITS_256 => {
                let mut words = [0; 4];
                for word in &mut words {
                    *word = reader.u64_le("block ack bitmap")?;
                }
                Bitmap::Of256(words)
            }
            code => return Err(Error::BlockAckBitmap { code }),
        };
        Ok(Self { receiver, transmitter, duration_us, tid, start, bitmap })
    }

    /// Appends the fields after the addresses.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let (fragment, words): (u16, &[u64]) = match &self.bitmap {
            Bitmap::Of64(word) => (0, core::slice::from_ref(word)),
            Bitmap::Of256(words) => (BITS_256, words),
        };
        write_compressed(self.tid, self.start, fragment, out);
        for word in words {
            out.extend(word.to_le_bytes());
        }
    }
}
