//! Reading of captures from files and pipes, compressed or not, packet by packet.
//!
//! One buffer holds the current record and the bytes read after it. It grows at most to the maximum
//! record length, whatever length the file states. A damaged capture gives the packets before the
//! damage, and the position of the damage.

mod foreign;
mod source;

use crate::text;
use fairwave_units::Instant;
use fairwave_wire::capture::{self as wire, Decoder, Format, Record, Step};
use fairwave_wire::pcapng::LinkType;
use source::Source;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub use source::Compression;

/// Initial length of the buffer, and maximum length of a first read, in bytes.
const CHUNK: usize = 256 * 1024;

/// Errors for which a capture cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be opened, or its first bytes cannot be read.
    #[error("{}: {source}", visible(path))]
    Io {
        /// The file.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// It is not a capture.
    #[error("{}: {reason}", visible(path))]
    NoCapture {
        /// The file.
        path: PathBuf,
        /// The fault of its first bytes.
        reason: String,
    },
}

impl Error {
    /// Converts an error of opening: a file in an unsupported format counts as no capture.
    fn of(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::Unsupported => Self::NoCapture { path, reason: source.to_string() },
            _ => Self::Io { path, source },
        }
    }
}

/// Whether a capture can be read only once: standard input (`-`), a pipe or a device.
pub fn is_read_once(path: &Path) -> bool {
    path == Path::new("-") || path.metadata().is_ok_and(|facts| !facts.is_file())
}

/// The name of a file, made safe for a terminal ([`text::visible`]).
fn visible(path: &Path) -> String {
    text::visible(&path.to_string_lossy())
}

/// The damage at which reading ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Position of the damaged record in the uncompressed capture, in bytes.
    pub offset: u64,
    /// Number of packets before it.
    pub packets: u64,
    /// The fault.
    pub reason: String,
}

/// A packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its number in the capture, from 1.
    pub number: u64,
    /// Time of capture since the epoch of the file; `None` if the file does not state it.
    pub at: Option<Instant>,
    /// Type of its link-layer header.
    pub link_type: LinkType,
    /// Its interface within its section of the file.
    pub interface: u32,
    /// Its length on the wire in bytes.
    pub original_len: u32,
    /// Its captured bytes, which may be fewer.
    pub data: &'a [u8],
}

/// Properties of a capture; complete at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its format; `None` before the first packet was requested.
    pub format: Option<Format>,
    /// Its compression.
    pub compression: Option<Compression>,
    /// Number of packets read.
    pub packets: u64,
    /// Number of those whose fractional time is a second or more; it is added in full.
    pub carried: u64,
    /// Number of bytes read, uncompressed.
    pub bytes: u64,
    /// Its damage.
    pub broken: Option<Broken>,
}

/// A capture that is being read.
pub struct Capture {
    path: PathBuf,
    source: Source,
    decoder: Decoder,
    buffer: Vec<u8>,
    /// Start of the undecoded bytes in the buffer.
    start: usize,
    /// End of those bytes.
    end: usize,
    /// Number of bytes read, uncompressed.
    bytes: u64,
    broken: Option<Broken>,
    is_over: bool,
}

impl Capture {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// If it cannot be opened or its first bytes cannot be read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let source = Source::open(path).map_err(|error| Error::of(path, error))?;
        Ok(Self::over(path, source))
    }

    /// Reads from any source, under a name for messages.
    ///
    /// # Errors
    /// If the first bytes cannot be read.
    pub fn from_reader(name: &Path, input: impl Read + 'static) -> Result<Self, Error> {
        let source = Source::new(Box::new(input), None).map_err(|error| Error::of(name, error))?;
        Ok(Self::over(name, source))
    }

    fn over(path: &Path, source: Source) -> Self {
        Self {
            path: path.to_owned(),
            source,
            decoder: Decoder::new(),
            buffer: vec![0; CHUNK],
            start: 0,
            end: 0,
            bytes: 0,
            broken: None,
            is_over: false,
        }
    }

    /// Returns the next packet; `None` at the end of the file, or at damage.
    ///
    /// # Errors
    /// If it is not a capture.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, Error> {
        while !self.is_over {
            match self.decoder.step(&self.buffer[self.start..self.end]) {
                Ok(Step::More(needed)) => self.fill(needed)?,
                Ok(Step::Skip(len)) => self.skip(len)?,
                Ok(Step::Packet(record)) => return Ok(Some(self.packet(&record))),
                Err(error) => self.stop(error)?,
            }
        }
        Ok(None)
    }

    /// Properties so far.
    pub fn facts(&self) -> Facts {
        Facts {
            format: self.decoder.format(),
            compression: self.source.compression(),
            packets: self.decoder.packets(),
            carried: self.decoder.carried(),
            bytes: self.bytes,
            broken: self.broken.clone(),
        }
    }

    /// The share of the file that was read, from 0 to 1; `None` for a pipe, which has no length.
    pub fn progress(&self) -> Option<f64> {
        self.source.progress()
    }

    fn packet(&mut self, record: &Record) -> Packet<'_> {
        let bytes = &self.buffer[self.start..self.end];
        self.start += record.len;
        Packet {
            number: self.decoder.packets(),
            at: record.at,
            link_type: record.link_type,
            interface: record.interface,
            original_len: record.original_len,
            data: &bytes[record.data.clone()],
        }
    }

    /// Reads at least one more byte, unless the capture has ended. `needed` bounds the growth of
    /// the buffer; the decoder bounds `needed`.
    fn fill(&mut self, needed: usize) -> Result<(), Error> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < needed {
            self.buffer.resize(needed, 0);
        }
        match self.source.read(&mut self.buffer[self.end..]) {
            Ok(0) => self.ends(),
            Ok(len) => {
                self.end += len;
                self.bytes += len as u64;
                Ok(())
            }
            Err(error) => self.cannot_go_on(&error),
        }
    }

    fn skip(&mut self, len: u64) -> Result<(), Error> {
        let mut left = len;
        loop {
            let here = left.min((self.end - self.start) as u64);
            self.start += here as usize;
            left -= here;
            if left == 0 || self.is_over {
                return Ok(());
            }
            self.fill(0)?;
        }
    }

    fn ends(&mut self) -> Result<(), Error> {
        match self.decoder.end(self.bytes) {
            Ok(()) => {
                self.is_over = true;
                Ok(())
            }
            Err(error) => self.stop(error),
        }
    }

    fn stop(&mut self, error: wire::Error) -> Result<(), Error> {
        self.is_over = true;
        let wire::Error::Broken { offset, packets, fault } = error else {
            let reason = match foreign::name(&self.buffer[self.start..self.end]) {
                Some(format) => format!(
                    "a capture in the format {format}; convert it first: editcap -F pcap FILE \
                     out.pcap"
                ),
                None => error.to_string(),
            };
            return Err(Error::NoCapture { path: self.path.clone(), reason });
        };
        if self.decoder.format().is_none() {
            let reason = format!("not a capture: {fault}");
            return Err(Error::NoCapture { path: self.path.clone(), reason });
        }
        self.broken = Some(Broken { offset, packets, reason: fault.to_string() });
        Ok(())
    }

    /// Ends reading: the compressed stream or the medium is damaged.
    fn cannot_go_on(&mut self, error: &io::Error) -> Result<(), Error> {
        self.is_over = true;
        let what = match error.kind() {
            io::ErrorKind::UnexpectedEof => "it ends too early".to_owned(),
            _ => error.to_string(),
        };
        let reason = match self.source.compression() {
            Some(by) => format!("the {} stream is damaged: {what}", by.name()),
            None => format!("it cannot be read: {what}"),
        };
        if self.decoder.format().is_none() {
            let path = self.path.clone();
            // An error of the system does not show that the file is no capture.
            return Err(match error.raw_os_error() {
                Some(_) => Error::Io { path, source: io::Error::new(error.kind(), reason) },
                None => Error::NoCapture { path, reason },
            });
        }
        let (offset, packets) = (self.decoder.offset(), self.decoder.packets());
        self.broken = Some(Broken { offset, packets, reason });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
