//! Scenarios from files, and back.

use crate::diagnostic::{Diagnostics, Problem, Sources};
use crate::keys::{Keyed, written};
use crate::model::{Origin, Scenario};
use crate::own::OwnAlgorithms;
use crate::reader::{Problems, Reader};
use crate::{check, value};

impl Scenario {
    /// Reads a scenario without a sweep from `text`; `file` is its name in messages.
    ///
    /// # Errors
    /// Everything that was found wrong.
    pub fn parse(file: &str, text: &str) -> Result<Self, Diagnostics> {
        Self::parse_with(file, text, &OwnAlgorithms::default())
    }

    /// The same with names for the algorithms of `own`.
    ///
    /// # Errors
    /// As those of [`Self::parse`].
    pub fn parse_with(file: &str, text: &str, own: &OwnAlgorithms) -> Result<Self, Diagnostics> {
        let sources = Sources::new(file, text);
        let table = value::document(text).map_err(|p| sources.diagnose(p))?;
        let origin = Origin { base: sources.directory(), own: own.clone() };
        Self::from_table(&table, &origin).map_err(|p| sources.diagnose(p))
    }

    /// Reads a scenario of this origin from tables without a sweep.
    pub(crate) fn from_table(root: &value::Table, origin: &Origin) -> Result<Self, Vec<Problem>> {
        let problems = Problems::default();
        let top = Reader::new("", root, 0..0, &problems);
        let scenario = Self::keys(&top, None, origin);
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
