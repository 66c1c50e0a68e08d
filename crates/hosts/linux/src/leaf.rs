//! Queues of the classes that share an interface.
//!
//! HTB gives classes turns in bytes, and one packet in each turn however long it is: a segment of
//! 64 kB that TCP hands down in one piece (GSO), or that the receiving card has joined (GRO), is
//! many turns of a class with a small weight, and the debt stays for half a minute. So each class
//! has a cutter, a TBF without a limit, which cuts segments to packets when they arrive, and its
//! queue behind that. `gso_max_size` would not do: the kernel cuts by it behind the qdisc.

use crate::tc::{ETHERNET, OPTIONS, class, message, other};
use netlink_packet_core::DefaultNla;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};

/// Upper halves of the cutters' handles are those of their classes' lower ones behind this.
const CUTTERS: u16 = 0x1000;
/// `TCA_TBF_PARMS`, `TCA_TBF_RATE64` and `TCA_TBF_BURST`.
const PARMS: u16 = 1;
const RATE64: u16 = 4;
const BURST: u16 = 6;
/// Bytes a second at which any packet takes less than the kernel's unit, a nanosecond.
const NO_LIMIT: u64 = 10_000_000_000_000;
/// `TCA_FQ_CODEL_LIMIT` and `TCA_CAKE_MEMORY`.
const FQ_CODEL_LIMIT: u16 = 2;
const CAKE_MEMORY: u16 = 10;

/// The qdisc in which packets of a class wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaf {
    /// First in, first out.
    Fifo,
    /// Fair queueing of flows with CoDel (RFC 8290).
    FqCodel,
    /// CAKE without a rate: fair queueing of flows with COBALT.
    Cake,
}

impl Leaf {
    /// Its name for the kernel and for `tc`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "pfifo",
            Self::FqCodel => "fq_codel",
            Self::Cake => "cake",
        }
    }

    fn options(self, packets: u32, longest: u32) -> TcAttribute {
        let nested = |kind: u16, value: u32| {
            TcAttribute::Options(vec![other(kind, value.to_ne_bytes().to_vec())])
        };
        match self {
            // The limit is the whole option, and not nested.
            Self::Fifo => {
                TcAttribute::Other(DefaultNla::new(OPTIONS, packets.to_ne_bytes().to_vec()))
            }
            Self::FqCodel => nested(FQ_CODEL_LIMIT, packets),
            Self::Cake => nested(CAKE_MEMORY, packets.saturating_mul(longest)),
        }
    }
}

/// The qdisc that cuts segments for a class, or the new length of the one that is there. Frames
/// longer than `longest` bytes that are no segments are dropped.
pub(crate) fn cutter(index: u32, minor: u16, longest: u32) -> TcMessage {
    let mut message = message(index, handle(minor), class(minor));
    // `struct tc_tbf_qopt`: two rates of 12 bytes, and three numbers. The limit of 0 bytes is that
    // of a queue that the next qdisc replaces.
    let mut parms = vec![0; 36];
    parms[1] = ETHERNET;
    parms[8..12].fill(0xff);
    let options: Vec<TcOption> = vec![
        other(PARMS, parms),
        other(RATE64, NO_LIMIT.to_ne_bytes().to_vec()),
        other(BURST, longest.to_ne_bytes().to_vec()),
    ];
    message.attributes = vec![TcAttribute::Kind("tbf".to_owned()), TcAttribute::Options(options)];
    message
}

/// A queue of this number of packets behind the cutter of a class.
pub(crate) fn queue(index: u32, minor: u16, leaf: Leaf, packets: u32, longest: u32) -> TcMessage {
    let parent = TcHandle { minor: 1, ..handle(minor) };
    let mut message = message(index, TcHandle::UNSPEC, parent);
    let kind = TcAttribute::Kind(leaf.name().to_owned());
    message.attributes = vec![kind, leaf.options(packets, longest)];
    message
}

/// The queue of a class to which nothing is sent: it drops every packet, those that waited in the
/// queue before it included. No [`Leaf`] is of its kind, so that it takes the place of any instead
/// of changing its limit. A queue that keeps its packets would not do: HFSC stops for a class that
/// has some and gives none.
pub(crate) fn closed(index: u32, minor: u16) -> TcMessage {
    let parent = TcHandle { minor: 1, ..handle(minor) };
    let mut message = message(index, TcHandle::UNSPEC, parent);
    let no_bytes = DefaultNla::new(OPTIONS, 0_u32.to_ne_bytes().to_vec());
    message.attributes = vec![TcAttribute::Kind("bfifo".to_owned()), TcAttribute::Other(no_bytes)];
    message
}

/// A root qdisc as cutters are, to see whether the kernel has it.
pub(crate) fn trial(index: u32) -> TcMessage {
    let mut message = cutter(index, 0, 1600);
    message.header.parent = TcHandle::ROOT;
    message
}

/// Handle of a class's cutter.
const fn handle(minor: u16) -> TcHandle {
    TcHandle { major: CUTTERS + minor, minor: 0 }
}
