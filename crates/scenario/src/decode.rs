//! From tables to a scenario: every key with its type, bounds and default.

use super::around::Around;
use super::cell::Cell;
use super::diagnostic::{Problem, Refusal};
use super::flow::Flow;
use super::keys::Keyed;
use super::limits::{self, DAY};
use super::link::Link;
use super::model::Scenario;
use super::node::{Names, node};
use super::reader::{self, Problems, Read, Reader};
use super::record::Record;
use super::tcp::{Defaults, Tcp};
use super::value::{Data, Table, Value};
use fairwave_dot11::Phy;
use fairwave_units::Duration;
use std::path::Path;

/// Reads the tables of a scenario without its sweep; files that it names are sought from `base`.
pub(super) fn scenario(root: &Table, base: &Path) -> Result<Scenario, Vec<Problem>> {
    let problems = Problems::default();
    let empty = Table::default();
    let top = Reader::new("", root, 0..0, &problems);
    let (cell, phys) = cells(&top);
    let names = Names::new(root, phys, base);
    let tcp = top.table("tcp", &empty);
    Tcp::keys(&tcp, None, &Defaults::of_table());
    tcp.finish(&[]);
    let tcp = match root.get("tcp").map(|value| &value.data) {
        Some(Data::Table(table)) => table.clone(),
        _ => empty.clone(),
    };
    let around = Around { base: base.to_owned(), tcp };
    let scenario = Scenario {
        title: top.or("title", String::new(), reader::text),
        duration: top.or("duration", Duration::from_secs(60), span(Duration::from_millis(1), DAY)),
        warm_up: top.or("warm_up", Duration::ZERO, span(Duration::ZERO, DAY)),
        seed: top.or("seed", 1, reader::integer(0, i64::MAX as u64)),
        record: {
            let r = top.table("record", &empty);
            let record = Record::keys(&r, None, &());
            r.finish(&[]);
            record
        },
        cell,
        node: tables(&top, "node", |r| node(r, &names)),
        link: tables(&top, "link", |r| {
            let link = Link::keys(r, None, &());
            r.finish(&[]);
            Some(link)
        }),
        flow: tables(&top, "flow", |r| {
            let flow = Flow::keys(r, None, &around);
            r.finish(&[]);
            Some(flow)
        }),
    };
    top.finish(&[]);
    let problems = problems.into_inner();
    if problems.is_empty() { Ok(scenario) } else { Err(problems) }
}

fn tables<T>(
    top: &Reader<'_>,
    key: &'static str,
    read: impl Fn(&Reader<'_>) -> Option<T>,
) -> Vec<T> {
    let readers = top.tables(key);
    if readers.len() > limits::MOST_TABLES {
        let message = format!("more than {} tables", limits::MOST_TABLES);
        top.report(0..0, key, Refusal::new(message));
        return Vec::new();
    }
    readers.iter().filter_map(read).collect()
}

fn span(min: Duration, max: Duration) -> impl Fn(&Value) -> Read<Duration> {
    reader::within(min, max)
}

/// Reads the cells; also what each is called, and its PHY where that could be read.
fn cells(top: &Reader<'_>) -> (Vec<Cell>, Vec<(String, Option<Phy>)>) {
    let mut names = Vec::new();
    let cells = {
        let names = core::cell::RefCell::new(&mut names);
        tables(top, "cell", |r| {
            let cell = Cell::keys(r, None, &());
            r.finish(&[]);
            let phy = Cell::standard(r).map(|_| cell.phy());
            names.borrow_mut().push((cell.name.clone(), phy));
            Some(cell)
        })
    };
    (cells, names)
}
