//! Kind of a buffer, as far as the trains show it: each finding with the numbers it rests on, and
//! none where they are too few. The criteria are Fairwave's.

#[cfg(test)]
mod tests;

use crate::Account;
use crate::estimate::{self, SizeEstimate};
use crate::timeline::{self, NEARLY_FULL, Timeline};
use fairwave_units::stats::{mean, std_dev};

/// A finding, and its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding<T> {
    /// The answer; `None` if it is undecided.
    pub verdict: Option<T>,
    /// The numbers behind it, or the missing ones.
    pub evidence: String,
}

/// Unit of the buffer's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Packets of any size.
    Packets,
    /// Bytes.
    Bytes,
}

/// Time at which the buffer drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Time at which it is full.
    DropTail,
    /// Before.
    Aqm,
}

/// Whether the radio loses packets for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Radio {
    /// All losses are the buffer's.
    Clean,
    /// Packets are lost that never waited.
    Lossy,
}

/// Whether stations share the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Packets for one station wait behind those for another.
    Shared,
    /// It does not: a queue for each station, or for each flow.
    Separate,
}

/// Whether the radio served this train alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contention {
    /// It did.
    Alone,
    /// Part of its time went to others or to repetitions.
    Beside,
}

/// Findings of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// Unit of the limit.
    pub limit: Finding<Limit>,
    /// Condition of drops.
    pub policy: Finding<Policy>,
    /// Whether the radio loses packets.
    pub radio: Finding<Radio>,
    /// Whether the radio had others to serve.
    pub contention: Finding<Contention>,
}

/// Waits below this are no standing queue: CoDel's target (RFC 8289 section 4.3) in nanoseconds.
const SHORT_WAIT: i64 = 5_000_000;
/// So few packets are no queue, however long they take.
const FEW: usize = 2;
/// Packets without a loss that bound its rate below 1 % (three divided by their number).
const ENOUGH: u64 = 300;
/// Standard errors that two rates must lie apart.
const APART: f64 = 3.0;
/// Largest part of the radio's time that a train alone misses.
const ALONE: f64 = 0.003;
/// Minimum part that shows that others had it.
const BESIDE: f64 = 0.01;

/// Maximum relative standard deviation of the drain rates of trains that had the radio to
/// themselves.
const STEADY: f64 = 0.05;

/// Share of the maximum that an accepted packet found, from which on a packet comes to the brim.
const BRIM: f64 = 0.9;
/// Largest share of the losses that may lie elsewhere where a queue drops at the brim alone, and
/// the fewest losses that say so.
const STRAY: f64 = 0.05;
const FEWEST: u64 = 10;

/// Packets lost out of this number.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    lost: u64,
    of: u64,
}

impl Share {
    fn note(&mut self, lost: bool) {
        self.lost += u64::from(lost);
        self.of += 1;
    }

    fn rate(self) -> f64 {
        self.lost as f64 / self.of.max(1) as f64
    }

    /// Returns the difference of this rate from another in standard errors, pooled.
    fn above(self, other: Self) -> f64 {
        let [a, b] = [self.of.max(1) as f64, other.of.max(1) as f64];
        let pooled = (self.lost + other.lost) as f64 / (a + b);
        let error = (pooled * (1.0 - pooled) * (1.0 / a + 1.0 / b)).sqrt();
        if error == 0.0 { 0.0 } else { (self.rate() - other.rate()) / error }
    }
}

/// Losses by the fill that the packet found in the buffer: nearly nothing, up to 35 % of the
/// maximum, up to nearly the maximum, and that.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    short: Share,
    low: Share,
    middle: Share,
    full: Share,
}

impl Losses {
    fn of(lines: &[Timeline]) -> Self {
        let mut losses = Self::default();
        for line in lines {
            let usual = line.usual_gap().unwrap_or(0);
            let overflows = !line.overflow().is_empty();
            // The wait of the packet before tells of others' packets in the buffer.
            let mut before = 0;
            for (number, held) in line.held.iter().enumerate() {
                if line.is_unsure(number) {
                    continue;
                }
                let lost = line.arrived[number].is_none();
                let wait = (*held as i64).saturating_mul(usual);
                let full = overflows && may_be_full(line, number);
                if (*held <= FEW || wait < SHORT_WAIT) && before < SHORT_WAIT && !full {
                    losses.short.note(lost);
                }
                before = line.wait(number).unwrap_or(before);
                match line.greatest_fullness(number) {
                    full if full < 0.35 => losses.low.note(lost),
                    full if full < NEARLY_FULL => losses.middle.note(lost),
                    _ => losses.full.note(lost),
                }
            }
        }
        losses
    }
}

/// Whether a packet may have come to a full buffer of a train that filled it. One that holds few
/// packets, or loses them to a fast radio, is full without a queue worth the name.
fn may_be_full(line: &Timeline, number: usize) -> bool {
    let tiny = line.max_held <= 2 * FEW && number >= line.spaced;
    tiny || line.greatest_fullness(number) >= NEARLY_FULL
}

fn timelines(accounts: &[Account]) -> Vec<Timeline> {
    let drift = timeline::drift(accounts);
    accounts.iter().filter_map(|account| Timeline::new(account, drift)).collect()
}

/// Returns the findings of the trials of a session. Trials without a train only watch, and are left
/// out.
pub fn diagnose(accounts: &[Account]) -> Diagnosis {
    let mut lines = timelines(accounts);
    lines.retain(|line| line.spaced < line.sent.len());
    let losses = Losses::of(&lines);
    let radio = radio(losses);
    Diagnosis {
        limit: limit(&estimate::by_size(accounts)),
        policy: policy(&lines, losses),
        contention: contention(&lines, radio.verdict),
        radio,
    }
}

fn finding<T>(verdict: Option<T>, evidence: String) -> Finding<T> {
    Finding { verdict, evidence }
}

/// Compares the smallest packets with the largest: as many, or as many bytes?
fn limit(sizes: &[SizeEstimate]) -> Finding<Limit> {
    let filled = sizes.iter().filter_map(|s| Some((s.payload_bytes, s.waiting?.mean)));
    let mut filled: Vec<(u32, f64)> = filled.collect();
    filled.sort_by_key(|(size, _)| *size);
    let (Some(small), Some(large)) = (filled.first(), filled.last()) else {
        return finding(None, "no train filled the buffer".into());
    };
    let header = crate::HEADER_BYTES as f64;
    let lengths = (f64::from(large.0) + header) / (f64::from(small.0) + header);
    let counts = small.1 / large.1;
    let evidence = format!(
        "{:.1} packets of {} B, {:.1} of {} B: {counts:.2} times as many, by bytes {lengths:.2}",
        small.1, small.0, large.1, large.0
    );
    // A difference of a few packets says nothing unless the lengths are well apart.
    let slack = 0.1 + 2.0 / large.1;
    let verdict = match () {
        () if lengths < 1.4 => None,
        () if (counts - 1.0).abs() < slack => Some(Limit::Packets),
        () if (counts / lengths - 1.0).abs() < slack => Some(Limit::Bytes),
        () => None,
    };
    finding(verdict, evidence)
}

/// A full buffer drops arrivals; a drop on the way there has another reason.
fn policy(lines: &[Timeline], losses: Losses) -> Finding<Policy> {
    let Losses { low, middle, full, short } = losses;
    let filled = lines.iter().filter(|line| !line.overflow().is_empty()).count();
    let evidence = format!(
        "{filled} of {} trains filled it; lost {:.2} % of those that found it under 35 % full, \
         {:.2} % up to 70 %, {:.2} % beyond",
        lines.len(),
        100.0 * low.rate(),
        100.0 * middle.rate(),
        100.0 * full.rate()
    );
    let rises = middle.above(short).max(full.above(short));
    let early = middle.above(short).max(low.above(short));
    // Behind a radio that aggregates, packets for others come in bursts, too, and the waits vary: a
    // packet that found few of its train may have found the buffer full.
    let aqm = is_steady(lines).then_some(Policy::Aqm);
    let verdict = match () {
        () if middle.of < 30 || full.of < 30 => None,
        // On the way up a drop-tail queue loses what the radio loses, and no more.
        () if early > APART && middle.lost > 3 => aqm,
        () if 2 * filled > lines.len() => Some(Policy::DropTail),
        // Where senders stall, few trains fill the buffer for long, but it drops at its limit
        // still.
        () if rises > APART && drops_at_the_brim(lines) => Some(Policy::DropTail),
        () if rises > APART => aqm,
        () => None,
    };
    finding(verdict, evidence)
}

/// Whether trains of a size, of those that arrived in bursts, were drained at one rate.
fn is_steady(lines: &[Timeline]) -> bool {
    let has_one_rate = |size: u32| {
        let own = lines.iter().filter(|line| line.payload_bytes == size && line.is_bursty());
        let drained: Vec<f64> = own.filter_map(|line| Some(line.rates()?.1)).collect();
        mean(&drained).is_none_or(|mean| std_dev(&drained) <= STEADY * mean)
    };
    sizes(lines).into_iter().all(has_one_rate)
}

/// The packet sizes of trains, from the smallest.
fn sizes(lines: &[Timeline]) -> Vec<u32> {
    let mut sizes: Vec<u32> = lines.iter().map(|line| line.payload_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Returns whether lost packets found as many packets as any accepted one. The limit of a drop-tail
/// queue does that, in trains that fill it for a moment only, too. A queue that drops before its
/// limit accepts packets where it drops others, or drops one that came when it held fewer.
fn drops_at_the_brim(lines: &[Timeline]) -> bool {
    let mut brim = Share::default();
    for size in sizes(lines) {
        let own = || lines.iter().filter(|line| line.payload_bytes == size);
        let accepted = own().flat_map(|line| {
            let train = line.spaced..line.sent.len();
            train.filter(|number| line.arrived[*number].is_some()).map(|number| line.held[number])
        });
        let Some(maximum) = accepted.max() else { continue };
        // A few packets are the error of the count.
        let threshold = ((BRIM * maximum as f64) as usize).min(maximum.saturating_sub(FEW));
        for line in own() {
            let losses = line.losses().into_iter();
            losses.for_each(|number| brim.note(line.held[number] >= threshold));
        }
    }
    brim.lost >= FEWEST && brim.rate() >= 1.0 - STRAY
}

/// A packet lost although nothing waited was lost by the radio.
fn radio(Losses { short, .. }: Losses) -> Finding<Radio> {
    let evidence = format!("lost {} of {} that met no queue", short.lost, short.of);
    let verdict = match () {
        () if short.lost >= 3 => Some(Radio::Lossy),
        () if short.lost == 0 && short.of >= ENOUGH => Some(Radio::Clean),
        () => None,
    };
    finding(verdict, evidence)
}

/// Time between arrivals of the train that is longer than one and a half times the usual.
fn contention(lines: &[Timeline], radio: Option<Radio>) -> Finding<Contention> {
    let (mut missed, mut whole, mut packets) = (0.0, 0.0, 0);
    // The gaps of A-MPDUs vary with their lengths.
    let steady = lines.iter().filter(|line| !line.is_bursty());
    for line in steady {
        let gaps = line.gaps();
        let Some(usual) = line.usual_gap().map(|gap| gap as f64) else { continue };
        let over = gaps.iter().map(|gap| *gap as f64).filter(|gap| *gap > 1.5 * usual);
        missed += over.map(|gap| gap - usual).sum::<f64>();
        whole += gaps.iter().map(|gap| *gap as f64).sum::<f64>();
        packets += gaps.len();
    }
    let share = if whole > 0.0 { missed / whole } else { 0.0 };
    let evidence = format!("{:.1} % of the train's time was not its own", 100.0 * share);
    let verdict = match share {
        _ if packets < 100 => None,
        share if share < ALONE => Some(Contention::Alone),
        // A radio that repeats frames looks the same.
        share if share > BESIDE && radio != Some(Radio::Lossy) => Some(Contention::Beside),
        _ => None,
    };
    finding(verdict, evidence)
}

/// Returns whether packets for one receiver wait behind trains for another. `loading` are the
/// accounts of the trains, `watching` those of a session of the same sender, by the same clock,
/// with packets apart to another station at the same time.
pub fn sharing(loading: &[Account], watching: &[Account]) -> Finding<Sharing> {
    let drift = timeline::drift(watching);
    // When the buffer was full, by the sender's clock, and for how long packets then waited.
    let full: Vec<(u64, u64, i64)> = loading.iter().filter_map(full_since).collect();
    let (mut during, mut waits) = (Share::default(), Vec::new());
    let mut quiet = Share::default();
    for account in watching {
        // None arrived: all are lost.
        let line = Timeline::new(account, drift);
        for (number, sent) in account.sent.iter().enumerate() {
            let sent = sent.as_nanos();
            let wait = line.as_ref().and_then(|line| line.wait(number));
            match full.iter().find(|(since, until, _)| (*since..*until).contains(&sent)) {
                Some((.., longest)) => {
                    during.note(wait.is_none());
                    waits.extend(wait.map(|wait| wait as f64 / *longest as f64));
                }
                None => quiet.note(wait.is_none()),
            }
        }
    }
    waits.sort_by(f64::total_cmp);
    let median = waits.get(waits.len() / 2).copied();
    let evidence = format!(
        "{} of {} lost while the other's trains waited, {} of {} at other times; the others' wait \
         was {} of the trains'",
        during.lost,
        during.of,
        quiet.lost,
        quiet.of,
        median.map_or("nothing".into(), |share| format!("{:.0} %", 100.0 * share))
    );
    let enough = during.of >= 10;
    let verdict = match median {
        _ if !enough => None,
        Some(share) if share > 0.5 => Some(Sharing::Shared),
        Some(share) if share < 0.2 && during.above(quiet) < APART => Some(Sharing::Separate),
        None if during.above(quiet) > APART => Some(Sharing::Shared),
        _ => None,
    };
    finding(verdict, evidence)
}

/// From when to when a train kept its buffer nearly full, and the wait of its packets then.
fn full_since(account: &Account) -> Option<(u64, u64, i64)> {
    let line = Timeline::new(account, 0.0)?;
    let nearly = line.longest_wait as f64 * NEARLY_FULL;
    let first = (line.spaced..line.sent.len())
        .find(|number| line.wait(*number).is_some_and(|wait| wait as f64 >= nearly))?;
    let since = account.sent[first].as_nanos();
    let until = account.sent.last()?.as_nanos();
    (line.longest_wait > SHORT_WAIT).then_some((since, until, line.longest_wait))
}
