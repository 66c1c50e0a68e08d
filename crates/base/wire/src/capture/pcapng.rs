//! The format of blocks: sections of interfaces and their packets.

use super::clock::Clock;
use super::fields::{Fields, Order};
use super::record::{BLOCK_LEN_MAX, Fault, INTERFACES_MAX, PACKET_LEN_MAX, Record, Step};
use crate::pcapng::LinkType;

/// First bytes of a file, in either byte order: the type of a section header.
pub(super) const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Type and length in front of a block's body, in bytes.
const HEAD_LEN: usize = 8;
/// The length behind it.
const TAIL_LEN: usize = 4;
/// Shortest block in bytes.
const BLOCK_LEN_MIN: u32 = (HEAD_LEN + TAIL_LEN) as u32;

const OPTION_RESOLUTION: u16 = 9;
const OPTION_OFFSET: u16 = 14;

/// The section that is being read: its byte order and its interfaces.
#[derive(Clone, Debug)]
pub(super) struct Section {
    order: Order,
    interfaces: Vec<Interface>,
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: LinkType,
    /// Longest that was taken of a packet, in bytes; 0 is without limit.
    snap_len: u32,
    clock: Clock,
}

impl Default for Section {
    /// Before the first section header, which states the byte order.
    fn default() -> Self {
        Self { order: Order::Little, interfaces: Vec::new() }
    }
}

/// The fields of a packet block in front of its data.
struct Packet {
    interface: u32,
    ticks: Option<u64>,
    len: u32,
    original_len: u32,
}

impl Section {
    /// The next block.
    pub(super) fn step(&mut self, bytes: &[u8]) -> Result<Step, Fault> {
        let Some((head, rest)) = bytes.split_first_chunk::<HEAD_LEN>() else {
            return Ok(Step::More(HEAD_LEN));
        };
        let [a, b, c, d, e, f, g, h] = *head;
        let kind = self.order.u32([a, b, c, d]);
        let order = match kind {
            SECTION => match rest.first_chunk() {
                Some(mark) => byte_order(*mark)?,
                None => return Ok(Step::More(HEAD_LEN + 4)),
            },
            _ => self.order,
        };
        let len = order.u32([e, f, g, h]);
        if len < BLOCK_LEN_MIN || !len.is_multiple_of(4) {
            return Err(Fault::BlockShape { kind, len });
        }
        if len > BLOCK_LEN_MAX {
            return match kind {
                SECTION | INTERFACE | OBSOLETE_PACKET | SIMPLE_PACKET | ENHANCED_PACKET => {
                    Err(Fault::BlockLength { len })
                }
                _ => Ok(Step::Skip(u64::from(len))),
            };
        }
        let Some(body) = bytes.get(HEAD_LEN..len as usize - TAIL_LEN) else {
            return Ok(Step::More(len as usize));
        };
        let Some(tail) = bytes[len as usize - TAIL_LEN..].first_chunk() else {
            return Ok(Step::More(len as usize));
        };
        let last = order.u32(*tail);
        if last != len {
            return Err(Fault::BlockEnds { first: len, last });
        }
        self.block(kind, order, body, len)
    }

    fn block(&mut self, kind: u32, order: Order, body: &[u8], len: u32) -> Result<Step, Fault> {
        let mut fields = Fields { order, rest: body };
        let shape = Fault::BlockShape { kind, len };
        let packet = match kind {
            SECTION => {
                self.begin(fields).ok_or(shape)??;
                return Ok(Step::Skip(u64::from(len)));
            }
            INTERFACE => {
                self.describe(fields).ok_or(shape)??;
                return Ok(Step::Skip(u64::from(len)));
            }
            ENHANCED_PACKET => enhanced(&mut fields),
            OBSOLETE_PACKET => obsolete(&mut fields),
            SIMPLE_PACKET => self.simple(&mut fields),
            _ => return Ok(Step::Skip(u64::from(len))),
        };
        let start = HEAD_LEN + body.len() - fields.rest.len();
        self.packet(&packet.ok_or(shape)?, start, fields.rest.len() as u32, len)
    }

    /// A section header: it ends the section before.
    fn begin(&mut self, mut fields: Fields<'_>) -> Option<Result<(), Fault>> {
        let (_mark, major, minor) = (fields.u32()?, fields.u16()?, fields.u16()?);
        if major != 1 {
            return Some(Err(Fault::Version { major, minor }));
        }
        self.order = fields.order;
        self.interfaces.clear();
        Some(Ok(()))
    }

    fn describe(&mut self, mut fields: Fields<'_>) -> Option<Result<(), Fault>> {
        let (number, _reserved, snap_len) = (fields.u16()?, fields.u16()?, fields.u32()?);
        if self.interfaces.len() == INTERFACES_MAX {
            return Some(Err(Fault::Interfaces));
        }
        let link_type = LinkType::from_number(number);
        let clock = clock(&mut fields);
        Some(clock.map(|clock| self.interfaces.push(Interface { link_type, snap_len, clock })))
    }

    /// A packet alone; its length is the smaller of the block's and the snap length.
    fn simple(&self, fields: &mut Fields<'_>) -> Option<Packet> {
        let original_len = fields.u32()?;
        let limit = self.interfaces.first().map_or(0, |interface| interface.snap_len);
        let limit = if limit == 0 { u32::MAX } else { limit };
        let len = original_len.min(limit).min(fields.rest.len() as u32);
        Some(Packet { interface: 0, ticks: None, len, original_len })
    }

    fn packet(&self, packet: &Packet, start: usize, room: u32, len: u32) -> Result<Step, Fault> {
        let Packet { interface, ticks, len: data_len, original_len } = *packet;
        if data_len > PACKET_LEN_MAX {
            return Err(Fault::PacketLength { len: data_len });
        }
        if data_len > room {
            return Err(Fault::Overfull { len: data_len, room });
        }
        let described = self.interfaces.len();
        let found = self.interfaces.get(interface as usize);
        let found = found.ok_or(Fault::Interface { interface, described })?;
        Ok(Step::Packet(Record {
            len: len as usize,
            data: start..start + data_len as usize,
            original_len: original_len.max(data_len),
            link_type: found.link_type,
            interface,
            at: ticks.and_then(|ticks| found.clock.at(ticks)),
            is_carried: false,
        }))
    }
}

fn enhanced(fields: &mut Fields<'_>) -> Option<Packet> {
    let interface = fields.u32()?;
    let ticks = Some(ticks(fields)?);
    Some(Packet { interface, ticks, len: fields.u32()?, original_len: fields.u32()? })
}

fn obsolete(fields: &mut Fields<'_>) -> Option<Packet> {
    let (interface, _drops) = (u32::from(fields.u16()?), fields.u16()?);
    let ticks = Some(ticks(fields)?);
    Some(Packet { interface, ticks, len: fields.u32()?, original_len: fields.u32()? })
}

fn ticks(fields: &mut Fields<'_>) -> Option<u64> {
    let (high, low) = (fields.u32()?, fields.u32()?);
    Some(u64::from(high) << 32 | u64::from(low))
}

/// The clock that an interface's options describe.
fn clock(options: &mut Fields<'_>) -> Result<Clock, Fault> {
    let mut clock = Clock::MICROSECONDS;
    let order = options.order;
    while let Some((code, value)) = options.option() {
        match (code, value) {
            (OPTION_RESOLUTION, &[resolution]) => clock = clock.with_resolution(resolution)?,
            (OPTION_OFFSET, value) => {
                if let Some(offset_s) = value.first_chunk() {
                    clock = clock.with_offset(order.i64(*offset_s));
                }
            }
            _ => {}
        }
    }
    Ok(clock)
}

/// Byte order by the mark of a section header.
fn byte_order(mark: [u8; 4]) -> Result<Order, Fault> {
    const MARK: u32 = 0x1a2b_3c4d;
    let orders = [Order::Big, Order::Little];
    let found = orders.into_iter().find(|order| order.u32(mark) == MARK);
    found.ok_or(Fault::ByteOrder(u32::from_be_bytes(mark)))
}
