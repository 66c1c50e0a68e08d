//! Lists of what scenario files can name, each from the crate that defines it.

use crate::plan::question;
use crate::schema::schema;
use fairwave_text::printable;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::Path;

/// Directories of the example scenarios: the one in a checkout, relative to the checkout, and the
/// one that the Debian package installs.
const SCENARIOS: [&str; 2] = ["scenarios", "/usr/share/fairwave/scenarios"];
/// Bytes at the beginning of a file that are searched for its question.
const MAX_LINE: u64 = 4096;

/// Sources of the wrappers around algorithms.
const ACK_LOSS_SOURCE: &str = "Hashimoto, Hasegawa, Murata 2008; docs/models/ack-loss.md";
const GENTLE_SOURCE: &str = "ours, after RFC 8257; docs/models/ack-loss.md";

/// One entry of `fairwave list`.
#[derive(Serialize, JsonSchema)]
pub struct ListItem {
    /// Its name in scenario files or commands.
    pub name: String,
    /// Description of the entry.
    pub summary: String,
    /// Origin, such as a paper; empty if none is given.
    pub source: String,
}

/// Output of `fairwave list --json`.
#[derive(Serialize, JsonSchema)]
pub struct ListOutput(pub Vec<ListItem>);

/// Every accepted spelling of a congestion control algorithm. The description of a wrapped
/// algorithm follows from the inner one's.
pub fn congestion_controls() -> Vec<ListItem> {
    let item = |name: String| {
        let (wrapper, algorithm) = name.rsplit_once('+').unwrap_or(("", &name));
        let algorithm = fairwave_cc::ALL.iter().find(|known| known.name == algorithm)?;
        let (summary, source) = match wrapper {
            "" => (algorithm.summary.to_owned(), algorithm.source),
            "ack-loss-gentle" => (
                format!("{} that gives way by the share of lost ACKs", algorithm.name),
                GENTLE_SOURCE,
            ),
            _ => {
                (format!("{} that takes lost ACKs as congestion", algorithm.name), ACK_LOSS_SOURCE)
            }
        };
        Some(ListItem { name, summary, source: source.to_owned() })
    };
    fairwave_cc::names().into_iter().filter_map(item).collect()
}

/// Queue disciplines.
pub fn queues() -> Vec<ListItem> {
    let item = |kind: &fairwave_queue::Kind| ListItem {
        name: kind.name.to_owned(),
        summary: kind.summary.to_owned(),
        source: kind.source.to_owned(),
    };
    fairwave_queue::ALL.iter().map(item).collect()
}

/// Traffic sources, each with the keys that it reads.
pub fn sources() -> Vec<ListItem> {
    let item = |entry: &fairwave_traffic::Entry| ListItem {
        name: entry.name.to_owned(),
        summary: format!("{}: {}", entry.summary, entry.parameters.join(", ")),
        source: entry.source.to_owned(),
    };
    fairwave_traffic::ALL.iter().map(item).collect()
}

/// Filters of SNR samples.
pub fn soc_filters() -> Vec<ListItem> {
    let item = |kind: &fairwave_soc::FilterKind| ListItem {
        name: kind.name.to_owned(),
        summary: kind.summary.to_owned(),
        source: kind.source.to_owned(),
    };
    fairwave_soc::FILTERS.iter().map(item).collect()
}

/// Policies from the Strength of Connection to weights.
pub fn soc_policies() -> Vec<ListItem> {
    let item = |kind: &fairwave_soc::PolicyKind| ListItem {
        name: kind.name.to_owned(),
        summary: kind.summary.to_owned(),
        source: kind.source.to_owned(),
    };
    fairwave_soc::POLICIES.iter().map(item).collect()
}

/// Entries of a list of SHAKE's parts, such as its schedulers.
pub fn named<T>(list: &[fairwave_shake::Named<T>]) -> Vec<ListItem> {
    let item = |known: &fairwave_shake::Named<T>| ListItem {
        name: known.name.to_owned(),
        summary: known.summary.to_owned(),
        source: known.source.to_owned(),
    };
    list.iter().map(item).collect()
}

/// TCP stacks.
pub fn stacks() -> Vec<ListItem> {
    let item = |stack: &fairwave_tcp::Profile| ListItem {
        name: stack.name.to_owned(),
        summary: stack.summary.to_owned(),
        source: stack.source.to_owned(),
    };
    fairwave_tcp::Profile::ALL.iter().map(item).collect()
}

/// The 802.11 standards that the schema accepts.
pub fn standards() -> Vec<ListItem> {
    let schema = schema();
    let words = schema.pointer("/$defs/Cell/properties/standard/enum").and_then(Value::as_array);
    let names = words.into_iter().flatten().filter_map(Value::as_str);
    names
        .map(|name| ListItem {
            name: name.to_owned(),
            summary: String::new(),
            source: String::new(),
        })
        .collect()
}

/// The example scenarios: each file with the question that it answers.
///
/// # Errors
/// If there is no directory of them here, or it cannot be read. A file that cannot be read does
/// not prevent the others.
pub fn scenarios() -> Result<Vec<Result<ListItem, String>>, String> {
    scenarios_in(&SCENARIOS.map(Path::new))
}

/// The scenarios in the first of these directories that exists.
fn scenarios_in(directories: &[&Path]) -> Result<Vec<Result<ListItem, String>>, String> {
    let directory = *directories.iter().find(|directory| directory.is_dir()).ok_or(
        "no directory scenarios here: the example scenarios are files in a checkout of Fairwave, \
         and `fairwave web` has them in every installation",
    )?;
    let failed = |error| format!("{}: {error}", directory.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    Ok(paths.iter().map(|path| scenario(path)).collect())
}

/// A file with the question in its first line if that is a comment, or the reason why it cannot be
/// read.
fn scenario(path: &Path) -> Result<ListItem, String> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(MAX_LINE).read_to_end(&mut bytes));
    read.map_err(|error| format!("{name}: {error}"))?;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = core::str::from_utf8(line).map_err(|_| format!("{name}: not UTF-8 text"))?;
    Ok(ListItem { name, summary: question(first), source: String::new() })
}

/// The items in aligned lines.
pub fn text(items: &[ListItem]) -> String {
    let width = items.iter().map(|item| item.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for ListItem { name, summary, source } in items {
        let source = if source.is_empty() { String::new() } else { format!(" ({source})") };
        let line = format!("{name:<width$}  {summary}{source}");
        text.push_str(printable(&line).trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command of a package stood before "scenarios: No such file or directory".
    #[test]
    fn the_catalogue_of_a_package_is_found_where_there_is_no_checkout() {
        let place = tempfile::tempdir().unwrap();
        let [checkout, package] = ["checkout", "package"].map(|name| place.path().join(name));
        let list = || scenarios_in(&[&checkout, &package]);
        let refused = list().err().unwrap();
        assert!(refused.contains("checkout of Fairwave"), "{refused}");
        for directory in [&package, &checkout] {
            fs::create_dir(directory).unwrap();
            let file = directory.join("a.toml");
            fs::write(&file, "# Why?\n").unwrap();
            let found: Vec<ListItem> = list().unwrap().into_iter().map(Result::unwrap).collect();
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].name, file.display().to_string());
            assert_eq!(found[0].summary, "Why?");
        }
    }
}
