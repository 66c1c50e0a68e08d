//! JSON schemas of written files and outputs, generated from their types, with units.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value};

/// The JSON schema (draft 2020-12) of `T` as it is written. A number whose name ends in its unit
/// has the keyword `unit`, which validators pass over; an integer without is a count.
pub fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings = settings.with_transform(RecursiveTransform(with_units));
    let settings = settings.with_transform(RecursiveTransform(in_prose));
    settings.into_generator().into_root_schema_for::<T>()
}

/// The unit that a name ends in, in words.
pub(crate) fn unit(name: &str) -> Option<&'static str> {
    suffix(name).map(|(_, words, _)| *words)
}

/// The unit that a name ends in: the name without it, and the unit's symbol.
pub fn symbol(name: &str) -> Option<(&str, &'static str)> {
    let (suffix, _, symbol) = suffix(name)?;
    Some((name.strip_suffix(suffix)?.strip_suffix('_')?, *symbol))
}

/// The row of [`UNITS`] of a name.
fn suffix(name: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    let ends = |suffix: &str| name.strip_suffix(suffix).is_some_and(|rest| rest.ends_with('_'));
    UNITS.iter().find(|(suffix, ..)| ends(suffix))
}

/// Endings of names, and the units that they stand for, in words and as a symbol. The longer ones
/// come first.
const UNITS: [(&str, &str, &str); 18] = [
    ("per_cpu_s", "per second of processor time", "per CPU second"),
    ("per_s", "per second", "per second"),
    ("ns", "nanoseconds", "ns"),
    ("us", "microseconds", "us"),
    ("ms", "milliseconds", "ms"),
    ("s", "seconds", "s"),
    ("bytes", "bytes", "B"),
    ("mbps", "megabits per second", "Mbps"),
    ("kbps", "kilobits per second", "kbps"),
    ("bps", "bits per second", "bps"),
    ("packets", "packets", "packets"),
    ("slots", "slots", "slots"),
    ("mhz", "megahertz", "MHz"),
    ("millidb", "thousandths of a decibel", "mdB"),
    ("per_billion", "parts per thousand million", "ppb"),
    ("ppm", "parts per million", "ppm"),
    ("percent", "of a hundred", "%"),
    ("milli", "thousandths", "thousandths"),
];

/// Gives the properties of an object that are numbers, or lists of them, their units.
fn with_units(schema: &mut Schema) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (name, property) in properties {
        let (Some(unit), Value::Object(property)) = (unit(name), property) else { continue };
        if is_number(property) && !property.contains_key("unit") {
            property.insert("unit".to_owned(), unit.into());
        }
    }
}

fn is_number(schema: &Map<String, Value>) -> bool {
    let numbers = |word: &Value| word == "integer" || word == "number";
    match schema.get("type") {
        Some(Value::Array(words)) => words.iter().any(numbers),
        Some(Value::String(word)) if word == "array" => {
            schema.get("items").and_then(Value::as_object).is_some_and(is_number)
        }
        Some(word) => numbers(word),
        None => false,
    }
}

/// Descriptions are doc comments: their lines are joined, and links to items become plain code.
fn in_prose(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
        let joined = paragraphs.collect::<Vec<_>>().join("\n\n");
        *text = joined.replace("[`", "`").replace("`]", "`").replace("Self::", "");
    }
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Figure {
    /// Its key, such as `probe.buffer.ms`.
    pub key: String,
    /// Its meaning.
    pub about: String,
    /// Its unit, if it is a number.
    pub unit: Option<String>,
}

impl Figure {
    /// Its meaning in several lines.
    pub fn text(&self) -> String {
        let Self { key, about, unit } = self;
        let unit = unit.as_ref().map_or_else(String::new, |unit| format!("    unit: {unit}\n"));
        format!("{key}\n    {about}\n{unit}")
    }
}

/// The figure `key` and those within it, of a schema whose figures begin with `root`; `None` if
/// there is none.
pub fn figures(schema: &Value, root: &str, key: &str) -> Option<Vec<Figure>> {
    let mut all = Vec::new();
    within(schema, schema, root, &mut all);
    let inner = format!("{key}.");
    all.retain(|figure| figure.key == key || figure.key.starts_with(&inner));
    (!all.is_empty()).then_some(all)
}

/// A form of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Its meaning.
    pub about: String,
    /// Whether it is a list, with the figures in each entry.
    pub is_list: bool,
    /// Its figures.
    pub figures: Vec<Figure>,
}

/// Forms of an output, whose figures begin with `root`: the alternatives of a schema that has them,
/// or else the schema itself. A form without figures is left out.
pub fn forms(schema: &Value, root: &str) -> Vec<Form> {
    let alternatives =
        schema["anyOf"].as_array().map_or(std::slice::from_ref(schema), Vec::as_slice);
    let forms = alternatives.iter().map(|one| form(schema, one, root));
    forms.filter(|form| !form.figures.is_empty()).collect()
}

fn form(schema: &Value, one: &Value, root: &str) -> Form {
    let object = referred(schema, one).unwrap_or(one);
    let about = [one, object].iter().find_map(|place| place["description"].as_str());
    let mut figures = Vec::new();
    within(schema, object, root, &mut figures);
    Form {
        about: about.unwrap_or_default().replace('\n', " "),
        is_list: one["type"] == "array",
        figures,
    }
}

/// Collects the properties of an object and, recursively, those within them.
fn within(schema: &Value, object: &Value, place: &str, all: &mut Vec<Figure>) {
    for (name, property) in object["properties"].as_object().into_iter().flatten() {
        let key = format!("{place}.{name}");
        let text = |field: &str| property[field].as_str().map(|text| text.replace('\n', " "));
        let about = text("description").unwrap_or_default();
        all.push(Figure { key: key.clone(), about, unit: text("unit") });
        if let Some(inner) = referred(schema, property) {
            within(schema, inner, &key, all);
        }
    }
}

/// The definition that a property refers to: directly, as an alternative to null, or as the type of
/// a list's items.
fn referred<'a>(schema: &'a Value, property: &'a Value) -> Option<&'a Value> {
    let choices = property["anyOf"].as_array();
    let mut either = choices.into_iter().flatten().chain([property, &property["items"]]);
    let name = either.find_map(|choice| choice["$ref"].as_str())?;
    schema.pointer(name.strip_prefix('#')?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Its kind.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "a type of which only the schema is wanted")]
    struct Sample {
        /// A time, see
        /// [`Sample::count`].
        wait_ns: Option<u64>,
        /// How many.
        count: u64,
        /// Rates.
        bins_bps: Vec<u64>,
        /// Per second.
        sent_per_s: f64,
        /// A name.
        items_s: String,
    }

    #[test]
    fn numbers_have_the_units_that_their_names_end_in() {
        let schema = of::<Sample>().to_value();
        let unit = |name: &str| schema["properties"][name]["unit"].clone();
        assert_eq!(unit("wait_ns"), "nanoseconds");
        assert_eq!(unit("bins_bps"), "bits per second");
        assert_eq!(unit("sent_per_s"), "per second");
        assert_eq!((unit("count"), unit("items_s")), (Value::Null, Value::Null));
    }

    #[test]
    fn alternatives_of_a_schema_are_forms() {
        /// Either.
        #[derive(JsonSchema)]
        #[serde(untagged)]
        #[expect(dead_code, reason = "a type of which only the schema is wanted")]
        enum Either {
            /// All of them.
            Many(Vec<Sample>),
            One(Sample),
            Name(String),
        }
        let [many, one] = &forms(&of::<Either>().to_value(), "x")[..] else { panic!("two forms") };
        assert_eq!((many.about.as_str(), many.is_list), ("All of them.", true));
        assert_eq!((one.about.as_str(), one.is_list), ("Its kind.", false));
        assert_eq!(many.figures, one.figures);
        assert_eq!(one.figures[0].key, "x.wait_ns");
        let [only] = &forms(&of::<Sample>().to_value(), "x")[..] else { panic!("one form") };
        assert_eq!(only, one);
    }

    #[test]
    fn descriptions_are_plain_and_what_is_always_written_is_required() {
        let schema = of::<Sample>().to_value();
        assert_eq!(schema["properties"]["wait_ns"]["description"], "A time, see `Sample::count`.");
        let required = schema["required"].as_array().unwrap();
        assert!(required.contains(&json!("wait_ns")), "null is written: {required:?}");
    }
}
