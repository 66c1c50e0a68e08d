//! Results of a capture's analysis: a table of connections, the worst first, or one connection in
//! words.

use super::air;
use super::{BrokenSummary, ComparisonSummary, Connection, TraceSummary, UdpStream, words};
use crate::text::visible;
use fairwave_text::{HEADING, Table, styled};

/// Maximum number of rows in a table; --json has all.
const ROWS: usize = 40;

/// The whole capture, and each of its connections in words if `closely`.
pub fn summary(summary: &TraceSummary, closely: bool) -> String {
    let mut text = words::summary(summary).join("\n") + "\n\n";
    if closely {
        text.extend(summary.connections.iter().map(connection));
        return text + &datagrams(summary);
    }
    text.push_str(&connections(&summary.connections));
    text.push_str(&datagrams(summary));
    text.push_str(&radio(summary));
    let unseen = |len: usize| len.saturating_sub(ROWS) as u64;
    let listed = [summary.connections.len(), summary.udp.len(), summary.dccp.len()];
    let more = listed.into_iter().map(unseen).sum::<u64>() + summary.left_out;
    if more > 0 {
        text.push_str(&format!("{more} more streams; --json lists up to 10000\n"));
    }
    match &summary.answer[..] {
        [] => text,
        answer => text + &answer.join(" ") + "\n",
    }
}

fn connection(one: &Connection) -> String {
    let title = styled(HEADING, &format!("Connection {}", words::name(one)));
    let lines = words::connection(one).into_iter().map(|line| format!("  {line}\n"));
    format!("{title}\n{}\n", lines.collect::<String>())
}

fn connections(connections: &[Connection]) -> String {
    let heads = [&["connection"][..], &words::COLUMNS].concat();
    let mut table = Table::new("Connections, the worst first", &heads);
    for one in connections.iter().take(ROWS) {
        table.row([&[words::name(one)][..], &words::row(one)].concat());
    }
    table.render()
}

/// Use of the air, if the capture has 802.11 frames.
fn radio(summary: &TraceSummary) -> String {
    if summary.air.is_empty() {
        return String::new();
    }
    let heads = [&["transmitter > receiver"][..], &air::COLUMNS].concat();
    let mut table = Table::new(air::TITLE, &heads);
    for pair in summary.air.iter().take(ROWS) {
        table.row([&[air::name(pair)][..], &air::row(pair)].concat());
    }
    table.render()
}

/// UDP streams, and DCCP streams if there are any.
fn datagrams(summary: &TraceSummary) -> String {
    let mut text = streams("UDP streams", "udp", &summary.udp);
    if !summary.dccp.is_empty() {
        text.push_str(&streams("DCCP streams", "dccp", &summary.dccp));
    }
    text
}

fn streams(title: &'static str, protocol: &str, streams: &[UdpStream]) -> String {
    let heads = [&["stream"][..], &words::UDP_COLUMNS].concat();
    let mut table = Table::new(title, &heads);
    for (name, row) in streams.iter().take(ROWS).flat_map(|one| words::udp_rows(protocol, one)) {
        table.row([&[name][..], &row].concat());
    }
    table.render()
}

/// Differences between two captures.
pub fn comparison(summary: &ComparisonSummary) -> String {
    let mut text = words::comparison(summary).join("\n") + "\n\n";
    let heads = [&["from > to"][..], &words::BETWEEN_COLUMNS].concat();
    let mut table = Table::new("Between the captures, the most lossy first", &heads);
    for way in summary.ways.iter().take(ROWS) {
        table.row([&[words::way(way)][..], &words::between(way)].concat());
    }
    text.push_str(&table.render());
    if let Some(more) = summary.ways.len().checked_sub(ROWS).filter(|more| *more > 0) {
        text.push_str(&format!("{more} more; --json lists all\n"));
    }
    text
}

/// Warnings about the file of a capture: times out of range, and damage.
pub fn warnings(file: &str, carried: u64, broken: Option<&BrokenSummary>) -> Vec<String> {
    let file = visible(file);
    let carried = (carried > 0).then(|| {
        let what = "have times with a second or more beside their seconds";
        format!("{file}: {carried} packets {what}; both were added")
    });
    let broken = broken.map(|BrokenSummary { offset, packets, reason }| {
        format!("{file} is damaged at byte {offset}, behind packet {packets}: {reason}")
    });
    carried.into_iter().chain(broken).collect()
}
