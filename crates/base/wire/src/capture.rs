//! Capture files as they come: pcap and pcapng, read record by record from whatever part of the
//! file is at hand.
//!
//! A [`Decoder`] keeps no bytes. Its input is the bytes after those already taken. It returns the
//! number that it needs, the number that hold no packet, or the place of a packet in them. It
//! accepts faults that tcpdump and Wireshark accept; where a file is damaged, the error names the
//! byte and the packet before. [`crate::pcapng`] is for the captures that Fairwave writes, with
//! their comments.
//!
//! Formats: draft-ietf-opsawg-pcap, with nanoseconds and with the longer records of Kuznetzov's
//! patch to libpcap; draft-ietf-opsawg-pcapng.

mod clock;
mod fields;
mod pcap;
mod pcapng;
mod record;

pub use record::{BLOCK_LEN_MAX, Fault, INTERFACES_MAX, PACKET_LEN_MAX, Record, Step};
use thiserror::Error;

/// Format of a capture.
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

/// Reason for which a capture, or the rest of it, cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// It does not begin as a capture does.
    #[error("not a capture: it begins with {}", Beginning(.0))]
    NoCapture([u8; 4]),
    /// It is too short to begin as anything.
    #[error("not a capture: it is only {0} bytes long")]
    TooShort(u64),
    /// It is damaged. The packets before are sound.
    #[error("broken at byte {offset}, behind packet {packets}: {fault}")]
    Broken {
        /// Offset of the damaged record in the (uncompressed) file, in bytes.
        offset: u64,
        /// Number of packets that came before it.
        packets: u64,
        /// The fault.
        fault: Fault,
    },
}

/// Prints the first bytes of a file that is no capture.
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
    carried: u64,
    /// Offset of the record that was taken last.
    last: u64,
    /// Number of bytes that were asked for last.
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

    /// Number of bytes that have been taken, which is where the next record begins.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Number of packets that have been found.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Number of them have a part of a second that is a second or more ([`Record::is_carried`]).
    pub const fn carried(&self) -> u64 {
        self.carried
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
                self.carried += u64::from(record.is_carried);
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
