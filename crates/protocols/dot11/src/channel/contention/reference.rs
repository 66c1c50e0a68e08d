//! The plain way to keep carrier sense and backoffs, radio by radio, which the groups are
//! compared with.
//!
//! A contender's backoff is `slots_left` counted from `access_start`: the instant at which its
//! medium will have been idle for its AIFS (or EIFS), or [`BUSY`]. Slots are taken off when the
//! medium becomes busy.

use super::{Access, Counting, Sensed};
use fairwave_units::{Duration, Instant};

/// `access_start` of a contender whose medium is busy.
const BUSY: u64 = u64::MAX;

#[derive(Debug)]
pub(super) struct Plain {
    slot: u64,
    counting: Counting,
    /// Per category.
    access: Box<[Access]>,
    /// Transmissions heard, the radio's own included.
    sensed: Vec<u32>,
    /// End of the network allocation vector.
    nav: Vec<u64>,
    /// The RTS that set it, while nothing was heard since; otherwise zero.
    nav_by_rts: Vec<u64>,
    /// Whether the last frame heard was not decoded, so that EIFS applies.
    extended: Vec<bool>,
    /// Per contender, as all that follow.
    access_start: Vec<u64>,
    slots_left: Vec<u32>,
    /// Whether a backoff was drawn and has not come to its end.
    pending: Vec<bool>,
    /// Whether the contender has a frame to send when its backoff ends.
    wants: Vec<bool>,
}

impl Plain {
    /// `radios` radios on a medium that has been idle since time zero, with a contender for each
    /// of `access`.
    pub(super) fn new(
        radios: usize,
        slot: Duration,
        counting: Counting,
        access: &[Access],
    ) -> Self {
        let contenders = radios * access.len();
        let first = |c: usize| access[c % access.len()].aifs.as_nanos();
        Self {
            slot: slot.as_nanos(),
            counting,
            access: access.into(),
            sensed: vec![0; radios],
            nav: vec![0; radios],
            nav_by_rts: vec![0; radios],
            extended: vec![false; radios],
            access_start: (0..contenders).map(first).collect(),
            slots_left: vec![0; contenders],
            pending: vec![false; contenders],
            wants: vec![false; contenders],
        }
    }

    fn contenders(&self, radio: usize) -> core::ops::Range<usize> {
        radio * self.access.len()..(radio + 1) * self.access.len()
    }

    /// Whether the radio hears nothing at all, NAV aside.
    pub(super) fn is_quiet(&self, radio: u32) -> bool {
        self.sensed[radio as usize] == 0
    }

    /// Whether a CTS may be sent: clause 10.3.2.9 asks for an idle NAV.
    pub(super) fn nav_is_idle(&self, radio: u32, now: Instant) -> bool {
        self.nav[radio as usize] <= now.as_nanos()
    }

    /// `radios` begin to hear a transmission.
    pub(super) fn begin_busy(&mut self, radios: &[u32], now: Instant) {
        let now = now.as_nanos();
        for &radio in radios {
            let r = radio as usize;
            self.sensed[r] += 1;
            self.nav_by_rts[r] = 0;
            if self.sensed[r] > 1 {
                continue;
            }
            self.extended[r] = false;
            for c in self.contenders(r) {
                let access_start = self.access_start[c];
                let taken_off = self.boundaries(access_start, now);
                self.slots_left[c] = self.slots_left[c].saturating_sub(taken_off);
                if access_start <= now && self.slots_left[c] == 0 {
                    self.pending[c] = false;
                }
                self.access_start[c] = BUSY;
            }
        }
    }

    /// Number of slots that are taken off in an idle period in which slots begin at `start`, and
    /// which ends `now`.
    fn boundaries(&self, start: u64, now: u64) -> u32 {
        let (mut boundary, mut slots) = (start, 0);
        if self.counting == Counting::WholeSlots {
            boundary = start.saturating_add(self.slot);
        }
        while boundary <= now {
            boundary += self.slot;
            slots += 1;
        }
        slots
    }

    /// `radio` hears one transmission less. `hear` for it comes before.
    pub(super) fn end_busy(&mut self, radio: u32, now: Instant) {
        let r = radio as usize;
        self.sensed[r] -= 1;
        if self.sensed[r] > 0 {
            return;
        }
        for (c, access) in self.contenders(r).zip(&self.access) {
            let ifs = if self.extended[r] { access.eifs } else { access.aifs };
            // EIFS runs from the idle medium, without regard to the NAV (clause 10.3.2.3.7).
            let (idle, unreserved) = (now + ifs, self.nav[r] + access.aifs.as_nanos());
            self.access_start[c] = idle.as_nanos().max(unreserved);
        }
    }

    /// Handles the end of a transmission at a radio that senses it.
    pub(super) fn on_reception(&mut self, radio: u32, sensed: Sensed) {
        match sensed {
            Sensed::Energy => {}
            Sensed::Errored => self.extended[radio as usize] = true,
            Sensed::Addressed => self.extended[radio as usize] = false,
            Sensed::Decoded { until, rts } => {
                self.extended[radio as usize] = false;
                self.set_nav(radio, Instant::from_nanos(until), rts);
            }
        }
    }

    /// A decoded frame for somebody else reserves the medium until `until`. `rts` is the number
    /// of the frame if it is an RTS, else zero.
    fn set_nav(&mut self, radio: u32, until: Instant, rts: u64) {
        let r = radio as usize;
        if self.nav[r] < until.as_nanos() {
            self.nav[r] = until.as_nanos();
            self.nav_by_rts[r] = rts;
        }
    }

    /// Nothing followed an RTS: radios that have heard nothing since free the medium that it
    /// reserved (clause 10.3.2.4).
    pub(super) fn reset_nav(&mut self, rts: u64, now: Instant) {
        for r in 0..self.nav.len() {
            if self.nav_by_rts[r] == rts && self.sensed[r] == 0 {
                self.nav_by_rts[r] = 0;
                self.nav[r] = now.as_nanos();
                for (c, access) in self.contenders(r).zip(&self.access) {
                    let freed = (now + access.aifs).as_nanos();
                    self.access_start[c] = self.access_start[c].min(freed);
                }
            }
        }
    }

    /// Starts a new backoff of `slots`, on the slot boundaries of the present idle period.
    pub(super) fn back_off(&mut self, contender: u32, slots: u32, now: Instant) {
        let c = contender as usize;
        self.slots_left[c] = slots;
        self.pending[c] = true;
        let (now, start) = (now.as_nanos(), self.access_start[c]);
        if start < now {
            self.access_start[c] = start + (now - start).div_ceil(self.slot) * self.slot;
        }
    }

    /// The contender has a frame. Where the medium is idle and no backoff is left, it may go at
    /// once, or at the next slot boundary under EDCA; where it is busy, or `came_amid` says so,
    /// `draw` gives a new backoff (clauses 10.3.4.2 and 10.23.2.2).
    pub(super) fn request(
        &mut self,
        contender: u32,
        came_amid: bool,
        now: Instant,
        draw: impl FnOnce() -> u32,
    ) {
        let c = contender as usize;
        self.wants[c] = true;
        let (now, start) = (now.as_nanos(), self.access_start[c]);
        if came_amid || start == BUSY || now < self.nav[c / self.access.len()] {
            if !self.pending[c] {
                self.slots_left[c] = draw();
                self.pending[c] = true;
            }
        } else if start <= now && u64::from(self.slots_left[c]) <= (now - start) / self.slot {
            self.slots_left[c] = 0;
            self.access_start[c] = now;
            if self.counting == Counting::Boundaries {
                self.access_start[c] = start + (now - start).div_ceil(self.slot) * self.slot;
            }
        }
    }

    /// The contender tries again with the backoff it has.
    pub(super) fn contend(&mut self, contender: u32) {
        self.wants[contender as usize] = true;
    }

    /// The contender transmits.
    pub(super) fn withdraw(&mut self, contender: u32) {
        self.wants[contender as usize] = false;
        self.pending[contender as usize] = false;
    }

    /// Time at which a backoff ends, if all stays idle; [`BUSY`] for one that does not contend.
    fn access_time(&self, start: u64, slots: u32, wants: bool) -> u64 {
        if wants { start.saturating_add(u64::from(slots) * self.slot) } else { BUSY }
    }

    fn access_times(&self) -> impl Iterator<Item = u64> + '_ {
        let fields = self.access_start.iter().zip(&self.slots_left).zip(&self.wants);
        fields.map(|((&start, &slots), &wants)| self.access_time(start, slots, wants))
    }

    /// When this contender's backoff ends, if all stays idle.
    pub(super) fn access_of(&self, contender: u32) -> Option<Instant> {
        let c = contender as usize;
        let time = self.access_time(self.access_start[c], self.slots_left[c], self.wants[c]);
        (time != BUSY).then_some(Instant::from_nanos(time))
    }

    /// Time at which the next backoff ends, if all stays idle.
    pub(super) fn next_access(&self) -> Option<Instant> {
        self.access_times().min().filter(|t| *t != BUSY).map(Instant::from_nanos)
    }

    /// The contenders whose backoff ends at `now`, in index order, appended to `winners`. Those
    /// of one radio collide inside it, which the caller resolves.
    pub(super) fn winners(&self, now: Instant, winners: &mut Vec<u32>) {
        let due = self.access_times().enumerate().filter(|(_, t)| *t <= now.as_nanos());
        winners.extend(due.map(|(contender, _)| contender as u32));
    }
}
