//! Packets that passed sender and server, with their times: two captures laid side by side.

use fairwave_capture::file::{Capture, Error};
use fairwave_trace::analysis::Captured;
use fairwave_trace::analysis::compare::{Comparison, Config, Fate, Fates};
use fairwave_units::{Duration, Instant};
use std::path::Path;

/// Packets in one direction that were seen where they were sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Way {
    /// Times of sending and of arrival, in the order of sending.
    pub(super) packets: Vec<(Instant, Option<Instant>)>,
}

/// Both directions between a sender and the server.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Passages {
    /// From the sender.
    pub(super) data: Way,
    /// Back to it.
    pub(super) acks: Way,
}

/// Time before the end of the captures in which a packet may still be in flight.
const MARGIN: Duration = Duration::from_millis(200);

impl Passages {
    /// Reads the captures of a sender of one flow and of its server, whose clocks agree.
    pub(super) fn between(sender: &Path, server: &Path) -> Result<Self, Error> {
        let mut captures = [Capture::open(sender)?, Capture::open(server)?];
        let config = Config { offset_ns: Some(0), ..Config::default() };
        let mut comparison = Comparison::new(config);
        let mut passages = Self::default();
        while let Some(place) = comparison.wants() {
            match captures[place as usize].next_packet()? {
                Some(packet) => {
                    let (at, link) = (packet.at.unwrap_or_default(), packet.link_type);
                    let (bytes, original_len) = (packet.data, packet.original_len);
                    let frame = Captured { at, link, bytes, original_len };
                    comparison.push(place, frame, &mut passages);
                }
                None => comparison.ended(place),
            }
        }
        comparison.finish(&mut passages);
        for way in [&mut passages.data, &mut passages.acks] {
            way.packets.sort_by_key(|(sent, _)| *sent);
        }
        Ok(passages)
    }

    /// Share of the data that did not arrive.
    pub(super) fn lost(&self) -> Option<f64> {
        self.data.lost()
    }
}

impl Fates for Passages {
    fn fate(&mut self, fate: &Fate) {
        let [at_sender, at_server] = fate.at;
        // The sender begins: its packets are those of the flow's first end.
        let (way, sent, arrived) = match fate.from {
            0 => (&mut self.data, at_sender, at_server),
            _ => (&mut self.acks, at_server, at_sender),
        };
        way.packets.extend(sent.map(|sent| (sent, arrived)));
    }
}

impl Way {
    /// Packets that were not in flight when the capture ended.
    fn settled(&self) -> &[(Instant, Option<Instant>)] {
        let last = self.packets.last().map_or(Instant::ZERO, |(sent, _)| *sent);
        let settled = self.packets.partition_point(|(sent, _)| *sent + MARGIN <= last);
        &self.packets[..settled]
    }

    /// Share that did not arrive; `None` of nothing.
    pub(super) fn lost(&self) -> Option<f64> {
        let settled = self.settled();
        let lost = settled.iter().filter(|(_, arrived)| arrived.is_none()).count();
        (!settled.is_empty()).then(|| lost as f64 / settled.len() as f64)
    }

    /// Mean time between the places in milliseconds, of the packets that arrived.
    pub(super) fn delay_ms(&self) -> Option<f64> {
        let delay = |(sent, arrived): &(Instant, Option<Instant>)| {
            arrived.map(|arrived| arrived.since(*sent).as_secs_f64() * 1e3)
        };
        fairwave_lab::stats::mean(&self.packets.iter().filter_map(delay).collect::<Vec<_>>())
    }

    /// Packets in each interval where they were sent, and where they arrived.
    pub(super) fn in_intervals(&self, length: Duration) -> Vec<[u32; 2]> {
        let mut counts: Vec<[u32; 2]> = Vec::new();
        let mut count = |at: Instant, place: usize| {
            let interval = (at.since(Instant::ZERO) / length) as usize;
            if counts.len() <= interval {
                counts.resize(interval + 1, [0; 2]);
            }
            counts[interval][place] += 1;
        };
        for (sent, arrived) in &self.packets {
            count(*sent, 0);
            arrived.iter().for_each(|arrived| count(*arrived, 1));
        }
        counts
    }

    /// By how much the packets in an interval differ between the places, on average, as a share
    /// of those sent; of whole intervals.
    pub(super) fn interval_difference(&self, length: Duration) -> Option<f64> {
        let counts = self.in_intervals(length);
        let whole = &counts[..counts.len().saturating_sub(1)];
        let sent: u32 = whole.iter().map(|[sent, _]| sent).sum();
        let apart: u32 = whole.iter().map(|[sent, arrived]| sent.abs_diff(*arrived)).sum();
        (sent > 0).then(|| f64::from(apart) / f64::from(sent))
    }

    /// Number of packets that had been sent, or had arrived, at each time up to `until`.
    pub(super) fn so_far(&self, arrived: bool, until: Instant) -> Vec<(f64, f64)> {
        let time = |(sent, there): &(Instant, Option<Instant>)| match arrived {
            true => *there,
            false => Some(*sent),
        };
        let mut times: Vec<Instant> = self.packets.iter().filter_map(time).collect();
        times.sort_unstable();
        let early = times.into_iter().take_while(|at| *at <= until);
        early.zip(1..).map(|(at, n)| (at.as_nanos() as f64 / 1e9, f64::from(n))).collect()
    }
}
