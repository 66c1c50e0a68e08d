//! JSON schemas of files and of the commands' output.

use fairwave_lab::schema;
use schemars::JsonSchema;
use serde_json::{Value, json};

/// A JSON schema that `fairwave list schema` prints.
#[derive(Clone)]
pub(crate) struct Schema {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// The file or output that it describes.
    pub(crate) about: String,
    /// Makes the schema (draft 2020-12).
    pub(crate) make: fn() -> Value,
}

/// The schema of the output of `command` with `--json`.
pub(crate) fn output(name: &'static str, command: &str, make: fn() -> Value) -> Schema {
    file(name, &format!("Output of `{command} --json`"), make)
}

/// The schema of a file.
pub(crate) fn file(name: &'static str, about: &str, make: fn() -> Value) -> Schema {
    Schema { name, about: about.to_owned(), make }
}

/// The JSON schema of a type.
pub(crate) fn of<T: JsonSchema>() -> Value {
    json!(schema::of::<T>())
}
