//! Numbers at one place of datagrams, until they are believed.

use super::sequence::{MAX_STEP, Sequence};
use fairwave_units::{Duration, Instant};

/// Steps in which numbers must behave before they are believed.
const STEPS: u32 = 8;
/// Minimum number of steps of one among them. A counter that advances by seven each time, or by
/// 20 ms, counts something else.
const ONES: u32 = 2;
/// The same for numbers without a time beside them.
const ONES_WITHOUT_TIME: u32 = 6;
/// Bound of the first number where there is no time beside it. The first word of many protocols is
/// a type with an identifier, such as that of NetBIOS datagrams, and far above it.
const MAX_BEGIN: u64 = 1 << 20;
/// Maximum difference between the time that passed at the sender and at the capture.
const CLOCKS_APART: Duration = Duration::from_secs(1);

/// A number, and what is known besides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbered {
    pub(super) at: Instant,
    pub(super) number: u64,
    pub(super) bits: u32,
    pub(super) proof: Proof,
}

/// Evidence beside a number that it is one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Proof {
    /// The header around it has a format of its own.
    Format,
    /// A time of the sender in microseconds stands beside it, which must run as fast as that of
    /// the capture.
    Time(Option<u64>),
    /// The same, or numbers that begin low and advance one by one.
    TimeOrOnes(Option<u64>),
}

/// Numbers at one place, before they are believed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trial {
    /// Datagrams that came, the late ones among them.
    came: [(Instant, u64); 2 * STEPS as usize],
    len: usize,
    /// The highest.
    last: u64,
    steps: u32,
    ones: u32,
    /// Time of the sender in the first datagram.
    time: Option<u64>,
}

impl Trial {
    /// Takes the number of a datagram. Returns the numbers once they are believed. A number that
    /// does not follow the last one begins anew.
    pub(super) fn step(&mut self, datagram: Numbered) -> Option<Sequence> {
        let Numbered { at, number, bits, proof } = datagram;
        let modulus = 1u64 << bits;
        let ahead = number.wrapping_sub(self.last) % modulus;
        let is_late = ahead >= modulus - MAX_STEP;
        let room = self.len > 0 && self.len < self.came.len();
        match (1..=MAX_STEP).contains(&ahead) || is_late {
            true if room => {}
            _ => *self = Self::default(),
        }
        if self.len == 0 {
            self.time = proof.time();
        } else if !is_late {
            self.steps += 1;
            self.ones += u32::from(ahead == 1);
        }
        if self.len == 0 || !is_late {
            self.last = number;
        }
        self.came[self.len] = (at, number);
        self.len += 1;
        if self.steps < STEPS {
            return None;
        }
        let believed = self.is_believed(at, proof).then(|| self.sequence(bits));
        if believed.is_none() {
            *self = Self::default();
        }
        believed
    }

    fn is_believed(&self, at: Instant, proof: Proof) -> bool {
        let (begun, first) = self.came[0];
        let passed = at.since(begun);
        let is_timed = self.time.zip(proof.time()).is_some_and(|(from, to)| {
            let sent = Duration::from_nanos(to.saturating_sub(from).saturating_mul(1_000));
            !sent.is_zero() && sent.abs_diff(passed) <= CLOCKS_APART.max(passed / 8)
        });
        match proof {
            Proof::Format => self.ones >= ONES,
            Proof::Time(_) => is_timed && self.ones >= ONES,
            Proof::TimeOrOnes(_) if is_timed => self.ones >= ONES,
            Proof::TimeOrOnes(_) => first < MAX_BEGIN && self.ones >= ONES_WITHOUT_TIME,
        }
    }

    /// The numbers so far as ones that are believed.
    fn sequence(&self, bits: u32) -> Sequence {
        let came = &self.came[..self.len];
        let (at, first) = came[0];
        let mut sequence = Sequence::begin(first, at);
        came.iter().for_each(|&(at, number)| sequence.number(at, number, bits));
        sequence
    }
}

impl Proof {
    const fn time(self) -> Option<u64> {
        match self {
            Self::Format => None,
            Self::Time(time) | Self::TimeOrOnes(time) => time,
        }
    }
}
