//! One scenario file of a study, in full or with fewer points.

use fairwave_scenario::plan::{Override, Plan};
use fairwave_scenario::{Diagnostics, OwnAlgorithms};

/// One scenario file of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// Its name, and its directory's under the study's.
    pub name: &'static str,
    /// The scenario file, in the repository.
    pub file: &'static str,
    /// Its text, inside the binary.
    pub text: &'static str,
    /// Settings of the quick form, as `key=value`.
    pub quick: &'static [&'static str],
    /// Whether its runs keep their series, or summaries only.
    pub series: bool,
}

impl Experiment {
    /// The plan, or a smaller one with fewer points and seeds.
    ///
    /// # Errors
    /// A file that is wrong.
    pub fn plan(&self, quick: bool) -> Result<Plan, Diagnostics> {
        self.plan_with(quick, &[])
    }

    /// The plan with more settings.
    ///
    /// # Errors
    /// A file or a setting that is wrong.
    pub fn plan_with(&self, quick: bool, more: &[Override]) -> Result<Plan, Diagnostics> {
        let sets = if quick { self.quick } else { &[] };
        let sets = sets.iter().map(|&set| Override::set(set));
        let sets: Vec<Override> = sets.chain(more.iter().cloned()).collect();
        Plan::parse_with(self.file, self.text, &sets, &OwnAlgorithms::default())
    }
}
