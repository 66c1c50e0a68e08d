//! Description of the keys of a table: its JSON schema.

use core::cell::RefCell;
use serde_json::{Map, Value as Json, json};

/// Definitions of tables that a schema refers to, by name.
pub(crate) type Definitions = RefCell<Map<String, Json>>;

/// Description of a table so far.
pub(crate) struct Described<'a> {
    parts: RefCell<Parts>,
    /// Tables that it refers to.
    pub(crate) definitions: &'a Definitions,
}

#[derive(Default)]
struct Parts {
    properties: Map<String, Json>,
    required: Vec<&'static str>,
    variants: Vec<Json>,
}

impl<'a> Described<'a> {
    pub(crate) fn new(definitions: &'a Definitions) -> Self {
        Self { parts: RefCell::default(), definitions }
    }

    /// Adds a key.
    pub(crate) fn add(&self, name: &'static str, schema: Json, required: bool) {
        let mut parts = self.parts.borrow_mut();
        parts.properties.insert(name.to_owned(), schema);
        if required {
            parts.required.push(name);
        }
    }

    /// Adds one of several sets of keys, of which a table has one.
    pub(crate) fn add_variant(&self, variant: Described<'_>, about: &str) {
        self.parts.borrow_mut().variants.push(variant.schema(about, true));
    }

    /// The schema of the table. A part of a table leaves it to that to refuse other keys.
    pub(crate) fn schema(self, about: &str, is_part: bool) -> Json {
        let Parts { properties, required, variants, .. } = self.parts.into_inner();
        let mut schema = json!({
            "type": "object",
            "description": sentence(about),
            "properties": properties,
        });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        let rest =
            if variants.is_empty() { "additionalProperties" } else { "unevaluatedProperties" };
        if !variants.is_empty() {
            schema["oneOf"] = json!(variants);
        }
        if !is_part {
            schema[rest] = json!(false);
        }
        schema
    }
}

/// Doc comments as one line.
pub(crate) fn sentence(about: &str) -> String {
    about.split_whitespace().collect::<Vec<_>>().join(" ")
}
