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

impl Stretch {
    /// Whether at least half of its ACKs were dropped at an access point's full queue.
    pub const fn loses_half_of_its_acks(&self) -> bool {
        self.acks_dropped_at_ap > 0 && 2 * self.acks_dropped_at_ap >= self.acks_sent
    }

    /// The longer of two, the first of equal ones.
    const fn or_longer(self, other: Self) -> Self {
        if other.length_ns > self.length_ns { other } else { self }
    }
}

/// Finds each flow's longest [`Stretch`]es during the run, from flow samples and drops.
#[derive(Debug)]
pub struct Stretches {
    names: Names,
    flows: Vec<Tracker>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tracker {
    mss: u32,
    start: Option<(Instant, FlowSample, u64)>,
    /// The stretch that has begun; of no length where none has.
    current: Stretch,
    /// The longest that has ended, and that with half of its ACKs dropped.
    longest: Stretch,
    by_ack_loss: Stretch,
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
        let Tracker { longest, current, .. } = self.flows[flow];
        longest.or_longer(current)
    }

    /// The longest stretch of flow number `flow` in which at least half of its ACKs were dropped at
    /// an access point's full queue.
    pub fn longest_by_ack_loss(&self, flow: usize) -> Option<Stretch> {
        let Tracker { by_ack_loss, current, .. } = self.flows[flow];
        let longest = match current.loses_half_of_its_acks() {
            true => by_ack_loss.or_longer(current),
            false => by_ack_loss,
        };
        (longest.length_ns > 0).then_some(longest)
    }

    /// Pure ACKs of flow number `flow` dropped at an access point's full queue.
    pub fn acks_dropped_at_ap(&self, flow: usize) -> u64 {
        self.flows[flow].ap_drops
    }
}

impl Tracker {
    fn sample(&mut self, at: Instant, sample: &FlowSample) {
        if sample.cwnd == 0 || sample.cwnd > COLLAPSED_SEGMENTS * self.mss {
            self.end();
            return;
        }
        let (start, first, drops) = *self.start.get_or_insert((at, *sample, self.ap_drops));
        self.current = Stretch {
            start_ns: start.as_nanos(),
            length_ns: at.since(start).as_nanos(),
            acks_sent: sample.acks_sent - first.acks_sent,
            acks_dropped_at_ap: self.ap_drops - drops,
            timeouts: sample.timeouts - first.timeouts,
        };
    }

    fn end(&mut self) {
        self.start = None;
        let ended = std::mem::take(&mut self.current);
        self.longest = self.longest.or_longer(ended);
        if ended.loses_half_of_its_acks() {
            self.by_ack_loss = self.by_ack_loss.or_longer(ended);
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
