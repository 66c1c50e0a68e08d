//! Results in words and table cells, the same on a terminal and on a page.

use super::named;
use super::{
    CaptureSummary, ComparisonSummary, Connection, Event, Limit, Selection, SpellsSummary,
    TcpWaySummary, TraceSummary, UdpStream, UdpWaySummary, Vantage, WayBetween,
};
use crate::text::visible;
use fairwave_lab::results::TimesSummary;
use fairwave_units::several;

/// Maximum number of events of a connection in the text; the JSON has more.
const EVENTS: usize = 20;

/// Headings of a connection's columns, after its name.
pub const COLUMNS: [&str; 9] = [
    "s",
    "Mbps",
    "packets",
    "retransmitted %",
    "timeouts",
    "starved s",
    "ACKs lost",
    "RTT ms",
    "limit",
];

/// Headings of the columns of a UDP or DCCP stream, after its name.
pub const UDP_COLUMNS: [&str; 8] =
    ["s", "Mbps", "packets", "lost", "reordered", "jitter ms", "longest gap ms", "numbers of"];

/// A connection's number, and its ends from the one that sent more to the other.
pub fn name(one: &Connection) -> String {
    let (a, b) = (&one.ends.a, &one.ends.b);
    let (from, to) = if one.sender == 'a' { (a, b) } else { (b, a) };
    format!("{}: {from} > {to}", one.number)
}

/// A connection's cells, by [`COLUMNS`].
pub fn row(one: &Connection) -> [String; 9] {
    let way = one.main();
    [
        seconds(one.duration_ns),
        mbps(way.goodput_bps),
        (one.a_sent.packets + one.b_sent.packets).to_string(),
        format!("{:.2}", way.resent_percent()),
        way.timeouts.to_string(),
        seconds(way.starvation.total_ns),
        way.acks_lost_inferred.map_or_else(|| "-".to_owned(), |lost| lost.to_string()),
        one.round_trip_ns().map_or_else(|| "-".to_owned(), millis),
        one.limit.word().to_owned(),
    ]
}

/// Name and cells, by [`UDP_COLUMNS`], of each sending end of a stream of `protocol`, `udp` or
/// `dccp`.
pub fn udp_rows(protocol: &str, one: &UdpStream) -> Vec<(String, [String; 8])> {
    let (a, b) = (&one.ends.a, &one.ends.b);
    let ways = [(a, b, &one.a_sent), (b, a, &one.b_sent)];
    let sent = ways.into_iter().filter(|(_, _, way)| way.packets > 0);
    let name = |from, to| format!("{protocol}:{}: {from} > {to}", one.number);
    sent.map(|(from, to, way)| (name(from, to), udp_row(one.duration_ns, way))).collect()
}

fn udp_row(duration_ns: u64, way: &UdpWaySummary) -> [String; 8] {
    let number = |part: Option<u64>| part.map_or_else(|| "-".to_owned(), |part| part.to_string());
    let jitter = way.numbers.and_then(|numbers| numbers.jitter);
    [
        seconds(duration_ns),
        mbps(way.rate_bps),
        way.packets.to_string(),
        number(way.numbers.map(|numbers| numbers.lost)),
        number(way.numbers.map(|numbers| numbers.reordered)),
        jitter.map_or_else(|| "-".to_owned(), |jitter| millis(jitter.mean_ns)),
        millis(way.gap_max_ns),
        way.numbers.map_or("-", |numbers| numbering(numbers.numbering)).to_owned(),
    ]
}

/// Contents of a capture, and a warning if connections in it are not as they were on the path.
pub fn summary(summary: &TraceSummary) -> Vec<String> {
    let mut lines = capture(&summary.capture);
    let out_of_step = summary.connections.iter().filter(|one| is_out_of_step(one)).count() as u64;
    if out_of_step > 0 {
        let connections = several(out_of_step, "connection");
        lines.push(format!(
            "{connections} with directions out of step: data stands behind its ACK, so that round \
             trips and limits are unsure"
        ));
    }
    lines
}

/// The worst connection and its limit, in sentences; none without a TCP connection.
pub(super) fn answer(summary: &TraceSummary) -> Vec<String> {
    let Some(worst) = summary.connections.first() else { return Vec::new() };
    let which = match summary.connections.len() {
        1 => "The only connection".to_owned(),
        all => format!("The worst of {all} connections"),
    };
    let (name, rate) = (name(worst), mbps(worst.main().goodput_bps));
    vec![format!("{which}, {name}, got {rate} Mbps."), format!("{}.", limit(worst))]
}

/// The protocol whose sequence numbers were found in datagrams.
fn numbering(name: &'static str) -> &'static str {
    match name {
        "leading" => "first word (iperf 2)",
        "iperf3" => "iperf 3",
        "rtp" => "RTP",
        "shake" => "SHAKE",
        "dccp" => "DCCP",
        "probe" => "probe",
        other => other,
    }
}

/// Contents of a capture, and the packets that were not analysed.
pub fn capture(capture: &CaptureSummary) -> Vec<String> {
    let CaptureSummary { format, packets, .. } = capture;
    let file = visible(&capture.file);
    let by = capture.compression.map_or_else(String::new, |by| format!(" in {by}"));
    let time = seconds(capture.duration_ns);
    let packets = several(*packets, "packet");
    let streams = streams(capture);
    let mut lines = vec![format!("{file}: {format}{by}, {packets} in {time} s, {streams}")];
    let left_out = left_out(capture);
    if !left_out.is_empty() {
        lines.push(format!("Not analysed: {}", left_out.join(", ")));
    }
    lines.extend(named::tunnel_words(&capture.tunnels));
    lines.extend(datagrams(capture));
    if capture.backward > 0 {
        let backward = several(capture.backward, "packet");
        lines.push(format!("{backward} behind a later one: times there are unsure"));
    }
    if capture.evicted > 0 {
        let evicted = several(capture.evicted, "stream");
        lines.push(format!("{evicted} given up while open, for lack of room"));
    }
    lines
}

/// Numbers of connections and streams in a capture.
fn streams(capture: &CaptureSummary) -> String {
    let CaptureSummary { tcp_streams, udp_streams, dccp_streams, .. } = capture;
    let connections = several(*tcp_streams, "TCP connection");
    let streams = several(*udp_streams, "UDP stream");
    match dccp_streams {
        0 => format!("{connections}, {streams}"),
        dccp => format!("{connections}, {streams}, {}", several(*dccp, "DCCP stream")),
    }
}

/// A warning if a selection by hosts and ports leaves no stream.
pub fn unmatched(selection: &Selection, summary: &TraceSummary) -> Option<String> {
    let TraceSummary { capture, connections, udp, dccp, .. } = summary;
    let is_empty = connections.is_empty() && udp.is_empty() && dccp.is_empty();
    let ends = selection.ends().filter(|_| is_empty)?;
    Some(format!("no stream has {ends}; the capture has {}", streams(capture)))
}

/// The same for two captures.
pub fn unmatched_between(selection: &Selection, summary: &ComparisonSummary) -> Option<String> {
    let ends = selection.ends().filter(|_| summary.ways.is_empty())?;
    Some(format!("no stream has {ends}"))
}

/// Packets that count in an unusual way.
fn datagrams(capture: &CaptureSummary) -> Vec<String> {
    let (untimed, joined, incomplete) = (capture.untimed, capture.ip.joined, capture.ip.incomplete);
    let fragments = several(joined, "later fragment");
    let missing = match incomplete {
        0 => String::new(),
        _ => format!("; of {} fragments are missing", several(incomplete, "datagram")),
    };
    let untimed_words = several(untimed, "packet");
    let lines = [
        (untimed, format!("{untimed_words} without a time count evenly between their neighbours")),
        (joined + incomplete, format!("{fragments} counted with the first one{missing}")),
    ];
    lines.into_iter().filter(|(count, _)| *count > 0).map(|(_, line)| line).collect()
}

/// Packets that belong to no stream, in a few words for each reason, with the protocols of these
/// registries.
fn left_out(capture: &CaptureSummary) -> Vec<String> {
    let (frames, ip) = (&capture.frames, &capture.ip);
    let counts: [(u64, &str, &[&str]); 11] = [
        (frames.repeated, "repeated on the air", &[]),
        (frames.bad_fcs, "with a wrong check sequence", &[]),
        (frames.control, "802.11 control and management", &[]),
        (frames.encrypted, "encrypted", &[]),
        (frames.not_ip, "not IP", &["address_family", "llc", "ether_type", "ppp"]),
        (frames.unsupported, "of an unknown link type", &["link_type"]),
        (frames.truncated + frames.broken, "cut or broken below IP", &[]),
        (frames.fragments + ip.fragments, "later fragments", &[]),
        (ip.copies, "copies of others, as where a router was captured on both sides", &[]),
        (ip.other, "neither TCP, UDP nor DCCP", &["ip"]),
        (ip.unreadable + ip.broken, "cut or broken IP, TCP, UDP or DCCP", &[]),
    ];
    let there = counts.iter().filter(|(count, ..)| *count > 0);
    let words = |(count, what, registries): &(u64, &str, &[&str])| {
        format!("{count} {what}{}", named::words(&capture.contents, registries))
    };
    there.map(words).collect()
}

/// Description of a connection in sentences, followed by its first events.
pub fn connection(one: &Connection) -> Vec<String> {
    let way = one.main();
    let (duration, rate) = (seconds(one.duration_ns), mbps(way.goodput_bps));
    let bytes = several(way.unique_bytes, "byte");
    let (packets, ended) = (several(way.packets, "packet"), ended(one));
    let mut lines = vec![format!("{bytes} in {packets} over {duration} s: {rate} Mbps; {ended}")];
    lines.extend(out_of_step(one));
    lines.extend([
        limit(one),
        shares(one),
        place(one),
        offloads(one),
        round_trip(one),
        retransmissions(way),
        acks(way),
        spells("Starved", &way.starvation, "with data outstanding and nothing acknowledged"),
        spells("Without an ACK", &way.ack_gaps, "with data outstanding"),
        spells("Receiver closed", &way.zero_window_spells, "with a window of zero"),
        spells("Idle", &one.idle, "with nothing outstanding"),
    ]);
    if let Some(events) = &one.events {
        lines.extend(events.first.iter().take(EVENTS).map(reported));
        let more = events.first.len().saturating_sub(EVENTS) as u64 + events.more;
        if more > 0 {
            lines.push(format!("... and {}", several(more, "more event")));
        }
    }
    lines
}

/// Whether one direction was captured later than the other: a tenth of the packets with data stands
/// behind the ACK for it.
fn is_out_of_step(one: &Connection) -> bool {
    let way = one.main();
    way.late_packets >= 3 && way.late_packets * 10 >= way.data_packets
}

/// A warning where round trips and the limit cannot be right.
fn out_of_step(one: &Connection) -> Option<String> {
    let way = one.main();
    let (late, all) = (way.late_packets, way.data_packets);
    let mean = millis(way.late_mean_ns?);
    is_out_of_step(one).then(|| {
        format!(
            "Directions out of step: {late} of {all} packets with data stand behind the ACK for \
             them, {mean} ms on average, as if they were captured late; round trips, pauses and \
             the limit are not those of the path"
        )
    })
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

/// The limit of a connection, with its evidence.
fn limit(one: &Connection) -> String {
    let way = one.main();
    let share = |ns: u64| 100.0 * ns as f64 / one.watched_ns.max(1) as f64;
    match one.limit {
        Limit::NoData => "It carried no data".to_owned(),
        Limit::Starvation => {
            let part = share(way.starvation.total_ns);
            format!("Limited by starvation: {part:.1} % of the time nothing got through")
        }
        Limit::ReceiveWindow => {
            let part = share(way.zero_window_spells.total_ns);
            let full = share(way.window_limited_ns);
            format!(
                "Limited by the receiver's window: full for {full:.1} % of the time, zero for \
                 {part:.1} %"
            )
        }
        Limit::Application => {
            let part = share(way.application_limited_ns);
            format!("Limited by the application: {part:.1} % of the time it had nothing to send")
        }
        Limit::Loss => {
            let (part, timeouts) = (way.resent_percent(), several(way.timeouts, "timeout"));
            format!("Limited by losses: {part:.2} % sent again, {timeouts}")
        }
        Limit::Path => {
            let flight = several(way.flight_max, "byte");
            format!("Limited by the path or the sender's window: at most {flight} in flight")
        }
    }
}

/// The shares that determine the limit: two captures of a connection may lie on both sides of a
/// threshold.
fn shares(one: &Connection) -> String {
    let way = one.main();
    let share = |ns: u64| 100.0 * ns as f64 / one.watched_ns.max(1) as f64;
    let [idle, full, starved] =
        [way.application_limited_ns, way.window_limited_ns, way.starvation.total_ns].map(share);
    format!(
        "Of the time {idle:.1} % had nothing to send, {full:.1} % a full window and {starved:.1} % \
         no progress; {:.2} % of the segments were sent again",
        way.resent_percent()
    )
}

/// Position of the capture, and the events that it cannot show.
fn place(one: &Connection) -> String {
    let words = one.captured_near.map_or(NO_VANTAGE, Vantage::words);
    // As in the analysis: the delay of a queue beyond the capture is then unknown.
    let is_blind = one.captured_near.is_some_and(|near| near != Vantage::Sender)
        && one.main().far_rtt.is_none();
    match is_blind {
        true => format!("{words}. Without timestamps, pauses below 200 ms may be those of a queue"),
        false => words.to_owned(),
    }
}

/// Text in place of [`Vantage::words`] where the position is unknown.
const NO_VANTAGE: &str = "Where on the path it was captured does not show";

/// Whether packets contain several segments of the wire.
fn offloads(one: &Connection) -> String {
    let ways = [&one.a_sent, &one.b_sent];
    let sum = |part: fn(&TcpWaySummary) -> u64| ways.iter().map(|way| part(way)).sum::<u64>();
    let cut = sum(|way| way.offloaded_packets);
    if cut == 0 {
        return "No packet is longer than a segment of the wire".to_owned();
    }
    let cut = several(cut, "packet");
    let packets = several(sum(|way| way.data_packets), "packet");
    let segments = several(sum(|way| way.segments), "segment");
    format!(
        "Segments are joined here (TSO, GSO, LRO or GRO): {cut}; {packets} with data for \
         {segments} of the wire"
    )
}

fn round_trip(one: &Connection) -> String {
    let way = one.main();
    let Some(rtt) = &way.rtt else { return "No round-trip time was seen".to_owned() };
    let spread = |rtt: &TimesSummary| {
        let [least, median, p95, maximum] =
            [rtt.min_ns, rtt.p50_ns, rtt.p95_ns, rtt.max_ns].map(millis);
        format!("{median} ms in the middle, {least} to {maximum} ms, 95 % below {p95} ms")
    };
    let is_near = one.captured_near.is_none_or(|near| near == Vantage::Sender);
    match (&way.far_rtt, is_near) {
        (_, true) => format!("Round trip {}", spread(rtt)),
        (Some(far), false) => {
            let (before, beyond) = (spread(far), spread(rtt));
            format!("Round trip from here to the sender {before}; to the receiver {beyond}")
        }
        (None, false) => format!(
            "Round trip from here to the receiver {}; without timestamps the rest of it does not \
             show",
            spread(rtt)
        ),
    }
}

fn retransmissions(way: &TcpWaySummary) -> String {
    let kinds = [
        ("fast_retransmission", "fast"),
        ("timeout", "by timeout"),
        ("tail_probe", "as tail probes"),
        ("sack_retransmission", "by SACK"),
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
    let (all, part) = (way.retransmitted_segments, way.resent_percent());
    let packets = match way.retransmissions {
        packets if packets == all => String::new(),
        packets => format!(" in {}", several(packets, "packet")),
    };
    let all = several(all, "segment");
    format!("{all}{packets} sent again ({part:.2} %): {}", kinds.join(", "))
}

fn acks(way: &TcpWaySummary) -> String {
    let Some(lost) = way.acks_lost_inferred else {
        return "Whether ACKs were lost before here is unknown: neither IP identifications of the \
                connection's own nor an even number of segments for each ACK show it"
            .to_owned();
    };
    match way.ack_stride.filter(|_| way.acks_lost_by == Some("stride")) {
        Some(stride) => {
            let stride = several(stride, "segment");
            format!("{lost} of its ACKs were lost before here, if each covers {stride}")
        }
        None => format!("{lost} of its ACKs were lost before here, by their IP identifications"),
    }
}

fn spells(what: &str, spells: &SpellsSummary, when: &str) -> String {
    let SpellsSummary { count, total_ns, longest_ns, longest_at_ns } = *spells;
    let Some(at) = longest_at_ns.filter(|_| count > 0) else { return format!("{what}: never") };
    let (total, longest, at) = (seconds(total_ns), seconds(longest_ns), seconds(at));
    let count = several(count, "time");
    format!("{what} {count}, {total} s together, {when}; the longest {longest} s from {at} s on")
}

fn reported(event: &Event) -> String {
    let (at, what, side) = (seconds(event.at_ns), event.what.replace('_', " "), event.side);
    let length = event.length_ns.map_or_else(String::new, |ns| format!(" for {} s", seconds(ns)));
    format!("{at:>12} s  {what}{length} (data of {side})")
}

/// Headings of the columns of a comparison, after the name of the direction.
pub const BETWEEN_COLUMNS: [&str; 9] = [
    "at 1",
    "at 2",
    "lost",
    "lost %",
    "ACKs lost",
    "reordered",
    "doubled",
    "shift ms",
    "above, p99",
];

/// Name of a direction of a flow.
pub fn way(way: &WayBetween) -> String {
    format!("{} {} > {}", way.protocol, way.ends.a, way.ends.b)
}

/// The cells of a direction, by [`BETWEEN_COLUMNS`]: packets at both points, losses after the first
/// point of the path, the median time from the first point to the second, and the 99th percentile
/// of the delay above the fastest packet's.
pub fn between(way: &WayBetween) -> [String; 9] {
    let unknown = || "?".to_owned();
    let number = |value: Option<u64>| value.map_or_else(unknown, |value| value.to_string());
    let begin = usize::from(way.is_backward());
    let acks = way.passes_first.map(|_| way.pure_acks.alone[begin]);
    let shift = way.shift.as_ref();
    let above = shift.zip(way.passes_first).map(|(shift, _)| {
        let [_, tail] = shift.above_min_ns(!way.is_backward());
        tail
    });
    [
        way.packets[0].to_string(),
        way.packets[1].to_string(),
        number(way.lost),
        way.lost_percent.map_or_else(unknown, |percent| format!("{percent:.2}")),
        number(acks),
        way.reordered.to_string(),
        way.duplicates.iter().sum::<u64>().to_string(),
        shift.map_or_else(unknown, |shift| format!("{:.3}", shift.p50_ns as f64 / 1e6)),
        above.map_or_else(unknown, millis),
    ]
}

/// The compared captures, and the meaning of a shift.
pub fn comparison(summary: &ComparisonSummary) -> Vec<String> {
    let file = |number: usize| {
        let capture = &summary.captures[number];
        let (file, known) = (visible(&capture.file), capture.known);
        let packets = several(capture.packets, "packet");
        format!("{}: {file}, {packets}, {known} of TCP and UDP", number + 1)
    };
    let clocks = match summary.offset_ns {
        Some(_) => "A shift is a delay: both captures have the same clock",
        None => "A shift is the time at 2 less that at 1: the delay and the offset of the clocks",
    };
    let mut lines = vec![file(0), file(1), clocks.to_owned()];
    if !summary.is_same_traffic {
        lines.push(
            "No packet is in both captures (another network, a NAT or another time?): losses are \
             unknown"
                .to_owned(),
        );
    }
    let outside: u64 = summary.ways.iter().flat_map(|way| way.all.outside).sum();
    if outside > 0 {
        lines.push(format!(
            "{} passed one point before or after the other was watched: not counted as lost",
            several(outside, "packet")
        ));
    }
    let ways = &summary.ways;
    let cut: u64 = ways.iter().flat_map(|way| way.offloaded_packets).sum();
    if cut > 0 {
        lines.push(format!(
            "{} for several segments (offloads): cut into those of the wire, which are counted",
            several(cut, "packet")
        ));
    }
    if ways.iter().any(|way| way.segment_size_unknown) {
        lines.push(
            "Where no SYN states the MSS, joined segments are cut by an assumed one: their \
             losses cannot be inferred"
                .to_owned(),
        );
    }
    if summary.forgotten > 0 {
        let forgotten = several(summary.forgotten, "packet");
        lines.push(format!("{forgotten} forgotten for lack of room"));
    }
    lines
}

fn mbps(bits_per_second: u64) -> String {
    format!("{:.3}", bits_per_second as f64 / 1e6)
}

fn millis(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e6)
}

fn seconds(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e9)
}
