//! An uplink that is lent: its buckets, and the lender's own traffic over it.

use crate::bucket::Bucket;
use crate::config::Uplink;
use crate::facts::Way;
use fairwave_units::{BitRate, Duration, Instant};
use fairwave_wire::cluster::Rates;

/// One direction of an uplink.
#[derive(Debug)]
struct Pipe {
    /// All that goes over it. The lender takes from it into debt, borrowers do not.
    whole: Bucket,
    /// Limits of lending.
    lent: Bucket,
    /// Bytes of the lender since the last review.
    own_bytes: u64,
    /// The lender's own traffic, as of the last review.
    own: BitRate,
}

impl Pipe {
    fn new(nominal: BitRate, limit: BitRate, now: Instant) -> Self {
        let (whole, lent) = (Bucket::new(nominal, now), Bucket::new(limit, now));
        Self { whole, lent, own_bytes: 0, own: BitRate(0) }
    }

    /// Half of the new and half of the old, so that a burst is neither missed nor kept for long.
    fn review(&mut self, span: Duration) {
        let new = BitRate::over(std::mem::take(&mut self.own_bytes), span);
        self.own = BitRate(self.own.0 / 2 + new.0 / 2);
    }

    /// Rates that may be lent now.
    fn capacity(&self) -> BitRate {
        let left = self.whole.rate().0.saturating_sub(self.own.0);
        BitRate(left.min(self.lent.rate().0))
    }
}

/// An uplink that is lent, or was, while leases of it last.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) is: Uplink,
    /// Whether it is lent still.
    pub(crate) is_offered: bool,
    up: Pipe,
    down: Pipe,
    reviewed: Instant,
}

impl Link {
    pub(crate) fn new(uplink: Uplink, now: Instant) -> Self {
        let Rates { up, down } = uplink.nominal;
        let limit = uplink.limits.rates;
        let (up, down) = (Pipe::new(up, limit.up, now), Pipe::new(down, limit.down, now));
        Self { is: uplink, is_offered: true, up, down, reviewed: now }
    }

    /// The host says something new of it.
    pub(crate) fn change(&mut self, uplink: Uplink, now: Instant) {
        let (nominal, limit) = (uplink.nominal, uplink.limits.rates);
        for (pipe, nominal, limit) in
            [(&mut self.up, nominal.up, limit.up), (&mut self.down, nominal.down, limit.down)]
        {
            pipe.whole.set_rate(now, nominal);
            pipe.lent.set_rate(now, limit);
        }
        (self.is, self.is_offered) = (uplink, true);
    }

    /// The lender itself sent or received.
    pub(crate) fn own(&mut self, now: Instant, way: Way, bytes: u64) {
        let pipe = self.pipe(way);
        pipe.own_bytes = pipe.own_bytes.saturating_add(bytes);
        pipe.whole.take(now, bytes);
    }

    /// Measures the lender's own traffic since the last time.
    pub(crate) fn review(&mut self, now: Instant) {
        let span = now.since(self.reviewed);
        self.reviewed = now;
        self.up.review(span);
        self.down.review(span);
    }

    /// Rates that may be lent in all.
    pub(crate) fn capacity(&self) -> Rates {
        Rates { up: self.up.capacity(), down: self.down.capacity() }
    }

    /// Returns whether borrowers may send this number of bytes now.
    pub(crate) fn has(&mut self, now: Instant, way: Way, bytes: u64) -> bool {
        let pipe = self.pipe(way);
        pipe.whole.has(now, bytes) && pipe.lent.has(now, bytes)
    }

    pub(crate) fn take(&mut self, now: Instant, way: Way, bytes: u64) {
        let pipe = self.pipe(way);
        pipe.whole.take(now, bytes);
        pipe.lent.take(now, bytes);
    }

    fn pipe(&mut self, way: Way) -> &mut Pipe {
        match way {
            Way::Up => &mut self.up,
            Way::Down => &mut self.down,
        }
    }
}
