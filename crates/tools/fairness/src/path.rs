//! Samples of a flow's path at the end of each interval.

use fairwave_linux::tcp_info::{TcpInfo, Version};
use fairwave_units::stats;
use fairwave_units::{Duration, Instant};
use serde::{Deserialize, Serialize};
use std::net::TcpStream;

/// Samples by interval. Only the sender of TCP and the receiver of datagrams have any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// Segments that the sender retransmitted.
    pub retransmitted: Vec<u32>,
    /// Smoothed round-trip time at the end of the interval in microseconds.
    pub rtt_us: Vec<u32>,
    /// Datagrams that are missing.
    pub lost: Vec<u32>,
    /// Interarrival jitter of datagrams (RFC 3550 section 6.4.1) at the end of the interval in
    /// microseconds.
    pub jitter_us: Vec<u32>,
}

impl Path {
    /// The samples of the first `bins` intervals: the other end may report any number.
    pub(super) fn cut(mut self, bins: usize) -> Self {
        let all = [&mut self.retransmitted, &mut self.rtt_us, &mut self.lost, &mut self.jitter_us];
        all.into_iter().for_each(|samples| samples.truncate(bins));
        self
    }
}

/// State of a TCP sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    /// Segments retransmitted so far.
    pub(super) retransmitted: u32,
    pub(super) rtt_us: u32,
}

impl Sender {
    /// The kernel's state of a connection; `None` if it has none any more.
    pub(super) fn of(stream: &TcpStream) -> Option<Self> {
        let sample = TcpInfo::of(stream, Version::Old)?.sample();
        let whole = |number| u32::try_from(number).unwrap_or(u32::MAX);
        let rtt_us = sample.srtt.unwrap_or_default().as_micros();
        Some(Self { retransmitted: whole(sample.retransmissions), rtt_us: whole(rtt_us) })
    }
}

/// Interarrival jitter (RFC 3550 section 6.4.1).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Jitter {
    last: Option<(Instant, u64)>,
    estimate: stats::Jitter,
}

impl Jitter {
    /// Takes a datagram that was sent at `sent_ns` by the sender's clock. Late ones are left out:
    /// the RFC compares packets in the order of arrival, which reordering would double.
    pub(super) fn take(&mut self, now: Instant, sent_ns: u64) {
        let Some((arrived, sent)) = self.last.replace((now, sent_ns)) else { return };
        if sent_ns < sent {
            self.last = Some((arrived, sent));
            return;
        }
        self.estimate.add(now.since(arrived).abs_diff(Duration::from_nanos(sent_ns - sent)));
    }

    pub(super) fn us(self) -> u32 {
        let rounded = self.estimate.value() + Duration::from_nanos(500);
        u32::try_from(rounded.as_micros()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first difference of 16 ms weighs a sixteenth; a late datagram changes nothing.
    #[test]
    fn jitter_is_that_of_the_rfc() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mut jitter = Jitter::default();
        for (arrived, sent) in [(100, 0), (110, 10), (136, 20), (137, 5)] {
            jitter.take(at(arrived), sent * 1_000_000);
        }
        assert_eq!(jitter.us(), 1_000);
        jitter.take(at(146), 30_000_000);
        assert_eq!(jitter.us(), 938, "ten after ten");
    }
}
