//! Scenarios from files, and back.

use crate::diagnostic::{Diagnostics, Problem, Sources};
use crate::keys::{Keyed, written};
use crate::model::Scenario;
use crate::reader::{Problems, Reader};
use crate::{check, value};
use std::path::Path;

impl Scenario {
    /// Reads a scenario without a sweep from `text`; `file` is its name in messages.
    ///
    /// # Errors
    /// Everything that was found wrong.
    pub fn parse(file: &str, text: &str) -> Result<Self, Diagnostics> {
        let sources = Sources::new(file, text);
        let table = value::document(text).map_err(|p| sources.diagnose(p))?;
        Self::from_table(&table, &sources.directory()).map_err(|p| sources.diagnose(p))
    }

    /// Reads a scenario from tables without a sweep; files that it names are sought from `base`.
    pub(crate) fn from_table(root: &value::Table, base: &Path) -> Result<Self, Vec<Problem>> {
        let problems = Problems::default();
        let top = Reader::new("", root, 0..0, &problems);
        let scenario = Self::keys(&top, None, &base.to_owned());
        top.finish();
        let mut problems = problems.into_inner();
        if problems.is_empty() {
            problems = check::check(&scenario, root);
        }
        if problems.is_empty() { Ok(scenario) } else { Err(problems) }
    }

    /// The scenario as TOML with every default written out. Reading it gives this scenario.
    pub fn to_toml(&self) -> String {
        toml::to_string(&written(self)).expect("a scenario holds nothing that TOML cannot write")
    }
}
