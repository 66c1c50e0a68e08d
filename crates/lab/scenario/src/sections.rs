//! Tables inside the scenario, whose problems are each reported.

use crate::described::sentence;
use crate::diagnostic::Refusal;
use crate::keys::{Keyed, Part, defaults, reference, written};
use crate::limits::MAX_TABLES;
use crate::reader::{Mode, Reader};
use crate::value::Table;
use serde_json::{Value as Json, json};

/// A table that may be left out.
pub(crate) struct Section;

impl<T: Keyed> Part<T> for Section {
    fn go(self, r: &Reader<'_>, name: &'static str, about: &str, this: Option<&T>) -> T {
        match (r.mode(), this) {
            (Mode::Write(map), Some(this)) => {
                map.borrow_mut().insert(name.to_owned(), Json::Object(written(this)));
                this.clone()
            }
            (Mode::Describe(described), _) => {
                let mut schema = reference::<T>(described.definitions);
                schema["description"] = json!(sentence(about));
                described.add(name, schema, false);
                defaults()
            }
            (Mode::Name(names), _) => {
                names.borrow_mut().push(name);
                defaults()
            }
            _ => element(&r.table(name, &Table::default()), &T::usual()),
        }
    }
}

/// Tables of one sort, with the context of their keys.
pub(crate) struct Tables<C>(pub(crate) C);

impl<T: Keyed> Part<Vec<T>> for Tables<T::Context> {
    fn go(self, r: &Reader<'_>, name: &'static str, about: &str, this: Option<&Vec<T>>) -> Vec<T> {
        match (r.mode(), this) {
            (Mode::Write(map), Some(this)) => {
                let tables = this.iter().map(|table| Json::Object(written(table))).collect();
                map.borrow_mut().insert(name.to_owned(), tables);
                this.clone()
            }
            (Mode::Describe(described), _) => {
                let items = reference::<T>(described.definitions);
                let mut schema = json!({ "type": "array", "items": items });
                schema["description"] = json!(sentence(about));
                described.add(name, schema, false);
                Vec::new()
            }
            (Mode::Name(names), _) => {
                names.borrow_mut().push(name);
                Vec::new()
            }
            _ => {
                let tables = r.tables(name);
                if tables.len() > MAX_TABLES {
                    let message = format!("more than {MAX_TABLES} tables");
                    r.report(0..0, name, Refusal::new(message));
                    return Vec::new();
                }
                tables.iter().map(|table| element(table, &self.0)).collect()
            }
        }
    }
}

/// Tables of one sort that few files have: none are written as nothing.
pub(crate) struct Few<C>(pub(crate) C);

impl<T: Keyed> Part<Vec<T>> for Few<T::Context> {
    fn go(self, r: &Reader<'_>, name: &'static str, about: &str, this: Option<&Vec<T>>) -> Vec<T> {
        match (r.mode(), this) {
            (Mode::Write(_), Some(this)) if this.is_empty() => Vec::new(),
            _ => Tables(self.0).go(r, name, about, this),
        }
    }
}

fn element<T: Keyed>(r: &Reader<'_>, context: &T::Context) -> T {
    let table = T::keys(r, None, context);
    r.finish();
    table
}
