//! `fairwave explain`: meaning of a key of scenario files, or of a figure that a command measures.

#[cfg(target_os = "linux")]
use super::figures::{self, Figure};
use crate::args::Common;
use crate::outcome::Failure;
use crate::output;
use fairwave_scenario::{KeyHelp, TableHelp};
use serde_json::json;

/// Prints the documentation of `key`; without a key, lists every table.
pub(crate) fn run(common: &Common, key: Option<&str>) -> Result<(), Failure> {
    let Some(key) = key else { return list(common) };
    #[cfg(target_os = "linux")]
    if let Some(figures) = figures::explain(key) {
        return show_figures(common, &figures);
    }
    let found = fairwave_scenario::explain(key).map_err(|near| {
        let near = match near.as_slice() {
            [] => "`fairwave explain` lists the tables".to_owned(),
            near => format!("did you mean {}?", near.join(", ")),
        };
        Failure::Usage(format!("there is no key {key:?}; {near}"))
    })?;
    if common.json {
        return Ok(output::print_json(&json!(found))?);
    }
    let texts: Vec<String> = found.iter().map(described).collect();
    Ok(output::print(&texts.join("\n"))?)
}

#[cfg(target_os = "linux")]
fn show_figures(common: &Common, figures: &[Figure]) -> Result<(), Failure> {
    if common.json {
        return Ok(output::print_json(&json!(figures))?);
    }
    let described = |Figure { key, about, unit }: &Figure| {
        let unit = unit.as_ref().map_or_else(String::new, |unit| format!("    unit: {unit}\n"));
        format!("{key}\n    {about}\n{unit}")
    };
    let texts: Vec<String> = figures.iter().map(described).collect();
    Ok(output::print(&texts.join("\n"))?)
}

fn list(common: &Common) -> Result<(), Failure> {
    let tables = fairwave_scenario::tables();
    if common.json {
        return Ok(output::print_json(&json!(tables))?);
    }
    let line = |table: &TableHelp| {
        let place = if table.key.is_empty() { "(top level)" } else { table.key.as_str() };
        let names: Vec<&str> =
            table.keys.iter().filter_map(|key| key.key.rsplit('.').next()).collect();
        format!("{place}{}\n    {}\n", conditions(&table.conditions), names.join(", "))
    };
    Ok(output::print(&tables.iter().map(line).collect::<String>())?)
}

/// Documentation of a key in several lines.
fn described(help: &KeyHelp) -> String {
    let required = help.required.then(|| "yes".to_owned());
    let words = (!help.words.is_empty()).then(|| help.words.join(", "));
    let lines = [
        ("unit", help.unit.clone()),
        ("range", help.range.clone()),
        ("words", words),
        ("default", help.default.clone()),
        ("required", required),
        ("example", help.example.clone()),
    ];
    let mut text = format!("{}{}\n    {}\n", help.key, conditions(&help.conditions), help.about);
    for (name, value) in lines {
        text += &value.map_or_else(String::new, |value| format!("    {name}: {value}\n"));
    }
    text
}

fn conditions(conditions: &[String]) -> String {
    match conditions {
        [] => String::new(),
        conditions => format!(" (where {})", conditions.join(", ")),
    }
}
