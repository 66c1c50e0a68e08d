//! Inspection, verification, bound and removal of a store's results.

use super::error::Error;
use super::key::Version;
use super::place::{DEFAULT_LIMIT, Place};
use super::record::{self, End, HEAD_BYTES, Head};
use fairwave_units::Bytes;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

/// Contents of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Maximum size.
    pub limit: Bytes,
    /// Present size.
    pub size: Bytes,
    /// Contents by version of the code: this program's first, then those with the newest results.
    pub versions: Vec<OfVersion>,
}

/// The results of a version of the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfVersion {
    /// The version; `None` where the files are damaged or have another format.
    pub version: Option<Version>,
    /// Number of results, superseded ones included.
    pub results: u64,
    /// Their size.
    pub size: Bytes,
    /// The number of their newest file.
    newest: u64,
}

impl Content {
    /// Contents of a missing store.
    pub fn none() -> Self {
        Self { limit: DEFAULT_LIMIT, size: Bytes(0), versions: Vec::new() }
    }
}

/// Result of reading every byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Results that are as they were written.
    pub whole: u64,
    /// Damage, in words: the file and the byte.
    pub damaged: Vec<String>,
}

/// Reads the contents of the store at `path`, as `mine` sees it.
///
/// # Errors
/// A store that cannot be read.
pub fn stat(path: &Path, mine: &Version) -> Result<Content, Error> {
    let place = Place::at(path);
    let mut versions: BTreeMap<Option<Version>, OfVersion> = BTreeMap::new();
    let sizes = place.segments().map_err(Error::at(path))?;
    for (&number, &size) in &sizes {
        let (version, results) = counted(&place, number).map_err(Error::at(path))?;
        let none = OfVersion { version, results: 0, size: Bytes(0), newest: 0 };
        let of = versions.entry(version).or_insert(none);
        of.results += results;
        of.size = Bytes(of.size.0 + size);
        of.newest = number;
    }
    let mut versions: Vec<OfVersion> = versions.into_values().collect();
    versions.sort_by_key(|of| (of.version != Some(*mine), std::cmp::Reverse(of.newest)));
    Ok(Content { limit: place.limit(), size: Bytes(sizes.values().sum()), versions })
}

/// A segment's version, if it can be read, and how many records it has.
fn counted(place: &Place, number: u64) -> io::Result<(Option<Version>, u64)> {
    let mut file = File::open(place.segment(number))?;
    match record::read_head(&mut file)? {
        Head::Of(version) => {
            let (records, ..) = record::scan(&mut file, HEAD_BYTES as u64)?;
            Ok((Some(version), records.len() as u64))
        }
        Head::OtherFormat(_) | Head::Damaged => Ok((None, 0)),
    }
}

/// Reads every byte of the store at `path`, whatever version it is of.
///
/// # Errors
/// A store that cannot be read.
pub fn verify(path: &Path) -> Result<Verified, Error> {
    let place = Place::at(path);
    let mut verified = Verified::default();
    for number in place.segments().map_err(Error::at(path))?.into_keys() {
        verified.segment(&place, number).map_err(Error::at(path))?;
    }
    Ok(verified)
}

impl Verified {
    fn segment(&mut self, place: &Place, number: u64) -> io::Result<()> {
        let path = place.segment(number);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut file = File::open(&path)?;
        match record::read_head(&mut file)? {
            Head::Of(_) => {}
            Head::OtherFormat(format) => {
                self.damaged.push(format!("{name} has format {format}, which this cannot read"));
                return Ok(());
            }
            Head::Damaged => {
                self.damaged.push(format!("{name} is damaged at its beginning"));
                return Ok(());
            }
        }
        let (records, end, rest) = record::scan(&mut file, HEAD_BYTES as u64)?;
        for found in records {
            let content = record::content(&mut file, &found)?;
            match content.and_then(|content| record::unpacked(&content)) {
                Some(_) => self.whole += 1,
                None => self.damaged.push(format!("{name} is damaged at byte {}", found.offset)),
            }
        }
        if rest != End::Whole {
            self.damaged.push(format!("{name} is damaged or cut short at byte {end}"));
        }
        Ok(())
    }
}

/// Removes every result of the store at `path`, or those of other versions than `but`. Returns
/// their size.
///
/// # Errors
/// A file that cannot be removed, or a directory without permission to write.
pub fn clear(path: &Path, but: Option<&Version>) -> Result<Bytes, Error> {
    let place = Place::at(path);
    let failed = Error::at(path);
    let _held = place.lock().map_err(&failed)?;
    let mut freed = 0;
    for (number, size) in place.segments().map_err(&failed)? {
        let is_kept = match but {
            Some(version) => counted(&place, number).map_err(&failed)?.0 == Some(*version),
            None => false,
        };
        if !is_kept {
            place.remove(number).map_err(&failed)?;
            freed += size;
        }
    }
    Ok(Bytes(freed))
}

/// Sets the bound of the store at `path`. The next result that is put there enforces it.
///
/// # Errors
/// A directory without permission to write.
pub fn set_limit(path: &Path, limit: Bytes) -> Result<(), Error> {
    std::fs::create_dir_all(path).map_err(Error::at(path))?;
    Place::at(path).set_limit(limit).map_err(Error::at(path))
}
