//! Dicts of Python as TOML.

use crate::errors::ScenarioError;
use fairwave_scenario::MAX_NESTED;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::Depythonizer;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;
use toml::{Table, Value};

/// A scenario as TOML, from the tables and lists of a dict.
pub(crate) fn toml_of(scenario: &Bound<'_, PyDict>) -> PyResult<String> {
    let levels = Levels(MAX_NESTED);
    let table = levels
        .deserialize(&mut Depythonizer::from_object(scenario))
        .map_err(|error| ScenarioError::new_err(format!("a dict that is no TOML: {error}")))?;
    toml::to_string(&table).map_err(|error| ScenarioError::new_err(error.to_string()))
}

/// Reader of a value that has at most so many lists and tables within each other. A dict that
/// contains itself has no end, and would exhaust the stack.
#[derive(Clone, Copy)]
struct Levels(usize);

impl Levels {
    fn below<E: Error>(self) -> Result<Self, E> {
        let below = self.0.checked_sub(1).map(Self);
        below.ok_or_else(|| E::custom(format!("more than {MAX_NESTED} lists or tables nested")))
    }
}

impl<'de> DeserializeSeed<'de> for Levels {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Value, D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Levels {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid TOML value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        i64::try_from(value).map(Value::Integer).map_err(|_| E::custom("u64 value was too large"))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut list = Vec::new();
        while let Some(value) = values.next_element_seed(below)? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut table = Table::new();
        while let Some(key) = entries.next_key::<String>()? {
            table.insert(key, entries.next_value_seed(below)?);
        }
        Ok(Value::Table(table))
    }
}
