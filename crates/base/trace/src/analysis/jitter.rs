//! Interarrival jitter (RFC 3550 section 6.4.1) of packets that carry a time of their sender.

use fairwave_units::{Duration, Instant};

/// Clocks of payloads whose type does not say which they have, in Hz (RFC 3551 tables 4 and 5, RFC
/// 7587 for Opus).
const CLOCKS: [u32; 8] = [8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000, 90_000];
/// By how much of itself a clock may seem to be off, in parts of a hundred.
const OFF_PERCENT: f64 = 5.0;
/// Minimum time over which an unknown clock is compared with that of the capture, in seconds.
const MIN_S: f64 = 0.2;

/// Difference between the times between packets and those between their sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// The clock of the times in the packets, in Hz.
    pub clock_hz: u32,
    /// The estimate of RFC 3550 at the last packet.
    pub last: Duration,
    /// Its mean over the packets but the first.
    pub mean: Duration,
    /// The greatest.
    pub most: Duration,
}

/// Estimates the jitter of one sender for every clock that it may have.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    clocks: Vec<(u32, Estimate)>,
    first: Option<Instant>,
    /// Arrival of the last packet, and the time in it.
    last: Option<(Instant, u32)>,
    /// From the first packet to the last, in ticks of the sender.
    ticks: i64,
    packets: u32,
}

/// In nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Estimate {
    jitter: f64,
    sum: f64,
    most: f64,
}

impl Meter {
    /// Of packets with this clock; `None` if it is to be found.
    pub(super) fn new(clock_hz: Option<u32>) -> Self {
        let clocks = clock_hz.map_or_else(|| CLOCKS.to_vec(), |known| vec![known]);
        let clocks = clocks.into_iter().map(|clock| (clock, Estimate::default())).collect();
        Self { clocks, first: None, last: None, ticks: 0, packets: 0 }
    }

    /// Takes a packet that came at `at` and has this time in it.
    pub(super) fn packet(&mut self, at: Instant, time: u32) {
        self.packets = self.packets.saturating_add(1);
        self.first.get_or_insert(at);
        if let Some((came, before)) = self.last.replace((at, time)) {
            let ticks = time.wrapping_sub(before).cast_signed();
            self.ticks = self.ticks.saturating_add(ticks.into());
            let between = at.as_nanos() as f64 - came.as_nanos() as f64;
            for (clock, estimate) in &mut self.clocks {
                estimate.add(between - f64::from(ticks) * 1e9 / f64::from(*clock));
            }
        }
    }

    /// Returns the result; `None` for less than two packets, and where no clock fits.
    pub(super) fn jitter(&self) -> Option<Jitter> {
        let (clock_hz, estimate) = self.clock()?;
        let nanos = |value: f64| Duration::from_nanos(value.round() as u64);
        (self.packets > 1).then(|| Jitter {
            clock_hz,
            last: nanos(estimate.jitter),
            // The first packet has none.
            mean: nanos(estimate.sum / f64::from(self.packets - 1)),
            most: nanos(estimate.most),
        })
    }

    /// The clock that is known, or the one that is nearest to the ticks in a second.
    fn clock(&self) -> Option<(u32, Estimate)> {
        if let [known] = self.clocks[..] {
            return Some(known);
        }
        let seconds = self.last?.0.since(self.first?.min(self.last?.0)).as_secs_f64();
        let rate = self.ticks as f64 / seconds.max(MIN_S);
        let off = |clock: u32| (rate / f64::from(clock) - 1.0).abs();
        let nearest = self.clocks.iter().min_by(|a, b| off(a.0).total_cmp(&off(b.0)))?;
        (seconds >= MIN_S && off(nearest.0) * 100.0 <= OFF_PERCENT).then_some(*nearest)
    }
}

impl Estimate {
    /// Takes how much longer a packet was on the way than the one before it.
    fn add(&mut self, longer: f64) {
        self.jitter += (longer.abs() - self.jitter) / 16.0;
        self.sum += self.jitter;
        self.most = self.most.max(self.jitter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jitter(clock: Option<u32>, packets: &[(u64, u32)]) -> Option<Jitter> {
        let mut meter = Meter::new(clock);
        for &(at_ms, time) in packets {
            meter.packet(Instant::from_nanos(at_ms * 1_000_000), time);
        }
        meter.jitter()
    }

    /// A packet each 20 ms; the third 16 ms late: D is 0, 16, -16 ms, J 0, 1, (1 - 1/16) + 1 ms.
    #[test]
    fn a_late_packet_counts_twice() {
        let found = jitter(Some(8_000), &[(0, 160), (20, 320), (56, 480), (60, 640)]).unwrap();
        let last = Duration::from_nanos(1_937_500);
        assert_eq!((found.clock_hz, found.last, found.most), (8_000, last, last));
        assert_eq!(found.mean, Duration::from_nanos(979_167));
    }

    #[test]
    fn times_wrap_and_a_lost_packet_is_no_jitter() {
        let near_end = u32::MAX - 100;
        let found = jitter(Some(8_000), &[(0, near_end), (40, near_end.wrapping_add(320))]);
        assert_eq!(found.unwrap().most, Duration::ZERO);
    }

    #[test]
    fn an_unknown_clock_is_found_or_there_is_no_figure() {
        let paced = |step: u32| (0..50).map(|n| (20 * u64::from(n), n * step)).collect::<Vec<_>>();
        let clock = |step: u32| jitter(None, &paced(step)).map(|found| found.clock_hz);
        assert_eq!(
            [clock(960), clock(1_800), clock(160)],
            [Some(48_000), Some(90_000), Some(8_000)]
        );
        assert_eq!([clock(0), clock(1_200), clock(20_000)], [None, None, None]);
        assert_eq!(jitter(Some(8_000), &[(0, 0)]), None);
    }
}
