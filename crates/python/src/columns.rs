//! Columns of summaries, from the JSON schema of their rows: every run has the same, and each has
//! the description that docs/summary.schema.json has of it.

use arrow_schema::{DataType, Field, FieldRef};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Columns, and their descriptions by name.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) fields: Vec<FieldRef>,
    pub(crate) descriptions: BTreeMap<String, String>,
}

impl Columns {
    /// The columns of rows with this schema. A part of a row is a struct; its columns are
    /// described as `part.name`.
    pub(crate) fn of(schema: &Value) -> Self {
        let mut reader = Reader { definitions: &schema["$defs"], descriptions: BTreeMap::new() };
        let fields = reader.fields(schema, "", false);
        Self { fields, descriptions: reader.descriptions }
    }
}

struct Reader<'a> {
    definitions: &'a Value,
    descriptions: BTreeMap<String, String>,
}

impl Reader<'_> {
    /// The fields of an object. Those of an optional object may be null, since a struct that is
    /// null has no values.
    fn fields(&mut self, object: &Value, prefix: &str, is_optional: bool) -> Vec<FieldRef> {
        let required = object["required"].as_array().map_or(&[][..], Vec::as_slice);
        let mut fields: Vec<FieldRef> = Vec::new();
        for (name, property) in object["properties"].as_object().into_iter().flatten() {
            let path = format!("{prefix}{name}");
            if let Some(text) = property["description"].as_str() {
                self.descriptions.insert(path.clone(), text.replace('\n', " "));
            }
            let may_lack = is_optional || !required.iter().any(|one| one == name);
            let (kind, is_nullable) = self.kind(property, &path, may_lack);
            fields.push(Arc::new(Field::new(name, kind, is_nullable)));
        }
        fields
    }

    /// The type of a value, and whether it may be null.
    fn kind(&mut self, schema: &Value, path: &str, is_optional: bool) -> (DataType, bool) {
        if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
            return self.kind(&self.definitions[name], path, is_optional);
        }
        if let Some(either) = schema["anyOf"].as_array() {
            let value = either.iter().find(|one| one["type"] != "null").unwrap_or(&Value::Null);
            return self.kind(value, path, true);
        }
        let names: Vec<&str> = match &schema["type"] {
            Value::String(name) => vec![name],
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            // Texts of which each is described.
            _ => vec!["string"],
        };
        let is_nullable = is_optional || names.contains(&"null");
        let kind = match names.iter().find(|name| **name != "null") {
            Some(&"integer") => DataType::Int64,
            Some(&"number") => DataType::Float64,
            Some(&"boolean") => DataType::Boolean,
            Some(&"array") => {
                let (item, _) = self.kind(&schema["items"], path, false);
                DataType::List(Arc::new(Field::new("item", item, true)))
            }
            Some(&"object") => {
                let fields = self.fields(schema, &format!("{path}."), is_nullable);
                DataType::Struct(fields.into())
            }
            _ => DataType::Utf8,
        };
        (kind, is_nullable)
    }
}
