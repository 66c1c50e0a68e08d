//! `fairwave list`: lists of studies, algorithms and more, each from the crate that defines them.

use crate::args::{Common, Listing};
use crate::outcome::Failure;
use crate::output;
use crate::printed::{Described, ListItem as Item};
use fairwave_study::Study;
use serde_json::{Value, json};
use std::fs;
use std::io::Read;
use std::path::Path;

/// Directory of the example scenarios, relative to that of the project.
const SCENARIOS: &str = "scenarios";
/// Bytes at the beginning of a file that are searched for its question.
const MOST_LINE: u64 = 4096;

/// Sources of the wrappers around algorithms.
const ACK_LOSS_SOURCE: &str = "Hashimoto, Hasegawa, Murata 2008; docs/models/ack-loss.md";
const GENTLE_SOURCE: &str = "ours, after RFC 8257; docs/models/ack-loss.md";

/// Prints one list.
pub(crate) fn run(common: &Common, what: Listing, of: Option<Described>) -> Result<(), Failure> {
    if of.is_some() && what != Listing::Schema {
        return Err(Failure::Usage("only `list schema` takes what it is the schema of".to_owned()));
    }
    let items = match what {
        Listing::Reference => return Ok(output::print(&fairwave_scenario::reference())?),
        Listing::Schema => {
            let schema = of.unwrap_or(Described::Scenario).schema();
            return Ok(output::print_json(&schema)?);
        }
        Listing::Studies => studies(),
        Listing::Scenarios => return list_scenarios(common),
        Listing::CongestionControls => congestion_controls(),
        Listing::Queues => queues(),
        Listing::Sources => sources(),
        Listing::SocFilters => soc_filters(),
        Listing::SocPolicies => soc_policies(),
        Listing::Stacks => stacks(),
        Listing::ShakeSchedulers => named(fairwave_shake::SCHEDULERS),
        Listing::ShakeGrowths => named(fairwave_shake::GROWTHS),
        Listing::ShakeRetransmissions => named(fairwave_shake::RETRANSMISSION_PATHS),
        Listing::Standards => standards(),
    };
    if common.json { print_json(&items) } else { print(&items) }
}

fn print(items: &[Item]) -> Result<(), Failure> {
    let name_width = items.iter().map(|item| item.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for Item { name, summary, source } in items {
        let source = if source.is_empty() { String::new() } else { format!(" ({source})") };
        let line = format!("{name:<name_width$}  {summary}{source}");
        text.push_str(output::printable(&line).trim_end());
        text.push('\n');
    }
    Ok(output::print(&text)?)
}

fn print_json(items: &[Item]) -> Result<(), Failure> {
    Ok(output::print_json(&json!(items))?)
}

/// Every accepted spelling. The description of a wrapped algorithm follows from the inner one's.
fn congestion_controls() -> Vec<Item> {
    let item = |name: String| {
        let (wrapper, law) = name.rsplit_once('+').unwrap_or(("", &name));
        let law = fairwave_cc::ALL.iter().find(|known| known.name == law)?;
        let (summary, source) = match wrapper {
            "" => (law.summary.to_owned(), law.source),
            "ack-loss-gentle" => {
                (format!("{} that gives way by the share of lost ACKs", law.name), GENTLE_SOURCE)
            }
            _ => (format!("{} that takes lost ACKs as congestion", law.name), ACK_LOSS_SOURCE),
        };
        Some(Item { name, summary, source: source.to_owned() })
    };
    fairwave_cc::names().into_iter().filter_map(item).collect()
}

fn queues() -> Vec<Item> {
    let item = |kind: &fairwave_queue::Kind| Item {
        name: kind.name.to_owned(),
        summary: kind.summary.to_owned(),
        source: kind.source.to_owned(),
    };
    fairwave_queue::ALL.iter().map(item).collect()
}

/// Traffic sources, each with the keys that it reads.
fn sources() -> Vec<Item> {
    let item = |entry: &fairwave_traffic::Entry| Item {
        name: entry.name.to_owned(),
        summary: format!("{}: {}", entry.summary, entry.parameters.join(", ")),
        source: entry.source.to_owned(),
    };
    fairwave_traffic::ALL.iter().map(item).collect()
}

fn soc_filters() -> Vec<Item> {
    let item = |kind: &fairwave_soc::FilterKind| Item {
        name: kind.name.to_owned(),
        summary: kind.summary.to_owned(),
        source: kind.source.to_owned(),
    };
    fairwave_soc::FILTERS.iter().map(item).collect()
}

fn soc_policies() -> Vec<Item> {
    let item = |kind: &fairwave_soc::PolicyKind| Item {
        name: kind.name.to_owned(),
        summary: kind.summary.to_owned(),
        source: kind.source.to_owned(),
    };
    fairwave_soc::POLICIES.iter().map(item).collect()
}

/// Entries of a list of SHAKE's parts, such as its schedulers.
fn named<T>(list: &[fairwave_shake::Named<T>]) -> Vec<Item> {
    let item = |known: &fairwave_shake::Named<T>| Item {
        name: known.name.to_owned(),
        summary: known.summary.to_owned(),
        source: known.source.to_owned(),
    };
    list.iter().map(item).collect()
}

fn stacks() -> Vec<Item> {
    let item = |stack: &fairwave_tcp::Profile| Item {
        name: stack.name.to_owned(),
        summary: stack.summary.to_owned(),
        source: stack.source.to_owned(),
    };
    fairwave_tcp::Profile::ALL.iter().map(item).collect()
}

fn studies() -> Vec<Item> {
    let item = |study: &&dyn Study| Item {
        name: study.name().to_owned(),
        summary: study.statement().to_owned(),
        source: study.paper().to_owned(),
    };
    fairwave_studies::ALL.iter().map(item).collect()
}

/// The values that the schema accepts.
fn standards() -> Vec<Item> {
    let schema = fairwave_scenario::schema();
    let words = schema.pointer("/$defs/Cell/properties/standard/enum").and_then(Value::as_array);
    let names = words.into_iter().flatten().filter_map(Value::as_str);
    names
        .map(|name| Item { name: name.to_owned(), summary: String::new(), source: String::new() })
        .collect()
}

/// Prints the example scenarios. A file that cannot be read does not prevent the output of others.
fn list_scenarios(common: &Common) -> Result<(), Failure> {
    let (items, errors): (Vec<_>, Vec<_>) = scenarios()?.into_iter().partition(Result::is_ok);
    let items: Vec<Item> = items.into_iter().flatten().collect();
    if common.json { print_json(&items) } else { print(&items) }?;
    errors.iter().filter_map(|error| error.as_ref().err()).for_each(|why| output::complain(why));
    if errors.is_empty() { Ok(()) } else { Err(Failure::unread()) }
}

/// The example scenarios: each file with the question that it answers.
fn scenarios() -> Result<Vec<Result<Item, String>>, Failure> {
    let directory = Path::new(SCENARIOS);
    let failed = |error| Failure::run(format!("{}: {error}", directory.display()));
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
fn scenario(path: &Path) -> Result<Item, String> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(MOST_LINE).read_to_end(&mut bytes));
    read.map_err(|error| format!("{name}: {error}"))?;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = core::str::from_utf8(line).map_err(|_| format!("{name}: not UTF-8 text"))?;
    // A user's own file need not begin with a question.
    let summary = first.strip_prefix('#').map_or_else(String::new, |text| text.trim().to_owned());
    Ok(Item { name, summary, source: String::new() })
}
