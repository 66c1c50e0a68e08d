//! Carrier sense of every radio on a channel, and the backoffs of its contenders (802.11-2020
//! clauses 10.3.4 and 10.23.2).
//!
//! A radio has one contender under DCF and one for each access category under EDCA; contender
//! `radio * categories + category`. Transitions of the medium concern a radio, backoffs a
//! contender.
//!
//! Radios that sense the same transmissions form a group, which a transition touches as a whole: in
//! a cell where all sense all, a frame costs an instruction or two for each. Where every radio
//! senses another selection, every radio is a group. Differences between radios (the receiver of a
//! frame, the radios that decoded it) cost as much as they touch; those that a collision makes are
//! kept side by side until they matter. See [`group`].

use contenders::{BUSY, Contenders, Fresh};
pub(super) use contenders::{Counting, Receptions, Sensed};
use fairwave_units::{Duration, Instant};
use group::Group;
pub(super) use slots::BLOCK;

mod contenders;
mod group;
#[cfg(test)]
mod reference;
mod slots;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod worlds;

/// Time for which the medium must be idle before the contenders of one category count slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    /// DIFS for DCF, AIFS of the category for EDCA.
    pub(super) aifs: Duration,
    /// The same after a frame that was not decoded: EIFS - DIFS + AIFS (clause 10.3.2.3.7), so
    /// longer by the same time in each category.
    pub(super) eifs: Duration,
}

#[derive(Debug)]
pub(super) struct Contention {
    all: Contenders,
    groups: Vec<Group>,
    /// Per group.
    busy: Vec<Busy>,
    /// Per radio: the groups that sense it, its own included.
    reach: Vec<Box<[u32]>>,
}

/// Time for which the radios of a group have sensed transmissions.
#[derive(Clone, Copy, Debug, Default)]
struct Busy {
    /// Beginning of the present busy period, or of the last one.
    since: u64,
    /// All busy periods that are over.
    total: u64,
}

impl Contention {
    /// Makes radios on a medium that has been idle since time zero, with a contender for each of
    /// `access`; `hearers` lists the radios that sense each, itself left out, and `varies` says
    /// whether that is to change.
    pub(super) fn new(
        slot: Duration,
        counting: Counting,
        access: &[Access],
        hearers: &[Box<[u32]>],
        varies: bool,
    ) -> Self {
        let (radios, contenders) = (hearers.len(), hearers.len() * access.len());
        let extension = |access: &Access| access.eifs.as_nanos() - access.aifs.as_nanos();
        debug_assert!(access.iter().all(|a| extension(a) == extension(&access[0])));
        let members = if varies { each_alone(radios) } else { group_by_ear(hearers) };
        let mut group = vec![0; radios];
        let mut place = vec![0; radios];
        for (number, members) in members.iter().enumerate() {
            for (index, radio) in members.iter().enumerate() {
                group[*radio as usize] = number as u32;
                place[*radio as usize] = index as u32;
            }
        }
        let aifs = || access.iter().map(|access| access.aifs.as_nanos());
        let mut contention = Self {
            busy: vec![Busy::default(); members.len()],
            reach: vec![Box::default(); radios],
            groups: members.into_iter().map(|members| Group::new(members, aifs())).collect(),
            all: Contenders {
                slot: slot.as_nanos(),
                counting,
                extension: extension(&access[0]),
                categories: access.len(),
                group,
                place,
                state: vec![0; radios],
                pending: vec![false; contenders],
                wants: vec![false; contenders],
                fresh: vec![Fresh { start: BUSY, slots: 0, is_listed: false }; contenders],
            },
        };
        for (from, hearers) in hearers.iter().enumerate() {
            contention.set_reach(from as u32, hearers);
        }
        contention
    }

    /// Gives radios their places in this order where there is one group, before anything has
    /// happened: those of [`Receptions`].
    pub(super) fn arrange(&mut self, order: &[u32]) {
        if let [group] = &mut self.groups[..] {
            group.members = order.into();
            for (place, radio) in (0..).zip(order) {
                self.all.place[*radio as usize] = place;
            }
        }
    }

    /// Sets the radios that sense `from` from now on; while it is silent, and only where that is to
    /// change.
    pub(super) fn set_reach(&mut self, from: u32, hearers: &[u32]) {
        let radios = hearers.iter().chain([&from]);
        let mut reached: Vec<u32> = radios.map(|radio| self.all.group[*radio as usize]).collect();
        reached.sort_unstable();
        reached.dedup();
        self.reach[from as usize] = reached.into();
    }

    /// Contenders a radio has.
    pub(super) fn categories(&self) -> u32 {
        self.all.categories as u32
    }

    fn group_of(&self, radio: u32) -> &Group {
        &self.groups[self.all.group[radio as usize] as usize]
    }

    fn nav(&self, radio: u32) -> u64 {
        self.group_of(radio).state(&self.all, radio).nav
    }

    /// Returns whether the radio senses nothing at all, NAV aside.
    pub(super) fn is_quiet(&self, radio: u32) -> bool {
        self.group_of(radio).sensed == 0
    }

    /// Time for which the radio has sensed transmissions or has sent, NAV aside.
    pub(super) fn busy(&self, radio: u32, now: Instant) -> Duration {
        let group = self.all.group[radio as usize] as usize;
        let Busy { since, total } = self.busy[group];
        let is_busy = self.groups[group].sensed > 0;
        let present = if is_busy { now.as_nanos().saturating_sub(since) } else { 0 };
        Duration::from_nanos(total + present)
    }

    /// Whether a CTS may be sent: clause 10.3.2.9 asks for an idle NAV.
    pub(super) fn nav_is_idle(&self, radio: u32, now: Instant) -> bool {
        self.nav(radio) <= now.as_nanos()
    }

    /// `from` begins to transmit.
    pub(super) fn begin(&mut self, from: u32, now: Instant) {
        for &group in &self.reach[from as usize] {
            let group = group as usize;
            self.groups[group].begin(&mut self.all, now.as_nanos());
            if self.groups[group].sensed == 1 {
                self.busy[group].since = now.as_nanos();
            }
        }
    }

    /// Ends a transmission of `from`. It was received as `except` says, each radio once, and as
    /// `heard` by the other radios that sense it; `from` itself receives nothing.
    pub(super) fn end(
        &mut self,
        from: u32,
        sensed: Sensed,
        except: impl Iterator<Item = (u32, Sensed)>,
        now: Instant,
    ) {
        let Self { all, groups, busy, reach } = self;
        for &group in &reach[from as usize] {
            groups[group as usize].ending(all, sensed, now.as_nanos());
        }
        let itself = (sensed != Sensed::Energy).then_some((from, Sensed::Energy));
        for (radio, sensed) in except.chain(itself) {
            groups[all.group[radio as usize] as usize].except(all, radio, sensed);
        }
        for &group in &reach[from as usize] {
            let group = group as usize;
            groups[group].end(all, sensed, now.as_nanos());
            if groups[group].sensed == 0 {
                busy[group].total += now.as_nanos() - busy[group].since;
            }
        }
    }

    /// Whether every radio senses every other, and will.
    pub(super) fn is_one_group(&self) -> bool {
        self.groups.len() == 1
    }

    /// A frame, or several at once, ends now and was received so, where there is one group.
    /// [`Contention::end`] is to follow for each frame, with `Energy` for all but its exceptions.
    pub(super) fn end_together(&mut self, receptions: &mut Receptions, now: Instant) {
        debug_assert!(self.is_one_group(), "{} groups", self.groups.len());
        self.groups[0].end_together(&mut self.all, receptions, now.as_nanos());
    }

    /// Nothing followed an RTS: radios that have received nothing since free the medium that it
    /// reserved (clause 10.3.2.4).
    pub(super) fn reset_nav(&mut self, rts: u64, now: Instant) {
        for group in &mut self.groups {
            group.reset_nav(rts, now.as_nanos());
        }
    }

    /// Starts a new backoff of `slots`, on the slot boundaries of the present idle period.
    pub(super) fn back_off(&mut self, contender: u32, slots: u32, now: Instant) {
        let now = now.as_nanos();
        self.all.pending[contender as usize] = true;
        let start = self.start(contender);
        let is_own = start < now || self.all.has_own_start(contender);
        let start = self.boundary(start, now);
        self.restart(contender, is_own.then_some(start), slots);
    }

    /// The contender has a frame. Where the medium is idle and no backoff is left, it may go when
    /// the medium has been idle for AIFS: then at once under DCF, at the next slot boundary under
    /// EDCA. Where the medium is busy, or was when the frame came, which `came_amid` says, `draw`
    /// gives a new backoff (clauses 10.3.4.2 and 10.23.2.2 a).
    pub(super) fn request(
        &mut self,
        contender: u32,
        came_amid: bool,
        now: Instant,
        draw: impl FnOnce() -> u32,
    ) {
        let c = contender as usize;
        let now = now.as_nanos();
        let (start, left) = (self.start(contender), self.slots_left(contender));
        // A backoff that ended while there was nothing to send is used up: a busy medium now calls
        // for a new draw.
        self.all.pending[c] &= left > 0 || self.all.fresh[c].is_listed;
        self.all.wants[c] = true;
        if came_amid || start == BUSY || now < self.nav(self.all.split(contender).0) {
            if self.all.pending[c] {
                self.contend(contender);
            } else {
                self.all.pending[c] = true;
                let own = self.all.has_own_start(contender).then_some(start);
                self.restart(contender, own, draw());
            }
        } else if start <= now && u64::from(left) <= (now - start) / self.all.slot {
            let at = match self.all.counting {
                Counting::WholeSlots => now,
                Counting::Boundaries => self.boundary(start, now),
            };
            self.restart(contender, Some(at), 0);
        } else {
            self.contend(contender);
        }
    }

    /// The contender tries again with the backoff it has.
    pub(super) fn contend(&mut self, contender: u32) {
        self.all.wants[contender as usize] = true;
        self.set(contender, self.slots_left(contender));
    }

    /// The contender transmits.
    pub(super) fn withdraw(&mut self, contender: u32) {
        self.all.wants[contender as usize] = false;
        self.all.pending[contender as usize] = false;
        self.set(contender, self.slots_left(contender));
    }

    /// The first slot boundary at or after `now`, where the first of all is at `start`.
    fn boundary(&self, start: u64, now: u64) -> u64 {
        start + now.saturating_sub(start).div_ceil(self.all.slot) * self.all.slot
    }

    /// From when the contender counts slots; [`BUSY`] while its medium is.
    fn start(&self, contender: u32) -> u64 {
        if self.all.has_own_start(contender) {
            return self.all.fresh[contender as usize].start;
        }
        self.group_of(self.all.split(contender).0).start(&self.all, contender)
    }

    /// Slots left when the medium was last busy.
    fn slots_left(&self, contender: u32) -> u32 {
        let fresh = &self.all.fresh[contender as usize];
        if fresh.is_listed {
            return fresh.slots;
        }
        self.group_of(self.all.split(contender).0).left(&self.all, contender)
    }

    /// Begins a backoff anew, from a start of its own or from its radio's.
    fn restart(&mut self, contender: u32, own: Option<u64>, slots: u32) {
        let fresh = &mut self.all.fresh[contender as usize];
        let is_listed = fresh.is_listed;
        *fresh = Fresh { start: own.unwrap_or(BUSY), slots, is_listed: true };
        if !is_listed {
            let group = self.all.group[self.all.split(contender).0 as usize];
            self.groups[group as usize].add_fresh(contender);
        }
        self.set(contender, slots);
    }

    fn set(&mut self, contender: u32, slots: u32) {
        let group = self.all.group[self.all.split(contender).0 as usize];
        self.groups[group as usize].set(&self.all, contender, slots);
    }

    /// Returns the time at which this contender's backoff ends, if all stays idle.
    pub(super) fn access_of(&self, contender: u32) -> Option<Instant> {
        let group = self.group_of(self.all.split(contender).0);
        let contends = self.all.wants[contender as usize] && group.sensed == 0;
        contends.then(|| Instant::from_nanos(group.access(&self.all, contender)))
    }

    /// Time at which the next backoff ends, if all stays idle.
    pub(super) fn next_access(&mut self) -> Option<Instant> {
        let Self { all, groups, .. } = self;
        let first = match &mut groups[..] {
            [group] => Some(group.next_access(all)),
            groups => groups.iter_mut().map(|group| group.next_access(all)).min(),
        };
        first.filter(|time| *time != BUSY).map(Instant::from_nanos)
    }

    /// The contenders whose backoff ends at `now`, in index order, appended to `winners`. Those
    /// of one radio collide inside it, which the caller resolves.
    pub(super) fn winners(&mut self, now: Instant, winners: &mut Vec<u32>) {
        let Self { all, groups, .. } = self;
        let first = winners.len();
        for group in groups.iter_mut().filter(|group| group.sensed == 0) {
            group.winners(all, now.as_nanos(), winners);
        }
        debug_assert!(winners[first..].iter().all(|&winner| all.wants[winner as usize]));
        // Groups yield their winners one after the other. How radios are grouped is a matter of
        // cost alone and must not change the order of events.
        winners[first..].sort_unstable();
    }
}

fn each_alone(radios: usize) -> Vec<Vec<u32>> {
    (0..radios as u32).map(|radio| vec![radio]).collect()
}

/// Groups radios by the transmitters that they sense, each counted among those that sense it.
fn group_by_ear(hearers: &[Box<[u32]>]) -> Vec<Vec<u32>> {
    let words = hearers.len().div_ceil(64);
    let mut ears = vec![0_u64; hearers.len() * words];
    for (from, sensed_by) in hearers.iter().enumerate() {
        for radio in sensed_by.iter().map(|radio| *radio as usize).chain([from]) {
            ears[radio * words + from / 64] |= 1 << (from % 64);
        }
    }
    let ears = |radio: u32| &ears[radio as usize * words..][..words];
    let mut radios: Vec<u32> = (0..hearers.len() as u32).collect();
    radios.sort_by(|a, b| ears(*a).cmp(ears(*b)));
    let mut groups: Vec<Vec<u32>> =
        radios.chunk_by(|a, b| ears(*a) == ears(*b)).map(<[u32]>::to_vec).collect();
    groups.sort_unstable();
    groups
}
