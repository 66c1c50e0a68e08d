//! Reading of a record from an untrusted file.

use super::{CONTROL, END, MAGIC, MAX_BODY, PACKET, PACKET_HEAD, VERSION};
use crate::packet::Endpoints;
use fairwave_trace::NodeId;
use fairwave_units::Instant;
use std::io::{self, Read};

/// One entry of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A packet entered the world.
    Packet {
        /// Its time.
        at: Instant,
        /// Where it entered, and where it was to leave.
        ends: Endpoints,
        /// Time for which it was, in bytes.
        len: u32,
        /// The recorded part of the packet.
        bytes: &'a [u8],
    },
    /// A command changed the world.
    Control {
        /// Its time.
        at: Instant,
        /// Its text.
        text: &'a str,
    },
    /// The run ended.
    End {
        /// Its time.
        at: Instant,
        /// Whether all packets are in the record.
        is_complete: bool,
    },
}

/// Reason for which a record cannot be read, or not beyond a certain entry.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is not a record.
    #[error("this is no record of an emulated run")]
    Magic,
    /// The record has another version.
    #[error("the record has version {0}, this program reads version {VERSION}")]
    Version(u16),
    /// The record ends within an entry, or without its final entry.
    #[error("the record is cut after {records} entries, at {until}; they are usable")]
    Cut {
        /// Number of entries before that.
        records: u64,
        /// Time of the last of them.
        until: Instant,
    },
    /// An entry is damaged.
    #[error("entry {} of the record is damaged: {what}; up to {until} it is usable", records + 1)]
    Damaged {
        /// Number of entries before it.
        records: u64,
        /// Time of the last of them.
        until: Instant,
        /// The fault.
        what: &'static str,
    },
}

/// Reads the entries of a record in order.
#[derive(Debug)]
pub struct Reader<R> {
    file: R,
    body: Vec<u8>,
    records: u64,
    /// Time of the last entry.
    until: Instant,
    is_over: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the beginning of a record.
    ///
    /// # Errors
    /// [`Error::Magic`], [`Error::Version`], or an error of the file.
    pub fn new(mut file: R) -> Result<Self, Error> {
        let mut head = [0; 8];
        if fill(&mut file, &mut head)? < head.len() || head[..4] != MAGIC {
            return Err(Error::Magic);
        }
        let version = u16::from_le_bytes([head[4], head[5]]);
        if version != VERSION {
            return Err(Error::Version(version));
        }
        let (body, records, until, is_over) = (Vec::new(), 0, Instant::ZERO, false);
        Ok(Self { file, body, records, until, is_over })
    }

    /// Returns the next entry; `None` after the final one.
    ///
    /// # Errors
    /// [`Error::Cut`] or [`Error::Damaged`]; the entries before are valid.
    pub fn read(&mut self) -> Result<Option<Record<'_>>, Error> {
        if self.is_over {
            return Ok(None);
        }
        let mut head = [0; 8];
        if fill(&mut self.file, &mut head)? < head.len() {
            return Err(self.cut());
        }
        let [a, b, c, d, crc @ ..] = head;
        let len = u32::from_le_bytes([a, b, c, d]) as usize;
        if len > MAX_BODY {
            return Err(self.damaged("its length is impossible"));
        }
        self.body.resize(len, 0);
        if fill(&mut self.file, &mut self.body)? < len {
            return Err(self.cut());
        }
        if crc32c::crc32c(&self.body) != u32::from_le_bytes(crc) {
            return Err(self.damaged("its checksum is wrong"));
        }
        self.take()
    }

    fn take(&mut self) -> Result<Option<Record<'_>>, Error> {
        let (until, records) = (self.until, self.records);
        let damaged = |what| Err(Error::Damaged { records, until, what });
        let Some(record) = parse(&self.body) else { return damaged("its kind or form is unknown") };
        let at = match record {
            Record::Packet { at, .. } | Record::Control { at, .. } | Record::End { at, .. } => at,
        };
        if at < until {
            return damaged("it is from before the last one");
        }
        self.is_over = matches!(record, Record::End { .. });
        (self.until, self.records) = (at, records + 1);
        Ok(Some(record))
    }

    /// Time of the last entry read.
    pub fn until(&self) -> Instant {
        self.until
    }

    fn cut(&self) -> Error {
        Error::Cut { records: self.records, until: self.until }
    }

    fn damaged(&self, what: &'static str) -> Error {
        Error::Damaged { records: self.records, until: self.until, what }
    }
}

/// Parses the entry of a body whose checksum is correct.
fn parse(body: &[u8]) -> Option<Record<'_>> {
    let (&kind, rest) = body.split_first()?;
    let (at, rest) = rest.split_first_chunk::<8>()?;
    let at = Instant::from_nanos(u64::from_le_bytes(*at));
    match (kind, rest) {
        (PACKET, _) => {
            let (head, bytes) = rest.split_first_chunk::<{ PACKET_HEAD - 9 }>()?;
            let (numbers, _) = head.as_chunks::<4>();
            let [source, destination, len] = [0, 1, 2].map(|i| u32::from_le_bytes(numbers[i]));
            let ends = Endpoints { source: NodeId(source), destination: NodeId(destination) };
            (bytes.len() <= len as usize).then_some(Record::Packet { at, ends, len, bytes })
        }
        (CONTROL, text) => Some(Record::Control { at, text: core::str::from_utf8(text).ok()? }),
        (END, [complete @ (0 | 1)]) => Some(Record::End { at, is_complete: *complete == 1 }),
        _ => None,
    }
}

/// Reads until the buffer is full or the file ends. Returns the number of bytes.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut have = 0;
    while have < buffer.len() {
        match file.read(&mut buffer[have..]) {
            Ok(0) => break,
            Ok(n) => have += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(have)
}
