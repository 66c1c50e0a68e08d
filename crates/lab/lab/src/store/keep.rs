//! Storage and retrieval of results.

use super::error::Error;
use super::key::{HASH_BYTES, Key, Version};
use super::place::{Held, Place};
use super::record::{self, End, Found, HEAD_BYTES, Head};
use fairwave_units::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Part of the bound that a segment takes, so that removing one leaves nearly all of the others.
const SEGMENTS_OF_LIMIT: u64 = 16;
/// Size in bytes at which a segment is followed by another, however large the bound.
const MAX_SEGMENT_BYTES: u64 = 256 << 20;
/// Results between two syncs of the disk. A process that ends loses none of them without a sync. If
/// the power fails, as many runs are made again.
const RESULTS_PER_SYNC: u32 = 64;

/// Receiver of messages on faults of a store, a sentence each; each kind of fault is reported once.
pub type Say = Box<dyn Fn(&str) + Send + Sync>;

/// Name and bytes of a part of a run's results.
pub type Part = (String, Vec<u8>);

/// Maker of missing results: gets the part that is missing and the resolved scenario, and returns
/// all parts of the result.
pub type Source = Box<dyn Fn(&str, &str) -> Sourced + Send + Sync>;

/// Answer of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sourced {
    /// All parts of the result.
    Parts(Vec<Part>),
    /// This process has to make the run itself.
    MakeHere,
    /// The work has ended: neither the source nor this process makes the run.
    Ended,
}

/// A store of results.
pub struct Store {
    source: Option<Source>,
    place: Place,
    version: Version,
    say: Say,
    limit: Bytes,
    taken: AtomicU64,
    /// Whether the source has ended.
    has_ended: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Segments of this version, as far as they were read.
    segments: BTreeMap<u64, Segment>,
    /// Numbers of segments of other versions and formats.
    others: BTreeSet<u64>,
    /// Places of the results.
    index: BTreeMap<[u8; HASH_BYTES], (u64, Found)>,
    reported: BTreeSet<Trouble>,
    /// Whether results are no longer kept, as writing failed.
    is_closed: bool,
    unsynced: u32,
}

struct Segment {
    file: File,
    /// The end of the last whole record.
    end: u64,
    /// End of the known part.
    rest: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Trouble {
    Read,
    Write,
    Damage,
    Format,
    Size,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store in `directory`, which is made if it is missing, for results of `version`.
    ///
    /// # Errors
    /// A directory that cannot be made or read.
    pub fn open(directory: &Path, version: Version, say: Say) -> Result<Self, Error> {
        fs::create_dir_all(directory).map_err(Error::at(directory))?;
        let place = Place::at(directory);
        place.segments().map_err(Error::at(directory))?;
        let (taken, has_ended) = (AtomicU64::new(0), AtomicBool::new(false));
        let (limit, inner) = (place.limit(), Mutex::default());
        let store = Self { source: None, limit, place, version, say, taken, has_ended, inner };
        store.refresh(&mut store.inner(), false);
        Ok(store)
    }

    /// The store with a source of the results that it lacks.
    pub fn with_source(mut self, source: Source) -> Self {
        self.source = Some(source);
        self
    }

    /// Whether it has a source of the results that it lacks.
    pub fn has_source(&self) -> bool {
        self.source.is_some()
    }

    /// Whether its source has ended the work: what it lacks is not to be made.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// Version of the code whose results it has.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// Number of runs that were taken from it instead of being made.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Counts a run that was taken.
    pub(crate) fn note_taken(&self) {
        self.taken.fetch_add(1, Ordering::Relaxed);
    }

    /// The result of `key`, if it is there and undamaged, or if the source makes it.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        self.found(key).or_else(|| self.made(key))
    }

    /// The result of `key` from the source. All parts that come with it are kept.
    fn made(&self, key: &Key) -> Option<Vec<u8>> {
        let (wanted, scenario) = key.text().split_once('\n')?;
        let parts = match self.source.as_ref()?(wanted, scenario) {
            Sourced::Parts(parts) => parts,
            Sourced::MakeHere => return None,
            Sourced::Ended => {
                self.has_ended.store(true, Ordering::Relaxed);
                return None;
            }
        };
        let mut result = None;
        for (part, bytes) in parts {
            self.put(&Key::new(&self.version, &part, scenario), &bytes);
            if part == wanted {
                result = Some(bytes);
            }
        }
        result
    }

    fn found(&self, key: &Key) -> Option<Vec<u8>> {
        let (number, found, content) = self.content(&mut self.inner(), key)?;
        let unpacked = content.and_then(|content| record::unpacked(&content));
        if let Some((_, result)) = unpacked.filter(|(text, _)| text == key.text().as_bytes()) {
            return Some(result);
        }
        let mut inner = self.inner();
        inner.index.remove(key.hash());
        self.report(&mut inner, Trouble::Damage, &self.damage(number, found.offset));
        None
    }

    /// The place of the record of `key`, and its content unless that is damaged.
    fn content(&self, inner: &mut Inner, key: &Key) -> Option<(u64, Found, Option<Vec<u8>>)> {
        if !inner.index.contains_key(key.hash()) {
            // Another process may have written the record since the last look.
            self.refresh(inner, false);
        }
        let (number, found) = *inner.index.get(key.hash())?;
        let segment = inner.segments.get_mut(&number)?;
        match record::content(&mut segment.file, &found) {
            Ok(content) => Some((number, found, content)),
            Err(error) => {
                self.report(inner, Trouble::Read, &format!("{error}; its run is made again"));
                None
            }
        }
    }

    /// Keeps a result. A failure is reported and has no other effect.
    pub fn put(&self, key: &Key, result: &[u8]) {
        if self.inner().is_closed {
            return;
        }
        let record = record::record(key, result);
        let mut inner = self.inner();
        let max = usize::try_from(self.limit.0).unwrap_or(usize::MAX);
        let Some(record) = record.filter(|record| record.len() + HEAD_BYTES <= max) else {
            let what = "a result is larger than the store may be, and is not kept";
            return self.report(&mut inner, Trouble::Size, what);
        };
        if let Err(error) = self.append(&mut inner, key, &record) {
            inner.is_closed = true;
            let what = format!("{error}; further results are not kept, and nothing else is lost");
            self.report(&mut inner, Trouble::Write, &what);
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A panic leaves an index that leads to records, each of which is checked when it is read.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, inner: &mut Inner, trouble: Trouble, what: &str) {
        if inner.reported.insert(trouble) {
            (self.say)(&format!("store of results {}: {what}", self.path().display()));
        }
    }

    fn damage(&self, number: u64, offset: u64) -> String {
        let file = self.place.segment(number);
        let file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        format!("{file} is damaged at byte {offset}; the runs there are made again")
    }

    fn append(&self, inner: &mut Inner, key: &Key, record: &[u8]) -> io::Result<()> {
        let mut held = self.place.lock()?;
        // Under the lock the end of the last segment is known, and no process can move it.
        self.refresh(inner, true);
        if inner.index.contains_key(key.hash()) {
            return Ok(());
        }
        let number = self.to_write(inner, &mut held, record.len() as u64)?;
        let segment = inner.segments.get_mut(&number).ok_or(io::ErrorKind::NotFound)?;
        let offset = segment.end;
        segment.file.seek(SeekFrom::Start(offset))?;
        if let Err(error) = segment.file.write_all(record) {
            // The written part is no record. If it stays, the next writer removes it.
            let _ = segment.file.set_len(offset);
            return Err(error);
        }
        segment.end += record.len() as u64;
        let length = (record.len() - record::RECORD_HEAD_BYTES) as u32;
        let found = Found { hash: *key.hash(), offset, length };
        inner.index.insert(*key.hash(), (number, found));
        inner.unsynced += 1;
        if inner.unsynced >= RESULTS_PER_SYNC {
            inner.unsynced = 0;
            inner.segments[&number].file.sync_data()?;
        }
        self.evict(inner, number)
    }

    /// The segment for the next record of `bytes` bytes: the last of this version, if it has room,
    /// or a new one.
    fn to_write(&self, inner: &mut Inner, held: &mut Held, bytes: u64) -> io::Result<u64> {
        let max = (self.limit.0 / SEGMENTS_OF_LIMIT).min(MAX_SEGMENT_BYTES);
        if let Some((number, segment)) = inner.segments.last_key_value() {
            let is_empty = segment.end == HEAD_BYTES as u64;
            if is_empty || segment.end + bytes <= max {
                return Ok(*number);
            }
        }
        // A full segment gets no more records, so that no later call would sync it.
        for segment in inner.segments.values().filter(|_| inner.unsynced > 0) {
            segment.file.sync_data()?;
        }
        let (number, file) = self.place.new_segment(held, &record::head(&self.version))?;
        let end = HEAD_BYTES as u64;
        inner.segments.insert(number, Segment { file, end, rest: End::Whole });
        Ok(number)
    }

    /// Removes segments until the bound is kept: those of other versions first, then the oldest,
    /// and never the one that was just written.
    fn evict(&self, inner: &mut Inner, written: u64) -> io::Result<()> {
        let sizes = self.place.segments()?;
        let mut total: u64 = sizes.values().sum();
        let mut order: Vec<u64> = sizes.keys().copied().filter(|n| *n != written).collect();
        // `false` sorts first: `inner.segments` has none of another version.
        order.sort_by_key(|number| (inner.segments.contains_key(number), *number));
        for number in order {
            if total <= self.limit.0 {
                break;
            }
            self.place.remove(number)?;
            total -= sizes[&number];
            inner.forget(number);
        }
        Ok(())
    }

    /// Reads records that were added since, and drops those that were removed. The holder of the
    /// lock knows that no process is writing: a record that is cut short stays so, and is removed.
    fn refresh(&self, inner: &mut Inner, is_held: bool) {
        let sizes = match self.place.segments() {
            Ok(sizes) => sizes,
            Err(error) => return self.report(inner, Trouble::Read, &error.to_string()),
        };
        let gone: Vec<u64> =
            inner.segments.keys().copied().filter(|known| !sizes.contains_key(known)).collect();
        gone.into_iter().for_each(|number| inner.forget(number));
        for (number, size) in sizes {
            if let Err(error) = self.read(inner, number, size, is_held) {
                self.report(inner, Trouble::Read, &format!("{error}; it is not used"));
            }
        }
    }

    /// Reads the records of a segment beyond its known part.
    fn read(&self, inner: &mut Inner, number: u64, size: u64, is_held: bool) -> io::Result<()> {
        if inner.others.contains(&number) {
            return Ok(());
        }
        if !inner.segments.contains_key(&number) {
            match self.opened(inner, number, is_held)? {
                Some(segment) => drop(inner.segments.insert(number, segment)),
                None => return Ok(()),
            }
        }
        let Some(segment) = inner.segments.get_mut(&number) else { return Ok(()) };
        if segment.end == size || (segment.rest == End::Damaged && !is_held) {
            return Ok(());
        }
        let (records, end, rest) = record::scan(&mut segment.file, segment.end)?;
        (segment.end, segment.rest) = (end, rest);
        let is_damaged = rest == End::Damaged || (rest == End::Within && is_held);
        let cut = if is_held && is_damaged { segment.file.set_len(end) } else { Ok(()) };
        if cut.is_ok() && is_held {
            segment.rest = End::Whole;
        }
        // A later record of the same key stands where an earlier one was found damaged.
        let found = records.into_iter().map(|found| (found.hash, (number, found)));
        inner.index.extend(found);
        if is_damaged {
            self.report(inner, Trouble::Damage, &self.damage(number, end));
        }
        cut
    }

    /// The segment, if it is of this version.
    fn opened(&self, inner: &mut Inner, number: u64, is_held: bool) -> io::Result<Option<Segment>> {
        let path = self.place.segment(number);
        let writable = File::options().read(true).write(true).open(&path);
        let mut file = writable.or_else(|_| File::open(&path))?;
        match record::read_head(&mut file)? {
            Head::Of(version) if version == self.version => {
                return Ok(Some(Segment { file, end: HEAD_BYTES as u64, rest: End::Whole }));
            }
            Head::Of(_) => {}
            Head::OtherFormat(format) => {
                let reads = record::FORMAT;
                let what = format!("a file has format {format}, where this program reads {reads}");
                self.report(inner, Trouble::Format, &format!("{what}; it is left alone"));
            }
            // Another process may be about to write the head.
            Head::Damaged if !is_held => return Ok(None),
            Head::Damaged => {
                self.place.remove(number)?;
                self.report(inner, Trouble::Damage, &self.damage(number, 0));
                return Ok(None);
            }
        }
        inner.others.insert(number);
        Ok(None)
    }
}

impl Inner {
    fn forget(&mut self, number: u64) {
        self.segments.remove(&number);
        self.others.remove(&number);
        self.index.retain(|_, (of, _)| *of != number);
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        for segment in inner.segments.values().filter(|_| inner.unsynced > 0) {
            // Results that do not reach the disk are made again.
            let _ = segment.file.sync_data();
        }
    }
}
