//! Radios that sense the same transmissions, and the backoffs of their contenders.
//!
//! Most radios of a group are in one carrier-sense state, [`Group::states`]`[0]`; the others are
//! `away` in one of the further states until theirs comes to the same. Backoffs are kept as the
//! reading of a clock of slots at which they end, one clock a category, which counts for radios in
//! the first state: freezing them all is leaving the clock where it is. An away radio, which began
//! to count later, has its backoffs moved by the slots that it has not counted.
//!
//! After a collision nearly every radio has a reception of its own, which rarely matters before
//! the next frame. They are kept as they came, see [`Overlay`], until one of them is needed.

use super::contenders::{BUSY, Contenders, Counting, Receptions, Sensed};
use super::slots::{BLOCK, BlockSet, OUT, Slots, padded, zero};

/// Maximum number of slots counted in an idle period: more than any backoff has.
const MANY: u64 = 1 << 24;

/// Reading from which a clock is set to zero.
const LATE_READING: i32 = 1 << 29;

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

    /// After a transmission that was `sensed` so.
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

    /// At the beginning of a busy period.
    fn busy(self, now: u64) -> Self {
        // States that differ in nothing but an expired NAV are to become one.
        let nav = if self.nav <= now { 0 } else { self.nav };
        Self { nav, extended: false, idle_from: BUSY, ..self }
    }

    /// At the beginning of an idle period.
    fn idle(self, now: u64, extension: u64) -> Self {
        let idle_from = if self.extended { now + extension } else { now };
        let nav = if self.nav <= now { 0 } else { self.nav };
        // EIFS runs from the idle medium, without regard to the NAV (clause 10.3.2.3.7).
        Self { nav, extended: false, idle_from: idle_from.max(self.nav), ..self }
    }

    /// The same without a NAV that ended before `now`, which only sets it apart from others.
    fn without_expired_nav(self, now: u64) -> Self {
        Self { nav: if self.nav < now { 0 } else { self.nav }, ..self }
    }

    fn is_like(&self, other: &Self) -> bool {
        Self { away: 0, ..*self } == Self { away: 0, ..*other }
    }
}

/// Receptions of all radios of a group after a collision, all of which were in the first state.
#[derive(Debug)]
struct Overlay {
    /// The states of radios that had errors, and that decoded a frame.
    states: [State; 2],
    /// Whether the idle period after it is over, so that none is late any more.
    is_past: bool,
}

/// The backoffs of one category.
#[derive(Debug)]
struct Queue {
    aifs: u64,
    /// Slots that radios in the first state have counted.
    clock: i32,
    backoffs: Slots,
}

#[derive(Debug)]
pub(super) struct Group {
    /// Transmissions sensed.
    pub(super) sensed: u32,
    /// Radios, by index.
    pub(super) members: Box<[u32]>,
    queues: Box<[Queue]>,
    states: Vec<State>,
    /// Radios in another state than the first; none while there is an overlay.
    away: Vec<u32>,
    overlay: Option<Overlay>,
    /// By place: the receptions of the overlay.
    kinds: Vec<u8>,
    /// By place: [`OUT`] for radios in another state than the first, else zero.
    late: Vec<i32>,
    /// Blocks with receptions of the overlay, or of the last one.
    touched: BlockSet,
    /// Blocks of backoffs that are to be looked through anew when the medium is idle.
    stale: BlockSet,
    is_all_stale: bool,
    /// Contenders whose backoff is [`super::Fresh`].
    fresh: Vec<u32>,
    /// Number of `states` there were before the present transmission ended.
    settled: usize,
    /// Per state, while states are merged.
    renamed: Vec<u32>,
    /// The next access, where that is known.
    next: Option<u64>,
}

impl Group {
    pub(super) fn new(members: Vec<u32>, aifs: impl Iterator<Item = u64>) -> Self {
        let count = members.len();
        let queues = aifs.map(|aifs| Queue { aifs, clock: 0, backoffs: Slots::new(count) });
        Self {
            sensed: 0,
            queues: queues.collect(),
            members: members.into(),
            states: vec![State::FIRST],
            away: Vec::new(),
            overlay: None,
            kinds: Vec::new(),
            late: vec![0; padded(count)],
            touched: BlockSet::default(),
            stale: BlockSet::default(),
            is_all_stale: false,
            fresh: Vec::new(),
            settled: 1,
            renamed: Vec::new(),
            next: None,
        }
    }

    /// Carrier sense of a radio of the group.
    pub(super) fn state(&self, all: &Contenders, radio: u32) -> &State {
        let of_overlay = self.overlay.as_ref().and_then(|overlay| {
            let kind = usize::from(self.kinds[all.place[radio as usize] as usize]);
            overlay.states.get(kind.checked_sub(1)?)
        });
        of_overlay.unwrap_or_else(|| &self.states[all.state[radio as usize] as usize])
    }

    /// Time at which a contender begins to count slots, unless it has a time of its own.
    pub(super) fn start(&self, all: &Contenders, contender: u32) -> u64 {
        let (radio, category) = all.split(contender);
        self.state(all, radio).idle_from.saturating_add(self.queues[category].aifs)
    }

    /// Slots that were left of a backoff when the medium was last busy.
    pub(super) fn left(&self, all: &Contenders, contender: u32) -> u32 {
        let (radio, category) = all.split(contender);
        let Queue { clock, backoffs, .. } = &self.queues[category];
        (backoffs.end(all.place[radio as usize] as usize) - clock).max(0).cast_unsigned()
    }

    /// Sets a backoff of so many slots.
    pub(super) fn set(&mut self, all: &Contenders, contender: u32, slots: u32) {
        let (radio, category) = all.split(contender);
        let takes_part = all.wants[contender as usize] && !all.has_own_start(contender);
        let Queue { clock, backoffs, .. } = &mut self.queues[category];
        let end = *clock + u64::from(slots).min(MANY) as i32;
        backoffs.set(all.place[radio as usize] as usize, end, takes_part, &self.late);
        self.next = None;
    }

    /// A contender's backoff has a start of its own, or none of its slots are left.
    pub(super) fn add_fresh(&mut self, contender: u32) {
        self.fresh.push(contender);
    }

    /// Time at which a backoff ends, if all stays idle.
    pub(super) fn access(&self, all: &Contenders, contender: u32) -> u64 {
        let fresh = &all.fresh[contender as usize];
        if all.has_own_start(contender) {
            return fresh.start + u64::from(fresh.slots) * all.slot;
        }
        self.start(all, contender) + u64::from(self.left(all, contender)) * all.slot
    }

    /// Time at which the first backoff of the group ends, if all stays idle; [`BUSY`] if none does.
    pub(super) fn next_access(&mut self, all: &mut Contenders) -> u64 {
        if self.sensed > 0 {
            return BUSY;
        }
        if let Some(next) = self.next {
            return next;
        }
        let mut next = self.first_access(all);
        if next > self.overlay_from() {
            self.spread(all);
            next = self.first_access(all);
        }
        self.next = Some(next);
        next
    }

    fn first_access(&self, all: &Contenders) -> u64 {
        let first = |queue: &Queue| match queue.backoffs.min() {
            OUT => BUSY,
            end => {
                let left = (end - queue.clock).max(0).cast_unsigned();
                let start = self.states[0].idle_from.saturating_add(queue.aifs);
                start + u64::from(left) * all.slot
            }
        };
        let others = self.others(all).map(|contender| self.access(all, contender));
        self.queues.iter().map(first).chain(others).min().unwrap_or(BUSY)
    }

    /// Contenders with a frame whose radio is away or whose start is their own.
    fn others<'a>(&'a self, all: &'a Contenders) -> impl Iterator<Item = u32> + 'a {
        let categories = self.queues.len() as u32;
        let of = move |radio: &u32| radio * categories..(radio + 1) * categories;
        let away = self.away.iter().flat_map(of).filter(|c| !all.has_own_start(*c));
        let fresh = self.fresh.iter().copied().filter(|c| all.has_own_start(*c));
        away.chain(fresh).filter(|contender| all.wants[*contender as usize])
    }

    /// Time before which no radio counts slots that is late by the overlay; [`BUSY`] without one.
    fn overlay_from(&self) -> u64 {
        let Some(overlay) = &self.overlay else { return BUSY };
        let idle_from = overlay.states[0].idle_from.min(overlay.states[1].idle_from);
        let aifs = self.queues.iter().map(|queue| queue.aifs).min().unwrap_or(0);
        idle_from.saturating_add(aifs)
    }

    /// Appends the contenders whose backoff ends at `now`.
    pub(super) fn winners(&mut self, all: &mut Contenders, now: u64, winners: &mut Vec<u32>) {
        if now >= self.overlay_from() {
            self.spread(all);
        }
        let categories = self.queues.len() as u32;
        for (category, queue) in self.queues.iter().enumerate() {
            let start = self.states[0].idle_from.saturating_add(queue.aifs);
            let Some(passed) = now.checked_sub(start) else { continue };
            let limit = queue.clock + (passed / all.slot).min(MANY) as i32;
            queue.backoffs.up_to(limit, &self.late, |place| {
                winners.push(self.members[place] * categories + category as u32);
            });
        }
        let due = self.others(all).filter(|contender| self.access(all, *contender) <= now);
        due.for_each(|contender| winners.push(contender));
    }

    /// Changes all states, those of the overlay included.
    fn for_each_state(&mut self, mut change: impl FnMut(&mut State)) {
        self.states.iter_mut().for_each(&mut change);
        if let Some(overlay) = &mut self.overlay {
            overlay.states.iter_mut().for_each(change);
        }
    }

    /// Adds one more sensed transmission.
    pub(super) fn begin(&mut self, all: &mut Contenders, now: u64) {
        self.sensed += 1;
        self.next = None;
        let is_first = self.sensed == 1;
        if is_first {
            self.freeze(all, now);
        }
        self.for_each_state(|state| {
            // Only a radio that has heard nothing since the RTS may reset its NAV (clause
            // 10.3.2.4).
            state.nav_by_rts = 0;
            if is_first {
                *state = state.busy(now);
            }
        });
        if is_first {
            let first = &self.states[0];
            self.overlay.take_if(|overlay| overlay.states.iter().all(|s| s.is_like(first)));
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
        let passed = |start: u64| match now.checked_sub(start) {
            Some(idle) => (idle / slot + at_start).min(MANY) as i32,
            None => 0,
        };
        for &c in &self.fresh {
            let start = match all.fresh[c as usize].start {
                BUSY => self.start(all, c),
                own => own,
            };
            let fresh = &mut all.fresh[c as usize];
            fresh.start = start;
            fresh.slots = fresh.slots.saturating_sub(passed(start).cast_unsigned());
        }
        let is_simple = |overlay: &Overlay| {
            let [errored, decoded] = overlay.states.map(|state| state.idle_from);
            let passed = |from: u64, aifs: u64| passed(from.saturating_add(aifs));
            let same = |queue: &Queue| passed(errored, queue.aifs) == passed(decoded, queue.aifs);
            self.queues.iter().all(same)
        };
        if !self.overlay.as_ref().is_none_or(is_simple) {
            self.spread(all);
        }
        let idle_from = self.states[0].idle_from;
        for Queue { aifs, clock, backoffs } in &mut self.queues {
            let passed = |from: u64| passed(from.saturating_add(*aifs));
            let first = passed(idle_from);
            if let Some(overlay) = &self.overlay {
                let slots = first - passed(overlay.states[0].idle_from);
                backoffs.postpone_late(&self.touched, &self.late, slots, *clock);
            }
            for &radio in &self.away {
                let (place, state) = (all.place[radio as usize], all.state[radio as usize]);
                let own = passed(self.states[state as usize].idle_from);
                backoffs.postpone(place as usize, first - own);
            }
            *clock += first;
            if *clock > LATE_READING {
                backoffs.restart_clock(*clock);
                self.is_all_stale = true;
                *clock = 0;
            }
        }
        self.forget_late();
        self.place_fresh(all, now);
    }

    /// Makes the first state that of all radios of the overlay, but for their NAV.
    fn forget_late(&mut self) {
        if let Some(overlay) = self.overlay.as_mut().filter(|overlay| !overlay.is_past) {
            overlay.is_past = true;
            self.touched.for_each(|block| zero(&mut self.late, block));
            self.stale.extend(&self.touched);
        }
    }

    /// Gives the backoffs that had a start of their own their place among the others.
    fn place_fresh(&mut self, all: &mut Contenders, now: u64) {
        let mut contenders = core::mem::take(&mut self.fresh);
        contenders.retain(|&contender| {
            let c = contender as usize;
            let fresh = &mut all.fresh[c];
            let (slots, has_begun) = (fresh.slots, fresh.start <= now);
            let none_left = slots == 0;
            all.pending[c] &= !(none_left && has_begun);
            fresh.start = BUSY;
            fresh.is_listed = none_left && all.pending[c];
            self.set(all, contender, slots);
            all.fresh[c].is_listed
        });
        self.fresh = contenders;
    }

    /// A frame, or several at once, is about to end, received so by every radio of the group.
    /// `except` and `end` follow for each frame; to all others it is `Energy`.
    pub(super) fn end_together(
        &mut self,
        all: &mut Contenders,
        receptions: &mut Receptions,
        now: u64,
    ) {
        self.ending(all, Sensed::Energy, now);
        if self.overlay.is_none() {
            for state in &mut self.states {
                *state = state.without_expired_nav(now);
            }
            self.merge(all);
            self.settled = self.states.len();
        }
        if self.settled > 1 || self.overlay.is_some() {
            for place in 0..self.members.len() {
                let sensed = receptions.sensed(receptions.kinds[place]);
                if sensed != Sensed::Energy {
                    self.except(all, self.members[place], sensed);
                }
            }
            return;
        }
        core::mem::swap(&mut self.kinds, &mut receptions.kinds);
        core::mem::swap(&mut self.late, &mut receptions.late);
        core::mem::swap(&mut self.touched, &mut receptions.touched);
        let first = State { away: 0, ..self.states[0] };
        let after = |kind| first.after(receptions.sensed(kind));
        let states = [after(Receptions::ERRORED), after(Receptions::DECODED)];
        self.overlay = Some(Overlay { states, is_past: false });
    }

    /// A transmission is about to end here, which radios without an exception receive as `sensed`;
    /// `except` and `end` follow.
    pub(super) fn ending(&mut self, all: &mut Contenders, sensed: Sensed, now: u64) {
        let is_energy = sensed == Sensed::Energy;
        if self.overlay.as_ref().is_some_and(|overlay| overlay.is_past || !is_energy) {
            self.drop_overlay(all, now);
        }
        self.settled = self.states.len();
    }

    /// Ends the overlay of an earlier collision.
    fn drop_overlay(&mut self, all: &mut Contenders, now: u64) {
        let first = self.states[0].without_expired_nav(now);
        let same = |state: &State| state.without_expired_nav(now).is_like(&first);
        if !self.overlay.as_ref().is_some_and(|overlay| overlay.states.iter().all(same)) {
            return self.spread(all);
        }
        self.forget_late();
        self.overlay = None;
    }

    /// Lists the radios that are away by the overlay.
    fn spread(&mut self, all: &mut Contenders) {
        let Some(overlay) = self.overlay.take() else { return };
        let mut numbers = [None; 2];
        for (place, &radio) in self.members.iter().enumerate() {
            let Some(index) = usize::from(self.kinds[place]).checked_sub(1) else { continue };
            let number = *numbers[index].get_or_insert_with(|| {
                self.states.push(overlay.states[index]);
                self.states.len() - 1
            });
            self.states[number].away += 1;
            all.state[radio as usize] = number as u32;
            self.away.push(radio);
            self.late[place] = OUT;
        }
        self.stale.extend(&self.touched);
        self.next = None;
    }

    /// Gives this radio another reception of the transmission than the group's.
    pub(super) fn except(&mut self, all: &mut Contenders, radio: u32, sensed: Sensed) {
        if self.overlay.is_some() && self.overlay_takes(all, radio, sensed) {
            return;
        }
        self.spread(all);
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
            self.set_late(all.place[r], OUT);
        } else {
            self.states[old].away -= 1;
        }
        all.state[r] = new as u32;
    }

    /// Puts the reception of this radio into the overlay. Returns whether it has a place there.
    fn overlay_takes(&mut self, all: &Contenders, radio: u32, sensed: Sensed) -> bool {
        let state = self.state(all, radio).after(sensed);
        let Some(overlay) = &mut self.overlay else { return false };
        let states = [&self.states[0], &overlay.states[0], &overlay.states[1]];
        let Some(kind) = states.iter().position(|other| other.is_like(&state)) else {
            return false;
        };
        let place = all.place[radio as usize] as usize;
        self.kinds[place] = kind as u8;
        self.late[place] = if kind == 0 { 0 } else { OUT };
        self.touched.insert(place / BLOCK);
        true
    }

    /// Sets whether a radio is late.
    fn set_late(&mut self, place: u32, late: i32) {
        let place = place as usize;
        self.late[place] = late;
        if self.queues.iter().any(|queue| queue.backoffs.takes_part(place)) {
            self.stale.insert(place / BLOCK);
        }
    }

    /// Ends the transmission; `sensed` is the reception of the radios that are not excepted.
    pub(super) fn end(&mut self, all: &mut Contenders, sensed: Sensed, now: u64) {
        debug_assert!(self.overlay.is_none() || sensed == Sensed::Energy, "{sensed:?}");
        for state in &mut self.states[..self.settled] {
            *state = state.after(sensed);
        }
        self.sensed -= 1;
        self.next = None;
        if self.sensed == 0 {
            self.for_each_state(|state| *state = state.idle(now, all.extension));
        }
        self.merge(all);
        debug_assert_eq!(
            self.states.iter().map(|state| state.away as usize).sum::<usize>(),
            self.away.len(),
            "{:?}",
            self.states
        );
        if self.sensed == 0 {
            self.renew();
        }
    }

    /// Brings the smallest numbers of blocks up to date.
    fn renew(&mut self) {
        let is_all_stale = core::mem::take(&mut self.is_all_stale);
        if self.overlay.is_some() {
            self.stale.extend(&self.touched);
        }
        for Queue { backoffs, .. } in &mut self.queues {
            if is_all_stale {
                backoffs.renew_all(&self.late);
                continue;
            }
            self.stale.for_each(|block| backoffs.renew(block, &self.late));
        }
        self.stale.clear();
    }

    /// Makes one of states that have become the same, and brings home those back in the first.
    fn merge(&mut self, all: &mut Contenders) {
        let (first, others) = self.states.split_first().expect("there is always a first state");
        if others.iter().all(|state| state.away == 0 || state.is_like(first)) {
            while let Some(radio) = self.away.pop() {
                all.state[radio as usize] = 0;
                self.set_late(all.place[radio as usize], 0);
            }
            return self.states.truncate(1);
        }
        if others.len() == 1 {
            return;
        }
        let mut kept = 1;
        self.renamed.clear();
        self.renamed.push(0);
        for index in 1..self.states.len() {
            let state = self.states[index];
            let same = self.states[..kept].iter().position(|other| other.is_like(&state));
            let new = same.unwrap_or(kept);
            self.renamed.push(new as u32);
            if same.is_none() && state.away > 0 {
                self.states[kept] = state;
                kept += 1;
            } else if new > 0 && new < kept {
                self.states[new].away += state.away;
            }
        }
        let unchanged = kept == self.states.len();
        self.states.truncate(kept);
        if unchanged {
            return;
        }
        let mut away = core::mem::take(&mut self.away);
        away.retain(|&radio| {
            let state = &mut all.state[radio as usize];
            *state = self.renamed[*state as usize];
            if *state == 0 {
                self.set_late(all.place[radio as usize], 0);
            }
            *state > 0
        });
        self.away = away;
    }

    /// Nothing followed an RTS: radios that it reserved the medium for and that have received
    /// nothing since free it.
    pub(super) fn reset_nav(&mut self, rts: u64, now: u64) {
        if self.sensed > 0 {
            return;
        }
        self.next = None;
        self.for_each_state(|state| {
            if state.nav_by_rts == rts {
                let idle_from = state.idle_from.min(now);
                *state = State { nav: 0, nav_by_rts: 0, idle_from, ..*state };
            }
        });
    }
}
