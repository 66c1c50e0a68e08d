//! Fields in order.

use super::message::{FORMAT, LABEL};
use super::{
    Ack, Block, Blocks, Body, Challenge, Claim, Data, Echo, Error, HEAD_LEN, Header, Join, Leave,
    MAX_BLOCKS, MAX_LEN, Reason, SEQ_LIMIT, Side,
};
use crate::reader::Reader;
use crate::seal::{Key, TAG_LEN, Tag};
use std::num::{NonZeroU32, NonZeroU64};

const JOIN: u8 = 1;
const CHALLENGE: u8 = 2;
const RESPONSE: u8 = 3;
const DATA: u8 = 4;
const ACK: u8 = 5;
const LEAVE: u8 = 6;
const LEFT: u8 = 7;
const RESET: u8 = 8;

/// Sent by the opener.
const OPENER: u8 = 1;
/// Of a join: opens the connection.
const OPEN: u8 = 1 << 1;
/// Of data: the stream ends behind it.
const FIN: u8 = 1 << 2;

/// Bytes of an acknowledgement's body before its blocks.
const ACK_LEN: usize = 8 + 4 + 8 + 4 + 1;
const BLOCK_LEN: usize = 8;

/// Reads a message, which is all of `bytes`.
///
/// # Errors
/// If the bytes are no message of this version.
pub fn parse(bytes: &[u8]) -> Result<Claim<'_>, Error> {
    if bytes.len() > MAX_LEN {
        return Err(Error::TooLong { len: bytes.len(), most: MAX_LEN });
    }
    let (header, payload, seal) = read::<TAG_LEN>(bytes)?;
    Ok(Claim { header, payload, covered: &bytes[..bytes.len() - TAG_LEN], tag: Tag(seal) })
}

/// Reads a message without a seal and its payload, which are all of `bytes`: a message inside
/// something that is sealed as a whole.
///
/// # Errors
/// If the bytes are no message of this version.
pub fn parse_unsealed(bytes: &[u8]) -> Result<(Header, &[u8]), Error> {
    read::<0>(bytes).map(|(header, payload, [])| (header, payload))
}

/// Reads a message, its payload, and a seal of this length behind them.
fn read<const SEAL: usize>(bytes: &[u8]) -> Result<(Header, &[u8], [u8; SEAL]), Error> {
    let mut reader = Reader::new(bytes);
    FORMAT.read(&mut reader)?;
    let (kind, flags) = (reader.u8("kind")?, reader.u8("flags")?);
    let path = reader.u8("path")?;
    let connection = reader.u64_be("connection")?;
    let number = number(reader.u64_be("number")?, "number at offset 16")?;
    let sent_us = reader.u32_be("time of sending")?;
    let inside = reader.rest().len().saturating_sub(SEAL);
    let mut body = Reader::new(reader.take(inside, "body")?);
    let seal = reader.array("seal")?;
    let from = if flags & OPENER == 0 { Side::Acceptor } else { Side::Opener };
    let parsed = read_body(kind, flags & !OPENER, &mut body)?;
    let payload = body.rest();
    check_payload(&parsed, payload.len())?;
    Ok((Header { connection, from, path, number, sent_us, body: parsed }, payload, seal))
}

impl Header {
    /// Appends the message with its payload, sealed.
    ///
    /// # Errors
    /// [`Error::TooLong`]; [`Error::Range`] for sequence numbers of [`SEQ_LIMIT`] and above;
    /// [`Error::Trailing`] for payload behind something else than data. Then nothing is appended.
    pub fn write(&self, payload: &[u8], key: &Key, out: &mut Vec<u8>) -> Result<(), Error> {
        let start = out.len();
        self.write_unsealed(payload, out)?;
        let tag = key.tag(LABEL, &[&out[start..]]);
        out.extend(tag.0);
        Ok(())
    }

    /// Appends the message with its payload, without a seal.
    ///
    /// # Errors
    /// As [`Header::write`].
    pub fn write_unsealed(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        check_payload(&self.body, payload.len())?;
        let len = self.len_with(payload.len());
        if len > MAX_LEN {
            return Err(Error::TooLong { len, most: MAX_LEN });
        }
        FORMAT.write(out);
        out.extend([kind(&self.body), flags(self), self.path]);
        out.extend(self.connection.to_be_bytes());
        out.extend(self.number.get().to_be_bytes());
        out.extend(self.sent_us.to_be_bytes());
        write_body(&self.body, out);
        out.extend_from_slice(payload);
        Ok(())
    }

    /// Bytes that it takes with `payload` bytes of payload.
    pub fn len_with(&self, payload: usize) -> usize {
        len(&self.body) + payload
    }
}

fn number(number: u64, field: &'static str) -> Result<NonZeroU64, Error> {
    NonZeroU64::new(number).ok_or(Error::Range { field })
}

fn read_body(kind: u8, flags: u8, reader: &mut Reader<'_>) -> Result<Body, Error> {
    let allowed = match kind {
        JOIN => OPEN,
        DATA => FIN,
        _ => 0,
    };
    if flags & !allowed != 0 {
        return Err(Error::Flags { found: flags, kind });
    }
    Ok(match kind {
        JOIN => Body::Join(Join {
            open: flags & OPEN != 0,
            nonce: reader.u64_be("nonce")?,
            window: reader.u32_be("window")?,
        }),
        CHALLENGE => Body::Challenge(Challenge {
            nonce: reader.u64_be("nonce")?,
            answers: reader.u64_be("nonce answered")?,
            window: reader.u32_be("window")?,
        }),
        RESPONSE => Body::Response { answers: reader.u64_be("nonce answered")? },
        DATA => Body::Data(Data { seq: reader.u64_be("sequence")?, fin: flags & FIN != 0 }),
        ACK => Body::Ack(read_ack(reader)?),
        LEAVE => Body::Leave(read_leave(reader)?),
        LEFT => Body::Left(read_leave(reader)?),
        RESET => Body::Reset { reason: reason(reader.u8("reason")?)? },
        found => return Err(Error::Kind { found }),
    })
}

fn read_ack(reader: &mut Reader<'_>) -> Result<Ack, Error> {
    let cumulative = reader.u64_be("cumulative acknowledgement")?;
    let window = reader.u32_be("window")?;
    let number = NonZeroU64::new(reader.u64_be("number echoed")?);
    let sent_us = reader.u32_be("time echoed")?;
    if number.is_none() && sent_us != 0 {
        return Err(Error::Range { field: "time echoed of no message" });
    }
    let count = usize::from(reader.u8("count of blocks")?);
    if count > MAX_BLOCKS {
        return Err(Error::Range { field: "count of blocks" });
    }
    let mut blocks = Blocks::default();
    for _ in 0..count {
        let mut field =
            |name| NonZeroU32::new(reader.u32_be(name)?).ok_or(Error::Range { field: name });
        blocks
            .push(Block { offset: field("offset of a block")?, len: field("length of a block")? });
    }
    let echo = number.map(|number| Echo { number, sent_us });
    Ok(Ack { cumulative, window, echo, blocks })
}

fn read_leave(reader: &mut Reader<'_>) -> Result<Leave, Error> {
    Ok(Leave { path: reader.u8("path left")?, last: reader.u64_be("last number")? })
}

fn reason(number: u8) -> Result<Reason, Error> {
    Ok(match number {
        1 => Reason::Abort,
        2 => Reason::NotReading,
        3 => Reason::Violation,
        4 => Reason::NoPath,
        _ => return Err(Error::Range { field: "reason" }),
    })
}

fn reason_number(reason: Reason) -> u8 {
    match reason {
        Reason::Abort => 1,
        Reason::NotReading => 2,
        Reason::Violation => 3,
        Reason::NoPath => 4,
    }
}

/// Whether `body` may have `len` bytes of payload, and its numbers are in range.
fn check_payload(body: &Body, len: usize) -> Result<(), Error> {
    match body {
        Body::Data(data) if data.seq >= SEQ_LIMIT => Err(Error::Range { field: "sequence" }),
        Body::Data(data) if len == 0 && !data.fin => Err(Error::Range { field: "payload" }),
        Body::Data(_) => Ok(()),
        _ if len > 0 => Err(Error::Trailing { len, kind: kind(body) }),
        Body::Ack(ack) if ack.cumulative >= SEQ_LIMIT => {
            Err(Error::Range { field: "cumulative acknowledgement" })
        }
        _ => Ok(()),
    }
}

const fn kind(body: &Body) -> u8 {
    match body {
        Body::Join(_) => JOIN,
        Body::Challenge(_) => CHALLENGE,
        Body::Response { .. } => RESPONSE,
        Body::Data(_) => DATA,
        Body::Ack(_) => ACK,
        Body::Leave(_) => LEAVE,
        Body::Left(_) => LEFT,
        Body::Reset { .. } => RESET,
    }
}

fn flags(header: &Header) -> u8 {
    let from = if header.from == Side::Opener { OPENER } else { 0 };
    from | match header.body {
        Body::Join(Join { open: true, .. }) => OPEN,
        Body::Data(Data { fin: true, .. }) => FIN,
        _ => 0,
    }
}

/// Bytes of a message with this body and no payload.
fn len(body: &Body) -> usize {
    let inside = match body {
        Body::Join(_) => 12,
        Body::Challenge(_) => 20,
        Body::Response { .. } | Body::Data(_) => 8,
        Body::Ack(ack) => ACK_LEN + ack.blocks.len() * BLOCK_LEN,
        Body::Leave(_) | Body::Left(_) => 9,
        Body::Reset { .. } => 1,
    };
    HEAD_LEN + inside + TAG_LEN
}

fn write_body(body: &Body, out: &mut Vec<u8>) {
    match body {
        Body::Join(join) => {
            out.extend(join.nonce.to_be_bytes());
            out.extend(join.window.to_be_bytes());
        }
        Body::Challenge(challenge) => {
            out.extend(challenge.nonce.to_be_bytes());
            out.extend(challenge.answers.to_be_bytes());
            out.extend(challenge.window.to_be_bytes());
        }
        Body::Response { answers } => out.extend(answers.to_be_bytes()),
        Body::Data(data) => out.extend(data.seq.to_be_bytes()),
        Body::Ack(ack) => write_ack(ack, out),
        Body::Leave(leave) | Body::Left(leave) => {
            out.push(leave.path);
            out.extend(leave.last.to_be_bytes());
        }
        Body::Reset { reason } => out.push(reason_number(*reason)),
    }
}

fn write_ack(ack: &Ack, out: &mut Vec<u8>) {
    out.extend(ack.cumulative.to_be_bytes());
    out.extend(ack.window.to_be_bytes());
    out.extend(ack.echo.map_or(0, |echo| echo.number.get()).to_be_bytes());
    out.extend(ack.echo.map_or(0, |echo| echo.sent_us).to_be_bytes());
    out.push(ack.blocks.len() as u8);
    for block in ack.blocks.iter() {
        out.extend(block.offset.get().to_be_bytes());
        out.extend(block.len.get().to_be_bytes());
    }
}
