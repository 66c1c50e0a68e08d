//! What a capture came to, for people: a table of connections, the worst first, or one connection
//! in words.

use crate::output::{HEADING, styled};
use crate::table::Table;
use fairwave_capture::trace::{ComparisonSummary, Connection, TraceSummary, UdpStream, words};

/// Most rows of a table; --json has all.
const ROWS: usize = 40;

/// The whole capture, and each of its connections in words if they are to be looked at closely.
pub(crate) fn summary(summary: &TraceSummary, closely: bool) -> String {
    let mut text = words::capture(&summary.capture).join("\n") + "\n\n";
    if closely {
        text.extend(summary.connections.iter().map(connection));
        return text + &udp(&summary.udp);
    }
    text.push_str(&connections(&summary.connections));
    text.push_str(&udp(&summary.udp));
    let unseen = |len: usize| len.saturating_sub(ROWS) as u64;
    let more = unseen(summary.connections.len()) + unseen(summary.udp.len()) + summary.left_out;
    if more > 0 {
        text.push_str(&format!("{more} more streams; --json lists up to 10000\n"));
    }
    text
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

fn udp(streams: &[UdpStream]) -> String {
    let heads = [&["stream"][..], &words::UDP_COLUMNS].concat();
    let mut table = Table::new("UDP streams", &heads);
    for (name, row) in streams.iter().take(ROWS).flat_map(words::udp_rows) {
        table.row([&[name][..], &row].concat());
    }
    table.render()
}

/// What happened between two captures.
pub(crate) fn comparison(summary: &ComparisonSummary) -> String {
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
