//! Traffic of an application over a connection: unlimited, or datagrams at a constant rate.

use bytes::Bytes;
use fairwave_units::{BitRate, Duration, Instant};

/// Number of datagrams that wait in the send queue of a connection with unlimited traffic: enough
/// to have one when congestion control allows it.
const AHEAD: usize = 4;
/// Delay from which a source does not catch up.
const BEHIND: Duration = Duration::from_secs(1);

/// Options of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Application data of each datagram in bytes.
    pub bytes: u32,
    /// Rate of application data in bits per second; `None` sends as much as congestion control
    /// allows.
    pub rate: Option<BitRate>,
}

/// The source of one connection.
#[derive(Clone, Debug)]
pub(super) struct Source {
    data: Bytes,
    /// Time between datagrams, and time of the next one.
    pace: Option<(Duration, Instant)>,
}

impl Source {
    /// Creates a source that begins at `now`.
    pub(super) fn new(traffic: Traffic, now: Instant) -> Self {
        let each = |rate: BitRate| rate.time_for(traffic.bytes.into()).max(Duration::from_nanos(1));
        Self {
            data: Bytes::from(vec![0; traffic.bytes as usize]),
            pace: traffic.rate.map(|rate| (each(rate), now)),
        }
    }

    /// Returns the next datagram if it is due; `waiting` is the number of datagrams in the send
    /// queue.
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

    /// Time between datagrams; zero for unlimited traffic.
    pub(super) fn pace(&self) -> Duration {
        self.pace.map_or(Duration::ZERO, |(each, _)| each)
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

    /// 1000 bytes at 800 kbps: a datagram each 10 ms.
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
