//! What a capture came to, for people: a table of connections, the worst first, or one connection
//! in words.

use crate::table::{Table, mbps, millis, seconds};
use fairwave_lab::trace::{
    CaptureSummary, Connection, Event, Limit, SpellsSummary, TcpWaySummary, TraceSummary,
    UdpStream, UdpWaySummary,
};

/// Most rows of a table; --json has all.
const ROWS: usize = 40;
/// Most events of a connection that are told; --json has more.
const EVENTS: usize = 20;

/// The whole capture, and each of its connections in words if they are to be looked at closely.
pub(crate) fn summary(summary: &TraceSummary, closely: bool) -> String {
    let mut text = capture(&summary.capture);
    if closely {
        text.extend(summary.connections.iter().map(connection_in_words));
        text.push_str(&udp(&summary.udp));
        return text;
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

fn capture(capture: &CaptureSummary) -> String {
    let CaptureSummary { file, format, packets, tcp_streams, udp_streams, .. } = capture;
    let by = capture.compression.map_or_else(String::new, |by| format!(" in {by}"));
    let time = seconds(capture.duration_ns);
    let mut text = format!(
        "{file}: {format}{by}, {packets} packets in {time} s, {tcp_streams} TCP connections, \
         {udp_streams} UDP streams\n"
    );
    let left_out = left_out(capture);
    if !left_out.is_empty() {
        text.push_str(&format!("Not analysed: {}\n", left_out.join(", ")));
    }
    text.push('\n');
    text
}

/// What of a capture is not in its streams, in a few words each.
fn left_out(capture: &CaptureSummary) -> Vec<String> {
    let (frames, ip) = (&capture.frames, &capture.ip);
    let counts = [
        (capture.untimed, "packets without a time"),
        (frames.repeated, "repeated on the air"),
        (frames.bad_fcs, "with a wrong check sequence"),
        (frames.control, "802.11 control and management"),
        (frames.encrypted, "encrypted"),
        (frames.not_ip, "not IP"),
        (frames.unsupported, "of an unknown link type"),
        (frames.truncated + frames.broken, "cut or broken below IP"),
        (frames.fragments + ip.fragments, "later fragments"),
        (ip.other, "neither TCP nor UDP"),
        (ip.unreadable + ip.broken, "cut or broken IP, TCP or UDP"),
    ];
    let there = counts.iter().filter(|(count, _)| *count > 0);
    there.map(|(count, what)| format!("{count} {what}")).collect()
}

/// From the end that sent more to the other.
fn ends(connection: &Connection) -> (&str, &str) {
    let (a, b) = (&connection.ends.a, &connection.ends.b);
    if connection.sender == 'a' { (a, b) } else { (b, a) }
}

fn connections(connections: &[Connection]) -> String {
    let heads = [
        "connection",
        "s",
        "Mbps",
        "packets",
        "resent %",
        "timeouts",
        "starved s",
        "ACKs lost",
        "RTT ms",
        "limit",
    ];
    let mut table = Table::new("Connections, the worst first", &heads);
    for one in connections.iter().take(ROWS) {
        let (way, (from, to)) = (one.main(), ends(one));
        table.row(vec![
            format!("{}: {from} > {to}", one.number),
            seconds(one.duration_ns),
            mbps(way.goodput_bps),
            (one.a_sent.packets + one.b_sent.packets).to_string(),
            format!("{:.2}", way.resent_percent()),
            way.timeouts.to_string(),
            seconds(way.starvation.total_ns),
            way.acks_lost_inferred.to_string(),
            way.rtt.as_ref().map_or_else(|| "-".to_owned(), |rtt| millis(rtt.median_ns)),
            one.limit.word().to_owned(),
        ]);
    }
    table.render()
}

fn udp(streams: &[UdpStream]) -> String {
    let heads = ["stream", "s", "Mbps", "packets", "lost", "reordered", "longest gap ms"];
    let mut table = Table::new("UDP streams", &heads);
    for one in streams.iter().take(ROWS) {
        let ways =
            [(&one.ends.a, &one.ends.b, &one.a_sent), (&one.ends.b, &one.ends.a, &one.b_sent)];
        for (from, to, way) in ways.into_iter().filter(|(_, _, way)| way.packets > 0) {
            table.row(udp_row(&format!("udp:{}: {from} > {to}", one.number), one.duration_ns, way));
        }
    }
    table.render()
}

fn udp_row(name: &str, duration_ns: u64, way: &UdpWaySummary) -> Vec<String> {
    let number = |part: Option<u64>| part.map_or_else(|| "-".to_owned(), |part| part.to_string());
    vec![
        name.to_owned(),
        seconds(duration_ns),
        mbps(way.rate_bps),
        way.packets.to_string(),
        number(way.numbers.map(|numbers| numbers.lost)),
        number(way.numbers.map(|numbers| numbers.reordered)),
        millis(way.gap_max_ns),
    ]
}

fn connection_in_words(one: &Connection) -> String {
    let (from, to) = ends(one);
    let way = one.main();
    let mut text = format!("Connection {}: {from} > {to}\n", one.number);
    let mut say = |line: String| text.push_str(&format!("  {line}\n"));
    let (duration, rate) = (seconds(one.duration_ns), mbps(way.goodput_bps));
    let (bytes, packets) = (way.unique_bytes, way.packets);
    say(format!(
        "{bytes} bytes in {packets} packets over {duration} s: {rate} Mbps; {}",
        ended(one)
    ));
    say(limit(one));
    say(round_trip(way));
    say(retransmissions(way));
    say(acks(way));
    say(spells("Starved", &way.starvation, "with data outstanding and nothing acknowledged"));
    say(spells("Without an ACK", &way.ack_gaps, "with data outstanding"));
    say(spells("Receiver closed", &way.zero_window_spells, "with a window of zero"));
    say(spells("Idle", &one.idle, "with nothing outstanding"));
    if let Some(events) = &one.events {
        events.first.iter().take(EVENTS).for_each(|event| say(told(event)));
        let more = events.first.len().saturating_sub(EVENTS) as u64 + events.more;
        if more > 0 {
            say(format!("... and {more} more events"));
        }
    }
    text.push('\n');
    text
}

fn ended(one: &Connection) -> &'static str {
    match one.end {
        "closed" => "closed in order",
        "reset" => "reset",
        "reused" => "its ports were used anew",
        "evicted" => "given up for lack of room",
        _ => "open when the capture ended",
    }
}

/// What limited it, with the figures that say so.
fn limit(one: &Connection) -> String {
    let way = one.main();
    let share = |ns: u64| 100.0 * ns as f64 / one.duration_ns.max(1) as f64;
    match one.limit {
        Limit::NoData => "It carried no data".to_owned(),
        Limit::Starvation => {
            let part = share(way.starvation.total_ns);
            format!("Limited by starvation: {part:.1} % of the time nothing got through")
        }
        Limit::ReceiveWindow => {
            let part = share(way.zero_window_spells.total_ns);
            let full = way.window_full;
            format!("Limited by the receiver's window: zero for {part:.1} %, filled {full} times")
        }
        Limit::Application => {
            let part = share(one.idle.total_ns);
            format!("Limited by the application: {part:.1} % of the time it had nothing to send")
        }
        Limit::Loss => {
            let (part, timeouts) = (way.resent_percent(), way.timeouts);
            format!("Limited by losses: {part:.2} % sent again, {timeouts} timeouts")
        }
        Limit::Path => {
            let flight = way.flight_max;
            format!("Limited by the path or the sender's window: at most {flight} bytes in flight")
        }
    }
}

fn round_trip(way: &TcpWaySummary) -> String {
    let Some(rtt) = &way.rtt else { return "No round-trip time was seen".to_owned() };
    let [least, median, p95, most] =
        [rtt.least_ns, rtt.median_ns, rtt.p95_ns, rtt.most_ns].map(millis);
    format!("Round trip {median} ms in the middle, {least} to {most} ms, 95 % below {p95} ms")
}

fn retransmissions(way: &TcpWaySummary) -> String {
    let kinds = [
        ("fast_retransmission", "fast"),
        ("timeout", "by timeout"),
        ("tail_probe", "as tail probes"),
        ("retransmission", "otherwise"),
        ("spurious_retransmission", "for nothing"),
    ];
    let count = |(kind, word): (&str, &str)| {
        let count = way.kinds.get(kind).filter(|count| **count > 0)?;
        Some(format!("{count} {word}"))
    };
    let kinds: Vec<String> = kinds.into_iter().filter_map(count).collect();
    if kinds.is_empty() {
        return "Nothing was sent again".to_owned();
    }
    let (all, part) = (way.retransmissions, way.resent_percent());
    format!("{all} segments ({part:.2} %) sent again: {}", kinds.join(", "))
}

fn acks(way: &TcpWaySummary) -> String {
    let lost = way.acks_lost_inferred;
    match way.ack_stride {
        Some(stride) => {
            format!("{lost} of its ACKs were lost before here; one each {stride} bytes")
        }
        None => format!("{lost} of its ACKs were lost before here, as far as can be told"),
    }
}

fn spells(what: &str, spells: &SpellsSummary, when: &str) -> String {
    let SpellsSummary { count, total_ns, longest_ns, longest_at_ns } = *spells;
    let Some(at) = longest_at_ns.filter(|_| count > 0) else { return format!("{what}: never") };
    let (total, longest, at) = (seconds(total_ns), seconds(longest_ns), seconds(at));
    format!(
        "{what} {count} times, {total} s together, {when}; the longest {longest} s from {at} s on"
    )
}

fn told(event: &Event) -> String {
    let (at, what, side) = (seconds(event.at_ns), event.what.replace('_', " "), event.side);
    let length = event.length_ns.map_or_else(String::new, |ns| format!(" for {} s", seconds(ns)));
    format!("{at:>12} s  {what}{length} (data of {side})")
}
