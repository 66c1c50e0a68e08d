//! 802.11 frames as bytes.

use super::{
    AMSDU_MAX, Amsdu, AmsduError, AssociationId, AssociationRequest, AssociationResponse, Beacon,
    BlockAck, BlockAckReq, DURATION_MAX_US, Data, Direction, Elements, Error, Frame, Management,
    Payload, Qos, Sequence, Subframe, fcs, qos,
};
use crate::datagram;
use crate::ethernet::Mac;
use crate::reader::Reader;

/// First byte of frame control: version in bits 0-1, type in 2-3, subtype in 4-7.
mod control {
    pub(super) const ASSOCIATION_REQUEST: u8 = 0x00;
    pub(super) const ASSOCIATION_RESPONSE: u8 = 0x10;
    pub(super) const BEACON: u8 = 0x80;
    pub(super) const RTS: u8 = 0xb4;
    pub(super) const CTS: u8 = 0xc4;
    pub(super) const ACK: u8 = 0xd4;
    pub(super) const BLOCK_ACK_REQ: u8 = 0x84;
    pub(super) const BLOCK_ACK: u8 = 0x94;
    pub(super) const DATA: u8 = 0x08;
    pub(super) const QOS_DATA: u8 = 0x88;
}

/// Second byte of frame control.
mod flag {
    pub(super) const TO_DS: u8 = 0x01;
    pub(super) const FROM_DS: u8 = 0x02;
    pub(super) const MORE_FRAGMENTS: u8 = 0x04;
    pub(super) const RETRY: u8 = 0x08;
    pub(super) const PROTECTED: u8 = 0x40;
    /// In QoS data: HT Control is there.
    pub(super) const HT_CONTROL: u8 = 0x80;
}

/// Set in the two upper bits of an association identifier (clause 9.4.1.8).
const ASSOCIATION_ID_MARK: u16 = 0xc000;

/// Reads a frame without its check sequence ([`super::strip_fcs`] takes it off); returns the
/// payload of a data frame, the body of an A-MSDU, and for the others the bytes after their fields.
pub fn parse(bytes: &[u8]) -> Result<(Frame, &[u8]), Error> {
    let mut reader = Reader::new(bytes);
    let [kind, flags] = reader.array("frame control")?;
    if kind & 3 != 0 {
        return Err(Error::Version { version: kind & 3 });
    }
    if flags & flag::PROTECTED != 0 {
        return Err(Error::Flags { flags });
    }
    let duration_us = duration(reader.u16_le("duration")?)?;
    let head = Head { flags, duration_us };
    let frame = match kind {
        control::DATA | control::QOS_DATA => head.data(kind, &mut reader)?,
        control::BLOCK_ACK => {
            let addresses = [mac(&mut reader)?, mac(&mut reader)?];
            Frame::BlockAck(BlockAck::parse(addresses, duration_us, &mut reader)?)
        }
        control::BLOCK_ACK_REQ => {
            let addresses = [mac(&mut reader)?, mac(&mut reader)?];
            Frame::BlockAckReq(BlockAckReq::parse(addresses, duration_us, &mut reader)?)
        }
        control::ACK => Frame::Ack { receiver: mac(&mut reader)?, duration_us },
        control::CTS => Frame::Cts { receiver: mac(&mut reader)?, duration_us },
        control::RTS => {
            let (receiver, transmitter) = (mac(&mut reader)?, mac(&mut reader)?);
            Frame::Rts { receiver, transmitter, duration_us }
        }
        control::BEACON => head.beacon(&mut reader)?,
        control::ASSOCIATION_REQUEST => head.association_request(&mut reader)?,
        control::ASSOCIATION_RESPONSE => head.association_response(&mut reader)?,
        _ => return Err(Error::Kind { kind: kind >> 2 & 3, subtype: kind >> 4 }),
    };
    Ok((frame, reader.rest()))
}

fn duration(value: u16) -> Result<u16, Error> {
    if value > DURATION_MAX_US { Err(Error::Duration { value }) } else { Ok(value) }
}

fn mac(reader: &mut Reader<'_>) -> Result<Mac, Error> {
    Ok(Mac(reader.array("address")?))
}

/// First fields of all frames after the type.
#[derive(Clone, Copy)]
struct Head {
    flags: u8,
    duration_us: u16,
}

impl Head {
    fn retry(self) -> bool {
        self.flags & flag::RETRY != 0
    }

    fn data(self, kind: u8, reader: &mut Reader<'_>) -> Result<Frame, Error> {
        let direction = match self.flags & (flag::TO_DS | flag::FROM_DS) {
            flag::TO_DS => Direction::ToAp,
            flag::FROM_DS => Direction::FromAp,
            _ => return Err(Error::Flags { flags: self.flags }),
        };
        let addresses = [mac(reader)?, mac(reader)?, mac(reader)?];
        let sequence = self.sequence(reader)?;
        let (retry, duration_us) = (self.retry(), self.duration_us);
        let mut control = None;
        if kind == control::QOS_DATA {
            if self.flags & flag::HT_CONTROL != 0 {
                return Err(Error::Flags { flags: self.flags });
            }
            let (qos, is_amsdu) = Qos::parse(reader)?;
            if is_amsdu {
                let (bssid, station) = amsdu_addresses(direction, addresses)?;
                let amsdu = Amsdu { direction, retry, duration_us, bssid, station, sequence, qos };
                return Ok(Frame::Amsdu(amsdu));
            }
            control = Some(qos);
        }
        let [first, second, third] = addresses;
        let (bssid, source, destination) = match direction {
            Direction::ToAp => (first, second, third),
            Direction::FromAp => (second, third, first),
        };
        Ok(Frame::Data(Data {
            direction,
            retry,
            duration_us,
            bssid,
            source,
            destination,
            sequence,
            qos: control,
            ether_type: qos::parse_llc(reader)?,
        }))
    }

    fn sequence(self, reader: &mut Reader<'_>) -> Result<Sequence, Error> {
        let word = reader.u16_le("sequence control")?;
        let (number, more) = ((word & 0xf) as u8, self.flags & flag::MORE_FRAGMENTS != 0);
        if more || number > 0 {
            return Err(Error::Fragment { number, more });
        }
        Ok(Sequence::new(word >> 4))
    }

    fn management(self, reader: &mut Reader<'_>) -> Result<Management, Error> {
        if self.flags & (flag::TO_DS | flag::FROM_DS) != 0 {
            return Err(Error::Flags { flags: self.flags });
        }
        let (destination, source, bssid) = (mac(reader)?, mac(reader)?, mac(reader)?);
        let sequence = self.sequence(reader)?;
        let (retry, duration_us) = (self.retry(), self.duration_us);
        Ok(Management { retry, duration_us, destination, source, bssid, sequence })
    }

    fn beacon(self, reader: &mut Reader<'_>) -> Result<Frame, Error> {
        Ok(Frame::Beacon(Beacon {
            header: self.management(reader)?,
            timestamp_us: reader.u64_le("timestamp")?,
            interval_tu: reader.u16_le("beacon interval")?,
            capabilities: reader.u16_le("capabilities")?,
            elements: Elements::parse(reader)?,
        }))
    }

    fn association_request(self, reader: &mut Reader<'_>) -> Result<Frame, Error> {
        Ok(Frame::AssociationRequest(AssociationRequest {
            header: self.management(reader)?,
            capabilities: reader.u16_le("capabilities")?,
            listen_interval: reader.u16_le("listen interval")?,
            elements: Elements::parse(reader)?,
        }))
    }

    fn association_response(self, reader: &mut Reader<'_>) -> Result<Frame, Error> {
        Ok(Frame::AssociationResponse(AssociationResponse {
            header: self.management(reader)?,
            capabilities: reader.u16_le("capabilities")?,
            status: reader.u16_le("status code")?,
            id: association_id(reader.u16_le("association id")?)?,
            elements: Elements::parse(reader)?,
        }))
    }
}

/// The access point's and the station's address of an A-MSDU.
fn amsdu_addresses(direction: Direction, addresses: [Mac; 3]) -> Result<(Mac, Mac), Error> {
    let [first, second, third] = addresses;
    let (bssid, station) = match direction {
        Direction::ToAp => (first, second),
        Direction::FromAp => (second, first),
    };
    if third == bssid { Ok((bssid, station)) } else { Err(Error::AmsduAddress { found: third.0 }) }
}

fn association_id(word: u16) -> Result<Option<AssociationId>, Error> {
    match word & !ASSOCIATION_ID_MARK {
        0 => Ok(None),
        number => AssociationId::new(number).map(Some).ok_or(Error::AssociationId { number }),
    }
}

/// Appends a frame as it is on the air, check sequence included; a data frame without payload.
pub fn on_air(frame: &Frame, out: &mut Vec<u8>) {
    let start = out.len();
    frame.write(out);
    fcs::append(out, start);
}

/// Appends a data frame with its payload as it is on the air, check sequence included.
///
/// # Errors
/// Errors of [`datagram::Datagram::write`]; then nothing is appended.
pub fn data_frame(
    header: &Data,
    payload: &Payload<'_>,
    out: &mut Vec<u8>,
) -> Result<(), datagram::Error> {
    let start = out.len();
    Frame::Data(*header).write(out);
    if let Err(error) = payload.write(out) {
        out.truncate(start);
        return Err(error);
    }
    fcs::append(out, start);
    Ok(())
}

/// Appends an A-MSDU with its payloads as it is on the air, check sequence included.
///
/// # Errors
/// [`AmsduError`]; then nothing is appended.
pub fn amsdu_frame<'a>(
    header: &Amsdu,
    parts: impl Iterator<Item = (Subframe, Payload<'a>)>,
    out: &mut Vec<u8>,
) -> Result<(), AmsduError> {
    let start = out.len();
    Frame::Amsdu(*header).write(out);
    let written = amsdu_body(parts, out);
    if written.is_err() {
        out.truncate(start);
    } else {
        fcs::append(out, start);
    }
    written
}

fn amsdu_body<'a>(
    parts: impl Iterator<Item = (Subframe, Payload<'a>)>,
    out: &mut Vec<u8>,
) -> Result<(), AmsduError> {
    let body = out.len();
    for (subframe, payload) in parts {
        out.resize(body + (out.len() - body).next_multiple_of(4), 0);
        subframe.write(&payload, out)?;
        let len = out.len() - body;
        if len > AMSDU_MAX {
            return Err(AmsduError::Length { len });
        }
    }
    Ok(())
}

impl Frame {
    /// Appends the frame without check sequence; the payload of a data frame comes after it.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Data(data) => data.write(out),
            Self::Amsdu(amsdu) => amsdu.write(out),
            Self::BlockAck(block_ack) => {
                let BlockAck { receiver, transmitter, duration_us, .. } = *block_ack;
                short(out, control::BLOCK_ACK, duration_us, &[receiver, transmitter]);
                block_ack.write(out);
            }
            Self::BlockAckReq(request) => {
                let BlockAckReq { receiver, transmitter, duration_us, .. } = *request;
                short(out, control::BLOCK_ACK_REQ, duration_us, &[receiver, transmitter]);
                request.write(out);
            }
            Self::Ack { receiver, duration_us } => {
                short(out, control::ACK, *duration_us, &[*receiver]);
            }
            Self::Cts { receiver, duration_us } => {
                short(out, control::CTS, *duration_us, &[*receiver]);
            }
            Self::Rts { receiver, transmitter, duration_us } => {
                short(out, control::RTS, *duration_us, &[*receiver, *transmitter]);
            }
            Self::Beacon(beacon) => beacon.write(out),
            Self::AssociationRequest(request) => request.write(out),
            Self::AssociationResponse(response) => response.write(out),
        }
    }
}

/// Appends frame control without flags, duration and addresses.
fn short(out: &mut Vec<u8>, control: u8, duration_us: u16, addresses: &[Mac]) {
    head(out, [control, 0], duration_us, addresses);
}

fn head(out: &mut Vec<u8>, control: [u8; 2], duration_us: u16, addresses: &[Mac]) {
    out.extend(control);
    out.extend(duration_us.min(DURATION_MAX_US).to_le_bytes());
    for address in addresses {
        out.extend(address.0);
    }
}

fn retry_flag(retry: bool) -> u8 {
    if retry { flag::RETRY } else { 0 }
}

impl Sequence {
    fn write(self, out: &mut Vec<u8>) {
        out.extend((self.number() << 4).to_le_bytes());
    }
}

impl Data {
    fn write(&self, out: &mut Vec<u8>) {
        let (direction, addresses) = match self.direction {
            Direction::ToAp => (flag::TO_DS, [self.bssid, self.source, self.destination]),
            Direction::FromAp => (flag::FROM_DS, [self.destination, self.bssid, self.source]),
        };
        let kind = if self.qos.is_some() { control::QOS_DATA } else { control::DATA };
        head(out, [kind, direction | retry_flag(self.retry)], self.duration_us, &addresses);
        self.sequence.write(out);
        if let Some(qos) = self.qos {
            qos.write(false, out);
        }
        qos::write_llc(self.ether_type, out);
    }
}

impl Amsdu {
    fn write(&self, out: &mut Vec<u8>) {
        let (direction, addresses) = match self.direction {
            Direction::ToAp => (flag::TO_DS, [self.bssid, self.station, self.bssid]),
            Direction::FromAp => (flag::FROM_DS, [self.station, self.bssid, self.bssid]),
        };
        let control = [control::QOS_DATA, direction | retry_flag(self.retry)];
        head(out, control, self.duration_us, &addresses);
        self.sequence.write(out);
        self.qos.write(true, out);
    }
}

impl Management {
    fn write(&self, out: &mut Vec<u8>, control: u8) {
        let addresses = [self.destination, self.source, self.bssid];
        head(out, [control, retry_flag(self.retry)], self.duration_us, &addresses);
        self.sequence.write(out);
    }
}

impl Beacon {
    fn write(&self, out: &mut Vec<u8>) {
        self.header.write(out, control::BEACON);
        out.extend(self.timestamp_us.to_le_bytes());
        out.extend(self.interval_tu.to_le_bytes());
        out.extend(self.capabilities.to_le_bytes());
        self.elements.write(out);
    }
}

impl AssociationRequest {
    fn write(&self, out: &mut Vec<u8>) {
        self.header.write(out, control::ASSOCIATION_REQUEST);
        out.extend(self.capabilities.to_le_bytes());
        out.extend(self.listen_interval.to_le_bytes());
        self.elements.write(out);
    }
}

impl AssociationResponse {
    fn write(&self, out: &mut Vec<u8>) {
        self.header.write(out, control::ASSOCIATION_RESPONSE);
        out.extend(self.capabilities.to_le_bytes());
        out.extend(self.status.to_le_bytes());
        let id = self.id.map_or(0, |id| id.number() | ASSOCIATION_ID_MARK);
        out.extend(id.to_le_bytes());
        self.elements.write(out);
    }
}
