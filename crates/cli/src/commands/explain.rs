//! `fairwave explain`: meaning of a key of scenario files, of a figure that a command measures, or
//! of a word in results.

mod results;

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

/// Explain a key of scenario files, a column, a claim, a verdict or a cause of drops
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Explain {
    /// The key, as messages name it or without names: flow.up.mss, flow.mss; without one, all
    /// tables are listed. probe.latency_ms is a figure of `fairwave probe`, probe all of them;
    /// so are fairness, proxy and soc. Also a column of a run directory, a figure of a run such as
    /// jain, a claim, a verdict and a cause of drops
    #[arg(value_name = "KEY", value_parser = Keys, hide_possible_values = true)]
    key: Option<String>,
}

/// Examples for the help.
const EXAMPLES: &str = "\
Examples:
  fairwave explain flow.congestion_control     a key of scenario files
  fairwave explain flows.goodput_bps           a column of a run directory; pairs: all of a table
  fairwave explain ACK-2                       a claim; ack-loss: all of its study
  fairwave explain conditional                 a verdict
  fairwave explain retry_limit                 a cause of drops";

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
    match fairwave_scenario::explain(key) {
        Ok(found) => {
            // Figures may have the name of a key, such as `drops`.
            let figures = results::explain(key)?;
            let texts = found.iter().map(KeyHelp::text).chain(figures.iter().map(Figure::text));
            let text = texts.collect::<Vec<_>>().join("\n");
            print(common, &json!(found), || text)
        }
        Err(near) => {
            let found = results::explain(key)?;
            if found.is_empty() {
                return Err(Failure::Usage(unknown(key, &near)));
            }
            let text = || found.iter().map(Figure::text).collect::<Vec<_>>().join("\n");
            print(common, &json!(found), text)
        }
    }
}

/// The message that nothing is called `key`, with the keys most like it.
fn unknown(key: &str, near: &[String]) -> String {
    let near = match near {
        [] => "`fairwave explain` lists the tables of scenario files, `--help` what else it knows"
            .to_owned(),
        near => format!("did you mean {}?", near.join(", ")),
    };
    format!("there is no key {key:?}; {near}")
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
