//! Descriptions of all keys, for the reference page and `fairwave explain`. They come from the
//! schema, which comes from the keys.

use crate::keys::inline;
use crate::nearest::nearest;
use crate::schema::schema;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;

/// A table of scenario files, or the part of one that has a certain word under a key.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TableHelp {
    /// Its dotted key, empty for the top level: `flow.video`.
    pub key: String,
    /// Conditions on other keys under which it has the keys, as in `transport = "udp"`.
    pub conditions: Vec<String>,
    /// Description of the table.
    pub about: String,
    /// Its keys.
    pub keys: Vec<KeyHelp>,
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KeyHelp {
    /// Its dotted key: `flow.congestion_control`.
    pub key: String,
    /// Conditions for the key beside the table's: as in [`TableHelp::conditions`].
    pub conditions: Vec<String>,
    /// Description with its range and default.
    pub about: String,
    /// The units that its values may have.
    pub unit: Option<String>,
    /// The range of its values.
    pub range: Option<String>,
    /// The words that it takes, where they are few.
    pub words: Vec<String>,
    /// Its default, as TOML writes it.
    pub default: Option<String>,
    /// Whether it must be written.
    pub required: bool,
    /// A line that sets it.
    pub example: Option<String>,
}

/// Every table of scenario files, in the order of the reference page.
pub fn tables() -> Vec<TableHelp> {
    let schema = schema();
    let definitions = &schema["$defs"];
    let mut collector = Collector { definitions, tables: Vec::new(), flow_context: Vec::new() };
    collector.table("", &[], &schema);
    collector.told_apart()
}

/// The dotted keys of scenario files, and the names of their tables.
pub fn keys() -> BTreeSet<String> {
    let keys = tables()
        .into_iter()
        .flat_map(|table| [table.key].into_iter().chain(table.keys.into_iter().map(|key| key.key)));
    keys.filter(|key| !key.is_empty()).collect()
}

/// Descriptions of the keys that `path` may mean: as messages write it, `flow.up.size`, or
/// without names, `flow.size`. A table means its keys. A single word that is neither a key nor a
/// table of the top level means the keys of that name in all tables.
///
/// # Errors
/// The dotted keys that are nearest to one that does not exist.
pub fn explain(path: &str) -> Result<Vec<KeyHelp>, Vec<String>> {
    let tables = tables();
    let keys: Vec<&KeyHelp> = tables.iter().flat_map(|table| &table.keys).collect();
    let written: Vec<&str> = path.split('.').map(str::trim).collect();
    let found: Vec<KeyHelp> =
        keys.iter().filter(|known| means(&written, &known.key)).map(|key| (*key).clone()).collect();
    let of_table = |table: &&TableHelp| !table.key.is_empty() && means(&written, &table.key);
    let of_tables: Vec<KeyHelp> =
        tables.iter().filter(of_table).flat_map(|table| table.keys.clone()).collect();
    match (found.is_empty(), of_tables.is_empty()) {
        (_, false) if written.len() == 1 || found.is_empty() => Ok(of_tables),
        (false, _) => Ok(found),
        _ => {
            let inner = format!(".{path}");
            let inner = keys.iter().filter(|known| known.key.ends_with(&inner));
            let inner: Vec<KeyHelp> = inner.map(|key| (*key).clone()).collect();
            if inner.is_empty() { Err(near(path, &keys)) } else { Ok(inner) }
        }
    }
}

/// Whether `written` is `key`, perhaps with names or numbers of tables in between.
fn means(written: &[&str], key: &str) -> bool {
    fn matches(written: &[&str], key: &[&str], may_skip: bool) -> bool {
        match (written, key) {
            ([], []) => true,
            ([first, rest @ ..], [known, more @ ..]) if first == known => {
                matches(rest, more, true) || (may_skip && matches(rest, key, false))
            }
            ([_, rest @ ..], [_, ..]) if may_skip => matches(rest, key, false),
            _ => false,
        }
    }
    matches(written, &key.split('.').collect::<Vec<_>>(), false)
}

/// Returns known keys like `path`: keys of its last name first, then similar ones.
fn near(path: &str, keys: &[&KeyHelp]) -> Vec<String> {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let wanted = last(path);
    let names: Vec<String> = keys.iter().map(|known| last(&known.key)).collect();
    let meant = nearest(&wanted, &names).unwrap_or(wanted);
    let mut near: Vec<String> = Vec::new();
    for known in keys.iter().filter(|known| last(&known.key) == meant) {
        if !near.contains(&known.key) {
            near.push(known.key.clone());
        }
    }
    near.truncate(8);
    near
}

struct Collector<'a> {
    definitions: &'a Json,
    tables: Vec<TableHelp>,
    /// For each table the conditions of the one that it is in.
    flow_context: Vec<Vec<String>>,
}

impl<'a> Collector<'a> {
    /// Adds the table that `schema` describes, and those inside it.
    fn table(&mut self, path: &str, conditions: &[String], schema: &'a Json) {
        let empty = Map::new();
        let about = text(schema, "description").unwrap_or_default();
        let is_table = |sort: &&Json| sort.get("properties").is_some();
        let schema = sorts(schema).find(is_table).unwrap_or(schema);
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
        let keys = properties.iter().filter(|(_, known)| known.get("const").is_none());
        let keys: Vec<KeyHelp> = keys
            .map(|(name, known)| KeyHelp {
                key: joined(path, name),
                conditions: conditions.to_vec(),
                required: required.iter().any(|key| key == name),
                ..help(name, known)
            })
            .collect();
        let (key, conditions) = (path.to_owned(), conditions.to_vec());
        self.tables.push(TableHelp { key, conditions: conditions.clone(), about, keys });
        self.flow_context.push(Vec::new());
        for variant in schema["oneOf"].as_array().into_iter().flatten() {
            let tag = variant["properties"].as_object().into_iter().flatten();
            let tag = tag.filter_map(|(name, tag)| Some((name, tag.get("const")?)));
            let own = tag.map(|(name, word)| format!("{name} = {}", inline(word)));
            let conditions: Vec<String> = conditions.iter().cloned().chain(own).collect();
            let definition = references(variant).first().map(|name| &self.definitions[*name]);
            self.table(path, &conditions, definition.unwrap_or(variant));
        }
        for (name, known) in schema["properties"].as_object().into_iter().flatten() {
            let mut sorts = references(known);
            sorts.dedup();
            for inner in &sorts {
                let path = joined(path, name);
                let definition = &self.definitions[*inner];
                let is_known = |t: &TableHelp| {
                    t.key == path && text(definition, "description").as_deref() == Some(&t.about)
                };
                if !self.tables.iter().any(is_known) {
                    let mark = if sorts.len() > 1 { mark(definition) } else { None };
                    let place = self.tables.len();
                    self.table(&path, mark.as_slice(), definition);
                    self.flow_context[place] = conditions.clone();
                }
            }
            if known.get("properties").is_some() {
                self.table(&joined(path, name), &[], known);
            }
        }
    }
}

impl Collector<'_> {
    /// Returns the tables; tables of one title with the conditions of the tables around them.
    fn told_apart(mut self) -> Vec<TableHelp> {
        let title = |table: &TableHelp| (table.key.clone(), table.conditions.clone());
        let titles: Vec<_> = self.tables.iter().map(title).collect();
        for (place, table) in self.tables.iter_mut().enumerate() {
            if titles.iter().filter(|title| **title == titles[place]).count() > 1 {
                table.conditions = self.flow_context[place].clone();
                let conditions = &table.conditions;
                table.keys.iter_mut().for_each(|key| key.conditions.clone_from(conditions));
            }
        }
        self.tables
    }
}

/// Returns the mark of a table of several sorts that have no word: a key that others have not.
fn mark(schema: &Json) -> Option<String> {
    let required = schema["required"].as_array().and_then(|keys| keys.first()?.as_str());
    let first = schema["properties"].as_object().and_then(|keys| keys.keys().next());
    Some(format!("{} = ...", required.or(first.map(String::as_str))?))
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn text(schema: &Json, key: &str) -> Option<String> {
    Some(schema.get(key)?.as_str()?.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn help(name: &str, schema: &Json) -> KeyHelp {
    let words = schema["enum"].as_array().into_iter().flatten().filter_map(Json::as_str);
    let words: Vec<String> = words.map(str::to_owned).collect();
    let default = schema.get("default").map(inline);
    let example = schema["examples"][0].as_str().map(str::to_owned);
    let line = |value: &String| format!("{name} = {value}");
    let word = words.first().map(|word| format!("{word:?}"));
    KeyHelp {
        key: String::new(),
        conditions: Vec::new(),
        about: text(schema, "description").unwrap_or_default(),
        unit: text(schema, "x-unit").or_else(|| unit(schema)),
        range: text(schema, "x-range"),
        example: example.or_else(|| default.as_ref().or(word.as_ref()).map(line)),
        words,
        default,
        required: false,
    }
}

/// The sorts of values that a key takes, where there are several.
fn sorts(schema: &Json) -> impl Iterator<Item = &Json> {
    schema["anyOf"].as_array().into_iter().flatten()
}

/// The units of a value that may be a word instead.
fn unit(schema: &Json) -> Option<String> {
    sorts(schema).find_map(|sort| text(sort, "x-unit"))
}

/// The tables that a value may be.
fn references(schema: &Json) -> Vec<&str> {
    let own = schema["$ref"].as_str().and_then(|at| at.strip_prefix("#/$defs/"));
    let inner = sorts(schema).chain(schema.get("items")).flat_map(references);
    own.into_iter().chain(inner).collect()
}
