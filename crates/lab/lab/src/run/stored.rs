//! Runs in a store of results, which need not be simulated again.

use super::done::{Run, provenance};
use crate::results::{self, RunDirectory, Summary};
use crate::store::{Key, Part, Store};
use fairwave_scenario::plan::{Job, Plan};
use std::fs;
use std::path::Path;

/// Name of the part of a result that every run has.
pub(super) const SUMMARY: &str = "summary";
/// Maximum size of the stored series and captures of a run in bytes: to read larger ones would take
/// as long as to simulate them again.
const MAX_SERIES_BYTES: usize = 64 << 20;

/// Returns the run of `job` from the store; `None` if the store lacks it. If `place` is given, its
/// directory is written there, with the files of the part `series`, if that is given.
///
/// # Errors
/// If the directory cannot be written.
pub(super) fn stored(
    store: &Store,
    plan: &Plan,
    job: Job,
    place: Option<&Path>,
    series: Option<&str>,
) -> Result<Option<Run>, results::Error> {
    let scenario = plan.scenario(job);
    let text = scenario.to_toml();
    let get = |part| store.get(&Key::new(store.version(), part, &text));
    let files = match series {
        Some(part) => get(part).as_deref().and_then(unpacked),
        None => Some(Vec::new()),
    };
    let Some(files) = files else { return Ok(None) };
    let summary = get(SUMMARY).and_then(|bytes| serde_json::from_slice::<Summary>(&bytes).ok());
    let Some(summary) = summary else { return Ok(None) };
    if let Some(place) = place {
        let taps = if series.is_some() { scenario.tapped() } else { Vec::new() };
        let meta = provenance(plan, job, &scenario.to_world(job.seed), &taps);
        let directory = RunDirectory::create(place, &meta, &text)?;
        for (name, bytes) in files {
            results::write_file(&place.join(name), &bytes)?;
        }
        directory.summary(&summary)?;
    }
    store.note_taken();
    let axes = plan.points[job.point].axes.iter().cloned().collect();
    Ok(Some(Run { axes, seed: job.seed, summary, directory: place.map(Path::to_owned) }))
}

/// Keeps a run that was just made.
pub(super) fn keep(store: &Store, plan: &Plan, job: Job, run: &Run, series: Option<&str>) {
    let text = plan.scenario(job).to_toml();
    for (part, bytes) in parts(run, series).into_iter().flatten() {
        store.put(&Key::new(store.version(), &part, &text), &bytes);
    }
}

/// The parts of a run's result; `None` if a store cannot keep it.
pub(super) fn parts(run: &Run, series: Option<&str>) -> Option<Vec<Part>> {
    // JSON cannot hold every number: a summary that would not be read back alike is not kept.
    let summary = serde_json::to_vec(&run.summary).ok()?;
    if serde_json::from_slice::<Summary>(&summary).ok().as_ref() != Some(&run.summary) {
        return None;
    }
    let mut parts = Vec::new();
    if let (Some(part), Some(place)) = (series, &run.directory) {
        parts.push((part.to_owned(), packed(place)?));
    }
    parts.push((SUMMARY.to_owned(), summary));
    Some(parts)
}

/// Packs the series and captures of a run directory with their names; `None` if they cannot be read
/// or are too large.
fn packed(place: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for name in results::series_in(place).ok()? {
        let content = fs::read(place.join(&name)).ok()?;
        for part in [name.as_bytes(), &content] {
            bytes.extend(u32::try_from(part.len()).ok()?.to_le_bytes());
            bytes.extend(part);
        }
        if bytes.len() > MAX_SERIES_BYTES {
            return None;
        }
    }
    Some(bytes)
}

/// Unpacks files. Each must have a name that a run directory may contain, as the store may be
/// damaged.
fn unpacked(mut bytes: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut part = || {
        let (length, rest) = bytes.split_first_chunk()?;
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        bytes = rest;
        Some(part.to_owned())
    };
    let mut files = Vec::new();
    while let Some(name) = part() {
        let name = String::from_utf8(name).ok().filter(|name| is_plain(name))?;
        files.push((name, part()?));
    }
    bytes.is_empty().then_some(files)
}

/// Whether this is the name of a file with series, without a path to another directory.
fn is_plain(name: &str) -> bool {
    results::is_series(name) && !name.contains(['/', '\\'])
}
