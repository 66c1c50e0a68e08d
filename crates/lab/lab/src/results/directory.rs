//! A run directory as a whole: its description, and its small files.

use super::disk;
use super::file;
use super::tap::is_tap_file;
use super::wanted::Wanted;
use super::{Error, Recorder, Summary, capture};
use fairwave_sim::world::World;
use fairwave_trace::SCHEMA_VERSION;
use fairwave_units::Seed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The content of `meta.json`, the origin of the numbers. No timestamp, no worker count and
/// no build profile, so that two runs on one machine give the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Meta {
    /// Version of Fairwave.
    pub fairwave_version: String,
    /// Version of the tables and summaries of run directories: [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The question that the scenario answers: the first line of its file, if that is a comment.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub question: String,
    /// The master seed.
    #[schemars(with = "u64")]
    pub seed: Seed,
    /// Sweep axes and their values for this run, by key.
    pub axes: BTreeMap<String, String>,
    /// Number of its point in the order of the sweep, from 0.
    #[serde(default)]
    pub point: usize,
    /// Files with the packets at tapped nodes, by node.
    #[serde(default)]
    pub taps: BTreeMap<String, String>,
    /// Processor architecture.
    pub architecture: String,
    /// Operating system.
    pub system: String,
    /// Release of its kernel; empty where the system does not report one.
    pub kernel: String,
}

impl Meta {
    /// Describes a run on this machine of the first point, which taps no node.
    pub fn here(seed: Seed, axes: BTreeMap<String, String>) -> Self {
        Self {
            fairwave_version: env!("CARGO_PKG_VERSION").to_owned(),
            schema_version: SCHEMA_VERSION,
            question: String::new(),
            seed,
            axes,
            point: 0,
            taps: BTreeMap::new(),
            architecture: std::env::consts::ARCH.to_owned(),
            system: std::env::consts::OS.to_owned(),
            kernel: kernel().to_owned(),
        }
    }
}

/// Release of this system's kernel, which is read once for all runs of a sweep.
fn kernel() -> &'static str {
    static RELEASE: OnceLock<String> = OnceLock::new();
    RELEASE.get_or_init(|| {
        let text = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        text.trim().to_owned()
    })
}

/// A run directory that is being written.
#[derive(Clone, Debug)]
pub struct RunDirectory {
    path: PathBuf,
}

/// Every file a run directory may hold, captures of tapped nodes apart.
const FILES: [&str; 15] = [
    "scenario.toml",
    "meta.json",
    "summary.json",
    "flows.parquet",
    "paths.parquet",
    "windows.parquet",
    "queues.parquet",
    "stations.parquet",
    "pairs.parquet",
    "delays.parquet",
    "delay_bins.parquet",
    "associations.parquet",
    "soc.parquet",
    "drops.parquet",
    capture::FILE,
];

/// The file whose presence means that a run is complete.
const SUMMARY: &str = "summary.json";
/// Files of [`FILES`] that every run directory has beside its series.
const OF_EVERY_RUN: usize = 3;

/// Whether a file of a run directory has series, or is a capture.
pub fn is_series(name: &str) -> bool {
    FILES[OF_EVERY_RUN..].contains(&name) || is_tap_file(name)
}

/// The names of the series and captures in a run directory, sorted.
pub fn series_in(path: &Path) -> Result<Vec<String>, Error> {
    let mut names = disk::names_in(path).map_err(Error::io(path))?;
    names.retain(|name| is_series(name));
    names.sort();
    Ok(names)
}

/// The directories of complete runs: `path` itself, and those below it, sorted.
///
/// # Errors
/// A directory that cannot be read.
pub fn run_directories(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut runs = Vec::new();
    if path.join(SUMMARY).is_file() {
        runs.push(path.to_owned());
    }
    let mut inner = Vec::new();
    for entry in fs::read_dir(path).map_err(Error::io(path))? {
        let entry = entry.map_err(Error::io(path))?;
        // Without links, which could lead in a circle.
        if entry.file_type().map_err(Error::io(path))?.is_dir() {
            inner.push(entry.path());
        }
    }
    inner.sort();
    for directory in inner {
        runs.extend(run_directories(&directory)?);
    }
    Ok(runs)
}

impl RunDirectory {
    /// Makes the directory, or removes the files of an earlier run, and writes the description of
    /// the run before it begins.
    pub fn create(path: &Path, meta: &Meta, scenario: &str) -> Result<Self, Error> {
        disk::create_dir_all(path).map_err(Error::io(path))?;
        remove_earlier(path)?;
        file::write(&path.join("scenario.toml"), scenario.as_bytes())?;
        write_json(&path.join("meta.json"), meta)?;
        Ok(Self { path: path.to_owned() })
    }

    /// A sink for the run's samples.
    pub fn recorder(&self, world: &World, wanted: &Wanted) -> Result<Recorder, Error> {
        Recorder::create(&self.path, world, wanted)
    }

    /// Writes the summary of the run. Its presence means that the directory is complete.
    pub fn summary(&self, summary: &Summary) -> Result<(), Error> {
        write_json(&self.path.join(SUMMARY), summary)
    }
}

/// Removes a run from its directory, and the directory if nothing else is in it.
///
/// # Errors
/// If a file of the run cannot be removed.
pub(crate) fn remove_run(path: &Path) -> Result<(), Error> {
    remove_earlier(path)?;
    // An error only means that something else is there.
    let _ = fs::remove_dir(path);
    Ok(())
}

/// Removes the files of a former run.
fn remove_earlier(path: &Path) -> Result<(), Error> {
    for name in disk::names_in(path).map_err(Error::io(path))? {
        if FILES.contains(&&name[..]) || is_tap_file(&name) {
            let stale = path.join(name);
            disk::remove_file(&stale).map_err(Error::io(&stale))?;
        }
    }
    Ok(())
}

fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), Error> {
    let mut text = serde_json::to_string_pretty(value).map_err(Error::json(path))?;
    text.push('\n');
    file::write(path, text.as_bytes())
}
