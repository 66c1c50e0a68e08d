//! The bytes of a segment: a head, and then a record for each result.
//!
//! ```text
//! head    "fairwave"  8 bytes
//!         format      4, little endian: FORMAT
//!         version    32, of the code that made the results
//!         sum         8, the first of SHA-256 over the 44 bytes before
//! record  "run:"      4
//!         length      4, little endian: bytes of the content
//!         hash       32, of the key
//!         sum        32, SHA-256 over length, hash and content
//!         content    zlib of: length of the key's text (4, little endian), the text, the result
//! ```

use super::key::{HASH_BYTES, Key, Version};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use sha2::{Digest, Sha256};
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Number of this format. A change of a byte's meaning needs another number.
pub const FORMAT: u32 = 1;
const HEAD_MAGIC: [u8; 8] = *b"fairwave";
const RECORD_MAGIC: [u8; 4] = *b"run:";
const HEAD_SUM_BYTES: usize = 8;
/// Bytes of a segment's head.
pub const HEAD_BYTES: usize = 12 + HASH_BYTES + HEAD_SUM_BYTES;
/// Bytes of a record before its content.
pub const RECORD_HEAD_BYTES: usize = 8 + 2 * HASH_BYTES;
/// The largest content. Larger ones are not kept.
pub const MAX_CONTENT_BYTES: usize = 256 << 20;
/// Maximum size of a content when it is decompressed.
const MAX_PLAIN_BYTES: u64 = 1 << 30;

/// State of a file by its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// Results of this version of the code.
    Of(Version),
    /// Another format, by its number.
    OtherFormat(u32),
    /// It is damaged, or no segment.
    Damaged,
}

/// The head of a segment of `version`.
pub fn head(version: &Version) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD_BYTES);
    bytes.extend(HEAD_MAGIC);
    bytes.extend(FORMAT.to_le_bytes());
    bytes.extend(version.0);
    let sum = Sha256::digest(&bytes);
    bytes.extend(&sum[..HEAD_SUM_BYTES]);
    bytes
}

/// Reads the head of a file from its beginning.
///
/// # Errors
/// A file that cannot be read.
pub fn read_head(file: &mut (impl Read + Seek)) -> io::Result<Head> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::with_capacity(HEAD_BYTES);
    file.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut bytes)?;
    let Some((magic, format)) = bytes.split_first_chunk::<8>() else { return Ok(Head::Damaged) };
    let Some(format) = format.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)) else {
        return Ok(Head::Damaged);
    };
    if *magic != HEAD_MAGIC {
        return Ok(Head::Damaged);
    }
    // What follows the number is another format's own.
    if format != FORMAT {
        return Ok(Head::OtherFormat(format));
    }
    let version = bytes.get(12..).and_then(|bytes| bytes.first_chunk());
    Ok(match version.map(|version| Version(*version)) {
        Some(version) if head(&version) == bytes => Head::Of(version),
        _ => Head::Damaged,
    })
}

/// Place of a record in its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The hash of its key.
    pub hash: [u8; HASH_BYTES],
    /// Its first byte.
    pub offset: u64,
    /// Bytes of its content.
    pub length: u32,
}

/// End of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Behind a record.
    Whole,
    /// Within a record: it is being written, or its writing was cut short.
    Within,
    /// Before something that is no record.
    Damaged,
}

/// Lists the records from `from` on, which must be where one begins or the end of the file, without
/// a look at their contents. Returns the byte behind the last of them, too.
///
/// # Errors
/// A file that cannot be read.
pub fn scan(file: &mut (impl Read + Seek), from: u64) -> io::Result<(Vec<Found>, u64, End)> {
    let size = file.seek(SeekFrom::End(0))?;
    let (mut records, mut at) = (Vec::new(), from);
    while at < size {
        let left = size - at;
        if left < RECORD_HEAD_BYTES as u64 {
            return Ok((records, at, End::Within));
        }
        file.seek(SeekFrom::Start(at))?;
        let mut start = [0; 8 + HASH_BYTES];
        file.read_exact(&mut start)?;
        let [magic, length]: [[u8; 4]; 2] =
            [0, 4].map(|i| start[i..].first_chunk().copied().unwrap_or_default());
        let length = u32::from_le_bytes(length);
        if magic != RECORD_MAGIC || length as usize > MAX_CONTENT_BYTES {
            return Ok((records, at, End::Damaged));
        }
        let whole = RECORD_HEAD_BYTES as u64 + u64::from(length);
        if left < whole {
            return Ok((records, at, End::Within));
        }
        let hash = start[8..].first_chunk().copied().unwrap_or_default();
        records.push(Found { hash, offset: at, length });
        at += whole;
    }
    Ok((records, at, End::Whole))
}

/// The record of a result; `None` if that is too large to be kept.
pub fn record(key: &Key, result: &[u8]) -> Option<Vec<u8>> {
    let text = key.text().as_bytes();
    let mut content = ZlibEncoder::new(Vec::new(), Compression::fast());
    let length = u32::try_from(text.len()).ok()?;
    if (4 + text.len() + result.len()) as u64 > MAX_PLAIN_BYTES {
        return None;
    }
    let parts = [&length.to_le_bytes()[..], text, result];
    // Writing to a vector cannot fail.
    parts.into_iter().try_for_each(|part| content.write_all(part)).ok()?;
    let content = content.finish().ok().filter(|bytes| bytes.len() <= MAX_CONTENT_BYTES)?;
    let length = (content.len() as u32).to_le_bytes();
    let sum = sum(length, key.hash(), &content);
    Some([&RECORD_MAGIC[..], &length, key.hash(), &sum, &content].concat())
}

/// The content of the record at that place, if its bytes are those that were written.
///
/// # Errors
/// A file that cannot be read.
pub fn content(file: &mut (impl Read + Seek), found: &Found) -> io::Result<Option<Vec<u8>>> {
    file.seek(SeekFrom::Start(found.offset))?;
    let mut bytes = Vec::with_capacity(RECORD_HEAD_BYTES + found.length as usize);
    let whole = (RECORD_HEAD_BYTES + found.length as usize) as u64;
    file.by_ref().take(whole).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < whole {
        return Ok(None);
    }
    let content = bytes.split_off(RECORD_HEAD_BYTES);
    let length = found.length.to_le_bytes();
    let sum = sum(length, &found.hash, &content);
    let expected = [&RECORD_MAGIC[..], &length, &found.hash, &sum].concat();
    Ok((bytes == expected).then_some(content))
}

fn sum(length: [u8; 4], hash: &[u8; HASH_BYTES], content: &[u8]) -> [u8; HASH_BYTES] {
    Sha256::new().chain_update(length).chain_update(hash).chain_update(content).finalize().into()
}

/// The key's text and the result of a content; `None` if it has neither.
pub fn unpacked(content: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut plain = Vec::new();
    ZlibDecoder::new(content).take(MAX_PLAIN_BYTES + 1).read_to_end(&mut plain).ok()?;
    if plain.len() as u64 > MAX_PLAIN_BYTES {
        return None;
    }
    let (length, rest) = plain.split_first_chunk()?;
    let (text, result) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((text.to_owned(), result.to_owned()))
}
