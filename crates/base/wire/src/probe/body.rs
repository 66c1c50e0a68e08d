//! The bodies, by kind.

use super::{Chunk, Error, HEAD_LEN, Limits, MAX_REPORT_LEN, Message, Order, Record, Refusal};
use crate::reader::Reader;
use crate::seal::TAG_LEN;
use fairwave_units::{BitRate, Duration, Instant};

const HELLO: u8 = 1;
const CHALLENGE: u8 = 2;
const START: u8 = 3;
pub(super) const ACCEPT: u8 = 4;
const DATA: u8 = 5;
const END: u8 = 6;
const REPORT: u8 = 7;
const DONE: u8 = 8;
pub(super) const REFUSE: u8 = 9;
const FETCH: u8 = 10;
const SENT: u8 = 11;

/// Bytes of a report before its records.
const REPORT_HEAD_LEN: usize = 20;

pub(super) const fn kind(message: &Message) -> u8 {
    match message {
        Message::Hello { .. } => HELLO,
        Message::Challenge { .. } => CHALLENGE,
        Message::Start { .. } => START,
        Message::Accept { .. } => ACCEPT,
        Message::Refuse { .. } => REFUSE,
        Message::Data { .. } => DATA,
        Message::End { .. } => END,
        Message::Report(_) => REPORT,
        Message::Done => DONE,
        Message::Fetch(_) => FETCH,
        Message::Sent { .. } => SENT,
    }
}

pub(super) fn write(message: &Message, out: &mut Vec<u8>) -> Result<(), Error> {
    match message {
        Message::Hello { nonce } => out.extend(nonce.to_be_bytes()),
        Message::Challenge { cookie } => out.extend(cookie),
        Message::Start { nonce, cookie, wanted } => {
            out.extend(nonce.to_be_bytes());
            out.extend(cookie);
            write_limits(wanted, out);
        }
        Message::Accept { granted } => write_limits(granted, out),
        Message::Refuse { reason } => out.push(match reason {
            Refusal::Busy => 1,
            Refusal::Cookie => 2,
        }),
        Message::Data { train, number, sent } => {
            out.extend(train.to_be_bytes());
            out.extend(number.to_be_bytes());
            out.extend(sent.as_nanos().to_be_bytes());
        }
        Message::End { train, sent, chunk } => {
            out.extend(train.to_be_bytes());
            out.extend(sent.to_be_bytes());
            out.extend(chunk.to_be_bytes());
        }
        Message::Report(chunk) => return write_report(chunk, out),
        Message::Done => {}
        Message::Fetch(order) => write_order(order, out),
        Message::Sent { train, packets } => {
            out.extend(train.to_be_bytes());
            out.extend(packets.to_be_bytes());
        }
    }
    Ok(())
}

pub(super) fn read(kind: u8, reader: &mut Reader<'_>) -> Result<Message, Error> {
    Ok(match kind {
        HELLO => Message::Hello { nonce: reader.u64_be("nonce")? },
        CHALLENGE => Message::Challenge { cookie: reader.array("cookie")? },
        START => Message::Start {
            nonce: reader.u64_be("nonce")?,
            cookie: reader.array("cookie")?,
            wanted: read_limits(reader)?,
        },
        ACCEPT => Message::Accept { granted: read_limits(reader)? },
        REFUSE => Message::Refuse {
            reason: match reader.u8("reason")? {
                1 => Refusal::Busy,
                2 => Refusal::Cookie,
                _ => return Err(Error::Range { field: "reason" }),
            },
        },
        DATA => Message::Data {
            train: reader.u16_be("train")?,
            number: reader.u32_be("number")?,
            sent: Instant::from_nanos(reader.u64_be("sent")?),
        },
        END => Message::End {
            train: reader.u16_be("train")?,
            sent: reader.u32_be("sent")?,
            chunk: reader.u16_be("chunk")?,
        },
        REPORT => Message::Report(read_report(reader)?),
        DONE => Message::Done,
        FETCH => Message::Fetch(read_order(reader)?),
        SENT => Message::Sent { train: reader.u16_be("train")?, packets: reader.u32_be("sent")? },
        found => return Err(Error::Kind { found }),
    })
}

fn write_limits(limits: &Limits, out: &mut Vec<u8>) {
    out.extend(limits.rate.0.to_be_bytes());
    out.extend(limits.packets.to_be_bytes());
    out.extend(limits.duration.as_nanos().to_be_bytes());
}

fn read_limits(reader: &mut Reader<'_>) -> Result<Limits, Error> {
    Ok(Limits {
        rate: BitRate(reader.u64_be("rate")?),
        packets: reader.u32_be("packets")?,
        duration: Duration::from_nanos(reader.u64_be("duration")?),
    })
}

fn write_order(order: &Order, out: &mut Vec<u8>) {
    out.extend(order.train.to_be_bytes());
    out.extend(order.payload_bytes.to_be_bytes());
    out.extend(order.packets.to_be_bytes());
    out.extend(order.spaced.to_be_bytes());
    out.extend(order.interval.as_nanos().to_be_bytes());
    out.extend(order.rate.0.to_be_bytes());
}

fn read_order(reader: &mut Reader<'_>) -> Result<Order, Error> {
    Ok(Order {
        train: reader.u16_be("train")?,
        payload_bytes: reader.u16_be("payload")?,
        packets: reader.u32_be("packets")?,
        spaced: reader.u32_be("spaced")?,
        interval: Duration::from_nanos(reader.u64_be("interval")?),
        rate: BitRate(reader.u64_be("rate")?),
    })
}

/// A record as two numbers: how far its number is from the next in turn, and the time since the
/// record before. Both are short for a train that comes in order.
fn steps(before: Option<Record>, record: Record) -> Result<[u64; 2], Error> {
    let (expected, since) = match before {
        Some(before) => (i64::from(before.number) + 1, before.arrived.as_nanos()),
        None => (0, 0),
    };
    let field = "order of arrivals";
    let time = record.arrived.as_nanos().checked_sub(since).ok_or(Error::Range { field })?;
    Ok([zigzag(i64::from(record.number) - expected), time])
}

/// The record that [`steps`] describe.
fn step(before: Option<Record>, [jump, time]: [u64; 2]) -> Result<Record, Error> {
    let (expected, since) = match before {
        Some(before) => (i64::from(before.number) + 1, before.arrived.as_nanos()),
        None => (0, 0),
    };
    let number = expected.checked_add(unzigzag(jump)).and_then(|n| u32::try_from(n).ok());
    let number = number.ok_or(Error::Range { field: "record number" })?;
    let arrived = since.checked_add(time).ok_or(Error::Range { field: "arrival" })?;
    Ok(Record { number, arrived: Instant::from_nanos(arrived) })
}

fn write_report(chunk: &Chunk, out: &mut Vec<u8>) -> Result<(), Error> {
    let field = "number of records";
    let count = u16::try_from(chunk.records.len()).map_err(|_| Error::Range { field })?;
    for field in [chunk.train, chunk.chunk, chunk.chunks, count] {
        out.extend(field.to_be_bytes());
    }
    // The first record in full, so that every chunk can be read alone.
    let first = chunk.records.first().copied();
    let base = first.unwrap_or(Record { number: 0, arrived: Instant::ZERO });
    out.extend(base.number.to_be_bytes());
    out.extend(base.arrived.as_nanos().to_be_bytes());
    let mut before = first;
    for record in chunk.records.iter().skip(1) {
        for number in steps(before, *record)? {
            write_varint(number, out);
        }
        before = Some(*record);
    }
    Ok(())
}

fn read_report(reader: &mut Reader<'_>) -> Result<Chunk, Error> {
    let train = reader.u16_be("train")?;
    let chunk = reader.u16_be("chunk")?;
    let chunks = reader.u16_be("chunks")?;
    let count = usize::from(reader.u16_be("count")?);
    let number = reader.u32_be("first number")?;
    let first = Record { number, arrived: Instant::from_nanos(reader.u64_be("first arrival")?) };
    // A record takes two bytes at least: more than those that are there are not reserved.
    let mut records = Vec::with_capacity(count.min(1 + reader.rest().len() / 2));
    if count > 0 {
        records.push(first);
    }
    while records.len() < count {
        let numbers = [read_varint(reader, "record")?, read_varint(reader, "record")?];
        records.push(step(records.last().copied(), numbers)?);
    }
    Ok(Chunk { train, chunk, chunks, records })
}

/// Number of `records`, at least one if there is one, fit a [`Message::Report`] of
/// [`MAX_REPORT_LEN`].
pub fn records_that_fit(records: &[Record]) -> usize {
    let mut room = MAX_REPORT_LEN - HEAD_LEN - REPORT_HEAD_LEN - TAG_LEN;
    let mut fit = records.len().min(1);
    while let Some(record) = records.get(fit) {
        // An arrival out of order ends the chunk; the next states its first in full.
        let Ok(numbers) = steps(Some(records[fit - 1]), *record) else { break };
        let bytes: usize = numbers.map(varint_len).iter().sum();
        let Some(left) = room.checked_sub(bytes) else { break };
        room = left;
        fit += 1;
    }
    fit
}

const fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

const fn unzigzag(n: u64) -> i64 {
    (n >> 1) as i64 ^ -((n & 1) as i64)
}

/// Seven bits a byte, the lowest first, the top bit set in all but the last (LEB128).
fn write_varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

const fn varint_len(n: u64) -> usize {
    (64 - (n | 1).leading_zeros() as usize).div_ceil(7)
}

fn read_varint(reader: &mut Reader<'_>, field: &'static str) -> Result<u64, Error> {
    let mut n = 0;
    for shift in (0..64).step_by(7) {
        let byte = reader.u8(field)?;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return Err(Error::Range { field });
        }
        n |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(n);
        }
    }
    Err(Error::Range { field })
}
