//! Reading of records from files.

use super::iperf3;
use super::record::{Record, Repetition};
use serde::Deserialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// File of `fairwave fairness` in its directory.
const FILE: &str = "fairness.json";
/// Maximum relative difference of intervals that count as equal.
const NEARLY: f64 = 0.01;

/// Errors of reading a record.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system returned an error.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The content of the file is not valid.
    #[error("{path}: {why}")]
    Other {
        /// The file or directory.
        path: PathBuf,
        /// The fault.
        why: String,
    },
}

/// The measured part of `fairness.json`.
#[derive(Deserialize)]
struct Kept {
    record: Record,
}

/// Reads a record from a directory or file of `fairwave fairness`, from a file of `iperf3 --json`,
/// from a directory of such files, one per station, or from a directory of such directories, one
/// per repetition.
///
/// # Errors
/// If the path is none of these.
pub fn read(path: &Path) -> Result<Record, Error> {
    if !path.is_dir() {
        return read_file(path);
    }
    let ours = path.join(FILE);
    if ours.exists() {
        return read_file(&ours);
    }
    let refused = |source| Error::Io { path: path.to_owned(), source };
    let mut inner = Vec::new();
    for entry in fs::read_dir(path).map_err(refused)? {
        let entry = entry.map_err(refused)?.path();
        if entry.is_dir() || entry.extension().is_some_and(|extension| extension == "json") {
            inner.push(entry);
        }
    }
    inner.sort();
    let are_repetitions = inner.iter().any(|path| path.is_dir());
    let parts: Result<Vec<Record>, Error> = inner.iter().map(|path| read(path)).collect();
    join(path, parts?, are_repetitions)
}

fn read_file(path: &Path) -> Result<Record, Error> {
    let text =
        fs::read_to_string(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    let other = |why| Error::Other { path: path.to_owned(), why };
    let record = match serde_json::from_str::<Kept>(&text) {
        Ok(Kept { record }) => record,
        Err(_) => {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            iperf3::parse(&text, &name).map_err(other)?
        }
    };
    if !record.interval_s.is_finite() || record.interval_s <= 0.0 {
        return Err(other("an interval without length".to_owned()));
    }
    Ok(record)
}

/// Joins several records: each is a repetition, or each is a station of the same repetition.
fn join(path: &Path, parts: Vec<Record>, are_repetitions: bool) -> Result<Record, Error> {
    let other = |why: &str| Error::Other { path: path.to_owned(), why: why.to_owned() };
    let mut parts = parts.into_iter();
    let mut whole = parts.next().ok_or_else(|| {
        other("neither fairness.json nor files *.json of `iperf3 --json` are in this directory")
    })?;
    for part in parts {
        if (part.interval_s - whole.interval_s).abs() > NEARLY * whole.interval_s {
            return Err(other("the intervals of its files differ in length"));
        }
        if are_repetitions {
            whole.repetitions.extend(part.repetitions);
            continue;
        }
        if part.repetitions.len() != whole.repetitions.len() {
            return Err(other("its files have different numbers of repetitions"));
        }
        for (Repetition { stations }, more) in whole.repetitions.iter_mut().zip(part.repetitions) {
            let known = |name: &str| stations.iter().any(|station| station.name == name);
            if more.stations.iter().any(|station| known(&station.name)) {
                return Err(other("two of its files are of stations with the same name"));
            }
            stations.extend(more.stations);
        }
    }
    Ok(whole)
}
