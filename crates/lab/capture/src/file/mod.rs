//! Reading captures: from files and pipes, compressed or not, packet by packet.
//!
//! One buffer holds the present record and the bytes that were read behind it. It grows to the
//! longest record that is allowed and no further, whatever the file claims. A capture that is
//! damaged gives the packets before the damage, and its place.

mod source;

use crate::text;
use fairwave_units::Instant;
use fairwave_wire::capture::{self as wire, Decoder, Format, Record, Step};
use fairwave_wire::pcapng::LinkType;
use source::Source;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub use source::Compression;

/// Maximum number of bytes of one read.
const CHUNK: usize = 256 * 1024;

/// Reason for which a capture cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be opened, or its beginning cannot be read.
    #[error("{}: {source}", visible(path))]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is no capture.
    #[error("{}: {reason}", visible(path))]
    NoCapture {
        /// The file.
        path: PathBuf,
        /// Fault at the beginning of the file.
        reason: String,
    },
}

impl Error {
    /// The error of opening a file. A file in an unsupported form is no capture.
    fn of(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::Unsupported => Self::NoCapture { path, reason: source.to_string() },
            _ => Self::Io { path, source },
        }
    }
}

/// The name of a file for a terminal ([`text::visible`]).
fn visible(path: &Path) -> String {
    text::visible(&path.to_string_lossy())
}

/// Place from which a capture cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The first byte, counted in the uncompressed capture, of the record that is damaged.
    pub offset: u64,
    /// Number of packets that were read before it.
    pub packets: u64,
    /// The fault.
    pub reason: String,
}

/// A packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its number in the capture, the first being 1.
    pub number: u64,
    /// Time at which it was captured, from the epoch of the file.
    pub at: Option<Instant>,
    /// Type of its first header.
    pub link_type: LinkType,
    /// Interface of its section at which it was seen.
    pub interface: u32,
    /// Number of bytes that it had on the wire.
    pub original_len: u32,
    /// Its bytes, perhaps cut when it was captured.
    pub data: &'a [u8],
}

/// Facts about a capture, complete at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its format; `None` before the first packet was asked for.
    pub format: Option<Format>,
    /// Its compression.
    pub compression: Option<Compression>,
    /// Packets that were read.
    pub packets: u64,
    /// Packets among them whose fraction field has a second or more, which counts in full.
    pub carried: u64,
    /// Bytes that were read, uncompressed.
    pub bytes: u64,
    /// Place of its damage.
    pub broken: Option<Broken>,
}

/// A capture that is being read.
pub struct Capture {
    path: PathBuf,
    source: Source,
    decoder: Decoder,
    buffer: Vec<u8>,
    /// Index in the buffer of the first byte that was not decoded.
    start: usize,
    /// Index in the buffer behind the last byte.
    end: usize,
    /// Bytes that were read, uncompressed.
    bytes: u64,
    broken: Option<Broken>,
    is_over: bool,
}

impl Capture {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// A file that cannot be opened, or whose first bytes cannot be read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let source = Source::open(path).map_err(|error| Error::of(path, error))?;
        Ok(Self::over(path, source))
    }

    /// Reads from any input, under a name for messages.
    ///
    /// # Errors
    /// First bytes that cannot be read.
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

    /// The next packet; `None` at the end of the file or before its damage.
    ///
    /// # Errors
    /// A file that is no capture.
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

    /// The facts so far.
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

    /// Share of the file that was read, from 0 to 1; `None` of a pipe, which has no length.
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

    /// Reads until there are more bytes than before, or the capture is over. The decoder bounds the
    /// number of bytes that it needs.
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
            return Err(Error::NoCapture { path: self.path.clone(), reason: error.to_string() });
        };
        if self.decoder.format().is_none() {
            let reason = format!("not a capture: {fault}");
            return Err(Error::NoCapture { path: self.path.clone(), reason });
        }
        self.broken = Some(Broken { offset, packets, reason: fault.to_string() });
        Ok(())
    }

    /// The compressed stream or the medium is damaged.
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
            // What the system refuses is no property of the file.
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
