//! The files of a store: numbered segments, a lock, and a bound.

use fairwave_units::Bytes;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Ending of segments' names.
const SEGMENT: &str = ".runs";
/// Lock file with the number of the next segment. The process that holds its lock may write.
const LOCK: &str = "fairwave-store.lock";
/// File with the maximum size of the store, in bytes.
const LIMIT: &str = "fairwave-store.limit";
/// The bound if none was set.
pub const DEFAULT_LIMIT: Bytes = Bytes(4_000_000_000);

/// The directory of a store.
#[derive(Clone, Debug)]
pub(super) struct Place {
    path: PathBuf,
}

/// The lock. Its holder is the only writer.
pub(super) struct Held {
    file: File,
}

impl Place {
    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn segment(&self, number: u64) -> PathBuf {
        self.path.join(format!("{number:06}{SEGMENT}"))
    }

    /// The segments by their numbers, with their sizes. The oldest has the lowest number.
    pub(super) fn segments(&self) -> io::Result<BTreeMap<u64, u64>> {
        let mut segments = BTreeMap::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name();
            let digits = name.to_str().and_then(|name| name.strip_suffix(SEGMENT));
            let number = digits.filter(|digits| digits.len() >= 6).and_then(|d| d.parse().ok());
            // Another process may have removed it since the directory was read.
            if let (Some(number), Ok(about)) = (number, entry.metadata()) {
                segments.insert(number, about.len());
            }
        }
        Ok(segments)
    }

    /// Waits until no other process writes.
    pub(super) fn lock(&self) -> io::Result<Held> {
        let options = File::options().read(true).write(true).create(true).truncate(false).clone();
        let file = options.open(self.path.join(LOCK))?;
        file.lock()?;
        Ok(Held { file })
    }

    /// Makes the next segment, of which no file had the number before.
    pub(super) fn new_segment(&self, held: &mut Held, head: &[u8]) -> io::Result<(u64, File)> {
        let last = self.segments()?.keys().next_back().copied().unwrap_or(0);
        let number = held.next()?.max(last + 1);
        held.set_next(number + 1)?;
        let path = self.segment(number);
        let mut file = File::options().read(true).write(true).create_new(true).open(&path)?;
        if let Err(error) = file.write_all(head) {
            // A file without a head is ignored, so that a failure to remove it does no harm.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        Ok((number, file))
    }

    pub(super) fn remove(&self, number: u64) -> io::Result<()> {
        match fs::remove_file(self.segment(number)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Maximum size of the store.
    pub(super) fn limit(&self) -> Bytes {
        let text = fs::read_to_string(self.path.join(LIMIT)).unwrap_or_default();
        text.trim().parse().map_or(DEFAULT_LIMIT, Bytes)
    }

    pub(super) fn set_limit(&self, limit: Bytes) -> io::Result<()> {
        fs::write(self.path.join(LIMIT), format!("{}\n", limit.0))
    }
}

impl Held {
    /// The number of the next segment; 1 where none is written that can be read.
    fn next(&mut self) -> io::Result<u64> {
        let mut text = String::new();
        self.file.seek(SeekFrom::Start(0))?;
        // An unreadable number counts as 1: `new_segment` goes beyond the existing segments, too.
        let _ = (&mut self.file).take(32).read_to_string(&mut text);
        Ok(text.trim().parse().unwrap_or(1))
    }

    fn set_next(&mut self, number: u64) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        // All numbers have the same length, so that no digits of an earlier one stay.
        self.file.write_all(format!("{number:020}\n").as_bytes())
    }
}
