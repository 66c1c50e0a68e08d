//! Radios that sense the same transmissions, and the backoffs of their contenders.
//!
//! Most radios of a group are in one carrier-sense state, [`Group::states`]`[0]`; the others are
//! `away` in one of the further states until theirs comes to the same. Backoffs are kept as the
//! reading of a clock at which they end, one clock a category: freezing them all is leaving the
//! clock where it is. An away radio's backoffs are shifted on that clock while the medium is
//! idle, by as much as its idle period began later.

use super::contenders::{BUSY, Contenders, Counting, FIRST_READING, Sensed};
use super::tournament::{OUT, Tournament};

/// Carrier sense of a radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// End of the network allocation vector.
    pub(super) nav: u64,
    /// The RTS that set it, while nothing was received since; otherwise zero.
    pub(super) nav_by_rts: u64,
    /// Whether the last sensed frame was not decoded, so that EIFS applies.
    extended: bool,
    /// Since when the medium counts as idle, to which AIFS is added; [`BUSY`] if it is not.
    pub(super) idle_from: u64,
    /// Away radios in this state.
    away: u32,
}

impl State {
    const FIRST: Self = Self { nav: 0, nav_by_rts: 0, extended: false, idle_from: 0, away: 0 };

    /// After a transmission that was `heard` so.
    fn after(mut self, sensed: Sensed) -> Self {
        match sensed {
            Sensed::Energy => {}
            Sensed::Errored => self.extended = true,
            Sensed::Addressed => self.extended = false,
            Sensed::Decoded { until, rts } => {
                self.extended = false;
                if self.nav < until {
                    (self.nav, self.nav_by_rts) = (until, rts);
                }
            }
        }
        self
    }

    fn is_like(&self, other: &Self) -> bool {
        Self { away: 0, ..*self } == Self { away: 0, ..*other }
    }
}

/// The backoffs of one category.
#[derive(Debug)]
pub(super) struct Queue {
    aifs: u64,
    /// Nanoseconds' worth of slots passed.
    pub(super) reading: u64,
    /// Ends of the backoffs of contenders with a frame, by place in the group.
    pub(super) ends: Tournament,
}

#[derive(Debug)]
pub(super) struct Group {
    /// Transmissions heard.
    pub(super) sensed: u32,
    /// Radios, by index.
    pub(super) members: Box<[u32]>,
    pub(super) queues: Box<[Queue]>,
    pub(super) states: Vec<State>,
    /// Radios in another state than the first.
    away: Vec<u32>,
    /// Contenders whose backoff is [`Fresh`].
    pub(super) fresh: Vec<u32>,
    /// Number of `states` there were before the present transmission ended.
    settled: usize,
    /// Per state, while backoffs are shifted.
    corrections: Vec<u64>,
}

impl Group {
    pub(super) fn new(members: Vec<u32>, aifs: impl Iterator<Item = u64>) -> Self {
        let ends = || Tournament::new(members.len());
        let queues = aifs.map(|aifs| Queue { aifs, reading: FIRST_READING, ends: ends() });
        Self {
            sensed: 0,
            queues: queues.collect(),
            members: members.into(),
            states: vec![State::FIRST],
            away: Vec::new(),
            fresh: Vec::new(),
            settled: 1,
            corrections: Vec::new(),
        }
    }

    /// Returns the time at which radios in the first state begin to count slots of a category.
    fn origin(&self, category: usize) -> u64 {
        self.states[0].idle_from.saturating_add(self.queues[category].aifs)
    }

    /// Time at which a contender of `category` in `state` begins to count slots.
    pub(super) fn start(&self, state: u32, category: usize) -> u64 {
        self.states[state as usize].idle_from.saturating_add(self.queues[category].aifs)
    }

    /// Returns the shift of the backoffs in `state`.
    pub(super) fn shift(&self, state: u32) -> u64 {
        // Away radios may have become idle before the first state, so shifts wrap.
        self.states[state as usize].idle_from.wrapping_sub(self.states[0].idle_from)
    }

    /// The reading at which a backoff ends that takes `nanos` from `start`.
    pub(super) fn end_of(&self, category: usize, start: u64, nanos: u64) -> u64 {
        let ahead = start.wrapping_sub(self.origin(category));
        self.queues[category].reading.wrapping_add(ahead).wrapping_add(nanos)
    }

    /// Time at which a backoff that ends at `reading` does so, if all stays idle.
    pub(super) fn time_of(&self, category: usize, reading: u64) -> u64 {
        self.origin(category).wrapping_add(reading.wrapping_sub(self.queues[category].reading))
    }

    /// Time at which the first backoff of the group ends, if all stays idle; [`BUSY`] if none does.
    pub(super) fn next_access(&self) -> u64 {
        if self.sensed > 0 {
            return BUSY;
        }
        let first = |(category, queue): (usize, &Queue)| match queue.ends.least() {
            OUT => BUSY,
            reading => self.time_of(category, reading),
        };
        self.queues.iter().enumerate().map(first).min().unwrap_or(BUSY)
    }

    /// Appends the contenders whose backoff ends at `now`.
    pub(super) fn winners(&self, now: u64, winners: &mut Vec<u32>) {
        let categories = self.queues.len() as u32;
        for (category, queue) in self.queues.iter().enumerate() {
            let limit = self.end_of(category, now, 0);
            queue.ends.up_to(limit, |place| {
                winners.push(self.members[place] * categories + category as u32);
            });
        }
    }

    /// Adds one more sensed transmission.
    pub(super) fn begin(&mut self, all: &mut Contenders, now: u64) {
        self.sensed += 1;
        // Only a radio that has heard nothing since the RTS may reset its NAV (clause 10.3.2.4).
        for state in &mut self.states {
            state.nav_by_rts = 0;
        }
        if self.sensed == 1 {
            self.freeze(all, now);
            for state in &mut self.states {
                // States that differ in nothing but an expired NAV are to become one.
                let nav = if state.nav <= now { 0 } else { state.nav };
                *state = State { nav, extended: false, idle_from: BUSY, ..*state };
            }
            self.merge(all);
        }
    }

    /// Takes off the slots that have passed.
    fn freeze(&mut self, all: &mut Contenders, now: u64) {
        let slot = all.slot;
        // A transmission at a slot boundary finds that boundary counted under EDCA: stations
        // decide there before they can hear each other.
        let at_start = match all.counting {
            Counting::WholeSlots => 0,
            Counting::Boundaries => 1,
        };
        let passed = |start: u64| if now < start { 0 } else { (now - start) / slot + at_start };
        for &c in &self.fresh {
            let (radio, category) = all.split(c);
            let state = all.state[radio as usize];
            let fresh = &mut all.fresh[c as usize];
            if fresh.start == BUSY {
                fresh.start = self.start(state, category);
            }
            let elapsed = u32::try_from(passed(fresh.start)).unwrap_or(u32::MAX);
            fresh.slots = fresh.slots.saturating_sub(elapsed);
        }
        for category in 0..self.queues.len() {
            let first = passed(self.origin(category)) * slot;
            self.move_away(all, category, |group, state| {
                let own = passed(group.start(state, category)) * slot;
                first.wrapping_sub(own).wrapping_sub(group.shift(state))
            });
            self.queues[category].reading += first;
        }
        self.place_fresh(all, now);
    }

    /// Gives the backoffs that had a start of their own their place among the others.
    fn place_fresh(&mut self, all: &mut Contenders, now: u64) {
        let mut contenders = core::mem::take(&mut self.fresh);
        contenders.retain(|&c| {
            let (radio, category) = all.split(c);
            let c = c as usize;
            let fresh = &mut all.fresh[c];
            let none_left = fresh.slots == 0;
            if none_left && fresh.start <= now {
                all.pending[c] = false;
            }
            fresh.start = BUSY;
            fresh.is_listed = none_left && all.pending[c];
            all.end[c] = self.queues[category].reading + u64::from(fresh.slots) * all.slot;
            if all.wants[c] {
                self.queues[category].ends.set(all.place[radio as usize] as usize, all.end[c]);
            }
            fresh.is_listed
        });
        self.fresh = contenders;
    }

    /// Moves the ends of the away radios' backoffs by the `correction` of their state.
    fn move_away(
        &mut self,
        all: &mut Contenders,
        category: usize,
        correction: impl Fn(&Self, u32) -> u64,
    ) {
        if self.away.is_empty() {
            return;
        }
        let mut corrections = core::mem::take(&mut self.corrections);
        corrections.clear();
        corrections.extend((0..self.states.len() as u32).map(|state| correction(self, state)));
        let ends = &mut self.queues[category].ends;
        // Beyond this many, playing all matches anew is less work.
        let many = self.away.len() > self.members.len() / 8;
        for &radio in &self.away {
            let r = radio as usize;
            let c = r * all.categories + category;
            all.end[c] = all.end[c].wrapping_add(corrections[all.state[r] as usize]);
            if all.wants[c] && many {
                ends.put(all.place[r] as usize, all.end[c]);
            } else if all.wants[c] {
                ends.set(all.place[r] as usize, all.end[c]);
            }
        }
        if many {
            ends.replay();
        }
        self.corrections = corrections;
    }

    /// A transmission is about to end here; `except` and `end` follow.
    pub(super) fn ending(&mut self) {
        self.settled = self.states.len();
    }

    /// Gives this radio another reception of the transmission than the group's.
    pub(super) fn except(&mut self, all: &mut Contenders, radio: u32, sensed: Sensed) {
        let r = radio as usize;
        let old = all.state[r] as usize;
        let state = self.states[old].after(sensed);
        if self.members.len() == 1 {
            self.states[0] = state;
            self.settled = 0;
            return;
        }
        let found = self.states[self.settled..].iter().position(|other| other.is_like(&state));
        let new = found.map_or(self.states.len(), |index| self.settled + index);
        if new == self.states.len() {
            self.states.push(State { away: 0, ..state });
        }
        self.states[new].away += 1;
        if old == 0 {
            self.away.push(radio);
        } else {
            self.states[old].away -= 1;
        }
        all.state[r] = new as u32;
    }

    /// Ends the transmission; `heard` is the reception of the radios that are not excepted.
    pub(super) fn end(&mut self, all: &mut Contenders, sensed: Sensed, now: u64) {
        for state in &mut self.states[..self.settled] {
            *state = state.after(sensed);
        }
        self.sensed -= 1;
        if self.sensed == 0 {
            for state in &mut self.states {
                let idle_from = if state.extended { now + all.extension } else { now };
                // EIFS runs from the idle medium, without regard to the NAV (clause 10.3.2.3.7).
                state.idle_from = idle_from.max(state.nav);
                state.extended = false;
                if state.nav <= now {
                    state.nav = 0;
                }
            }
        }
        self.merge(all);
        debug_assert_eq!(
            self.states.iter().map(|state| state.away as usize).sum::<usize>(),
            self.away.len(),
            "{:?}",
            self.states
        );
        if self.sensed == 0 {
            for category in 0..self.queues.len() {
                self.move_away(all, category, Self::shift);
            }
        }
    }

    /// Makes one of states that have become the same, and brings home those back in the first.
    fn merge(&mut self, all: &mut Contenders) {
        let (first, others) = self.states.split_first().expect("there is always a first state");
        if others.iter().all(|state| state.away == 0 || state.is_like(first)) {
            for radio in self.away.drain(..) {
                all.state[radio as usize] = 0;
            }
            return self.states.truncate(1);
        }
        if others.len() == 1 {
            return;
        }
        let mut kept = 1;
        let mut renamed = core::mem::take(&mut self.corrections);
        renamed.clear();
        renamed.push(0);
        for index in 1..self.states.len() {
            let state = self.states[index];
            let same = self.states[..kept].iter().position(|other| other.is_like(&state));
            let new = same.unwrap_or(kept);
            renamed.push(new as u64);
            if same.is_none() && state.away > 0 {
                self.states[kept] = state;
                kept += 1;
            } else if new > 0 && new < kept {
                self.states[new].away += state.away;
            }
        }
        let unchanged = kept == self.states.len();
        self.states.truncate(kept);
        if !unchanged {
            self.away.retain(|&radio| {
                let state = &mut all.state[radio as usize];
                *state = renamed[*state as usize] as u32;
                *state > 0
            });
        }
        self.corrections = renamed;
    }

    /// Nothing followed an RTS: radios that it reserved the medium for and that have received
    /// nothing since free it.
    pub(super) fn reset_nav(&mut self, all: &mut Contenders, rts: u64, now: u64) {
        if self.sensed > 0 || self.states.iter().all(|state| state.nav_by_rts != rts) {
            return;
        }
        let mut corrections: Vec<u64> = Vec::with_capacity(self.states.len());
        corrections.extend((0..self.states.len() as u32).map(|state| self.shift(state)));
        for state in self.states.iter_mut().filter(|state| state.nav_by_rts == rts) {
            let idle_from = state.idle_from.min(now);
            *state = State { nav: 0, nav_by_rts: 0, idle_from, ..*state };
        }
        for (state, old) in corrections.iter_mut().enumerate() {
            *old = self.shift(state as u32).wrapping_sub(*old);
        }
        for category in 0..self.queues.len() {
            self.move_away(all, category, |_, state| corrections[state as usize]);
        }
        for index in 0..self.fresh.len() {
            let c = self.fresh[index];
            let (_, category) = all.split(c);
            let fresh = &all.fresh[c as usize];
            // A start of its own lies within a slot of its drawing, so before this AIFS ends.
            if fresh.start == BUSY {
                continue;
            }
            let (start, nanos) = (fresh.start, u64::from(fresh.slots) * all.slot);
            let end = self.end_of(category, start, nanos);
            self.set_end(all, c, end);
        }
    }

    /// Sets when a contender's backoff ends.
    pub(super) fn set_end(&mut self, all: &mut Contenders, contender: u32, end: u64) {
        let (radio, category) = all.split(contender);
        all.end[contender as usize] = end;
        let number = if all.wants[contender as usize] { end } else { OUT };
        self.queues[category].ends.set(all.place[radio as usize] as usize, number);
    }
}
