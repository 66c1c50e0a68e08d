//! Run directories of several machines, joined into one tree.

use crate::results::{self, Error};
use schemars::JsonSchema;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Counts of a merge: the output of `fairwave merge --json`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MergeOutput {
    /// Runs that were copied.
    pub copied: usize,
    /// Runs that were there, with the same scenario and summary.
    pub already: usize,
}

/// Copies every complete run below the directories `parts` to the same place below `whole`. Its
/// summary, which makes a run complete, is copied last.
///
/// # Errors
/// A part without a run, two different runs for one place, or a file that cannot be copied.
pub fn merge(parts: &[PathBuf], whole: &Path) -> Result<MergeOutput, Error> {
    let mut merged = MergeOutput::default();
    for part in parts {
        let runs = results::run_directories(part)?;
        if runs.is_empty() {
            return Err(wrong(part, "no complete run is here".to_owned()));
        }
        for run in runs {
            let place = whole.join(run.strip_prefix(part).unwrap_or(&run));
            match place.join(SUMMARY).exists() {
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
    }
    Ok(merged)
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
        fs::copy(&file, &to).map_err(Error::io(&file))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error;

    fn run_in(place: &Path, summary: &str) -> Result<(), Box<dyn error::Error>> {
        fs::create_dir_all(place)?;
        fs::write(place.join("scenario.toml"), "")?;
        fs::write(place.join(SUMMARY), summary)?;
        Ok(())
    }

    #[test]
    fn parts_become_a_whole_once() -> Result<(), Box<dyn error::Error>> {
        let place = tempfile::tempdir()?;
        let [a, b, whole] = ["a", "b", "whole"].map(|name| place.path().join(name));
        run_in(&a.join("n=1/seed-1"), "one")?;
        run_in(&b.join("n=1/seed-2"), "two")?;
        fs::create_dir_all(b.join("n=1/seed-3"))?;
        let parts = [a.clone(), b];
        assert_eq!(merge(&parts, &whole)?, MergeOutput { copied: 2, already: 0 });
        assert_eq!(fs::read_to_string(whole.join("n=1/seed-2").join(SUMMARY))?, "two");
        assert!(!whole.join("n=1/seed-3").exists(), "a run that is not complete");
        assert_eq!(merge(&parts, &whole)?, MergeOutput { copied: 0, already: 2 });

        run_in(&a.join("n=1/seed-1"), "changed")?;
        let refused = merge(&parts, &whole).expect_err("two runs for one place");
        assert!(refused.to_string().contains("another run than that in"), "{refused}");
        let empty = place.path().join("empty");
        fs::create_dir_all(&empty)?;
        let refused = merge(&[empty], &whole).expect_err("nothing to join");
        assert!(refused.to_string().contains("no complete run"), "{refused}");
        Ok(())
    }
}
