//! The JSON schema of scenario files, for editors.

use crate::air::{Roaming, SnrTrace, WayPoint};
use crate::cell::Cell;
use crate::described::Definitions;
use crate::flow::Flow;
use crate::keys::{Keyed, describe, reference};
use crate::limits::MOST_JOBS;
use crate::link::Link;
use crate::model::Scenario;
use crate::record::Record;
use crate::service::Service;
use crate::tcp::{Defaults, Tcp};
use serde_json::{Map, Value, json};

/// Keys without a default, of nodes.
const REQUIRED: [&str; 2] = ["name", "kind"];

/// The JSON schema (draft 2020-12) of a scenario file. It knows every key, which are required,
/// and the words of each choice; units and relations between keys are checked by the reader.
pub fn schema() -> Value {
    let mut root = schemars::schema_for!(Scenario).to_value();
    let definitions = Definitions::default();
    let tcp = describe(&definitions, |r| {
        Tcp::keys(r, None, &Defaults::of_table());
    });
    let tcp = tcp.schema("Defaults for the keys of every TCP flow.", false);
    reference::<Flow>(&definitions);
    reference::<Cell>(&definitions);
    reference::<Link>(&definitions);
    reference::<Record>(&definitions);
    reference::<Roaming>(&definitions);
    reference::<WayPoint>(&definitions);
    reference::<SnrTrace>(&definitions);
    reference::<Service>(&definitions);
    extend(&mut root["properties"], json!({ "sweep": sweep() }));
    let cells = root["properties"]["cell"].take();
    root["properties"]["cell"] = json!({ "anyOf": [cells, { "$ref": "#/$defs/Cell" }] });
    root["title"] = json!("Fairwave scenario");
    relax(&mut root);
    root["$defs"]["Node"]["unevaluatedProperties"] = json!(false);
    root["properties"]["tcp"] = tcp;
    root["additionalProperties"] = json!(false);
    extend(&mut root["$defs"], Value::Object(definitions.into_inner()));
    root
}

fn sweep() -> Value {
    json!({
        "description": "Every combination of the listed values is a point. Keys that a \
                        comma joins change together: each of their values is a list.",
        "type": "object",
        "properties": {
            "seeds": {
                "description": "Runs of each point, with seed, seed + 1, ... Default: 1.",
                "type": "integer", "minimum": 1, "maximum": MOST_JOBS,
            },
            "variant": {
                "description": "Variants of the scenario: what each is called, and the dotted \
                                keys that it sets.",
                "type": "array", "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": { "name": { "type": "string" } },
                    "required": ["name"],
                },
            }
        },
        "additionalProperties": { "type": "array", "minItems": 1 },
    })
}

fn extend(to: &mut Value, from: Value) {
    if let (Some(to), Value::Object(from)) = (to.as_object_mut(), from) {
        to.extend(from);
    }
}

/// Makes keys of nodes with a default optional, and names the rate controls.
fn relax(value: &mut Value) {
    match value {
        Value::Object(object) => {
            relax_table(object);
            object.values_mut().for_each(relax);
        }
        Value::Array(list) => list.iter_mut().for_each(relax),
        _ => {}
    }
}

fn relax_table(object: &mut Map<String, Value>) {
    if let Some(Value::Array(required)) = object.get_mut("required") {
        required.retain(|k| k.as_str().is_some_and(|k| REQUIRED.contains(&k)));
    }
    if let Some(control) = object.get_mut("rate_control").filter(|c| c.is_object()) {
        let names = fairwave_dot11::rate_control::ALL.iter().map(|algorithm| algorithm.name);
        control["enum"] = json!(names.collect::<Vec<_>>());
    }
}
