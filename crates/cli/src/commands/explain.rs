//! `fairwave explain`: meaning of a key of scenario files, or of a figure that a command measures.

use crate::args::Common;
use crate::outcome::Failure;
use crate::output;
use crate::schema::Schema;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args};
use fairwave_lab::schema::{self, Figure};
use fairwave_scenario::{KeyHelp, TableHelp};
use serde_json::json;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::sync::OnceLock;

/// Explain a key of scenario files: meaning, unit, range, default, where it is allowed
#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// The key, as messages name it or without names: flow.up.mss, flow.mss; without one, all
    /// tables are listed. probe.latency_ms is a figure of `fairwave probe`, probe all of them;
    /// so are fairness, proxy and soc
    #[arg(value_name = "KEY", value_parser = Keys, hide_possible_values = true)]
    key: Option<String>,
}

/// Schemas whose figures are explained: those of the live tools.
const MEASURED: [&str; 4] = ["probe", "fairness", "proxy", "soc"];

/// Prints the documentation of a key; without one, lists every table.
pub(super) fn run(common: &Common, args: &Explain, schemas: &[Schema]) -> Result<(), Failure> {
    let Some(key) = &args.key else {
        let tables = fairwave_scenario::tables();
        let text = || tables.iter().map(TableHelp::text).collect();
        return print(common, &json!(tables), text);
    };
    if let Some(figures) = figures(key, schemas) {
        let text = || figures.iter().map(Figure::text).collect::<Vec<_>>().join("\n");
        return print(common, &json!(figures), text);
    }
    let found = fairwave_scenario::explain(key).map_err(|near| {
        let near = match near.as_slice() {
            [] => "`fairwave explain` lists the tables".to_owned(),
            near => format!("did you mean {}?", near.join(", ")),
        };
        Failure::Usage(format!("there is no key {key:?}; {near}"))
    })?;
    let text = || found.iter().map(KeyHelp::text).collect::<Vec<_>>().join("\n");
    print(common, &json!(found), text)
}

/// The figure `key` of a live tool and those within it; `None` if there is none.
pub(super) fn figures(key: &str, schemas: &[Schema]) -> Option<Vec<Figure>> {
    let root = key.split('.').next().filter(|root| MEASURED.contains(root))?;
    let schema = schemas.iter().find(|schema| schema.name == root)?;
    schema::figures(&(schema.make)(), root, key)
}

fn print(
    common: &Common,
    value: &serde_json::Value,
    text: impl FnOnce() -> String,
) -> Result<(), Failure> {
    match common.json {
        true => Ok(output::print_json(value)?),
        false => Ok(output::print(&text())?),
    }
}

/// Parser for keys of scenario files. Shells complete the known keys; any other text is accepted
/// too, since keys may contain the names of tables.
#[derive(Clone, Debug)]
struct Keys;

impl TypedValueParser for Keys {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        static NAMES: OnceLock<BTreeSet<String>> = OnceLock::new();
        let names = NAMES.get_or_init(fairwave_scenario::keys);
        Some(Box::new(names.iter().map(|name| PossibleValue::new(name.as_str()))))
    }
}
