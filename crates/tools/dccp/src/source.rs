//! What an application sends over a connection: as much as goes, or datagrams at a rate.

use bytes::Bytes;
use fairwave_units::{BitRate, Duration, Instant};

/// Datagrams that wait in the send queue of a connection that sends as much as goes: what is there
/// when congestion control allows the next, and no more.
const AHEAD: usize = 4;
/// A source that could not send for so long does not catch up.
const BEHIND: Duration = Duration::from_secs(1);

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Application data of each datagram in bytes.
    pub bytes: u32,
    /// How much of it, in bits of application data a second; `None` for as much as congestion
    /// control allows.
    pub rate: Option<BitRate>,
}

/// The source of one connection.
#[derive(Clone, Debug)]
pub(super) struct Source {
    data: Bytes,
    /// Time between datagrams, and when the next is due.
    pace: Option<(Duration, Instant)>,
}

impl Source {
    /// A source that begins at `now`.
    pub(super) fn new(traffic: Traffic, now: Instant) -> Self {
        let each = |rate: BitRate| rate.time_for(traffic.bytes.into()).max(Duration::from_nanos(1));
        Self {
            data: Bytes::from(vec![0; traffic.bytes as usize]),
            pace: traffic.rate.map(|rate| (each(rate), now)),
        }
    }

    /// The next datagram, while so many wait to be sent.
    pub(super) fn next(&mut self, now: Instant, waiting: usize) -> Option<Bytes> {
        match &mut self.pace {
            None => (waiting < AHEAD).then(|| self.data.clone()),
            Some((each, at)) => {
                if now < *at {
                    return None;
                }
                if now.since(*at) > BEHIND {
                    *at = now;
                }
                *at += *each;
                Some(self.data.clone())
            }
        }
    }

    /// Time at which the next datagram is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.pace.map(|(_, at)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// 1000 bytes at 800 kbps: one in 10 ms.
    #[test]
    fn a_rate_sets_the_time_between_datagrams_and_is_not_caught_up_after_a_long_silence() {
        let traffic = Traffic { bytes: 1000, rate: Some(BitRate(800_000)) };
        let mut source = Source::new(traffic, ms(0));
        let mut sent = |now| std::iter::from_fn(|| source.next(now, 0)).count();
        assert_eq!([0, 9, 10, 50].map(|at| sent(ms(at))), [1, 0, 1, 4]);
        assert_eq!(sent(ms(5_000)), 1);
        assert_eq!(source.deadline(), Some(ms(5_010)));
    }

    #[test]
    fn without_a_rate_a_few_wait() {
        let mut source = Source::new(Traffic { bytes: 7, rate: None }, ms(0));
        assert_eq!(source.next(ms(0), AHEAD - 1).map(|data| data.len()), Some(7));
        assert_eq!(source.next(ms(0), AHEAD), None);
        assert_eq!(source.deadline(), None);
    }
}
