//! Segments in the numbers of a script: relative to each side's SYN.

use crate::parse::{Options, Shape};
use crate::settings::PORTS;
use fairwave_units::{Instant, Seq32};
use fairwave_wire::ipv4::Ecn;
use fairwave_wire::tcp::{Flags, Header, SackBlocks, Timestamps};

/// A segment that left the end under test.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) at: Instant,
    pub(crate) ecn: Ecn,
    pub(crate) flags: Flags,
    pub(crate) seq: u32,
    pub(crate) len: u32,
    /// Of no meaning without the flag.
    pub(crate) ack: u32,
    pub(crate) window: u16,
    pub(crate) options: Options,
}

/// Initial sequence numbers of both ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    /// That of the end under test.
    pub(crate) iss: Seq32,
    /// That of the peer.
    pub(crate) irs: Seq32,
}

impl Numbers {
    /// A segment of the end under test.
    pub(crate) fn seen(&self, at: Instant, header: &Header, ecn: Ecn, len: u32) -> Seen {
        let options = Options {
            mss: header.options.mss,
            scale: header.options.window_scale,
            sack_permitted: header.options.sack_permitted,
            timestamps: header.options.timestamps.map(|t| (t.value, t.echo)),
            sack: self.blocks(&header.options.sack),
        };
        let (seq, ack) = (header.seq.distance(self.iss), header.ack.distance(self.irs));
        let (flags, window) = (header.flags, header.window);
        Seen { at, ecn, flags, seq, len, ack, window, options }
    }

    fn blocks(&self, sack: &SackBlocks) -> Vec<(u32, u32)> {
        let relative = |edge: &Seq32| edge.distance(self.irs);
        sack.as_slice().iter().map(|(left, right)| (relative(left), relative(right))).collect()
    }

    /// The header of a segment of the peer; `echo` gives the timestamp that stands for a time.
    pub(crate) fn header(&self, shape: &Shape, echo: impl Fn(u32) -> u32) -> Header {
        let none = Options::default();
        let written = shape.options.as_ref().unwrap_or(&none);
        let mut header = Header {
            source_port: PORTS.1,
            destination_port: PORTS.0,
            seq: self.irs + shape.seq,
            ack: shape.ack.map_or(Seq32(0), |ack| self.iss + ack),
            flags: shape.flags,
            window: shape.window.unwrap_or_default(),
            ..Header::default()
        };
        let options = &mut header.options;
        options.mss = written.mss;
        options.window_scale = written.scale;
        options.sack_permitted = written.sack_permitted;
        let stamps = |(value, ecr)| Timestamps { value, echo: echo(ecr) };
        options.timestamps = written.timestamps.map(stamps);
        for (left, right) in &written.sack {
            options.sack.push(self.iss + *left, self.iss + *right);
        }
        header
    }
}

/// Precision of the comparison of a world with its script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exactness {
    /// To the bit.
    Whole,
    /// Timestamps and windows are those of another clock and another buffer: of a window it is
    /// compared whether it is closed, of a timestamp what it echoes. PSH is nobody's rule.
    Wire,
}

/// Differences between the segment of `shape`, at `seq`, and the one that left.
pub(crate) fn compare(shape: &Shape, seq: u32, seen: &Seen, how: Exactness) -> Result<(), String> {
    let whole = how == Exactness::Whole;
    let mut flags = shape.flags;
    flags.psh |= seen.flags.psh || (!whole && shape.flags.psh);
    let mut left = seen.flags;
    left.psh |= !whole && shape.flags.psh;
    let same = |what: &str, same: bool| {
        if same { Ok(()) } else { Err(format!("another {what} left: {}", show(seen))) }
    };
    same("kind of segment", left == flags)?;
    same("ECN field", shape.ecn.is_none_or(|ecn| seen.ecn == ecn))?;
    same("sequence number", seen.seq == seq)?;
    same("length", seen.len == shape.len)?;
    same("acknowledgement", shape.ack.is_none_or(|ack| seen.ack == ack))?;
    let window = |wanted: u16| {
        if whole { wanted == seen.window } else { (wanted == 0) == (seen.window == 0) }
    };
    same("window", shape.window.is_none_or(window))?;
    let Some(wanted) = &shape.options else { return Ok(()) };
    let mut left = seen.options.clone();
    if !whole {
        forgive(wanted, &mut left);
    }
    same("set of options", *wanted == left)
}

/// Takes from `left` what clocks and buffers choose, where `wanted` has it too.
fn forgive(wanted: &Options, left: &mut Options) {
    if let (Some(wanted), Some(left)) = (wanted.timestamps, &mut left.timestamps) {
        left.0 = wanted.0;
    }
    if wanted.scale.is_some() && left.scale.is_some() {
        left.scale = wanted.scale;
    }
}

/// A segment as scripts write it.
pub(crate) fn show(seen: &Seen) -> String {
    let f = seen.flags;
    let marks = [(f.syn, 'S'), (f.fin, 'F'), (f.rst, 'R'), (f.psh, 'P'), (f.ece, 'E')];
    let more = [(f.cwr, 'W'), (f.urg, 'U'), (f.ack, '.')];
    let flags: String =
        marks.iter().chain(&more).filter(|(set, _)| *set).map(|(_, flag)| flag).collect();
    let ack = if f.ack { format!(" ack {}", seen.ack) } else { String::new() };
    let written = &seen.options;
    let mut options = Vec::new();
    options.extend(written.mss.map(|size| format!("mss {size}")));
    options.extend(written.scale.map(|shift| format!("wscale {shift}")));
    options.extend(written.sack_permitted.then(|| "sackOK".to_owned()));
    options.extend(written.timestamps.map(|(value, echo)| format!("TS val {value} ecr {echo}")));
    let sack: Vec<String> = written.sack.iter().map(|(l, r)| format!("{l}:{r}")).collect();
    options.extend((!sack.is_empty()).then(|| format!("sack {}", sack.join(" "))));
    let (seq, len) = (seen.seq, seen.len);
    let place = format!("{seq}:{}({len})", seq.wrapping_add(len));
    format!("> {flags} {place}{ack} win {} <{}>", seen.window, options.join(","))
}
