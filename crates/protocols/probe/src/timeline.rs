//! One account on one time axis: when each packet reached the buffer, by the receiver's clock.
//!
//! The sender's clock is turned into the receiver's by the minimum one-way delay `m` of the trial:
//! the packet that had it found the buffer empty. A packet sent at `s` is therefore at the
//! receiver, were the buffer empty, at `s + m`. The radio is done with a frame, its ACK included,
//! when it takes the next; between two frames of a train that is at least the minimum gap `g`. So
//! all frames that the receiver had by `s + m - g` had left when the packet came to the buffer, and
//! no others: both `m` and `g` hold one frame's time on the air.

use crate::Account;

/// Largest share of a clock's rate that counts as drift; beyond it a clock was set.
const MAX_DRIFT: f64 = 2e-4;
/// Share of its maximum from which on a buffer is nearly full.
pub(crate) const NEARLY_FULL: f64 = 0.7;

/// A trial in order. Times are nanoseconds, as signed numbers: clocks may differ by any amount.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// Time at which each packet was sent, by the receiver's clock less the minimum delay.
    pub(crate) sent: Vec<i64>,
    /// Time at which each packet arrived; `None` was lost.
    pub(crate) arrived: Vec<Option<i64>>,
    /// Number and time of arrivals, in order of time.
    pub(crate) arrivals: Vec<(usize, i64)>,
    /// Number of packets before the train.
    pub(crate) spaced: usize,
    /// Length of its packets, as UDP payload.
    pub(crate) payload_bytes: u32,
    /// Minimum time between two arrivals of the train.
    pub(crate) min_gap: i64,
    /// Number of packets of the trial, of those that arrived later, that each packet found there.
    pub(crate) held: Vec<usize>,
    /// The maximum that the train's packets found, but for one in ten.
    pub(crate) max_held: usize,
    /// Longest wait of the train's packets but for one in ten.
    pub(crate) longest_wait: i64,
}

/// The smallest delay of an account, and when it was measured, by the sender's clock.
fn min_delay(account: &Account) -> Option<(i64, i64)> {
    let delay = |record: &fairwave_wire::probe::Record| {
        let sent = account.sent.get(record.number as usize)?.as_nanos() as i64;
        Some(((record.arrived.as_nanos() as i64).wrapping_sub(sent), sent))
    };
    account.arrived.iter().filter_map(delay).min()
}

/// Returns the lead of the receiver's clock, as a share: from the minimum delays of the first
/// account and the last of a packet size, of the size with the longest time between. Longer packets
/// take longer, so sizes are not compared. Zero where it is unknown, or where a clock was set.
pub(crate) fn drift(accounts: &[Account]) -> f64 {
    let pairs = accounts.iter().enumerate().filter_map(|(at, account)| {
        let size = account.trial.payload_bytes;
        let same = |other: &&Account| other.trial.payload_bytes == size;
        if accounts[..at].iter().any(|before| same(&before)) {
            return None;
        }
        let mut delays = accounts[at..].iter().filter(same).filter_map(min_delay);
        let (first, since) = delays.next()?;
        let (last, until) = delays.next_back()?;
        Some((until.wrapping_sub(since), last.wrapping_sub(first)))
    });
    let Some((time, delay)) = pairs.max() else { return 0.0 };
    let drift = delay as f64 / time as f64;
    if drift.abs() <= MAX_DRIFT { drift } else { 0.0 }
}

impl Timeline {
    /// The time axis of an account of which at least one packet arrived.
    pub(crate) fn new(account: &Account, drift: f64) -> Option<Self> {
        let (delay, measured) = min_delay(account)?;
        let here = |sent: &fairwave_units::Instant| {
            let sent = sent.as_nanos() as i64;
            let drifted = drift * sent.wrapping_sub(measured) as f64;
            sent.wrapping_add(delay).wrapping_add(drifted as i64)
        };
        let sent: Vec<i64> = account.sent.iter().map(here).collect();
        let mut arrived = vec![None; sent.len()];
        let mut arrivals = Vec::with_capacity(account.arrived.len());
        for record in &account.arrived {
            let (number, at) = (record.number as usize, record.arrived.as_nanos() as i64);
            if let Some(place) = arrived.get_mut(number) {
                *place = Some(at);
                arrivals.push((number, at));
            }
        }
        let spaced = (account.trial.spaced as usize).min(sent.len());
        let (held, max_held) = (Vec::new(), 0);
        let (min_gap, longest_wait, payload_bytes) = (0, 0, account.trial.payload_bytes);
        let mut line = Self {
            sent,
            arrived,
            arrivals,
            spaced,
            payload_bytes,
            min_gap,
            held,
            max_held,
            longest_wait,
        };
        line.min_gap = line.gaps().into_iter().min().unwrap_or(0);
        line.held = line.count_held();
        line.max_held = nine_tenths(line.held[spaced..].to_vec()).unwrap_or(0);
        let train = line.arrivals.iter().filter(|(n, _)| *n >= spaced);
        let waits = train.filter_map(|(n, _)| line.wait(*n)).collect();
        line.longest_wait = nine_tenths(waits).unwrap_or(0);
        Some(line)
    }

    /// Times between arrivals of the train, one behind the other.
    pub(crate) fn gaps(&self) -> Vec<i64> {
        let train: Vec<i64> =
            self.arrivals.iter().filter(|(n, _)| *n >= self.spaced).map(|(_, at)| *at).collect();
        train.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
    }

    fn count_held(&self) -> Vec<usize> {
        let (mut accepted, mut left) = (0, 0);
        let mut held = Vec::with_capacity(self.sent.len());
        for number in 0..self.sent.len() {
            let came = self.came(number);
            while self.arrivals.get(left).is_some_and(|(_, at)| *at <= came) {
                left += 1;
            }
            held.push(usize::saturating_sub(accepted, left));
            accepted += usize::from(self.arrived[number].is_some());
        }
        held
    }

    /// Returns a packet's excess over the delay of the empty path.
    pub(crate) fn wait(&self, number: usize) -> Option<i64> {
        let arrived = *self.arrived.get(number)?;
        Some(arrived?.saturating_sub(self.sent[number]))
    }

    /// Frames that the receiver had by then had left when packet `number` came to the buffer.
    pub(crate) fn came(&self, number: usize) -> i64 {
        self.sent[number].saturating_sub(self.min_gap)
    }

    /// Numbers of the train that are lost.
    pub(crate) fn losses(&self) -> Vec<usize> {
        (self.spaced..self.sent.len()).filter(|number| self.arrived[*number].is_none()).collect()
    }

    /// Returns the fill of the buffer when a packet came, as a share.
    pub(crate) fn fullness(&self, number: usize) -> f64 {
        self.held[number] as f64 / self.max_held.max(1) as f64
    }

    /// Rate at which the train was sent and at which it arrived, in packets per second.
    pub(crate) fn rates(&self) -> Option<(f64, f64)> {
        let train = &self.sent[self.spaced..];
        let sent = train.last()?.saturating_sub(*train.first()?);
        let mut arrivals = self.arrivals.iter().filter(|(n, _)| *n >= self.spaced);
        let first = arrivals.next()?.1;
        let mut count = 0;
        let last = arrivals.inspect(|_| count += 1).last()?.1;
        let arrived = last.saturating_sub(first);
        if sent <= 0 || arrived <= 0 {
            return None;
        }
        Some((
            (train.len() - 1) as f64 * 1e9 / sent as f64,
            f64::from(count) * 1e9 / arrived as f64,
        ))
    }

    /// Returns the share lost before the train had nearly filled the buffer: by the radio, that is.
    /// A share of few packets would be worthless; it is computed as if all the others of a hundred
    /// had arrived.
    fn lost_on_the_way_up(&self) -> f64 {
        let nearly_full = |number: &usize| self.fullness(*number) >= NEARLY_FULL;
        let up = (self.spaced..self.sent.len()).find(nearly_full).unwrap_or(self.sent.len());
        let lost = self.arrived[..up].iter().filter(|arrived| arrived.is_none()).count();
        lost as f64 / up.max(100) as f64
    }

    /// Returns the losses at a full buffer, from the first on. When that one came the buffer was
    /// nearly full; from there on, more is lost than before, by at least half of the radio's
    /// losses. Empty if the buffer never filled, or too late to decide.
    pub(crate) fn overflow(&self) -> Vec<usize> {
        let mut losses = self.losses();
        losses.retain(|number| self.fullness(*number) >= NEARLY_FULL);
        let Some((sent, drained)) = self.rates() else { return Vec::new() };
        let surplus = 1.0 - drained / sent;
        let radio = self.lost_on_the_way_up();
        let excess = surplus - radio;
        if self.max_held == 0 || excess <= 0.0 {
            return Vec::new();
        }
        let threshold = radio + 0.5 * excess;
        // So many packets that four of them are too many for the radio; more than there are where
        // it carries nearly all.
        let window = (4.0 / excess).min(self.sent.len() as f64) as usize + 1;
        let end = self.sent.len();
        let lost = |from: usize, to: usize| {
            let lost = self.arrived[from..to].iter().filter(|arrived| arrived.is_none()).count();
            lost as f64 >= threshold * (to - from) as f64
        };
        let is_first = |number: &usize| {
            let next = number + 1;
            next + 3 * window <= end && lost(next, next + window) && lost(*number, end)
        };
        let Some(first) = losses.iter().position(is_first) else { return Vec::new() };
        losses.split_off(first)
    }
}

/// The value that nine in ten do not exceed.
fn nine_tenths<T: Ord + Copy>(mut values: Vec<T>) -> Option<T> {
    values.sort_unstable();
    values.get(values.len() * 9 / 10).copied()
}
