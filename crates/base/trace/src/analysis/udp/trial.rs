//! Numbers at one place of datagrams, until they are believed.

use super::sequence::{MAX_STEP, Sequence};
use super::times::Times;
use fairwave_units::Instant;

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
    came: [Came; 2 * STEPS as usize],
    len: usize,
    /// The highest.
    last: u64,
    steps: u32,
    ones: u32,
}

/// A datagram on trial.
#[derive(Clone, Copy, Debug, Default)]
struct Came {
    at: Instant,
    number: u64,
    /// Time of the sender in microseconds.
    time: Option<u64>,
}

/// Numbers that are believed, and the sender's times beside them.
#[derive(Clone, Debug)]
pub(super) struct Believed {
    pub(super) sequence: Sequence,
    pub(super) times: Option<Times>,
}

impl Trial {
    /// Takes the number of a datagram. Returns the numbers once they are believed. A number that
    /// does not follow the last one begins anew.
    pub(super) fn step(&mut self, datagram: Numbered) -> Option<Believed> {
        let Numbered { at, number, bits, proof } = datagram;
        let modulus = 1u64 << bits;
        let ahead = number.wrapping_sub(self.last) % modulus;
        let is_late = ahead >= modulus - MAX_STEP;
        let room = self.len > 0 && self.len < self.came.len();
        match (1..=MAX_STEP).contains(&ahead) || is_late {
            true if room => {}
            _ => *self = Self::default(),
        }
        if self.len > 0 && !is_late {
            self.steps += 1;
            self.ones += u32::from(ahead == 1);
        }
        if self.len == 0 || !is_late {
            self.last = number;
        }
        self.came[self.len] = Came { at, number, time: proof.time() };
        self.len += 1;
        if self.steps < STEPS {
            return None;
        }
        let believed = self.believed(bits, proof);
        if believed.is_none() {
            *self = Self::default();
        }
        believed
    }

    /// The numbers so far, if the evidence of these datagrams suffices.
    fn believed(&self, bits: u32, proof: Proof) -> Option<Believed> {
        let times = self.times();
        let is_believed = match proof {
            Proof::Format => self.ones >= ONES,
            Proof::Time(_) => times.is_some() && self.ones >= ONES,
            Proof::TimeOrOnes(_) if times.is_some() => self.ones >= ONES,
            Proof::TimeOrOnes(_) => {
                self.came[0].number < MAX_BEGIN && self.ones >= ONES_WITHOUT_TIME
            }
        };
        is_believed.then(|| Believed { sequence: self.sequence(bits), times })
    }

    /// The sender's times, if all datagrams have one and these run as fast as the capture's.
    fn times(&self) -> Option<Times> {
        let (first, others) = self.came[..self.len].split_first()?;
        let mut times = Times::begin(first.at, first.time?);
        for other in others {
            times.packet(other.at, other.time?);
        }
        times.have_passed().then_some(times)
    }

    /// The numbers so far as ones that are believed.
    fn sequence(&self, bits: u32) -> Sequence {
        let came = &self.came[..self.len];
        let mut sequence = Sequence::begin(came[0].number, came[0].at);
        came.iter().for_each(|came| sequence.number(came.at, came.number, bits));
        sequence
    }
}

impl Proof {
    pub(super) const fn time(self) -> Option<u64> {
        match self {
            Self::Format => None,
            Self::Time(time) | Self::TimeOrOnes(time) => time,
        }
    }
}
