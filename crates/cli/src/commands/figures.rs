//! `fairwave explain probe.KEY`, `fairness.KEY`, `proxy.KEY` and `soc.KEY`: meaning of the figures
//! in these commands' output with `--json`, taken from the output's schema.

use fairwave_fairness::report::FairnessOutput;
use fairwave_lab::schema;
use fairwave_probe_tool::report::ProbeOutput;
use fairwave_proxy::report::ProxyOutput;
use fairwave_soc_tool::status::Status;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// First part of the keys of figures, and the schema of that command's output.
type Root = (&'static str, fn() -> Value);

const ROOTS: [Root; 4] = [
    ("probe", || json!(schema::of::<ProbeOutput>())),
    ("fairness", || json!(schema::of::<FairnessOutput>())),
    ("proxy", || json!(schema::of::<ProxyOutput>())),
    ("soc", || json!(schema::of::<Status>())),
];

/// One figure.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Figure {
    /// Its key, such as `probe.buffer.ms`.
    pub(crate) key: String,
    /// Its meaning.
    pub(crate) about: String,
    /// Its unit, if it is a number.
    pub(crate) unit: Option<String>,
}

/// The figure `key` and those within it; `None` if there is none.
pub(crate) fn explain(key: &str) -> Option<Vec<Figure>> {
    let root = key.split('.').next().unwrap_or_default();
    let (_, schema) = ROOTS.iter().find(|(name, _)| *name == root)?;
    let (schema, mut all) = (schema(), Vec::new());
    within(&schema, &schema, root, &mut all);
    let inner = format!("{key}.");
    all.retain(|figure| figure.key == key || figure.key.starts_with(&inner));
    (!all.is_empty()).then_some(all)
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

    #[test]
    fn a_figure_is_explained_with_what_is_within() {
        let keys = |key: &str| -> Vec<String> {
            explain(key).into_iter().flatten().map(|figure| figure.key).collect()
        };
        let within = ["probe.loss", "probe.loss.down", "probe.loss.round_trip", "probe.loss.up"];
        let mut loss = keys("probe.loss");
        loss.sort();
        assert_eq!(loss, within);
        assert!(keys("probe").contains(&"probe.buffer.packets.low".to_owned()));
        assert!(keys("probe.loss.u").is_empty() && keys("probing").is_empty());
        let all = explain("probe").unwrap_or_default();
        assert!(all.iter().all(|figure| !figure.about.is_empty()), "{all:?}");
        let drain = explain("probe.drain_mbps").and_then(|found| found.into_iter().next());
        assert_eq!(drain.and_then(|drain| drain.unit).as_deref(), Some("megabits per second"));
    }

    #[test]
    fn every_figure_of_each_command_has_a_sentence() {
        let has = |root: &str, key: &str| {
            let all = explain(root).unwrap_or_default();
            assert!(all.iter().all(|figure| !figure.about.is_empty()), "{all:?}");
            all.iter().any(|figure| figure.key == key)
        };
        assert!(has("fairness", "fairness.summary.stations.achievement"));
        assert!(has("fairness", "fairness.record.repetitions.stations.radio.signal_dbm"));
        assert!(has("proxy", "proxy.refused.busy"));
        assert!(has("soc", "soc.stations.soc_db"));
        assert!(explain("fair").is_none() && explain("").is_none());
    }
}
