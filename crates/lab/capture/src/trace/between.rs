//! Comparison of two captures of the same traffic, made at two points: losses, reordering and
//! delays between them.

use super::Selection;
use super::summary::{BrokenSummary, Ends};
use crate::file::{Capture, Error, Facts};
use fairwave_trace::analysis::Captured;
use fairwave_trace::analysis::compare::{
    Bins, Comparison, Config, Count, Flow, Place, Report, Spread, Way,
};
use fairwave_wire::ipv4::{PROTOCOL_DCCP, PROTOCOL_TCP};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;

/// Value of `schema` in the JSON of a comparison.
pub const COMPARISON_SCHEMA: &str = "fairwave-trace-comparison";

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComparisonSummary {
    /// Name of the format: `fairwave-trace-comparison`.
    pub schema: &'static str,
    /// Version of the format, which increases when the meaning of a key changes or a key is
    /// removed.
    pub schema_version: u32,
    /// The two captures.
    pub captures: [FileSummary; 2],
    /// Offset of the second clock relative to the first, where it was stated.
    pub offset_ns: Option<i64>,
    /// The directions of flows, with the most losses first.
    pub ways: Vec<WayBetween>,
    /// Packets that were discarded for lack of memory.
    pub forgotten: u64,
    /// Whether some packet of any flow, listed or not, is in both captures.
    #[serde(skip)]
    pub(super) is_same_traffic: bool,
}

/// One of the files.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FileSummary {
    /// Its name.
    pub file: String,
    /// `pcap` or `pcapng`.
    pub format: &'static str,
    /// `gzip` or `zstd`.
    pub compression: Option<&'static str>,
    /// Packets that were read.
    pub packets: u64,
    /// Packets whose fractional time is a second or more; it is added in full.
    pub carried: u64,
    /// TCP, UDP and DCCP packets among them.
    pub known: u64,
    /// Its damage; null if it is whole.
    pub broken: Option<BrokenSummary>,
}

/// Packets of one direction of a flow, between the two points.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WayBetween {
    /// `tcp`, `udp` or `dccp`.
    pub protocol: &'static str,
    /// Addresses and ports; `a` is the sender.
    #[serde(flatten)]
    pub ends: Ends,
    /// Packets at each point, duplicates included; joined segments count as those on the wire.
    pub packets: [u64; 2],
    /// Captured packets at each point that contain several segments of the wire.
    pub offloaded_packets: [u64; 2],
    /// Whether some were divided by an assumed MSS, since no SYN stated it. The losses are then
    /// unknown.
    pub segment_size_unknown: bool,
    /// The point that packets pass first, `first` or `second`; null if it cannot be determined, as
    /// where no packet of any flow is in both captures.
    pub passes_first: Option<&'static str>,
    /// Packets that were captured at the point that they pass first, and not at the other; null if
    /// that point or the segment size is unknown.
    pub lost: Option<u64>,
    /// Their percentage of the packets captured at the first point of their path.
    pub lost_percent: Option<f64>,
    /// All packets.
    pub all: CountBetween,
    /// Pure ACKs among them.
    pub pure_acks: CountBetween,
    /// Packets that overtook another one between the points.
    pub reordered: u64,
    /// Copies of packets, at each point.
    pub duplicates: [u64; 2],
    /// Time at the second point minus time at the first.
    pub shift: Option<ShiftSummary>,
    /// Index of the flow and of its sending end, for the bins.
    #[serde(skip)]
    pub(super) place: (usize, usize),
}

/// Packets by the points at which they were captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CountBetween {
    /// Packets seen at both points.
    pub crossed: u64,
    /// Packets at one point only, while the other was capturing: at the first, at the second.
    pub alone: [u64; 2],
    /// Packets at one point only, before the first or after the last frame of the other capture: at
    /// the first, at the second. They are not counted as losses, as their fate is unknown.
    pub outside: [u64; 2],
}

/// Signed times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShiftSummary {
    /// Number of samples.
    pub count: u64,
    /// Smallest shift.
    pub min_ns: i64,
    /// 1st percentile.
    pub p01_ns: i64,
    /// Mean shift.
    pub mean_ns: i64,
    /// Median shift.
    pub p50_ns: i64,
    /// 99th percentile.
    pub p99_ns: i64,
    /// Largest shift.
    pub max_ns: i64,
}

impl ShiftSummary {
    fn of(spread: &Spread) -> Option<Self> {
        let (min_ns, max_ns) = spread.range_ns()?;
        Some(Self {
            count: spread.count(),
            min_ns,
            p01_ns: spread.quantile_ns(0.01)?,
            mean_ns: spread.mean_ns()?,
            p50_ns: spread.quantile_ns(0.5)?,
            p99_ns: spread.quantile_ns(0.99)?,
            max_ns,
        })
    }

    /// Median and 99th percentile of the delay above that of the fastest packet, in the direction
    /// of travel. They do not depend on the offset of the clocks.
    pub fn above_min_ns(&self, forward: bool) -> [u64; 2] {
        let (from, sign) = if forward { (self.min_ns, 1) } else { (self.max_ns, -1) };
        let above = |value: i64| ((value - from) * sign).max(0) as u64;
        // On the way back the shift decreases as the delay increases.
        let tail = if forward { self.p99_ns } else { self.p01_ns };
        [above(self.p50_ns), above(tail)]
    }
}

impl From<Count> for CountBetween {
    fn from(count: Count) -> Self {
        Self { crossed: count.crossed, alone: count.alone, outside: count.outside }
    }
}

/// Reads two captures in parallel and compares them. `report` receives the share of the work that
/// is done.
///
/// # Errors
/// If one of them is not a capture.
pub fn compare(
    captures: &mut [Capture; 2],
    config: Config,
    bins: &mut Bins,
    report: &mut dyn FnMut(f64),
) -> Result<Report, Error> {
    let mut comparison = Comparison::new(config);
    // A packet without a time counts at that of the packet before it.
    let mut times = [None; 2];
    while let Some(place) = comparison.wants() {
        let capture = &mut captures[place as usize];
        let Some(packet) = capture.next_packet()? else {
            comparison.ended(place);
            continue;
        };
        let number = packet.number;
        let time = &mut times[place as usize];
        *time = packet.at.or(*time);
        if let Some(at) = *time {
            let (link, bytes) = (packet.link_type, packet.data);
            let frame = Captured { at, link, bytes, original_len: packet.original_len };
            comparison.push(place, frame, bins);
        }
        if number % super::REPORT_EVERY == 0
            && let [Some(first), Some(second)] = captures.each_ref().map(Capture::progress)
        {
            report(f64::midpoint(first, second));
        }
    }
    Ok(comparison.finish(bins))
}

impl ComparisonSummary {
    /// Builds the summary after both captures were read to their ends.
    pub fn new(
        files: [(&str, Facts); 2],
        report: &Report,
        config: &Config,
        selection: &Selection,
    ) -> Self {
        let mut all = report.flows.iter().flat_map(|flow| &flow.ways);
        let is_same_traffic = all.any(|way| way.all.crossed > 0);
        let flows = report.flows.iter().enumerate();
        let wanted = flows.filter(|(_, flow)| selection.takes_ends(&flow.ends));
        let mut ways: Vec<WayBetween> =
            wanted.flat_map(|(i, flow)| ways(i, flow, config.offset_ns, is_same_traffic)).collect();
        ways.sort_by_key(|way| (Reverse((way.lost, way.packets[0])), way.place));
        let [first, second] = files;
        Self {
            schema: COMPARISON_SCHEMA,
            schema_version: super::SCHEMA_VERSION,
            captures: [
                FileSummary::new(first.0, &first.1, report.seen[0].packets),
                FileSummary::new(second.0, &second.1, report.seen[1].packets),
            ],
            offset_ns: config.offset_ns,
            ways,
            forgotten: report.forgotten,
            is_same_traffic,
        }
    }
}

impl FileSummary {
    fn new(file: &str, facts: &Facts, known: u64) -> Self {
        Self {
            file: file.to_owned(),
            format: facts.format.map_or("", fairwave_wire::capture::Format::name),
            compression: facts.compression.map(crate::file::Compression::name),
            packets: facts.packets,
            carried: facts.carried,
            known,
            broken: facts.broken.as_ref().map(BrokenSummary::of),
        }
    }
}

/// The directions of a flow in which packets were sent. Where no packet of any flow is in both
/// captures, the absence of a packet in one of them is no loss: addresses may have changed between.
fn ways(
    index: usize,
    flow: &Flow,
    offset_ns: Option<i64>,
    is_same_traffic: bool,
) -> Vec<WayBetween> {
    let sent = flow.ways.iter().enumerate().filter(|(_, way)| way.packets != [0, 0]);
    sent.map(|(from, way)| {
        let ends = [from, 1 - from].map(|end| flow.ends[end].to_string());
        let begins_at = flow.begins_at(from, offset_ns).filter(|_| is_same_traffic);
        WayBetween::new(flow.protocol, ends, way, begins_at, (index, from))
    })
    .collect()
}

impl WayBetween {
    fn new(
        protocol: u8,
        [a, b]: [String; 2],
        way: &Way,
        begins_at: Option<Place>,
        place: (usize, usize),
    ) -> Self {
        let percent = |place| way.all.lost_from(place).map(|share| 100.0 * share);
        let reported = begins_at.filter(|_| !way.guessed);
        Self {
            protocol: match protocol {
                PROTOCOL_TCP => "tcp",
                PROTOCOL_DCCP => "dccp",
                _ => "udp",
            },
            ends: Ends { a, b },
            packets: way.packets,
            offloaded_packets: way.cut,
            segment_size_unknown: way.guessed,
            passes_first: begins_at.map(|place| match place {
                Place::First => "first",
                Place::Second => "second",
            }),
            lost: reported.map(|place| way.all.alone[place as usize]),
            lost_percent: reported.and_then(percent),
            all: way.all.into(),
            pure_acks: way.pure_acks.into(),
            reordered: way.reordered,
            duplicates: way.duplicates,
            shift: ShiftSummary::of(&way.shift),
            place,
        }
    }

    /// Whether its packets pass the second point first.
    pub fn is_backward(&self) -> bool {
        self.passes_first == Some("second")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_late_packet_of_many_is_no_percentile_in_either_direction() {
        for (forward, sign) in [(true, 1), (false, -1)] {
            let mut spread = Spread::default();
            (0..999).for_each(|_| spread.add(sign * 1_000_000));
            spread.add(sign * 1_000_000_000);
            let [median, tail] = ShiftSummary::of(&spread).unwrap().above_min_ns(forward);
            assert!(median < 2_000_000 && tail < 2_000_000, "{median} and {tail} of {forward}");
        }
    }
}
