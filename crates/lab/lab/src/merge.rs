//! Run directories of several machines, joined into one tree.

use crate::results::{self, Error, is_damaged};
use crate::run::{Shard, jobs_of};
use fairwave_scenario::plan::Plan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Largest number of parts that a warning names.
const SHOWN: usize = 10;
/// Beginning of the names of files that record parts.
const SHARD: &str = "shard-";

/// Result of a merge: the output of `fairwave merge --json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MergeOutput {
    /// Runs that were copied.
    pub copied: usize,
    /// Runs that were there, with the same scenario and summary.
    pub already: usize,
    /// Parts that had no run or fewer than they recorded, runs that are damaged, and parts that are
    /// missing.
    pub warnings: Vec<String>,
}

/// Content of the record of a part. Those of earlier versions are empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// Runs of the part.
    runs: usize,
    /// [`digest`] of the plan.
    plan: String,
}

/// A part, and its record if that is not empty.
type Recorded = (Shard, Option<Record>);

/// Copies every complete run below the directories `parts` to the same place below `whole`. Its
/// summary, which makes a run complete, is copied last. A damaged run counts as missing: it is
/// replaced in `whole`, and named in a part.
///
/// # Errors
/// No part with a run, a run in place of a part, parts of different sweeps, two different runs for
/// one place, or a file that cannot be copied.
pub fn merge(parts: &[PathBuf], whole: &Path) -> Result<MergeOutput, Error> {
    fs::create_dir_all(whole).map_err(Error::io(whole))?;
    check(parts, whole)?;
    let (mut merged, mut empty) = (MergeOutput::default(), Vec::new());
    for part in parts {
        let runs = results::run_directories(part)?;
        if runs.is_empty() {
            empty.push(part.display().to_string());
        }
        let shards = recorded(part)?;
        merged.warnings.extend(lacking(part, &shards, &runs));
        for run in runs {
            if is_damaged(&run) {
                merged.warnings.push(format!("{}: a damaged run, left out", run.display()));
                continue;
            }
            let place = whole.join(run.strip_prefix(part).unwrap_or(&run));
            match place.join(SUMMARY).exists() && !is_damaged(&place) {
                true if is_same(&run, &place)? => merged.already += 1,
                true => {
                    let other = place.display();
                    return Err(wrong(&run, format!("another run than that in {other}")));
                }
                false => {
                    copy(&run, &place)?;
                    merged.copied += 1;
                }
            }
        }
        for (shard, content) in shards {
            write(shard, content.as_ref(), whole)?;
        }
    }
    match parts {
        [part, ..] if empty.len() == parts.len() => {
            return Err(wrong(part, "no complete run is here or in another part".to_owned()));
        }
        _ if empty.is_empty() => {}
        _ => merged.warnings.push(format!("no complete run is in {}", empty.join(", "))),
    }
    merged.warnings.extend(missing(&recorded(whole)?));
    Ok(merged)
}

/// Refuses a run as a part, and parts that were recorded for another plan than the others, before
/// anything is copied.
fn check(parts: &[PathBuf], whole: &Path) -> Result<(), Error> {
    // Its files would lie in the root of the whole, as if that were a run.
    if let Some(run) = parts.iter().find(|part| part.join(SUMMARY).exists()) {
        let what = "a run is here itself, so this is no part of a sweep";
        return Err(wrong(run, what.to_owned()));
    }
    let mut first: Option<(&Path, String)> = None;
    for place in [whole].into_iter().chain(parts.iter().map(PathBuf::as_path)) {
        for Record { plan, .. } in recorded(place)?.into_iter().filter_map(|(_, record)| record) {
            match &first {
                None => first = Some((place, plan)),
                Some((_, known)) if *known == plan => {}
                Some((other, _)) => {
                    let other = other.display();
                    let what = format!("a part of another sweep than that in {other}");
                    return Err(wrong(place, what));
                }
            }
        }
    }
    Ok(())
}

/// A warning about a part that has fewer complete runs than it recorded.
fn lacking(part: &Path, shards: &[Recorded], runs: &[PathBuf]) -> Option<String> {
    division(shards)?;
    let counts: Option<Vec<usize>> =
        shards.iter().map(|(_, record)| record.as_ref().map(|record| record.runs)).collect();
    let all: usize = counts?.iter().sum();
    // Damaged runs have warnings of their own.
    let (there, place) = (runs.len(), part.display());
    (there < all).then(|| format!("{place}: it has {there} of its {all} runs"))
}

/// Hash of the scenarios, labels and number of seeds of a plan: different sweeps differ in it.
fn digest(plan: &Plan) -> String {
    let mut hash = Sha256::new();
    hash.update(plan.seeds.to_le_bytes());
    for point in &plan.points {
        for text in [&point.label, &point.scenario.to_toml()] {
            // With its length, so that no text can pass for two.
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
    }
    let digest: [u8; 32] = hash.finalize().into();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Records in the directory of a part of a sweep that all of its runs were made.
///
/// # Errors
/// If the file cannot be written.
pub fn record(plan: &Plan, shard: Shard, directory: &Path) -> Result<(), Error> {
    let runs = jobs_of(plan, Some(shard)).len();
    write(shard, Some(&Record { runs, plan: digest(plan) }), directory)
}

fn write(shard: Shard, content: Option<&Record>, directory: &Path) -> Result<(), Error> {
    let text = content.map_or_else(String::new, |content| format!("{}\n", json!(content)));
    results::write_file(&directory.join(name_of(shard)), text.as_bytes())
}

fn name_of(shard: Shard) -> String {
    format!("{SHARD}{}-of-{}", shard.number, shard.of)
}

/// Removes the records of parts from a directory whose runs may be replaced.
///
/// # Errors
/// If the directory cannot be read, or a record cannot be removed.
pub fn forget(directory: &Path) -> Result<(), Error> {
    for (shard, _) in recorded(directory)? {
        let file = directory.join(name_of(shard));
        fs::remove_file(&file).map_err(Error::io(&file))?;
    }
    Ok(())
}

/// The parts of a sweep that [`record`] recorded in a directory. Of an empty record only the name
/// is known.
fn recorded(directory: &Path) -> Result<Vec<Recorded>, Error> {
    let mut shards = Vec::new();
    for entry in fs::read_dir(directory).map_err(Error::io(directory))? {
        let name = entry.map_err(Error::io(directory))?.file_name();
        let numbers = name.to_str().and_then(|name| name.strip_prefix(SHARD));
        let shard = numbers.and_then(|text| text.replace("-of-", "/").parse::<Shard>().ok());
        if let Some(shard) = shard {
            let file = directory.join(name);
            let content = fs::read(&file).map_err(Error::io(&file))?;
            shards.push((shard, serde_json::from_slice(&content).ok()));
        }
    }
    Ok(shards)
}

/// Number of parts into which the sweep of these shards was divided; `None` without any, or if it
/// was divided in several ways, whose parts overlap.
fn division(shards: &[Recorded]) -> Option<usize> {
    let of = shards.first()?.0.of;
    shards.iter().all(|(shard, _)| shard.of == of).then_some(of)
}

/// A warning about parts without a record. Of a sweep that was divided in several ways, none.
fn missing(shards: &[Recorded]) -> Option<String> {
    let of = division(shards)?;
    let there: BTreeSet<usize> = shards.iter().map(|(shard, _)| shard.number).collect();
    let absent = (1..=of).filter(|number| !there.contains(number));
    let absent: Vec<usize> = absent.take(SHOWN + 1).collect();
    (!absent.is_empty()).then(|| {
        let shown: Vec<String> = absent.iter().take(SHOWN).map(usize::to_string).collect();
        let more = if absent.len() > SHOWN { ", ..." } else { "" };
        let list = shown.join(", ");
        format!("of {of} parts, these are missing or not complete: {list}{more}")
    })
}

const SUMMARY: &str = "summary.json";

fn wrong(path: &Path, what: String) -> Error {
    Error::Content { path: path.to_owned(), what }
}

/// Whether two runs have the same scenario and the same results.
fn is_same(one: &Path, other: &Path) -> Result<bool, Error> {
    for name in ["scenario.toml", SUMMARY] {
        let read = |place: &Path| {
            let file = place.join(name);
            fs::read(&file).map_err(Error::io(&file))
        };
        if read(one)? != read(other)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn copy(run: &Path, place: &Path) -> Result<(), Error> {
    fs::create_dir_all(place).map_err(Error::io(place))?;
    let mut files = Vec::new();
    for entry in fs::read_dir(run).map_err(Error::io(run))? {
        let file = entry.map_err(Error::io(run))?.path();
        if file.is_file() {
            files.push(file);
        }
    }
    files.sort_by_key(|file| file.ends_with(SUMMARY));
    for file in files {
        let to = place.join(file.file_name().unwrap_or_default());
        // A killed merge leaves no incomplete file of this name.
        let mut original = fs::File::open(&file).map_err(Error::io(&file))?;
        results::write_file_from(&to, &mut original)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error;

    fn run_in(place: &Path, summary: &str) -> Result<(), Box<dyn error::Error>> {
        fs::create_dir_all(place)?;
        fs::write(place.join("scenario.toml"), "seed = 1")?;
        fs::write(place.join("meta.json"), "{}")?;
        fs::write(place.join(SUMMARY), format!("\"{summary}\""))?;
        Ok(())
    }

    fn joined(copied: usize, already: usize) -> MergeOutput {
        MergeOutput { copied, already, warnings: Vec::new() }
    }

    #[test]
    fn parts_become_a_whole_once() -> Result<(), Box<dyn error::Error>> {
        let place = tempfile::tempdir()?;
        let [a, b, whole] = ["a", "b", "whole"].map(|name| place.path().join(name));
        run_in(&a.join("n=1/seed-1"), "one")?;
        run_in(&b.join("n=1/seed-2"), "two")?;
        fs::create_dir_all(b.join("n=1/seed-3"))?;
        let parts = [a.clone(), b];
        assert_eq!(merge(&parts, &whole)?, joined(2, 0));
        assert_eq!(fs::read_to_string(whole.join("n=1/seed-2").join(SUMMARY))?, "\"two\"");
        assert!(!whole.join("n=1/seed-3").exists(), "a run that is not complete");
        assert_eq!(merge(&parts, &whole)?, joined(0, 2));

        run_in(&a.join("n=1/seed-1"), "changed")?;
        let refused = merge(&parts, &whole).expect_err("two runs for one place");
        assert!(refused.to_string().contains("another run than that in"), "{refused}");
        let empty = place.path().join("empty");
        fs::create_dir_all(&empty)?;
        let refused = merge(&[empty], &whole).expect_err("nothing to join");
        assert!(refused.to_string().contains("no complete run"), "{refused}");
        Ok(())
    }

    /// Parts of a sweep of two runs, the third of which was lost at first.
    #[test]
    fn parts_without_runs_and_lost_parts_are_named() -> Result<(), Box<dyn error::Error>> {
        let place = tempfile::tempdir()?;
        let [a, b, c, whole] = ["a", "b", "c", "whole"].map(|name| place.path().join(name));
        run_in(&a.join("seed-1"), "one")?;
        run_in(&c.join("seed-2"), "two")?;
        fs::create_dir_all(&b)?;
        for (part, number) in [(&a, "1/4"), (&b, "4/4")] {
            write(number.parse()?, None, part)?;
        }
        let merged = merge(&[a.clone(), b.clone()], &whole)?;
        assert_eq!((merged.copied, merged.already), (1, 0));
        let empty = format!("no complete run is in {}", b.display());
        let missing = "of 4 parts, these are missing or not complete: 2, 3".to_owned();
        assert_eq!(merged.warnings, [empty, missing]);

        write("2/4".parse()?, None, &c)?;
        let merged = merge(std::slice::from_ref(&c), &whole)?;
        assert_eq!(merged.warnings, ["of 4 parts, these are missing or not complete: 3"]);
        write("3/4".parse()?, None, &c)?;
        assert_eq!(merge(&[a, c], &whole)?, joined(0, 2));
        Ok(())
    }

    /// A sweep over two seeds that lasts so long.
    fn plan(duration: &str) -> Plan {
        let scenario = format!(
            "duration = \"{duration}\"\n\
             node = [{{ name = \"a\", kind = \"host\" }}, {{ name = \"b\", kind = \"host\" }}]\n\
             link = [{{ ends = [\"a\", \"b\"] }}]\n\
             flow = [{{ name = \"up\", from = \"a\", to = \"b\" }}]\n\
             sweep.seeds = 2\n"
        );
        Plan::parse("s", &scenario, &[]).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn parts_of_different_sweeps_are_not_joined() -> Result<(), Box<dyn error::Error>> {
        let place = tempfile::tempdir()?;
        let [a, b, whole] = ["a", "b", "whole"].map(|name| place.path().join(name));
        run_in(&a.join("seed-1"), "one")?;
        run_in(&b.join("seed-2"), "two")?;
        record(&plan("2 s"), "1/2".parse()?, &a)?;
        record(&plan("1 s"), "2/2".parse()?, &b)?;
        let parts = [a.clone(), b.clone()];
        let refused = merge(&parts, &whole).expect_err("two plans");
        assert!(refused.to_string().contains("another sweep than that in"), "{refused}");
        assert!(results::run_directories(&whole)?.is_empty(), "nothing is copied before");

        record(&plan("2 s"), "2/2".parse()?, &b)?;
        assert_eq!(merge(&parts, &whole)?, joined(2, 0));
        let other = place.path().join("other");
        run_in(&other.join("seed-3"), "three")?;
        record(&plan("1 s"), "1/2".parse()?, &other)?;
        merge(&[other], &whole).expect_err("the whole keeps the plan of its parts");
        Ok(())
    }

    #[test]
    fn a_part_that_lost_a_run_is_named() -> Result<(), Box<dyn error::Error>> {
        let place = tempfile::tempdir()?;
        let [a, whole] = ["a", "whole"].map(|name| place.path().join(name));
        for seed in ["seed-1", "seed-2"] {
            run_in(&a.join(seed), seed)?;
        }
        record(&plan("2 s"), "1/1".parse()?, &a)?;
        fs::remove_file(a.join("seed-2").join(SUMMARY))?;
        let merged = merge(std::slice::from_ref(&a), &whole)?;
        assert_eq!(merged.warnings, [format!("{}: it has 1 of its 2 runs", a.display())]);
        Ok(())
    }

    /// Its files would lie in the root of the whole.
    #[test]
    fn a_single_run_is_no_part() -> Result<(), Box<dyn error::Error>> {
        let place = tempfile::tempdir()?;
        let [run, whole] = ["run", "whole"].map(|name| place.path().join(name));
        run_in(&run, "one")?;
        let refused = merge(&[run], &whole).expect_err("no part of a sweep");
        assert!(refused.to_string().contains("no part of a sweep"), "{refused}");
        assert!(!whole.join(SUMMARY).exists());
        Ok(())
    }

    /// As a power failure leaves files that were not on the disk yet.
    #[test]
    fn a_damaged_run_is_left_out_and_replaced() -> Result<(), Box<dyn error::Error>> {
        let place = tempfile::tempdir()?;
        let [a, b, whole] = ["a", "b", "whole"].map(|name| place.path().join(name));
        run_in(&a.join("seed-1"), "one")?;
        run_in(&a.join("seed-2"), "two")?;
        run_in(&b.join("seed-1"), "one")?;
        for (name, content) in [(SUMMARY, "{"), ("meta.json", ""), ("scenario.toml", "\0")] {
            let damaged = a.join("seed-1");
            run_in(&damaged, "one")?;
            fs::write(damaged.join(name), content)?;
            let merged = merge(std::slice::from_ref(&a), &whole.join(name))?;
            let warning = format!("{}: a damaged run, left out", damaged.display());
            assert_eq!((merged.copied, merged.warnings), (1, vec![warning]));
            assert!(!whole.join(name).join("seed-1").exists());
        }
        let damaged = whole.join("seed-1");
        run_in(&damaged, "one")?;
        fs::write(damaged.join(SUMMARY), "")?;
        assert_eq!(merge(&[b], &whole)?, joined(1, 0));
        assert_eq!(fs::read_to_string(damaged.join(SUMMARY))?, "\"one\"");
        Ok(())
    }

    /// A name that a killed process left does not stand for a run.
    #[test]
    fn a_summary_appears_as_a_whole() -> Result<(), Box<dyn error::Error>> {
        let place = tempfile::tempdir()?;
        let [part, whole] = ["part", "whole"].map(|name| place.path().join(name));
        run_in(&part.join("seed-1"), "one")?;
        let copied = whole.join("seed-1");
        // The name under which a summary is copied is taken: the copy fails before its end.
        fs::create_dir_all(copied.join("summary.json.partial"))?;
        merge(std::slice::from_ref(&part), &whole).expect_err("it cannot be copied");
        assert!(!copied.join(SUMMARY).exists());
        fs::remove_dir(copied.join("summary.json.partial"))?;
        assert_eq!(merge(&[part], &whole)?, joined(1, 0));
        Ok(())
    }
}
