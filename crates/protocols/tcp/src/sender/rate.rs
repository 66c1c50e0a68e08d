//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation section 3.3).
//!
//! Each segment remembers the data delivered when it left. Once it arrives, the data delivered
//! since, over the time that sending or acknowledging it took, is a rate that the path has
//! sustained.

use super::facts::Sent;
use super::rack::Order;
use fairwave_cc::RateSample;
use fairwave_units::{Duration, Instant};

/// State of the connection that a segment remembers as it leaves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Departure {
    /// P.delivered: bytes delivered by then.
    delivered: u64,
    /// P.delivered_time: when the last of them was.
    delivered_at: Instant,
    /// P.first_sent_time: when the flight that it belongs to began to leave.
    first_sent: Instant,
    /// P.is_app_limited.
    app_limited: bool,
}

/// First reports of one ACK, cumulatively or by SACK.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrivals {
    /// Bytes of sequence space.
    pub(crate) bytes: u64,
    /// Of the segments, the one sent last: its time, and its memory.
    newest: Option<(Sent, Departure)>,
    /// RACK's questions to them, where it is on.
    pub(super) order: Option<Order>,
}

impl Arrivals {
    pub(super) fn new(order: Option<Order>) -> Self {
        Self { order, ..Self::default() }
    }

    /// A segment of `len` bytes arrived that was last `sent` then.
    pub(crate) fn take(&mut self, len: u32, sent: Sent, departure: &Departure) {
        self.bytes += u64::from(len);
        if self.newest.is_none_or(|(newest, _)| newest < sent) {
            self.newest = Some((sent, *departure));
        }
    }
}

/// The connection's side of the samples.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateSampler {
    /// C.delivered: bytes of sequence space.
    delivered: u64,
    /// C.delivered_time.
    delivered_at: Instant,
    /// C.first_sent_time.
    first_sent: Instant,
    /// C.app_limited: until more than this is delivered, samples are limited by the application.
    app_limited: Option<u64>,
}

impl RateSampler {
    /// Bytes delivered so far.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// A segment leaves; `idle` if nothing else is outstanding.
    pub(super) fn depart(&mut self, now: Instant, idle: bool) -> Departure {
        if idle {
            self.first_sent = now;
            self.delivered_at = now;
        }
        Departure {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.app_limited.is_some(),
        }
    }

    /// The application gave less than the window takes; `flight` bytes are on their way.
    pub(super) fn note_app_limited(&mut self, flight: u32) {
        self.app_limited = Some(self.delivered + u64::from(flight));
    }

    /// Takes an ACK's reports. `min_rtt` is the minimum round-trip time so far.
    pub(super) fn arrive(
        &mut self,
        now: Instant,
        arrivals: &Arrivals,
        min_rtt: Option<Duration>,
    ) -> Option<RateSample> {
        if arrivals.bytes > 0 {
            self.delivered += arrivals.bytes;
            self.delivered_at = now;
        }
        if self.app_limited.is_some_and(|until| self.delivered > until) {
            self.app_limited = None;
        }
        let (sent, departure) = arrivals.newest?;
        self.first_sent = sent.at;
        let send_elapsed = sent.at.since(departure.first_sent);
        let ack_elapsed = now.since(departure.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        let reliable = min_rtt.is_none_or(|min| interval >= min);
        Some(RateSample {
            delivered: u32::try_from(self.delivered - departure.delivered).unwrap_or(u32::MAX),
            interval: if reliable { interval } else { Duration::ZERO },
            prior_delivered: departure.delivered,
            is_app_limited: departure.app_limited,
        })
    }
}

#[cfg(test)]
mod tests;
