//! Conversion of the output of `iperf3 --json` to a station's record.

use super::record::{Carrier, Counted, Ending, Flow, Record, Repetition, Station};
use serde::Deserialize;

/// The used fields; iperf3 prints many more. Fields that a version or direction lacks are empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Output {
    start: Start,
    intervals: Vec<Interval>,
    end: End,
    title: Option<String>,
    error: Option<String>,
    server_output_json: Option<Box<Output>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Start {
    connected: Vec<Connected>,
    timestamp: Timestamp,
    test_start: TestStart,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Connected {
    local_host: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Timestamp {
    timesecs: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TestStart {
    protocol: String,
    reverse: u8,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Interval {
    streams: Vec<Stream>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct Stream {
    socket: i64,
    seconds: f64,
    bytes: u64,
    omitted: bool,
    sender: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct End {
    streams: Vec<EndStream>,
    sum_sent: Total,
    sum_received: Total,
    sender_tcp_congestion: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Total {
    seconds: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EndStream {
    udp: Option<Udp>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct Udp {
    socket: i64,
    packets: Option<u64>,
    lost_packets: Option<u64>,
}

/// Parses the output of a client. Its station is named by its title (`--title`), or by `name`.
///
/// # Errors
/// A description of the fault.
pub(super) fn parse(text: &str, name: &str) -> Result<Record, String> {
    let output: Output = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let firsts = output.intervals.first().map_or(&[][..], |interval| &interval.streams);
    let Some(first) = firsts.first() else {
        let why = output.error.unwrap_or_else(|| "it has no intervals".to_owned());
        return Err(format!("no result of `iperf3 --client ... --json`: {why}"));
    };
    // iperf3 ends each interval slightly late.
    let interval_s = (first.seconds * 100.0).round() / 100.0;
    if interval_s <= 0.0 {
        return Err("its first interval has no length".to_owned());
    }
    let flows = firsts.iter().enumerate().map(|(at, first)| flow(&output, at, *first, interval_s));
    let station = Station {
        name: output.title.clone().unwrap_or_else(|| name.to_owned()),
        address: output.start.connected.first().and_then(|c| c.local_host.clone()),
        clock_error_ms: None,
        late_ms: None,
        ending: if output.error.is_some() { Ending::Open } else { Ending::Complete },
        flows: flows.collect(),
        radio: Vec::new(),
    };
    Ok(Record {
        interval_s,
        begun_unix_s: output.start.timestamp.timesecs,
        target_bps: None,
        effective_bps: None,
        single: Vec::new(),
        repetitions: vec![Repetition { stations: vec![station] }],
    })
}

fn flow(output: &Output, at: usize, first: Stream, interval_s: f64) -> Flow {
    let is_udp = output.start.test_start.protocol == "UDP";
    let is_sender = first.sender.unwrap_or(output.start.test_start.reverse == 0);
    let udp = output.end.streams.iter().filter_map(|stream| stream.udp);
    let udp = udp.into_iter().find(|udp| udp.socket == first.socket);
    // With `--get-server-output` the receiver's counts of an upload are available.
    let theirs = output.server_output_json.as_deref().filter(|_| is_sender);
    let theirs = theirs.map(|server| bytes(server, interval_s, |streams| streams.get(at).copied()));
    let ours = || {
        let of_socket = |stream: &&Stream| stream.socket == first.socket;
        bytes(output, interval_s, |streams| streams.iter().find(of_socket).copied())
    };
    let theirs = theirs.filter(|bytes| !bytes.is_empty());
    // Of an upload of datagrams iperf3 reports the receiver's counts for the whole run only, which
    // are spread over the sender's intervals. They arrive at the end of a run without an error.
    let arrived = udp.filter(|_| is_sender && output.error.is_none()).and_then(Udp::arrived);
    let arrived = arrived.map(|share| share * output.end.in_time());
    let at_receiver = || arrived.map(|share| ours().iter().map(|n| scaled(*n, share)).collect());
    let theirs: Option<Vec<u64>> = theirs.or_else(at_receiver);
    Flow {
        is_up: is_sender,
        carrier: if is_udp { Carrier::Udp } else { Carrier::Tcp },
        algorithm: output.end.sender_tcp_congestion.clone().filter(|_| !is_udp),
        counted: match !is_sender || theirs.is_some() {
            true => Counted::AtReceiver,
            false => Counted::AtSender,
        },
        bytes: theirs.unwrap_or_else(ours),
        datagrams: udp.and_then(|udp| udp.packets),
        lost: udp.and_then(|udp| udp.lost_packets),
        is_broken: output.error.is_some(),
        retransmitted: Vec::new(),
        rtt_ms: Vec::new(),
        lost_by_interval: Vec::new(),
        jitter_ms: Vec::new(),
    }
}

impl End {
    /// Share of the received datagrams that arrived while the sender sent: the rest came from
    /// queues afterwards.
    fn in_time(&self) -> f64 {
        let (sent, received) = (self.sum_sent.seconds, self.sum_received.seconds);
        if received > sent && sent > 0.0 { sent / received } else { 1.0 }
    }
}

impl Udp {
    /// Share of the datagrams sent that arrived.
    fn arrived(self) -> Option<f64> {
        let (sent, lost) = (self.packets.filter(|sent| *sent > 0)?, self.lost_packets?);
        Some(sent.saturating_sub(lost) as f64 / sent as f64)
    }
}

fn scaled(bytes: u64, share: f64) -> u64 {
    (bytes as f64 * share).round() as u64
}

/// Bytes of one stream by interval. A last interval shorter than half of the others is the
/// remainder at the end.
fn bytes(
    output: &Output,
    interval_s: f64,
    stream: impl Fn(&[Stream]) -> Option<Stream>,
) -> Vec<u64> {
    let streams = output.intervals.iter().filter_map(|interval| stream(&interval.streams));
    streams
        .filter(|stream| !stream.omitted && stream.seconds > interval_s / 2.0)
        .map(|stream| stream.bytes)
        .collect()
}
