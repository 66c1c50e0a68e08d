//! Results of a matrix.

use super::grid::Entry;
use super::measure;
use fairwave_lab::points::{Digest, Point};
use fairwave_lab::results;
use fairwave_lab::run::Run;
use schemars::JsonSchema;
use serde::Serialize;

/// A run that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Left {
    /// Its position in the grid, in a few words.
    pub point: String,
    /// Its seed.
    pub seed: u64,
    /// Its run directory.
    pub directory: String,
    /// Reason for which it is not valid.
    pub why: String,
}

/// Results of a matrix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Means over the valid runs of each point, by host, algorithm, competing flows and the
    /// scenario's axes.
    pub points: Vec<Point>,
    /// Runs that were late at both attempts.
    pub left_out: Vec<Left>,
    /// Number of runs that were late once and then repeated.
    pub repeated: usize,
}

/// Collects runs as they end.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    digests: Vec<Digest>,
    left_out: Vec<Left>,
    pub(super) repeated: usize,
}

impl Gathering {
    /// Adds a run on `host`.
    pub(super) fn add(
        &mut self,
        host: &str,
        entry: &Entry,
        run: &Run,
    ) -> Result<(), results::Error> {
        let digest = measure::digest(host, entry, run)?;
        match crate::emulation::timely::late(run) {
            None => self.digests.push(digest),
            Some(why) => {
                let point = Point::all(&[digest]).first().map(Point::label).unwrap_or_default();
                let directory = run.directory.as_ref().map(|path| path.display().to_string());
                let (seed, why) = (run.seed, why.to_owned());
                let directory = directory.unwrap_or_default();
                self.left_out.push(Left { point, seed, directory, why });
            }
        }
        Ok(())
    }

    pub(super) fn end(self) -> Findings {
        let Self { digests, left_out, repeated } = self;
        Findings { points: Point::all(&digests), left_out, repeated }
    }
}
