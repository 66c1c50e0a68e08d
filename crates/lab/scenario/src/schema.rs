//! The JSON schema of scenario files, for editors.

use crate::described::Definitions;
use crate::keys::{Keyed, describe};
use crate::limits::MAX_JOBS;
use crate::model::Scenario;
use crate::own::OwnAlgorithms;
use crate::reader::Mode;
use crate::tcp::{Defaults, Tcp};
use serde_json::{Value, json};

/// The JSON schema (draft 2020-12) of a scenario file. It knows every key, which are required,
/// and the words of each choice; units and relations between keys are checked by the reader.
pub fn schema() -> Value {
    let definitions = Definitions::default();
    let described = describe(&definitions, |r| {
        Scenario::keys(r, None, &Scenario::usual());
        if let Mode::Describe(described) = r.mode() {
            described.add("sweep", sweep(), false);
            described.add("tcp", tcp(described.definitions), false);
        }
    });
    let mut root = described.schema(Scenario::ABOUT, false);
    let mut cells = root["properties"]["cell"].take();
    let about = cells.as_object_mut().and_then(|cells| cells.remove("description"));
    root["properties"]["cell"] =
        json!({ "anyOf": [cells, { "$ref": "#/$defs/Cell" }], "description": about });
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Fairwave scenario");
    root["$defs"] = Value::Object(definitions.into_inner());
    root
}

fn tcp(definitions: &Definitions) -> Value {
    let described = describe(definitions, |r| {
        Tcp::keys(r, None, &Defaults::of_table(OwnAlgorithms::default()));
    });
    described.schema("Defaults for the keys of every TCP flow.", false)
}

fn sweep() -> Value {
    json!({
        "description": "Every combination of the listed values is a point. Keys that a \
                        comma joins change together: each of their values is a list.",
        "type": "object",
        "properties": {
            "seeds": {
                "description": "Runs of each point, with seed, seed + 1, ... Default: 1.",
                "type": "integer", "minimum": 1, "maximum": MAX_JOBS,
            },
            "variant": {
                "description": "Variants of the scenario: the name of each, and the dotted keys \
                                that it sets.",
                "type": "array", "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": { "name": { "type": "string" } },
                    "required": ["name"],
                },
            }
        },
        "additionalProperties": {
            "description": "A dotted key without quotes makes tables, which mean the same.",
            "anyOf": [{ "type": "array", "minItems": 1 }, { "type": "object" }],
        },
    })
}
