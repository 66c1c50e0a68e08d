//! The scenario under check, and the errors found.

use crate::diagnostic::{Problem, Refusal, Span};
use crate::model::Scenario;
use crate::reader::element_path;
use crate::value::{Data, Table, Value};

/// A scenario that is being checked.
pub(super) struct Check<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) root: &'a Table,
    pub(super) problems: Vec<Problem>,
}

impl Check<'_> {
    /// Reports on `key` of the table called by `tables` and `index`, or on a top-level key.
    pub(super) fn report(&mut self, at: (&'static str, usize), key: &str, refusal: Refusal) {
        let (tables, index) = at;
        let element = self.root.get(tables).and_then(|v| match &v.data {
            Data::List(list) => list.get(index),
            _ => Some(v),
        });
        let (table, span, path) = match element {
            Some(Value { data: Data::Table(t), span })
                if ["record", "tcp", "emulate"].contains(&tables) =>
            {
                (t, span.clone(), format!("{tables}.{key}"))
            }
            Some(Value { data: Data::Table(t), span }) => {
                (t, span.clone(), format!("{}.{key}", element_path(tables, index, t)))
            }
            _ => (self.root, 0..0, key.to_owned()),
        };
        let span: Span = table.get(key).map_or(span, |v| v.span.clone());
        self.problems.push(Problem { span, key: path, refusal });
    }
}

/// The names to list, were there many.
pub(super) fn shown<'n>(names: &[&'n str]) -> Vec<&'n str> {
    names.iter().copied().take(24).collect()
}

/// Reason for which `pattern`, which is the name of a group, matches no node where a `what` is
/// needed.
pub(super) fn names_group(pattern: &str, names: &[&str], what: &str) -> Option<Refusal> {
    let group = format!("{pattern}1");
    names.contains(&group.as_str()).then(|| {
        Refusal::new(format!("{pattern:?} is a group of nodes, not a node"))
            .help(format!("write \"{pattern}*\" for one {what} per node, or {group:?} for one"))
    })
}
