//! One account on one time axis: when each packet reached the buffer, by the receiver's clock.
//!
//! The sender's clock is turned into the receiver's by the minimum one-way delay `m` of the trial:
//! the packet that had it found the buffer empty. A packet sent at `s` is therefore at the
//! receiver, were the buffer empty, at `s + m`. The radio is done with a frame, its ACK included,
//! when it takes the next; between two frames of a train that is at least the minimum gap `g`. So
//! all frames that the receiver had by `s + m - g` had left when the packet came to the buffer, and
//! no others: both `m` and `g` hold one frame's time on the air.
//!
//! Packets of an A-MPDU leave the buffer together, when its transmission begins, and arrive
//! together when it ends. A train that arrives in bursts is therefore read in steps: the packets of
//! a burst have left soon after the burst before it arrived. How soon is the time that a burst of
//! one packet would take, as `m` holds the time of one packet: the line through lengths and gaps of
//! the bursts gives it. Packets that came about then prove nothing.

use crate::Account;

/// Largest share of a clock's rate that counts as drift; beyond it a clock was set.
const MAX_DRIFT: f64 = 2e-4;
/// Part of the mean gap within which most packets of a bursty train follow each other.
const WITHIN_BURST: i64 = 4;
/// Fewest bursts from which on arrivals are bursty.
const MIN_BURSTS: usize = 3;
/// Fewest arrivals behind the first that waited by which a rate is measured.
const MIN_STEADY: usize = 4;
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
    /// Mean number of packets that arrive together; 1 where they come one by one.
    pub(crate) burst: f64,
    /// Mean time that the path takes for a burst.
    burst_time: i64,
    /// Time from which on each of `arrivals` is known to have left the buffer.
    left: Vec<i64>,
    /// Ends of all bursts but the last, in order.
    ends: Vec<i64>,
    /// Time behind the end of a burst at which the packets of the next one leave the buffer.
    next_leaves: i64,
    /// Number of packets of the trial, of those that arrived later, that each packet found there.
    pub(crate) held: Vec<usize>,
    /// The maximum that the train's packets found, but for one in ten.
    pub(crate) max_held: usize,
    /// Longest wait of the train's packets but for one in ten.
    pub(crate) longest_wait: i64,
    /// The longer wait of the packets of the train that arrived and were sent last before each
    /// packet and first behind it.
    near_wait: Vec<i64>,
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
        let (held, max_held, near_wait) = (Vec::new(), 0, Vec::new());
        let (min_gap, longest_wait, payload_bytes) = (0, 0, account.trial.payload_bytes);
        let (burst, burst_time, next_leaves) = (1.0, 0, 0);
        let (left, ends) = (Vec::new(), Vec::new());
        let mut line = Self {
            sent,
            arrived,
            arrivals,
            spaced,
            payload_bytes,
            min_gap,
            burst,
            burst_time,
            left,
            ends,
            next_leaves,
            held,
            max_held,
            longest_wait,
            near_wait,
        };
        line.min_gap = line.gaps().into_iter().min().unwrap_or(0);
        line.find_bursts();
        line.held = line.count_held();
        line.max_held = nine_tenths(line.held[spaced..].to_vec()).unwrap_or(0);
        let train = line.arrivals.iter().filter(|(n, _)| *n >= spaced);
        let waits = train.filter_map(|(n, _)| line.wait(*n)).collect();
        line.longest_wait = nine_tenths(waits).unwrap_or(0);
        line.near_wait = line.near_waits();
        Some(line)
    }

    /// Times between arrivals of the train, one behind the other.
    pub(crate) fn gaps(&self) -> Vec<i64> {
        let train: Vec<i64> =
            self.arrivals.iter().filter(|(n, _)| *n >= self.spaced).map(|(_, at)| *at).collect();
        train.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
    }

    /// Sets `burst` and `left`. Most packets of a bursty train arrive within a quarter of the mean
    /// gap, and the gaps above the mean separate the bursts.
    fn find_bursts(&mut self) {
        self.left = self.arrivals.iter().map(|(_, at)| *at).collect();
        let mut gaps = self.gaps();
        let Some(mean) = gaps.iter().sum::<i64>().checked_div(gaps.len() as i64) else { return };
        let bursts = 1 + gaps.iter().filter(|gap| **gap > mean).count();
        gaps.sort_unstable();
        if gaps[gaps.len() / 2] >= mean / WITHIN_BURST || bursts < MIN_BURSTS {
            return;
        }
        self.burst = (gaps.len() + 1) as f64 / bursts as f64;
        self.burst_time = (mean as f64 * self.burst) as i64;
        let train = self.arrivals.iter().enumerate().filter(|(_, (n, _))| *n >= self.spaced);
        let mut bursts: Vec<Burst> = Vec::new();
        for (index, (_, at)) in train {
            match bursts.last_mut() {
                Some(burst) if at.saturating_sub(burst.end) <= mean => {
                    (burst.until, burst.end) = (index + 1, *at);
                }
                _ => bursts.push(Burst { from: index, until: index + 1, begin: *at, end: *at }),
            }
        }
        self.next_leaves = time_of_one(&bursts).clamp(0, mean * self.burst as i64 / 2);
        for pair in bursts.windows(2) {
            self.ends.push(pair[0].end);
            self.left[pair[1].from..pair[1].until].fill(pair[0].end + self.next_leaves);
        }
    }

    /// Whether it is unknown if the burst under way had left the buffer when a packet came.
    pub(crate) fn is_unsure(&self, number: usize) -> bool {
        let came = self.came(number);
        let before = self.ends.partition_point(|end| *end <= came);
        let end = before.checked_sub(1).and_then(|last| self.ends.get(last));
        end.is_some_and(|end| came.saturating_sub(*end) < 2 * self.next_leaves)
    }

    /// Whether the train arrived in bursts, as from a radio that sends A-MPDUs.
    pub(crate) fn is_bursty(&self) -> bool {
        self.burst > 1.0
    }

    /// Time that the path usually takes for a packet: the median gap, or the mean gap of bursts.
    pub(crate) fn usual_gap(&self) -> Option<i64> {
        let mut gaps = self.gaps();
        if self.is_bursty() {
            return gaps.iter().sum::<i64>().checked_div(gaps.len() as i64);
        }
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).copied()
    }

    fn count_held(&self) -> Vec<usize> {
        let (mut accepted, mut left) = (0, 0);
        let mut held = Vec::with_capacity(self.sent.len());
        for number in 0..self.sent.len() {
            let came = self.came(number);
            while self.left.get(left).is_some_and(|at| *at <= came) {
                left += 1;
            }
            held.push(usize::saturating_sub(accepted, left));
            accepted += usize::from(self.arrived[number].is_some());
        }
        held
    }

    fn near_waits(&self) -> Vec<i64> {
        let mut near = vec![0; self.sent.len()];
        let mut note = |last: &mut i64, number: usize| {
            near[number] = i64::max(near[number], *last);
            *last = self.wait(number).unwrap_or(*last);
        };
        let (mut before, mut behind) = (0, 0);
        let train = self.spaced..self.sent.len();
        train.clone().for_each(|number| note(&mut before, number));
        train.rev().for_each(|number| note(&mut behind, number));
        near
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

    /// Returns the greatest fill that is possible. The packets of a burst may leave later than
    /// assumed, as those of another station may go before them; and packets for others may fill the
    /// buffer, which the waits of the packets next to this one show.
    pub(crate) fn greatest_fullness(&self, number: usize) -> f64 {
        if !self.is_bursty() {
            return self.fullness(number);
        }
        let by_count = self.fullness(number) + self.burst / self.max_held.max(1) as f64;
        let wait = self.near_wait[number].saturating_add(self.burst_time);
        by_count.max(wait as f64 / self.longest_wait.max(1) as f64)
    }

    /// Rate at which the train was sent and at which it arrived, in packets per second.
    ///
    /// A token bucket passes the first packets of a train at once, and a radio sends its first
    /// A-MPDU before a queue has formed. So arrivals count from the first packet that waited, and
    /// of a bursty train from the end of that packet's burst.
    pub(crate) fn rates(&self) -> Option<(f64, f64)> {
        let train = &self.sent[self.spaced..];
        let sent = train.last()?.saturating_sub(*train.first()?);
        let all: Vec<(usize, i64)> =
            self.arrivals.iter().copied().filter(|(n, _)| *n >= self.spaced).collect();
        let usual = self.usual_gap()?;
        let has_waited =
            |(number, _): &(usize, i64)| self.wait(*number).is_some_and(|wait| wait >= usual / 2);
        let begin = all.iter().position(has_waited).unwrap_or(0);
        let is_end = |pair: &[(usize, i64)]| pair[1].1.saturating_sub(pair[0].1) > usual;
        let in_burst =
            if self.is_bursty() { all[begin..].windows(2).position(is_end)? } else { 0 };
        let steady = match &all[begin + in_burst..] {
            // Too few waited.
            few if few.len() < MIN_STEADY => all.as_slice(),
            steady => steady,
        };
        let (first, last) = (steady.first()?.1, steady.last()?.1);
        let (count, arrived) = (steady.len() as u32 - 1, last.saturating_sub(first));
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

/// Arrivals that came together.
#[derive(Clone, Copy, Debug)]
struct Burst {
    /// Its first arrival, and the one behind its last, by their places.
    from: usize,
    until: usize,
    /// Times of its first arrival and of its last.
    begin: i64,
    end: i64,
}

/// Time between the ends of two bursts of which the second has one packet, by least squares over
/// the numbers of packets. Zero where all have as many.
fn time_of_one(bursts: &[Burst]) -> i64 {
    let point = |pair: &[Burst]| {
        let packets = (pair[1].until - pair[1].from) as f64;
        (packets, pair[1].begin.saturating_sub(pair[0].end) as f64)
    };
    let points: Vec<(f64, f64)> = bursts.windows(2).map(point).collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (packets, time) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - packets) * (point.0 - packets)).sum();
    let both: f64 = points.iter().map(|point| (point.0 - packets) * (point.1 - time)).sum();
    if spread == 0.0 {
        return 0;
    }
    (time - (packets - 1.0) * both / spread) as i64
}

/// The value that nine in ten do not exceed.
fn nine_tenths<T: Ord + Copy>(mut values: Vec<T>) -> Option<T> {
    values.sort_unstable();
    values.get(values.len() * 9 / 10).copied()
}
