//! Carrier sense and backoff of every radio on a channel (802.11-2020 clause 10.3.4).
//!
//! One array per field, so that a busy or idle transition, which touches every radio in range,
//! is a short loop over contiguous numbers.
//!
//! A radio's backoff is `slots_left` counted from `access_start`: the instant at which its
//! medium will have been idle for DIFS (or EIFS), or [`BUSY`]. Slots are taken off only when
//! the medium becomes busy, so an idle medium costs nothing.

use fairwave_units::{Duration, Instant};

/// `access_start` of a radio whose medium is busy.
const BUSY: u64 = u64::MAX;

#[derive(Debug)]
pub(super) struct Contention {
    slot: u64,
    difs: u64,
    eifs: u64,
    /// Transmissions heard, the radio's own included.
    heard: Vec<u32>,
    access_start: Vec<u64>,
    slots_left: Vec<u32>,
    /// Whether a backoff was drawn and has not come to its end.
    pending: Vec<bool>,
    /// Whether the radio has a frame to send when its backoff ends.
    wants: Vec<bool>,
    /// End of the network allocation vector.
    nav: Vec<u64>,
    /// The RTS that set it, while nothing was heard since; otherwise zero.
    nav_by_rts: Vec<u64>,
    /// Whether the last frame heard was not decoded, so that EIFS applies.
    extended: Vec<bool>,
}

impl Contention {
    pub(super) fn new(radios: usize, slot: Duration, difs: Duration, eifs: Duration) -> Self {
        Self {
            slot: slot.as_nanos(),
            difs: difs.as_nanos(),
            eifs: eifs.as_nanos(),
            heard: vec![0; radios],
            access_start: vec![difs.as_nanos(); radios],
            slots_left: vec![0; radios],
            pending: vec![false; radios],
            wants: vec![false; radios],
            nav: vec![0; radios],
            nav_by_rts: vec![0; radios],
            extended: vec![false; radios],
        }
    }

    /// Whether the radio hears nothing at all, NAV aside.
    pub(super) fn is_quiet(&self, radio: u32) -> bool {
        self.heard[radio as usize] == 0
    }

    /// Whether a CTS may be sent: clause 10.3.2.9 asks for an idle NAV.
    pub(super) fn nav_is_idle(&self, radio: u32, now: Instant) -> bool {
        self.nav[radio as usize] <= now.as_nanos()
    }

    /// `radios` begin to hear a transmission.
    pub(super) fn begin_busy(&mut self, radios: &[u32], now: Instant) {
        let now = now.as_nanos();
        // Radios of a cell mostly share their access start: one division serves them all.
        let (mut start, mut elapsed) = (BUSY, 0);
        for &radio in radios {
            let r = radio as usize;
            self.heard[r] += 1;
            self.nav_by_rts[r] = 0;
            if self.heard[r] > 1 {
                continue;
            }
            let access_start = self.access_start[r];
            if access_start < now && self.slots_left[r] > 0 {
                if access_start != start {
                    start = access_start;
                    elapsed = u32::try_from((now - start) / self.slot).unwrap_or(u32::MAX);
                }
                self.slots_left[r] = self.slots_left[r].saturating_sub(elapsed);
            }
            if access_start <= now && self.slots_left[r] == 0 {
                self.pending[r] = false;
            }
            self.access_start[r] = BUSY;
            self.extended[r] = false;
        }
    }

    /// `radio` hears one transmission less. `set_nav` and `extend` for it come before.
    pub(super) fn end_busy(&mut self, radio: u32, now: Instant) {
        let r = radio as usize;
        self.heard[r] -= 1;
        if self.heard[r] == 0 {
            let now = now.as_nanos();
            let ifs = if self.extended[r] { self.eifs } else { self.difs };
            // EIFS runs from the idle medium, without regard to the NAV (clause 10.3.2.3.7).
            self.access_start[r] = (now + ifs).max(self.nav[r] + self.difs);
        }
    }

    /// `radios` heard and decoded the frame that ends now. It reserves the medium for all but
    /// `addressed`; `rts` as for [`Contention::set_nav`].
    pub(super) fn end_decoded(
        &mut self,
        radios: &[u32],
        addressed: u32,
        (reserved_until, rts): (Instant, u64),
        now: Instant,
    ) {
        let (now, reserved) = (now.as_nanos(), reserved_until.as_nanos());
        for &radio in radios {
            let r = radio as usize;
            if radio != addressed && self.nav[r] < reserved {
                self.nav[r] = reserved;
                self.nav_by_rts[r] = rts;
            }
            self.extended[r] = false;
            self.heard[r] -= 1;
            if self.heard[r] == 0 {
                self.access_start[r] = self.nav[r].max(now) + self.difs;
            }
        }
    }

    /// A decoded frame for somebody else reserves the medium until `until`. `rts` is the number
    /// of the frame if it is an RTS, else zero.
    pub(super) fn set_nav(&mut self, radio: u32, until: Instant, rts: u64) {
        let r = radio as usize;
        if self.nav[r] < until.as_nanos() {
            self.nav[r] = until.as_nanos();
            self.nav_by_rts[r] = rts;
        }
    }

    /// Nothing followed an RTS: radios that have heard nothing since free the medium that it
    /// reserved (clause 10.3.2.4).
    pub(super) fn reset_nav(&mut self, rts: u64, now: Instant) {
        let now = now.as_nanos();
        for r in 0..self.nav.len() {
            if self.nav_by_rts[r] == rts && self.heard[r] == 0 {
                self.nav_by_rts[r] = 0;
                self.nav[r] = now;
                self.access_start[r] = self.access_start[r].min(now + self.difs);
            }
        }
    }

    /// Whether the frame just heard asks for EIFS before the next access.
    pub(super) fn extend(&mut self, radio: u32, undecoded: bool) {
        self.extended[radio as usize] = undecoded;
    }

    /// Starts a new backoff of `slots`, on the slot boundaries of the present idle period.
    pub(super) fn back_off(&mut self, radio: u32, slots: u32, now: Instant) {
        let r = radio as usize;
        self.slots_left[r] = slots;
        self.pending[r] = true;
        let (now, start) = (now.as_nanos(), self.access_start[r]);
        if start < now {
            self.access_start[r] = start + (now - start).div_ceil(self.slot) * self.slot;
        }
    }

    /// The radio has a frame. Where the medium is idle and no backoff is left, it may go at
    /// once; where it is busy, `draw` gives a new backoff (clause 10.3.4.2).
    pub(super) fn request(&mut self, radio: u32, now: Instant, draw: impl FnOnce() -> u32) {
        let r = radio as usize;
        self.wants[r] = true;
        let (now, start) = (now.as_nanos(), self.access_start[r]);
        if start == BUSY || now < self.nav[r] {
            if !self.pending[r] {
                self.slots_left[r] = draw();
                self.pending[r] = true;
            }
        } else if start <= now && u64::from(self.slots_left[r]) <= (now - start) / self.slot {
            self.slots_left[r] = 0;
            self.access_start[r] = now;
        }
    }

    /// The radio tries again with the backoff it has.
    pub(super) fn contend(&mut self, radio: u32) {
        self.wants[radio as usize] = true;
    }

    /// The radio transmits.
    pub(super) fn withdraw(&mut self, radio: u32) {
        self.wants[radio as usize] = false;
        self.pending[radio as usize] = false;
    }

    /// When this radio's backoff ends, if all stays idle; [`BUSY`] if it does not contend.
    fn access_time(&self, start: u64, slots: u32, wants: bool) -> u64 {
        if wants { start.saturating_add(u64::from(slots) * self.slot) } else { BUSY }
    }

    fn access_times(&self) -> impl Iterator<Item = u64> + '_ {
        let fields = self.access_start.iter().zip(&self.slots_left).zip(&self.wants);
        fields.map(|((&start, &slots), &wants)| self.access_time(start, slots, wants))
    }

    /// When this radio's backoff ends, if all stays idle.
    pub(super) fn access_of(&self, radio: u32) -> Option<Instant> {
        let r = radio as usize;
        let time = self.access_time(self.access_start[r], self.slots_left[r], self.wants[r]);
        (time != BUSY).then_some(Instant::from_nanos(time))
    }

    /// When the next radio's backoff ends, if all stays idle.
    pub(super) fn next_access(&self) -> Option<Instant> {
        self.access_times().min().filter(|t| *t != BUSY).map(Instant::from_nanos)
    }

    /// The radios whose backoff ends at `now`, in index order, appended to `winners`.
    pub(super) fn winners(&self, now: Instant, winners: &mut Vec<u32>) {
        let due = self.access_times().enumerate().filter(|(_, t)| *t <= now.as_nanos());
        winners.extend(due.map(|(radio, _)| radio as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Duration = Duration::from_micros(9);
    const DIFS: Duration = Duration::from_micros(34);
    const EIFS: Duration = Duration::from_micros(94);

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1000)
    }

    fn two() -> Contention {
        Contention::new(2, SLOT, DIFS, EIFS)
    }

    #[test]
    fn an_idle_medium_is_taken_at_once() {
        let mut c = two();
        c.request(0, at(100), || unreachable!());
        assert_eq!(c.next_access(), Some(at(100)));
    }

    #[test]
    fn a_frame_within_difs_waits_for_its_end() {
        let mut c = two();
        c.begin_busy(&[0], at(50));
        c.end_busy(0, at(60));
        c.request(0, at(70), || unreachable!());
        assert_eq!(c.next_access(), Some(at(94)));
    }

    #[test]
    fn a_busy_medium_makes_the_radio_draw() {
        let mut c = two();
        c.begin_busy(&[0], at(50));
        c.request(0, at(60), || 4);
        assert_eq!(c.next_access(), None);
        c.end_busy(0, at(100));
        assert_eq!(c.next_access(), Some(at(100 + 34 + 4 * 9)));
    }

    #[test]
    fn backoff_freezes_and_keeps_whole_slots() {
        let mut c = two();
        c.begin_busy(&[0], at(0));
        c.request(0, at(0), || 5);
        c.end_busy(0, at(100));
        // 2 slots and a half pass: 3 are left.
        c.begin_busy(&[0], at(134 + 22));
        c.end_busy(0, at(200));
        assert_eq!(c.next_access(), Some(at(200 + 34 + 3 * 9)));
    }

    #[test]
    fn eifs_follows_an_undecoded_frame_and_only_that() {
        let mut c = two();
        c.begin_busy(&[0], at(0));
        c.request(0, at(0), || 1);
        c.extend(0, true);
        c.end_busy(0, at(100));
        assert_eq!(c.next_access(), Some(at(100 + 94 + 9)));
        c.begin_busy(&[0], at(110));
        c.end_busy(0, at(120));
        assert_eq!(c.next_access(), Some(at(120 + 34 + 9)));
    }

    #[test]
    fn eifs_runs_beside_the_nav() {
        let mut c = two();
        c.begin_busy(&[0], at(0));
        c.set_nav(0, at(300), 0);
        c.end_busy(0, at(100));
        c.begin_busy(&[0], at(110));
        c.extend(0, true);
        c.end_busy(0, at(250));
        c.request(0, at(260), || 0);
        assert_eq!(c.next_access(), Some(at(250 + 94)), "later than 300 + 34");
        c.begin_busy(&[0], at(344));
        c.set_nav(0, at(900), 0);
        c.extend(0, true);
        c.end_busy(0, at(500));
        assert_eq!(c.next_access(), Some(at(900 + 34)));
    }

    #[test]
    fn nav_defers_access_and_forbids_cts() {
        let mut c = two();
        c.begin_busy(&[1], at(0));
        c.set_nav(1, at(300), 0);
        c.end_busy(1, at(100));
        assert!(!c.nav_is_idle(1, at(299)) && c.nav_is_idle(1, at(300)));
        c.request(1, at(150), || 2);
        assert_eq!(c.next_access(), Some(at(300 + 34 + 2 * 9)));
    }

    #[test]
    fn a_backoff_begun_in_an_idle_period_keeps_to_its_slots() {
        let mut c = two();
        c.begin_busy(&[0, 1], at(0));
        c.end_busy(0, at(100));
        c.back_off(0, 3, at(145));
        c.request(0, at(145), || unreachable!());
        // Slots of this idle period begin at 134, 143, 152.
        assert_eq!(c.next_access(), Some(at(152 + 3 * 9)));
        let mut winners = Vec::new();
        c.winners(at(152 + 27), &mut winners);
        assert_eq!(winners, [0]);
    }
}
