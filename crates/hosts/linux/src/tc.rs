//! Requests of traffic control: HTB and HFSC with their classes.
//!
//! The layouts are those of `linux/pkt_sched.h` and `linux/pkt_cls.h`. Rates travel as bytes a
//! second with the type of the link, so that the kernel computes times itself and needs no tables.

use crate::netlink::Netlink;
use netlink_packet_core::{
    DefaultNla, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};
use std::fmt;
use std::io;

/// Handle of our root qdisc: "SC", as in the subtype of reports.
pub(crate) const MAJOR: u16 = 0x5343;
/// Qdiscs that share an interface by weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discipline {
    /// Hierarchical token buckets: each class owns a rate, and borrows.
    Htb,
    /// Hierarchical fair service curves (Stoica, Zhang and Ng 1997): link-sharing curves alone,
    /// with an upper limit.
    Hfsc,
}

impl Discipline {
    /// Its name for the kernel and for `tc`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Htb => "htb",
            Self::Hfsc => "hfsc",
        }
    }
}

impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Htb { "HTB" } else { "HFSC" })
    }
}

/// `TCA_OPTIONS`.
pub(crate) const OPTIONS: u16 = 2;
/// `TCA_HTB_PARMS` and `TCA_HTB_INIT`.
const PARMS: u16 = 1;
const INIT: u16 = 2;
/// `TCA_HFSC_FSC` and `TCA_HFSC_USC`: link-sharing and upper-limit curves.
const SHARING: u16 = 2;
const LIMIT: u16 = 3;
/// `TC_LINKLAYER_ETHERNET`.
pub(crate) const ETHERNET: u8 = 1;
/// Nanoseconds of a tick, the kernel's unit of times (`PSCHED_SHIFT`).
const TICK_NS: u64 = 64;
/// `ETH_P_ALL`, in network order as the kernel wants it.
pub(crate) const ALL_PROTOCOLS: u32 = 0x0003_u16.to_be() as u32;

/// Handle of a class.
pub(crate) const fn class(minor: u16) -> TcHandle {
    TcHandle { major: MAJOR, minor }
}

/// Limits of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// Bytes a second of its own, and the maximum with unused bandwidth. Neither is 0.
    pub(crate) rate: u32,
    pub(crate) ceil: u32,
    /// Bytes that it sends in turn with others of the unused bandwidth.
    pub(crate) quantum: u32,
    /// Bytes that the link below adds to each packet, which HTB counts with it.
    pub(crate) overhead: u16,
}

pub(crate) fn message(index: u32, handle: TcHandle, parent: TcHandle) -> TcMessage {
    let mut message = TcMessage::with_index(index as i32);
    message.header.handle = handle;
    message.header.parent = parent;
    message
}

pub(crate) fn other(kind: u16, bytes: Vec<u8>) -> TcOption {
    TcOption::Other(DefaultNla::new(kind, bytes))
}

/// The root qdisc; frames that no filter knows go to the class `unknown`.
pub(crate) fn qdisc(discipline: Discipline, index: u32, unknown: u16) -> TcMessage {
    let mut message = message(index, class(0), TcHandle::ROOT);
    let options = match discipline {
        Discipline::Htb => {
            // Version 3, and a divisor of rates that no class needs.
            let global = [3, 10, u32::from(unknown), 0, 0].map(u32::to_ne_bytes).concat();
            TcAttribute::Options(vec![other(INIT, global)])
        }
        // `struct tc_hfsc_qopt` is the whole option, and not nested.
        Discipline::Hfsc => {
            TcAttribute::Other(DefaultNla::new(OPTIONS, unknown.to_ne_bytes().to_vec()))
        }
    };
    message.attributes = vec![TcAttribute::Kind(discipline.name().to_owned()), options];
    message
}

/// The root qdisc of an interface, by our handle.
fn root_message(index: u32) -> TcMessage {
    message(index, class(0), TcHandle::ROOT)
}

/// A class of a discipline with its share.
pub(crate) fn share_class(
    discipline: Discipline,
    index: u32,
    minor: u16,
    parent: u16,
    share: Share,
) -> TcMessage {
    let mut message = message(index, class(minor), class(parent));
    let options = match discipline {
        Discipline::Htb => vec![other(PARMS, buckets(share))],
        Discipline::Hfsc => {
            vec![other(SHARING, curve(share.rate)), other(LIMIT, curve(share.ceil))]
        }
    };
    let kind = TcAttribute::Kind(discipline.name().to_owned());
    message.attributes = vec![kind, TcAttribute::Options(options)];
    message
}

/// `struct tc_service_curve`: straight, this number of bytes a second.
fn curve(rate: u32) -> Vec<u8> {
    [0, 0, rate].map(u32::to_ne_bytes).concat()
}

/// `struct tc_htb_opt`.
fn buckets(share: Share) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(44);
    for rate in [share.rate, share.ceil] {
        bytes.extend([0, ETHERNET]);
        bytes.extend(share.overhead.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes.extend(rate.to_ne_bytes());
    }
    let numbers = [ticks(share.rate), ticks(share.ceil), share.quantum, 0, 0];
    bytes.extend(numbers.map(u32::to_ne_bytes).concat());
    bytes
}

/// The depth of a token bucket: two long frames, or 4 ms if that is more.
fn ticks(rate: u32) -> u32 {
    let bytes = u64::from(rate / 250).max(2 * 1600);
    let nanos = bytes * 1_000_000_000 / u64::from(rate.max(1));
    u32::try_from(nanos / TICK_NS).unwrap_or(u32::MAX)
}

/// Changes of classes, queues and filters. Each may be requested again after an error, whether the
/// kernel has made it or not.
pub(crate) trait TrafficControl {
    /// Makes a qdisc, or gives one of the same kind these settings.
    fn set_qdisc(&mut self, qdisc: TcMessage) -> io::Result<()>;
    /// Makes a class, or gives it this share.
    fn set_class(&mut self, class: TcMessage) -> io::Result<()>;
    fn delete_class(&mut self, class: TcMessage) -> io::Result<()>;
    /// Makes a filter; one of its handle is an error ([`io::ErrorKind::AlreadyExists`]).
    fn add_filter(&mut self, filter: TcMessage) -> io::Result<()>;
    fn delete_filter(&mut self, filter: TcMessage) -> io::Result<()>;
}

impl TrafficControl for Netlink {
    fn set_qdisc(&mut self, qdisc: TcMessage) -> io::Result<()> {
        let flags = NLM_F_CREATE | NLM_F_REPLACE;
        self.ask(RouteNetlinkMessage::NewQueueDiscipline(qdisc), flags)
    }

    fn set_class(&mut self, class: TcMessage) -> io::Result<()> {
        self.ask(RouteNetlinkMessage::NewTrafficClass(class), NLM_F_CREATE)
    }

    fn delete_class(&mut self, class: TcMessage) -> io::Result<()> {
        self.ask(RouteNetlinkMessage::DelTrafficClass(class), 0)
    }

    fn add_filter(&mut self, filter: TcMessage) -> io::Result<()> {
        self.ask(RouteNetlinkMessage::NewTrafficFilter(filter), NLM_F_CREATE | NLM_F_EXCL)
    }

    fn delete_filter(&mut self, filter: TcMessage) -> io::Result<()> {
        self.ask(RouteNetlinkMessage::DelTrafficFilter(filter), 0)
    }
}

/// The qdisc at the root of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RootQdisc {
    kind: String,
    handle: TcHandle,
}

impl RootQdisc {
    /// Whether the kernel has put it there by itself: then it has no handle.
    pub(crate) fn is_default(&self) -> bool {
        self.handle == TcHandle::UNSPEC
    }

    /// Its kind, as tc(8) writes it.
    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    fn is_ours(&self) -> bool {
        let kinds = [Discipline::Htb, Discipline::Hfsc].map(Discipline::name);
        kinds.contains(&self.kind.as_str()) && self.handle == class(0)
    }
}

impl Netlink {
    /// The root qdisc of an interface; `None` if it has none.
    pub(crate) fn root_qdisc(&mut self, index: u32) -> io::Result<Option<RootQdisc>> {
        self.qdisc_at(index, TcHandle::ROOT)
    }

    /// The qdisc of an interface with this parent.
    pub(crate) fn qdisc_at(
        &mut self,
        index: u32,
        parent: TcHandle,
    ) -> io::Result<Option<RootQdisc>> {
        let question = TcMessage::with_index(index as i32);
        self.post(RouteNetlinkMessage::GetQueueDiscipline(question), NLM_F_DUMP)?;
        let mut found = None;
        loop {
            for message in self.answers()? {
                match message.payload {
                    NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewQueueDiscipline(one)) => {
                        let is_there = one.header.parent == parent;
                        if one.header.index == index as i32 && is_there {
                            found = Some(root_of(one));
                        }
                    }
                    NetlinkPayload::Error(error) if error.code.is_some() => {
                        return Err(error.to_io());
                    }
                    NetlinkPayload::Done(_) => return Ok(found),
                    _ => {}
                }
            }
        }
    }

    /// Makes a qdisc where none has been set.
    pub(crate) fn add_qdisc(&mut self, qdisc: TcMessage) -> io::Result<()> {
        let flags = NLM_F_CREATE | NLM_F_EXCL;
        self.ask(RouteNetlinkMessage::NewQueueDiscipline(qdisc), flags)
    }

    /// Deletes our qdisc of an interface, with all classes and filters. One of another program
    /// stays.
    pub(crate) fn delete_ours(&mut self, index: u32) -> io::Result<()> {
        match self.root_qdisc(index)? {
            Some(root) if root.is_ours() => {
                self.ask(RouteNetlinkMessage::DelQueueDiscipline(root_message(index)), 0)
            }
            _ => Ok(()),
        }
    }

    /// Deletes the root qdisc of an interface, whosever it is.
    pub(crate) fn delete_root(&mut self, index: u32) -> io::Result<()> {
        let root = message(index, TcHandle::UNSPEC, TcHandle::ROOT);
        self.ask(RouteNetlinkMessage::DelQueueDiscipline(root), 0)
    }
}

fn root_of(message: TcMessage) -> RootQdisc {
    let kind = message.attributes.into_iter().find_map(|attribute| match attribute {
        TcAttribute::Kind(kind) => Some(kind),
        _ => None,
    });
    RootQdisc { kind: kind.unwrap_or_default(), handle: message.header.handle }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_core::Emitable;

    /// 2500000 bytes a second are 10000 in 4 ms, and 4 ms are 62500 ticks of 64 ns.
    #[test]
    fn a_bucket_is_four_milliseconds_or_two_frames() {
        assert_eq!(ticks(2_500_000), 62_500);
        assert_eq!(ticks(3_200), 15_625_000);
    }

    fn emitted(message: &TcMessage) -> Vec<u8> {
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes);
        bytes
    }

    /// As strace shows what `tc class add dev eth0 parent 5343:1 classid 5343:12 hfsc ls m2 20mbit
    /// ul m2 40mbit` sends: the kind, and in the options two curves of 12 bytes.
    #[test]
    fn a_class_of_hfsc_is_what_tc_sends() {
        let share = Share { rate: 2_500_000, ceil: 5_000_000, quantum: 6_000, overhead: 0 };
        let bytes = emitted(&share_class(Discipline::Hfsc, 7, 0x12, 1, share));
        let attribute = |kind: u16, value: &[u8]| {
            let len = 4 + value.len() as u16;
            let mut bytes = [len.to_ne_bytes(), kind.to_ne_bytes()].concat();
            bytes.extend(value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        let curve =
            |kind, rate: u32| attribute(kind, &[[0; 8].as_slice(), &rate.to_ne_bytes()].concat());
        let curves = [curve(2, 2_500_000), curve(3, 5_000_000)].concat();
        let nested = attribute(2, &curves);
        assert_eq!(bytes[20..], [attribute(1, b"hfsc\0"), nested].concat());
        assert_eq!(bytes[8..16], [0x5343_0012u32, 0x5343_0001].map(u32::to_ne_bytes).concat());
        let root = emitted(&qdisc(Discipline::Hfsc, 7, 2));
        assert_eq!(root[20..], [attribute(1, b"hfsc\0"), attribute(2, &[2, 0])].concat());
    }

    #[test]
    fn a_class_is_laid_out_as_the_kernel_reads_it() {
        let share = Share { rate: 2_500_000, ceil: 5_000_000, quantum: 6_000, overhead: 26 };
        let bytes = emitted(&share_class(Discipline::Htb, 7, 0x12, 1, share));
        // Header, kind, and then two headers of attributes before the option.
        let option = &bytes[20 + 8 + 4 + 4..];
        assert_eq!(option.len(), 44);
        let word = |at: usize| u32::from_ne_bytes(option[at..at + 4].try_into().unwrap());
        assert_eq!([word(8), word(20)], [2_500_000, 5_000_000]);
        assert_eq!([word(24), word(28), word(32)], [62_500, 62_500, 6_000]);
        // The second half of the first word of each `struct tc_ratespec`.
        let overhead = |at: usize| u16::from_ne_bytes([option[at + 2], option[at + 3]]);
        assert_eq!([overhead(0), overhead(12)], [26, 26]);
    }
}
