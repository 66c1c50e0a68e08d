//! `fairwave list`: lists of studies, algorithms and more, each from the crate that defines them.

use crate::args::Common;
use crate::outcome::Failure;
use crate::output;
use crate::schema::Schema;
use clap::{Args, ValueEnum};
use fairwave_scenario::list::{self, ListItem, ListOutput};
use fairwave_study::Study;
use serde_json::json;

/// List studies, algorithms, traffic sources, schemas and more
#[derive(Args, Debug)]
pub(crate) struct List {
    /// The kind of things to list; without one, the kinds are listed
    what: Option<Listing>,
    /// With `schema`: the file or output that the schema describes [default: scenario]
    // The table of commands gives it the names of its schemas as possible values.
    of: Option<String>,
}

/// Kinds of things that `list` can list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Listing {
    /// Studies that `reproduce` knows
    Studies,
    /// Scenario files in the directory `scenarios`, with their questions
    Scenarios,
    /// Congestion controls, with their sources
    CongestionControls,
    /// Queue disciplines of radios and links, with their sources
    Queues,
    /// Sources of traffic, with their keys
    Sources,
    /// Filters of SNR samples (`cell.soc`)
    SocFilters,
    /// Policies from the Strength of Connection to weights (`cell.soc`)
    SocPolicies,
    /// TCP stacks, which set the defaults of a flow's keys
    Stacks,
    /// Schedulers of SHAKE flows, which choose the path for new data
    ShakeSchedulers,
    /// Algorithms by which the windows of a SHAKE flow's paths grow
    ShakeGrowths,
    /// Retransmission policies of SHAKE flows, which choose the path for lost data
    ShakeRetransmissions,
    /// 802.11 standards of a cell
    Standards,
    /// The JSON schema of scenario files, or of a command's output with --json
    Schema,
    /// The reference page of scenario files, in Markdown
    Reference,
    /// The reference page of commands, their options and exit codes, in Markdown
    Commands,
    /// The reference page of JSON outputs, field by field, in Markdown
    Fields,
}

/// Pages that are views of the table of commands.
pub(super) struct Pages {
    pub(super) commands: fn() -> String,
    pub(super) fields: fn() -> String,
}

/// Prints one list.
pub(super) fn run(
    common: &Common,
    args: &List,
    schemas: &[Schema],
    pages: &Pages,
) -> Result<(), Failure> {
    let Some(what) = args.what else { return print(common, kinds()) };
    if args.of.is_some() && what != Listing::Schema {
        return Err(Failure::Usage("only `list schema` takes a second argument".to_owned()));
    }
    let items = match what {
        Listing::Reference => return page(common, what, fairwave_scenario::reference),
        Listing::Commands => return page(common, what, pages.commands),
        Listing::Fields => return page(common, what, pages.fields),
        Listing::Schema => {
            let name = args.of.as_deref().unwrap_or("scenario");
            let known = schemas.iter().find(|schema| schema.name == name);
            let schema = known.map(|schema| (schema.make)()).unwrap_or_default();
            return Ok(output::print_json(&schema)?);
        }
        Listing::Scenarios => return list_scenarios(common),
        Listing::Studies => fairwave_studies::ALL.iter().map(study).collect(),
        Listing::CongestionControls => list::congestion_controls(),
        Listing::Queues => list::queues(),
        Listing::Sources => list::sources(),
        Listing::SocFilters => list::soc_filters(),
        Listing::SocPolicies => list::soc_policies(),
        Listing::Stacks => list::stacks(),
        Listing::ShakeSchedulers => list::named(fairwave_shake::SCHEDULERS),
        Listing::ShakeGrowths => list::named(fairwave_shake::GROWTHS),
        Listing::ShakeRetransmissions => list::named(fairwave_shake::RETRANSMISSION_PATHS),
        Listing::Standards => list::standards(),
    };
    print(common, items)
}

fn print(common: &Common, items: Vec<ListItem>) -> Result<(), Failure> {
    match common.json {
        true => Ok(output::print_json(&json!(ListOutput(items)))?),
        false => Ok(output::print(&list::text(&items))?),
    }
}

/// Prints a page, which has no form as JSON.
fn page(common: &Common, what: Listing, make: impl FnOnce() -> String) -> Result<(), Failure> {
    if common.json {
        let name = what.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned());
        let text = format!("--json: `list {name}` is a page in Markdown; `list schema` has JSON");
        return Err(Failure::Usage(text));
    }
    Ok(output::print(&make())?)
}

/// The kinds of things that can be listed.
fn kinds() -> Vec<ListItem> {
    let kinds = Listing::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let item = |kind: clap::builder::PossibleValue| ListItem {
        name: kind.get_name().to_owned(),
        summary: kind.get_help().map(ToString::to_string).unwrap_or_default(),
        source: String::new(),
    };
    kinds.map(item).collect()
}

fn study(study: &&dyn Study) -> ListItem {
    ListItem {
        name: study.name().to_owned(),
        summary: study.statement().to_owned(),
        source: study.paper().to_owned(),
    }
}

/// Prints the example scenarios. A file that cannot be read does not prevent the output of others.
fn list_scenarios(common: &Common) -> Result<(), Failure> {
    let found = list::scenarios().map_err(Failure::run)?;
    let (items, errors): (Vec<_>, Vec<_>) = found.into_iter().partition(Result::is_ok);
    print(common, items.into_iter().flatten().collect())?;
    errors.iter().filter_map(|error| error.as_ref().err()).for_each(|why| output::complain(why));
    if errors.is_empty() { Ok(()) } else { Err(Failure::unread()) }
}
