//! PSH as Linux sets it: a kernel hands runs of segments to its network card as one packet, and the
//! last segment of such a packet bears PSH (`net/ipv4/tcp_output.c`, `__tcp_transmit_skb`), so that
//! a receiver that joins segments does not wait for more.

use fairwave_units::{BitRate, Duration, Instant};

/// Segments that a packet holds if the window allows, however slow the connection is
/// (`tcp_min_tso_segs`).
const MIN_SEGMENTS: u64 = 2;
/// Payload of a packet at most: 64 KiB less room for headers (`sk_gso_max_size`).
const MAX_BYTES: u64 = 65_536 - 1 - 320;

/// The packet that leaves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst {
    at: Instant,
    segments: u64,
}

impl Burst {
    /// A segment of new data leaves. Whether it ends a packet of several segments: none follows
    /// at the same time, or the packet has `most`.
    pub(super) fn ends(&mut self, now: Instant, maximum: u64, follows: bool) -> bool {
        if self.at != now {
            *self = Self { at: now, segments: 0 };
        }
        self.segments += 1;
        if follows && self.segments < maximum {
            return false;
        }
        core::mem::take(&mut self.segments) > 1
    }
}

/// Segments of `smss` bytes that a packet holds (`tcp_tso_autosize`): the rate's data in 2^-10
/// seconds, and for minimum round trips of a few milliseconds a part of the maximum.
pub(super) fn max_segments(rate: Option<BitRate>, min_rtt: Option<Duration>, smss: u32) -> u64 {
    let paced = rate.map_or(MAX_BYTES, |rate| (rate.0 / 8) >> 10);
    let halvings = min_rtt.map_or(0, |rtt| (rtt.as_nanos() / 1000) >> 9);
    let near = if halvings < 32 { 65_536 >> halvings } else { 0 };
    let bytes = paced.saturating_add(near).min(MAX_BYTES);
    (bytes / u64::from(smss.max(1))).max(MIN_SEGMENTS)
}

/// The rate at which a window is sent (`tcp_update_pacing_rate`): twice the window in a round trip
/// well below the threshold of slow start, else 1.2 times. `None` before the first measurement.
pub(super) fn usual_rate(cwnd: u32, ssthresh: u32, srtt: Option<Duration>) -> Option<BitRate> {
    let nanos = srtt.filter(|srtt| !srtt.is_zero())?.as_nanos();
    let tenths: u128 = if cwnd < ssthresh / 2 { 20 } else { 12 };
    let bits = u128::from(cwnd) * 8 * tenths * 1_000_000_000 / 10 / u128::from(nanos);
    Some(BitRate(u64::try_from(bits).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// By hand: 100 segments of 1448 bytes in 10 ms are 115.84 Mbps; 1.2 times that sends 16,968
    /// bytes in a 1024th of a second, 11 segments. In slow start twice that: 28,281 bytes, 19.
    #[test]
    fn a_packet_holds_what_the_rate_sends_in_a_millisecond() {
        let maximum = |ssthresh| {
            let rate = usual_rate(144_800, ssthresh, Some(MS(10)));
            max_segments(rate, Some(MS(20)), 1448)
        };
        assert_eq!((maximum(144_800), maximum(u32::MAX)), (11, 19));
    }

    /// 1.6 Mbps over 200 ms: 195 bytes. A packet has two segments, or 45 where the round trip is
    /// so short that the rate does not matter.
    #[test]
    fn slow_connections_send_two_segments_and_near_ones_many() {
        let slow = BitRate(1_600_000);
        assert_eq!(max_segments(Some(slow), Some(MS(200)), 1448), 2);
        assert_eq!(max_segments(Some(slow), Some(MS(20)), 1448), 2);
        assert_eq!(max_segments(Some(slow), Some(Duration::from_micros(400)), 1448), 45);
        assert_eq!(max_segments(None, None, 1448), 45);
    }

    #[test]
    fn a_run_ends_where_nothing_follows_or_the_packet_is_full() {
        let (mut burst, now) = (Burst::default(), Instant::ZERO + MS(1));
        let ends = [true, true, true, true, false].map(|follows| burst.ends(now, 3, follows));
        assert_eq!(ends, [false, false, true, false, true]);
        assert!(!burst.ends(now, 3, false), "one segment is no run");
        assert!(!burst.ends(now, 3, true) && !burst.ends(now + MS(1), 3, false), "nor are these");
    }
}
