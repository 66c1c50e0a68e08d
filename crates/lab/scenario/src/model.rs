//! The scenario that a file resolves to.

use crate::cell::Cell;
use crate::emulate::{Emulate, Program};
use crate::flow::Flow;
use crate::flow_context::FlowContext;
use crate::keys::{Keyed, keys, table};
use crate::kinds::{integer, text, within};
use crate::limits::{DAY, MILLISECOND, SECOND};
use crate::link::Link;
use crate::node::{Names, Node};
use crate::own::OwnAlgorithms;
use crate::reader::{Reader, wrong_type};
use crate::record::Record;
use crate::sections::{Few, Section, Tables};
use crate::tcp::{Defaults, Tcp};
use crate::value::{Data, Table, Value};
use fairwave_units::Duration;
use std::path::PathBuf;

keys! {
    /// A scenario with every default resolved: the simulated part, apart from the sweep around it.
    pub struct Scenario |r| (origin: Origin = Origin::default()) {
        /// One line for people.
        title: String = text().or(String::new());
        /// Simulated time.
        duration: Duration = within(MILLISECOND, DAY).or(SECOND * 60);
        /// Statistics count from here on; less than the duration. A packet that is under way then
        /// counts as received, and not as sent.
        warm_up: Duration = within(Duration::ZERO, DAY).or(Duration::ZERO);
        /// Master seed of every random stream.
        seed: u64 = integer(0, i64::MAX as u64).or(1);
        /// Recorded outputs.
        record: Record = Section;
        /// Radio channels: a table `[cell]`, or several `[[cell]]` with names.
        cell: Vec<Cell> = Tables(());
        /// Nodes and groups of them.
        node: Vec<Node> = Tables(Names::new(r, &cell, &origin.base, &origin.own));
        /// Wired links, and groups of them.
        link: Vec<Link> = Tables(origin.own.clone());
        /// Flows, and groups of flows.
        flow: Vec<Flow> = Tables(flow_context(r, origin));
        /// Settings of `fairwave emulate`.
        emulate: Option<Emulate> = table("write [emulate]").optional();
        /// Programs that `fairwave emulate` starts.
        program: Vec<Program> = Few(());
    }
}

/// Inputs of a scenario beside its text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// Directory in which files named by the scenario are sought.
    pub(crate) base: PathBuf,
    /// Algorithms from outside.
    pub(crate) own: OwnAlgorithms,
}

/// Settings that flows inherit: the table `[tcp]`, and the origin of the scenario.
fn flow_context(r: &Reader<'_>, origin: &Origin) -> FlowContext {
    let Origin { base, own } = origin.clone();
    if r.is_reading() {
        let empty = Table::default();
        let tcp = r.table("tcp", &empty);
        Tcp::keys(&tcp, None, &Defaults::of_table(own.clone()));
        tcp.finish();
    }
    let table = |value: &Value| match &value.data {
        Data::Table(table) => Ok(table.clone()),
        _ => Err(wrong_type(value, "a table")),
    };
    FlowContext { base, tcp: r.peek("tcp", table).unwrap_or_default(), own }
}
