//! The kernel's reports on qdiscs, classes and filters.
//!
//! Options are kept as they are: their layout is the kind's own.

use crate::netlink::{DONE, ERROR, Netlink};
use netlink_packet_core::{NlaBuffer, NlasIterator};
use std::io;

/// `RTM_NEWQDISC`, `RTM_NEWTCLASS` and `RTM_NEWTFILTER`.
pub(crate) const QDISC: u16 = 36;
pub(crate) const CLASS: u16 = 40;
pub(crate) const FILTER: u16 = 44;
/// `TCA_KIND`, `TCA_OPTIONS` and `TCA_STATS2`.
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
const STATS: u16 = 7;
/// `TCA_STATS_BASIC` and `TCA_STATS_QUEUE`.
const BASIC: u16 = 1;
const QUEUE: u16 = 3;
/// Bytes of `struct tcmsg`, behind which attributes stand.
const HEADER: usize = 20;

/// The kernel's report on one object.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) index: u32,
    pub(crate) handle: u32,
    pub(crate) parent: u32,
    pub(crate) kind: String,
    pub(crate) options: Vec<u8>,
    /// Bytes that were sent.
    pub(crate) bytes: u64,
    /// Packets that wait.
    pub(crate) waiting: u32,
}

/// A dump of objects of a type, after its request.
pub(crate) fn dump(netlink: &Netlink, of_type: u16) -> io::Result<Vec<Report>> {
    let mut all = Vec::new();
    loop {
        for (found, body) in netlink.raw_answers()? {
            match found {
                DONE => return Ok(all),
                ERROR => {
                    let code = body.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
                    return Err(io::Error::from_raw_os_error(-code));
                }
                _ if found == of_type => all.extend(read_tcmsg(&body)),
                _ => {}
            }
        }
    }
}

/// Reads a `struct tcmsg` with its attributes.
fn read_tcmsg(body: &[u8]) -> Option<Report> {
    let attributes = body.get(HEADER..)?;
    let word = |at: usize| Some(u32::from_ne_bytes(*body.get(at..)?.first_chunk()?));
    let kind = String::from_utf8(attribute(attributes, KIND).unwrap_or_default()).ok()?;
    let stats = attribute(attributes, STATS).unwrap_or_default();
    let counted = |kind: u16| attribute(&stats, kind).unwrap_or_default();
    Some(Report {
        index: word(4)?,
        handle: word(8)?,
        parent: word(12)?,
        kind: kind.trim_end_matches('\0').to_owned(),
        options: attribute(attributes, OPTIONS).unwrap_or_default(),
        bytes: counted(BASIC).first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes)),
        waiting: counted(QUEUE).first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes)),
    })
}

fn attribute(attributes: &[u8], kind: u16) -> Option<Vec<u8>> {
    let of_kind = |nla: &NlaBuffer<&[u8]>| nla.kind() == kind;
    let nla = NlasIterator::new(attributes).filter_map(Result::ok).find(of_kind)?;
    Some(nla.value().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute_of(kind: u16, value: &[u8]) -> Vec<u8> {
        let len = 4 + value.len() as u16;
        let mut bytes = [len.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// As the kernel reports a class: 1500 bytes in one packet were sent, and 7 packets wait.
    #[test]
    fn counters_of_a_class_are_read() {
        let basic = [&1500u64.to_ne_bytes()[..], &[1, 0, 0, 0, 0, 0, 0, 0]].concat();
        let queue: Vec<u8> = [7u32, 10_500, 0, 0, 0].map(u32::to_ne_bytes).concat();
        let stats = [attribute_of(BASIC, &basic), attribute_of(QUEUE, &queue)].concat();
        let header = [0u32, 3, 0x5343_0010, 0x5343_0001, 0].map(u32::to_ne_bytes).concat();
        let body = [header, attribute_of(KIND, b"htb\0"), attribute_of(STATS, &stats)].concat();
        let report = read_tcmsg(&body).unwrap();
        assert_eq!((report.bytes, report.waiting, report.kind.as_str()), (1500, 7, "htb"));
        assert_eq!((report.index, report.handle, report.parent), (3, 0x5343_0010, 0x5343_0001));
    }
}
