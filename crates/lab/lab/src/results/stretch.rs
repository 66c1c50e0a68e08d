//! Time that a flow's window stayed at its floor: starvation as a time series shows it.

use super::Names;
use fairwave_trace::{DropCause, FlowSample, Kind, Sample, Sink};
use fairwave_units::Instant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of segments of a window that counts as collapsed.
pub const COLLAPSED_SEGMENTS: u32 = 2;

/// The longest time for which every sample of a flow's window was at most two segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stretch {
    /// Time of its first sample, from the start of the run.
    pub start_ns: u64,
    /// Time from its first to its last sample.
    pub length_ns: u64,
    /// Pure ACKs that the flow's sink sent in it.
    pub acks_sent: u64,
    /// Those among them that the access point's full queue dropped.
    pub acks_dropped_at_ap: u64,
    /// Expiries of the sender's retransmission timer in it.
    pub timeouts: u64,
}

/// Finds each flow's longest [`Stretch`] during the run, from flow samples and drops.
#[derive(Debug)]
pub struct Stretches {
    names: Names,
    flows: Vec<Tracker>,
}

#[derive(Clone, Debug, Default)]
struct Tracker {
    mss: u32,
    start: Option<(Instant, FlowSample, u64)>,
    longest: Stretch,
    ap_drops: u64,
}

impl Stretches {
    /// An empty search for the flows of `names`.
    pub fn new(names: &Names) -> Self {
        let tracker = |i| Tracker { mss: names.mss(i), ..Tracker::default() };
        let flows = (0..names.flow_count()).map(tracker).collect();
        Self { names: names.clone(), flows }
    }

    /// The longest stretch of flow number `flow`; of no length where there was none.
    pub fn longest(&self, flow: usize) -> Stretch {
        self.flows[flow].longest
    }

    /// Pure ACKs of flow number `flow` dropped at an access point's full queue.
    pub fn acks_dropped_at_ap(&self, flow: usize) -> u64 {
        self.flows[flow].ap_drops
    }
}

impl Tracker {
    fn sample(&mut self, at: Instant, sample: &FlowSample) {
        if sample.cwnd == 0 || sample.cwnd > COLLAPSED_SEGMENTS * self.mss {
            self.start = None;
            return;
        }
        let (start, first, drops) = *self.start.get_or_insert((at, *sample, self.ap_drops));
        let length_ns = at.since(start).as_nanos();
        if length_ns > self.longest.length_ns {
            self.longest = Stretch {
                start_ns: start.as_nanos(),
                length_ns,
                acks_sent: sample.acks_sent - first.acks_sent,
                acks_dropped_at_ap: self.ap_drops - drops,
                timeouts: sample.timeouts - first.timeouts,
            };
        }
    }
}

impl Sink for Stretches {
    fn wants(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Flow | Kind::Drop)
    }

    fn record(&mut self, at: Instant, sample: &Sample) {
        match sample {
            Sample::Flow(id, sample) => self.flows[id.0 as usize].sample(at, sample),
            Sample::Drop(drop) => {
                let at_ap =
                    drop.cause == DropCause::QueueFull && self.names.is_ap_queue(drop.queue);
                if let (Some(id), true) = (drop.flow, at_ap && drop.datagram.is_pure_ack()) {
                    self.flows[id.0 as usize].ap_drops += 1;
                }
            }
            Sample::Queue(..)
            | Sample::Station(..)
            | Sample::Frame(_)
            | Sample::Association(..)
            | Sample::Soc(..)
            | Sample::Path(..)
            | Sample::Pair(..)
            | Sample::Delay(..)
            | Sample::DelayBin(..)
            | Sample::Packet(_) => {}
        }
    }
}
