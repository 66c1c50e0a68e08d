//! Sources of the bytes. Compression is detected from the first bytes, not from the file's name.

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

/// Compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
}

impl Compression {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// First bytes of formats that another program has to decompress, and that program.
const FOREIGN: [(&[u8], &str); 4] = [
    (b"\xfd7zXZ\0", "xz -dc"),
    (b"BZh", "bzip2 -dc"),
    (b"\x04\x22\x4d\x18", "lz4 -dc"),
    (b"PK\x03\x04", "unzip -p"),
];

/// Length of reads from the file in bytes.
const CHUNK: usize = 64 * 1024;

/// A source of uncompressed bytes.
pub(super) struct Source {
    input: Box<dyn Read>,
    compression: Option<Compression>,
    taken: Rc<Cell<u64>>,
    size: Option<u64>,
}

impl Source {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Self::new(Box::new(io::stdin().lock()), None);
        }
        let file = File::open(path)?;
        let facts = file.metadata()?;
        if facts.is_dir() {
            return Err(io::Error::other("it is a directory"));
        }
        let size = facts.is_file().then_some(facts.len());
        Self::new(Box::new(file), size)
    }

    /// Wraps an input; `size` is the length of its file, if known.
    pub(super) fn new(input: Box<dyn Read>, size: Option<u64>) -> io::Result<Self> {
        let taken = Rc::new(Cell::new(0));
        let counted = Counted { input, taken: Rc::clone(&taken) };
        let mut input = BufReader::with_capacity(CHUNK, counted);
        let beginning = input.fill_buf()?;
        if let Some((_, program)) = FOREIGN.iter().find(|(magic, _)| beginning.starts_with(magic)) {
            let what =
                format!("compressed; decompress it first: {program} FILE | fairwave trace -");
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        let (input, compression): (Box<dyn Read>, _) = match beginning {
            [0x1f, 0x8b, ..] => (Box::new(MultiGzDecoder::new(input)), Some(Compression::Gzip)),
            _ if is_zstd(beginning) => (Box::new(Frames::new(input)), Some(Compression::Zstd)),
            _ => (Box::new(input), None),
        };
        Ok(Self { input, compression, taken, size })
    }

    pub(super) const fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// The share of the file that was read, from 0 to 1.
    pub(super) fn progress(&self) -> Option<f64> {
        let size = self.size.filter(|size| *size > 0)?;
        Some((self.taken.get() as f64 / size as f64).min(1.0))
    }
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.input.read(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

/// Whether the bytes begin a zstd frame (0xfd2fb528) or a skippable frame (RFC 8878 section 3.1.2).
fn is_zstd(beginning: &[u8]) -> bool {
    matches!(beginning, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Counts the bytes read.
struct Counted {
    input: Box<dyn Read>,
    taken: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = self.input.read(into)?;
        self.taken.set(self.taken.get() + len as u64);
        Ok(len)
    }
}

/// Decompresses the successive frames of a zstd file.
struct Frames<R: BufRead> {
    input: R,
    decoder: FrameDecoder,
    is_within: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(input: R) -> Self {
        Self { input, decoder: FrameDecoder::new(), is_within: false }
    }

    /// Begins the next frame; `false` at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.input) {
                Ok(()) => {
                    self.is_within = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = (&mut self.input).take(u64::from(length));
                    io::copy(&mut skipped, &mut io::sink())?;
                }
                Err(error) => return Err(damage(&error)),
            }
        }
        Ok(false)
    }

    /// Compares the frame's checksum, if it has one, with that of the decompressed bytes.
    fn end(&mut self) -> io::Result<()> {
        self.is_within = false;
        let stated = self.decoder.get_checksum_from_data();
        if stated.is_some() && stated != self.decoder.get_calculated_checksum() {
            return Err(io::Error::other("the checksum of a frame is wrong"));
        }
        Ok(())
    }
}

/// Describes an error of the decoder for users, as the decoder's own messages refer to its
/// internals.
fn damage(error: &FrameDecoderError) -> io::Error {
    if let Some(cause) = io_cause(error) {
        return match cause.kind() {
            io::ErrorKind::UnexpectedEof => cause.kind().into(),
            kind => io::Error::new(kind, cause.to_string()),
        };
    }
    let what = match error {
        FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::BadMagicNumber(_)) => {
            "the data behind a frame is not a frame".to_owned()
        }
        FrameDecoderError::DictNotProvided { .. } => {
            "it was compressed with a dictionary, which is not in it".to_owned()
        }
        FrameDecoderError::WindowSizeTooBig { requested, max } => {
            format!("it needs a window of {requested} bytes, the limit is {max}")
        }
        _ => "a frame cannot be decompressed".to_owned(),
    };
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The error of the input among the causes of a decoder's error.
fn io_cause(error: &FrameDecoderError) -> Option<&io::Error> {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.is_within || self.begin()? {
            let len = self.decoder.read(into)?;
            if len > 0 || into.is_empty() {
                return Ok(len);
            }
            if self.decoder.is_finished() {
                self.end()?;
            } else {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut self.input, one);
                decoded.map_err(|error| damage(&error))?;
            }
        }
        Ok(0)
    }
}
