//! Severity of a path's losses: the recent share of the bytes sent that was lost.

use crate::Fraction;
use fairwave_units::{Duration, Instant};

/// Parts of the horizon in which both counts lose one such part.
const PARTS: u64 = 64;
/// Unit of v.
const UNIT: u64 = 1 << 16;
/// Longest flight that one ACK may report; beyond, a count would overflow.
const MAX: u64 = 1 << 40;

/// Two counts that decay over the horizon; their ratio is an exponentially weighted mean.
#[derive(Clone, Debug)]
pub(super) struct Severity {
    part: Duration,
    /// Time at which the counts last decayed, and the data delivered by the last ACK.
    since: Option<Instant>,
    delivered: Option<u64>,
    lost: u64,
    sent: u64,
}

impl Severity {
    pub(super) fn new(horizon: Duration) -> Self {
        let part = Duration::from_nanos((horizon.as_nanos() / PARTS).max(1));
        Self { part, since: None, delivered: None, lost: 0, sent: 0 }
    }

    /// Takes an ACK: the data delivered since the connection began, and the losses that it shows.
    pub(super) fn note(&mut self, now: Instant, delivered: u64, lost: u32) {
        self.decay(now);
        let before = self.delivered.replace(delivered).unwrap_or(delivered);
        self.count(delivered.saturating_sub(before).min(MAX), u64::from(lost));
    }

    /// A timeout: at least one segment was lost.
    pub(super) fn note_timeout(&mut self, mss: u32) {
        self.count(0, u64::from(mss));
    }

    fn count(&mut self, arrived: u64, lost: u64) {
        self.lost = self.lost.saturating_add(lost);
        self.sent = self.sent.saturating_add(arrived + lost);
    }

    fn decay(&mut self, now: Instant) {
        let since = *self.since.get_or_insert(now);
        let parts = now.since(since).as_nanos() / self.part.as_nanos();
        if parts == 0 {
            return;
        }
        self.since = Some(since + Duration::from_nanos(parts * self.part.as_nanos()));
        // After 16 horizons a ten-millionth is left.
        if parts > 16 * PARTS {
            (self.lost, self.sent) = (0, 0);
        }
        for _ in 0..parts.min(16 * PARTS) {
            self.lost -= self.lost / PARTS;
            self.sent -= self.sent / PARTS;
        }
    }

    /// The share lost, as a part of `severe` and at most one.
    pub(super) fn of(&self, severe: Fraction) -> Fraction {
        let whole = Fraction::WHOLE;
        if self.lost == 0 {
            return Fraction::new(0, 1);
        }
        let share = u128::from(self.lost) * u128::from(severe.den.max(1)) * u128::from(UNIT);
        let bound = u128::from(self.sent) * u128::from(severe.num);
        match share.checked_div(bound) {
            Some(units) if units < u128::from(UNIT) => Fraction::new(units as u32, UNIT as u32),
            _ => whole,
        }
    }
}
