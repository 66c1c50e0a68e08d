//! Pages of the manual that are views of the command line: its commands, and its JSON outputs.

use crate::schema::Schema;
use clap::{Arg, ArgAction, Command};
use fairwave_lab::schema::{Form, forms};
use std::fmt::Write;

/// The page of commands: exit codes, common options, and of each command its arguments and
/// examples. `definition` has the common options at each command.
pub(super) fn commands(mut definition: Command, exit_codes: &str) -> String {
    definition.build();
    let mut page = String::from(
        "# Commands\n\nMade by `cargo xtask gen` from the definition of the command line. \
         `fairwave COMMAND --help` prints the same.\n\n## Exit codes\n\n| code | meaning |\n\
         |---|---|\n",
    );
    for (code, meaning) in coded(exit_codes) {
        let _ = writeln!(page, "| {code} | {} |", cell(&meaning));
    }
    page += "\n## Options of every command\n\nEach command lists those of them that have an effect \
             on it.\n\n";
    let common = definition.get_arguments().filter(|arg| arg.is_global_set());
    page += &arguments(common);
    for command in shown(&definition) {
        add(&mut page, command, "fairwave", 2);
    }
    page
}

/// Codes with their meanings. A meaning may go on in the next line.
fn coded(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in text.lines().skip(1) {
        let (code, rest) = line.trim().split_once("  ").unwrap_or(("", line.trim()));
        match found.last_mut() {
            Some((_, meaning)) if code.parse::<u8>().is_err() => {
                *meaning += " ";
                *meaning += line.trim();
            }
            _ => found.push((code.to_owned(), rest.trim().to_owned())),
        }
    }
    found
}

/// Subcommands that users call.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set())
}

/// Adds a command and those below it.
fn add(page: &mut String, command: &Command, before: &str, level: usize) {
    let name = format!("{before} {}", command.get_name());
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string);
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").lines().map(str::trim).collect::<Vec<_>>();
    let usage = usage.join("\n");
    let _ = write!(page, "\n{} `{name}`\n\n", "#".repeat(level));
    let _ = write!(page, "{}.\n\n", about.unwrap_or_default().trim().trim_end_matches('.'));
    let _ = write!(page, "```\n{usage}\n```\n");
    let own = command.get_arguments().filter(|arg| is_shown(arg));
    let table = arguments(own);
    if !table.is_empty() {
        let _ = write!(page, "\n{table}");
    }
    if let Some(examples) = command.get_after_long_help().or(command.get_after_help()) {
        let _ = write!(page, "\n```\n{}\n```\n", examples.to_string().trim());
    }
    for inner in shown(command) {
        add(page, inner, &name, level + 1);
    }
}

fn is_shown(arg: &Arg) -> bool {
    let is_help = matches!(arg.get_action(), ArgAction::Help | ArgAction::HelpLong);
    !arg.is_hide_set() && !is_help && !matches!(arg.get_action(), ArgAction::Version)
}

/// A table of arguments; empty if there are none.
fn arguments<'a>(all: impl Iterator<Item = &'a Arg>) -> String {
    let rows: String = all.filter(|arg| is_shown(arg)).map(row).collect();
    if rows.is_empty() { rows } else { format!("| argument | meaning |\n|---|---|\n{rows}") }
}

fn row(arg: &Arg) -> String {
    let value = arg.get_value_names().map(|names| names.iter().map(clap::builder::Str::as_str));
    let value = value.map_or_else(
        || arg.get_id().as_str().to_uppercase(),
        |names| names.collect::<Vec<_>>().join(" "),
    );
    let takes = arg.get_action().takes_values();
    let long = arg.get_long().map(|long| format!("--{long}"));
    let short = arg.get_short().map(|short| format!("-{short}"));
    let names: Vec<String> = long.into_iter().chain(short).collect();
    let name = match (names.is_empty(), takes) {
        (true, _) => value,
        (false, true) => format!("{} {value}", names.join(", ")),
        (false, false) => names.join(", "),
    };
    let mut meaning = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let values = values(arg);
    if !values.is_empty() {
        let _ = write!(meaning, ". One of {}", values.join(", "));
    }
    let defaults = arg.get_default_values().iter().map(|value| value.to_string_lossy());
    let defaults = defaults.collect::<Vec<_>>().join(" ");
    if takes && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        let _ = write!(meaning, ". Default: `{defaults}`");
    }
    format!("| `{name}` | {} |\n", cell(&meaning))
}

/// The values that an argument may have, as its help lists them.
fn values(arg: &Arg) -> Vec<String> {
    if !arg.get_action().takes_values() || arg.is_hide_possible_values_set() {
        return Vec::new();
    }
    let values = arg.get_possible_values();
    let shown = values.iter().filter(|value| !value.is_hide_set());
    shown.map(|value| format!("`{}`", value.get_name())).collect()
}

/// Text for a cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// The page of JSON outputs: each field with its unit and meaning. Scenario files have their own
/// page.
pub(super) fn fields(schemas: &[Schema]) -> String {
    let mut page = String::from(
        "# Fields of JSON outputs\n\nMade by `cargo xtask gen` from the schemas. `fairwave list \
         schema NAME` prints a schema; [JSON for programs](json.md) says how to read outputs. \
         A field within another has a dot in its name; of a list it is that of each entry.\n",
    );
    for Schema { name, about, make } in schemas.iter().filter(|one| one.name != "scenario") {
        let forms = forms(&make(), name);
        if forms.is_empty() {
            continue;
        }
        let _ = write!(page, "\n## {about}\n");
        for form in &forms {
            add_form(&mut page, form, name, forms.len() > 1);
        }
    }
    page
}

/// Adds the table of a form, below its meaning if there are several.
fn add_form(page: &mut String, form: &Form, name: &str, is_one_of_several: bool) {
    let list = if form.is_list { "A list; fields of each entry:" } else { "" };
    let about = if is_one_of_several { form.about.as_str() } else { "" };
    let above = format!("{about} {list}");
    if !above.trim().is_empty() {
        let _ = write!(page, "\n{}\n", above.trim());
    }
    *page += "\n| field | unit | meaning |\n|---|---|---|\n";
    for figure in &form.figures {
        let field = figure.key.trim_start_matches(name).trim_start_matches('.');
        let unit = figure.unit.as_deref().unwrap_or_default();
        let _ = writeln!(page, "| `{field}` | {unit} | {} |", cell(&figure.about));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_read_with_their_further_lines() {
        let text = "Exit codes:\n  0  everything ran\n  1  a run failed, or\n     a file\n";
        let pair = |code: &str, meaning: &str| (code.to_owned(), meaning.to_owned());
        let expected = [pair("0", "everything ran"), pair("1", "a run failed, or a file")];
        assert_eq!(coded(text), expected);
    }

    #[test]
    fn values_and_defaults_that_the_help_hides_are_not_listed() {
        let arg = Arg::new("port").long("port").help("The port").value_parser(["0", "80"]);
        let arg = arg.default_value("0");
        let shown = "| `--port PORT` | The port. One of `0`, `80`. Default: `0` |\n";
        assert_eq!(row(&arg), shown);
        let hidden = arg.hide_possible_values(true).hide_default_value(true);
        assert_eq!(row(&hidden), "| `--port PORT` | The port |\n");
    }
}
