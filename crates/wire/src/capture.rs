//! Capture files as they come: pcap and pcapng, read record by record from whatever part of the
//! file is at hand.
//!
//! A [`Decoder`] keeps no bytes. It is shown those that follow what it has taken, and says how
//! many of them it needs, that so many hold no packet, or where in them a packet lies. It forgives
//! what tcpdump and Wireshark forgive; where a file is damaged, it says at which byte and behind
//! which packet. [`crate::pcapng`] is for the captures that Fairwave writes, with their comments.
//!
//! Formats: draft-ietf-opsawg-pcap, with nanoseconds and with the longer records of Kuznetzov's
//! patch to libpcap; draft-ietf-opsawg-pcapng.

mod clock;
mod fields;
mod pcap;
mod pcapng;

use crate::pcapng::LinkType;
use fairwave_units::Instant;
use std::ops::Range;
use thiserror::Error;

/// Longest packet in bytes: libpcap takes no more than 262144 from a link, a kernel that merges
/// segments before it shows them makes up to 512 KiB of TCP over IPv6, and USB transfers a MiB.
pub const PACKET_LEN_MAX: u32 = 1 << 20;
/// Longest block of pcapng that is looked into, in bytes: a packet with its options.
pub const BLOCK_LEN_MAX: u32 = PACKET_LEN_MAX + (1 << 18);
/// Most interfaces of one section of a pcapng file.
pub const INTERFACES_MAX: usize = 1 << 16;

/// Which format a capture has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The classic one of libpcap.
    Pcap,
    /// The one of Wireshark.
    Pcapng,
}

impl Format {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pcap => "pcap",
            Self::Pcapng => "pcapng",
        }
    }
}

/// Where a packet lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// How many of the bytes shown it takes up, headers included.
    pub len: usize,
    /// Where the packet's own bytes are among those shown; perhaps cut by whoever captured it.
    pub data: Range<usize>,
    /// How many bytes the packet had on the wire.
    pub original_len: u32,
    /// What it begins with.
    pub link_type: LinkType,
    /// On which interface of its section it was seen, the first being 0.
    pub interface: u32,
    /// When it was captured, from the epoch of the file; `None` where the file does not say
    /// (simple packet blocks), or says a time before 1970 or after 2554.
    pub at: Option<Instant>,
}

/// What the bytes shown come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing yet: so many are needed.
    More(usize),
    /// So many hold no packet. There may be more of them than were shown.
    Skip(u64),
    /// A packet.
    Packet(Record),
}

/// What is wrong with a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// It ends within a record.
    #[error("the file ends {missing} bytes before the record does")]
    Truncated {
        /// How many bytes are missing, as far as is known.
        missing: u64,
    },
    /// A packet that nobody can have captured.
    #[error("a packet of {len} bytes, the limit is {PACKET_LEN_MAX}")]
    PacketLength {
        /// Its length in bytes.
        len: u32,
    },
    /// A block of packets or interfaces that is too long.
    #[error("a block of {len} bytes, the limit is {BLOCK_LEN_MAX}")]
    BlockLength {
        /// Its length in bytes.
        len: u32,
    },
    /// A block that is too short for what it is, or no multiple of four.
    #[error("a block of type {kind:#x} with {len} bytes, which its kind cannot have")]
    BlockShape {
        /// Its type.
        kind: u32,
        /// Its length in bytes.
        len: u32,
    },
    /// The length at a block's end is not the one at its beginning.
    #[error("a block that is {first} bytes long at its beginning and {last} at its end")]
    BlockEnds {
        /// Length at the beginning, in bytes.
        first: u32,
        /// Length at the end, in bytes.
        last: u32,
    },
    /// More in a packet block than it is long.
    #[error("a packet of {len} bytes in a block that has room for {room}")]
    Overfull {
        /// Length of the packet in bytes.
        len: u32,
        /// Bytes of the block behind its fixed fields.
        room: u32,
    },
    /// A part of a second that is no part of a second.
    #[error("a time with {fraction} {unit} beside its seconds")]
    Fraction {
        /// What stands there.
        fraction: u32,
        /// Its unit.
        unit: &'static str,
    },
    /// A packet of an interface that the section does not describe.
    #[error("a packet of interface {interface}, of which the section describes {described}")]
    Interface {
        /// The interface.
        interface: u32,
        /// How many there are.
        described: usize,
    },
    /// A section that describes too many interfaces.
    #[error("more than {INTERFACES_MAX} interfaces in a section")]
    Interfaces,
    /// A resolution of times that 64 bits cannot count.
    #[error("times with resolution {0:#x}, finer than 64 bits can count")]
    Resolution(u8),
    /// A section header without its mark of the byte order.
    #[error("a section header with the byte-order mark {0:#010x}")]
    ByteOrder(u32),
    /// A version that nobody knows.
    #[error("version {major}.{minor} of the format")]
    Version {
        /// The part before the dot.
        major: u16,
        /// The part behind it.
        minor: u16,
    },
}

/// Why a capture, or what follows in it, cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// It does not begin as a capture does.
    #[error("not a capture: it begins with {}", Beginning(.0))]
    NoCapture([u8; 4]),
    /// It is too short to begin as anything.
    #[error("not a capture: it is only {0} bytes long")]
    TooShort(u64),
    /// It is damaged. What was read before is sound.
    #[error("broken at byte {offset}, behind packet {packets}: {fault}")]
    Broken {
        /// Where the damaged record begins in the (uncompressed) file, in bytes.
        offset: u64,
        /// How many packets came before it.
        packets: u64,
        /// What is wrong with it.
        fault: Fault,
    },
}

/// Shows the first bytes of what is no capture.
struct Beginning<'a>(&'a [u8; 4]);

impl std::fmt::Display for Beginning<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c, d] = self.0;
        write!(f, "{a:02x} {b:02x} {c:02x} {d:02x}")?;
        if self.0.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') {
            write!(f, " ({:?})", String::from_utf8_lossy(self.0))?;
        }
        Ok(())
    }
}

/// Reads one capture.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    state: State,
    offset: u64,
    packets: u64,
    /// Where the record begins that was taken last.
    last: u64,
    /// How many bytes were asked for last.
    needed: u64,
}

#[derive(Clone, Debug, Default)]
enum State {
    /// Nothing has been read.
    #[default]
    Begin,
    Pcap(pcap::Header),
    Pcapng(pcapng::Section),
}

impl Decoder {
    /// For a capture from its first byte on.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many bytes have been taken, which is where the next record begins.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// How many packets have been found.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// The format, as soon as that is known.
    pub const fn format(&self) -> Option<Format> {
        match self.state {
            State::Begin => None,
            State::Pcap(_) => Some(Format::Pcap),
            State::Pcapng(_) => Some(Format::Pcapng),
        }
    }

    /// Looks at the bytes from [`Decoder::offset`] on and takes the next record, if all of it is
    /// there. After an error the capture is over.
    pub fn step(&mut self, bytes: &[u8]) -> Result<Step, Error> {
        let step = match &mut self.state {
            State::Begin => return self.begin(bytes),
            State::Pcap(header) => header.step(bytes),
            State::Pcapng(section) => section.step(bytes),
        };
        let step = step.map_err(|fault| self.broken(fault))?;
        match &step {
            Step::More(needed) => self.needed = *needed as u64,
            Step::Skip(len) => self.take(*len),
            Step::Packet(record) => {
                self.take(record.len as u64);
                self.packets += 1;
            }
        }
        Ok(step)
    }

    /// The file is `len` bytes long: is it whole? To be asked when there are no more bytes and
    /// [`Decoder::step`] wants some, or has none to look at.
    pub fn end(&self, len: u64) -> Result<(), Error> {
        if self.format().is_none() && len < 4 {
            return Err(Error::TooShort(len));
        }
        let (offset, missing) = match len.checked_sub(self.offset) {
            Some(0) => return Ok(()),
            Some(shown) => (self.offset, self.needed.saturating_sub(shown)),
            // A block that was skipped reaches beyond the end.
            None => (self.last, self.offset - len),
        };
        let fault = Fault::Truncated { missing };
        Err(Error::Broken { offset, packets: self.packets, fault })
    }

    fn begin(&mut self, bytes: &[u8]) -> Result<Step, Error> {
        let Some(magic) = bytes.first_chunk::<4>() else { return Ok(Step::More(4)) };
        self.needed = pcap::HEADER_LEN as u64;
        if *magic == pcapng::MAGIC {
            self.state = State::Pcapng(pcapng::Section::default());
            return self.step(bytes);
        }
        if !pcap::is_magic(*magic) {
            return Err(Error::NoCapture(*magic));
        }
        let Some(header) = bytes.first_chunk() else { return Ok(Step::More(pcap::HEADER_LEN)) };
        let header = pcap::Header::parse(header).map_err(|fault| self.broken(fault))?;
        self.state = State::Pcap(header);
        self.take(pcap::HEADER_LEN as u64);
        Ok(Step::Skip(self.offset))
    }

    const fn take(&mut self, len: u64) {
        self.last = self.offset;
        self.offset = self.offset.saturating_add(len);
    }

    const fn broken(&self, fault: Fault) -> Error {
        Error::Broken { offset: self.offset, packets: self.packets, fault }
    }
}

#[cfg(test)]
mod tests;
