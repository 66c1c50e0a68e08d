//! The language of packet scripts: one line, one value.
//!
//! ```text
//! # RFC 5681 section 3.1: the first line cites what the script holds the code to
//! config iw=2 sack algorithm=reno          before anything else; every key once
//! 0 establish                        open, SYN-ACK 100 ms later, ACK: it is 100 ms now
//! 100 write 5000                     the application; also read, open, listen, close, abort
//! 100 > . 1:2001(2x1000) ack 1       two segments of 1000 bytes must leave now
//! +100 < . 1 ack 2001 win 9000 <sack 3001:4001>
//! +0 expect cwnd=4000 state=ESTABLISHED
//! ```
//!
//! A time is in milliseconds, from the start or, with `+`, from the line before. Numbers are
//! relative to each side's SYN, which is 0, so data begins at 1. `N` stands for `N:N(0)`. Flags
//! are S F R P E W and `.` for ACK, after the datagram's ECN field, as in `[ect0] P.`. That, PSH,
//! a window and options are compared only where they are written (`<>`: no options). What leaves
//! without a line that expects it is an error. A window that the peer does not write is the one
//! it wrote last, 60000 at first.

use fairwave_units::{Duration, Instant};
use fairwave_wire::ipv4::Ecn;
use fairwave_wire::tcp::Flags;

/// A line that is not empty and no comment.
#[derive(Debug)]
pub(crate) enum Line {
    Config(Vec<(String, String)>),
    Remark(Remark),
    At(When, Act),
}

/// Settings of the kernel at the head of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// It is known to do something else, for this reason.
    Differs(String),
    /// It cannot be configured as the script demands, for this reason.
    Cannot(String),
}

impl Remark {
    /// The reason that it gives.
    pub fn reason(&self) -> &str {
        match self {
            Self::Differs(reason) | Self::Cannot(reason) => reason,
        }
    }
}

/// Time of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    Time(Instant),
    After(Duration),
}

/// What happens.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Establish,
    Open,
    Listen,
    Write(u32),
    Read(u32),
    Close,
    Abort,
    Arrives(Shape),
    Leaves(Shape),
    Expect(Vec<(String, String)>),
}

/// A segment as it is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) ecn: Option<Ecn>,
    pub(crate) flags: Flags,
    pub(crate) seq: u32,
    /// Number of segments in a row, and the payload of each.
    pub(crate) run: u32,
    pub(crate) len: u32,
    pub(crate) ack: Option<u32>,
    pub(crate) window: Option<u16>,
    pub(crate) options: Option<Options>,
}

/// Options with relative SACK edges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) mss: Option<u16>,
    pub(crate) scale: Option<u8>,
    pub(crate) sack_permitted: bool,
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) sack: Vec<(u32, u32)>,
}

type Parsed<T> = Result<T, String>;

/// Reads one line; `None` if it says nothing.
pub(crate) fn line(text: &str) -> Parsed<Option<Line>> {
    let text = text.split('#').next().unwrap_or_default().trim();
    let Some((first, rest)) = text.split_once(' ') else {
        return if text.is_empty() { Ok(None) } else { Err(format!("{text:?} says nothing")) };
    };
    match first {
        "config" => return pairs(rest).map(|pairs| Some(Line::Config(pairs))),
        "kernel" => return remark(rest.trim()).map(|remark| Some(Line::Remark(remark))),
        _ => {}
    }
    Ok(Some(Line::At(when(first)?, act(rest.trim())?)))
}

fn remark(text: &str) -> Parsed<Remark> {
    let (verb, reason) = text.split_once(' ').unwrap_or((text, ""));
    let reason = reason.trim().to_owned();
    match verb {
        _ if reason.is_empty() => Err("a remark on the kernel gives its reason".to_owned()),
        "differs" => Ok(Remark::Differs(reason)),
        "cannot" => Ok(Remark::Cannot(reason)),
        _ => Err(format!("{verb:?} says nothing of the kernel")),
    }
}

fn when(text: &str) -> Parsed<When> {
    let time = |text: &str| {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{part:0<6}");
        let short = digits.len() == 6;
        let nanos = number::<u64>(whole)? * 1_000_000 + number::<u64>(&digits)?;
        if short { Ok(Duration::from_nanos(nanos)) } else { Err(format!("{text:?} is too fine")) }
    };
    match text.strip_prefix('+') {
        Some(later) => time(later).map(When::After),
        None => time(text).map(|since| When::Time(Instant::ZERO + since)),
    }
}

fn act(text: &str) -> Parsed<Act> {
    let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
    Ok(match verb {
        "establish" => Act::Establish,
        "open" => Act::Open,
        "listen" => Act::Listen,
        "close" => Act::Close,
        "abort" => Act::Abort,
        "write" => Act::Write(number(rest)?),
        "read" => Act::Read(number(rest)?),
        "expect" => Act::Expect(pairs(rest)?),
        "<" => Act::Arrives(shape(rest)?),
        ">" => Act::Leaves(shape(rest)?),
        _ => return Err(format!("{verb:?} is no verb")),
    })
}

fn pairs(text: &str) -> Parsed<Vec<(String, String)>> {
    let pair = |word: &str| {
        let (key, value) = word.split_once('=').unwrap_or((word, "on"));
        (key.to_owned(), value.to_owned())
    };
    Ok(text.split_whitespace().map(pair).collect())
}

fn shape(text: &str) -> Parsed<Shape> {
    let (plain, options) = match text.split_once('<') {
        None => (text, None),
        Some((plain, options)) => {
            let inner = options.strip_suffix('>').ok_or("options end with >")?;
            (plain, Some(self::options(inner)?))
        }
    };
    let mut words = plain.split_whitespace();
    let mut first = words.next();
    let ecn = first.and_then(|word| word.strip_prefix('[')).map(ecn).transpose()?;
    if ecn.is_some() {
        first = words.next();
    }
    let flags = flags(first.ok_or("a segment begins with its flags")?)?;
    let (seq, run, len) = place(words.next().ok_or("a segment has a sequence number")?)?;
    let mut shape = Shape { ecn, flags, seq, run, len, ack: None, window: None, options };
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word:?} wants a number"))?;
        match word {
            "ack" => shape.ack = Some(number(value)?),
            "win" => shape.window = Some(number(value)?),
            _ => return Err(format!("{word:?} is no part of a segment")),
        }
    }
    if shape.flags.ack != shape.ack.is_some() {
        return Err("the flag . and `ack N` go together".to_owned());
    }
    Ok(shape)
}

fn ecn(text: &str) -> Parsed<Ecn> {
    match text {
        "noect]" => Ok(Ecn::NotEct),
        "ect0]" => Ok(Ecn::Ect0),
        "ect1]" => Ok(Ecn::Ect1),
        "ce]" => Ok(Ecn::Ce),
        _ => Err(format!("[{text} is no ECN field")),
    }
}

fn flags(text: &str) -> Parsed<Flags> {
    let mut flags = Flags::default();
    for c in text.chars() {
        *match c {
            'S' => &mut flags.syn,
            'F' => &mut flags.fin,
            'R' => &mut flags.rst,
            'P' => &mut flags.psh,
            'E' => &mut flags.ece,
            'W' => &mut flags.cwr,
            'U' => &mut flags.urg,
            '.' => &mut flags.ack,
            _ => return Err(format!("{c:?} is no flag")),
        } = true;
    }
    Ok(flags)
}

/// `N`, `A:B(LEN)` or `A:B(RUNxLEN)`: where it begins, how many segments, bytes in each.
fn place(text: &str) -> Parsed<(u32, u32, u32)> {
    let Some((seq, rest)) = text.split_once(':') else { return Ok((number(text)?, 1, 0)) };
    let (end, len) = rest.strip_suffix(')').and_then(|r| r.split_once('(')).ok_or("no (LEN)")?;
    let (run, len) = len.split_once('x').unwrap_or(("1", len));
    let (seq, end, run, len) =
        (number::<u32>(seq)?, number::<u32>(end)?, number::<u32>(run)?, number::<u32>(len)?);
    if seq + run * len != end {
        return Err(format!("{seq} and {run} x {len} bytes end at {}, not {end}", seq + run * len));
    }
    Ok((seq, run, len))
}

fn options(text: &str) -> Parsed<Options> {
    let mut options = Options::default();
    for option in text.split(',').map(str::trim).filter(|option| !option.is_empty()) {
        let words: Vec<&str> = option.split_whitespace().collect();
        match words.as_slice() {
            ["mss", size] => options.mss = Some(number(size)?),
            ["wscale", shift] => options.scale = Some(number(shift)?),
            ["sackOK"] => options.sack_permitted = true,
            ["TS", "val", value, "ecr", echo] => {
                options.timestamps = Some((number(value)?, number(echo)?));
            }
            ["sack", blocks @ ..] => {
                for block in blocks {
                    let (left, right) = block.split_once(':').ok_or("a block is LEFT:RIGHT")?;
                    options.sack.push((number(left)?, number(right)?));
                }
            }
            _ => return Err(format!("{option:?} is no option")),
        }
    }
    Ok(options)
}

pub(crate) fn number<T: std::str::FromStr>(text: &str) -> Parsed<T> {
    text.trim().parse().map_err(|_| format!("{text:?} is no number"))
}
