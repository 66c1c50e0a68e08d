//! Random worlds in which the groups are compared with the plain way, step by step.

use super::reference::Plain;
use super::*;
use fairwave_units::{Seed, Stream};
use proptest::prelude::*;

const SLOT: Duration = Duration::from_micros(9);

/// Both ways side by side, and what is on the air. The radios act as a MAC would, or worse.
struct World {
    groups: Contention,
    plain: Plain,
    hearers: Vec<Box<[u32]>>,
    /// Radios by place.
    order: Vec<u32>,
    categories: u32,
    varies: bool,
    random: Stream,
    now: Instant,
    /// Transmitter and end.
    on_air: Vec<(u32, Instant)>,
    /// RTS that nothing may follow, and when they are given up.
    resets: Vec<(u64, Instant)>,
    wants: Vec<bool>,
    sent: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Seed(seed).stream("world");
        // Seldom so many that their backoffs fill several blocks.
        let max = if random.below(8) == 0 { 40 } else { 12 };
        let radios = 1 + random.below(max) as u32;
        let categories = [1, 1, 2, 4][random.below(4) as usize];
        // All hear all, or each hears some.
        let deafness = [0, 0, 1, 5][random.below(4) as usize];
        let mut hears = |from: u32| -> Box<[u32]> {
            (0..radios).filter(|to| *to != from && random.below(10) >= deafness).collect()
        };
        let hearers: Vec<_> = (0..radios).map(&mut hears).collect();
        let access = |category: u64| {
            let aifs = Duration::from_micros(34) + SLOT * category;
            Access { aifs, eifs: aifs + Duration::from_micros(60) }
        };
        let access: Vec<_> = (0..u64::from(categories)).map(access).collect();
        let varies = random.below(4) == 0;
        let counting = [Counting::WholeSlots, Counting::Boundaries][random.below(2) as usize];
        let mut groups = Contention::new(SLOT, counting, &access, &hearers, varies);
        let mut order: Vec<u32> = (0..radios).collect();
        order.sort_by_cached_key(|_| random.next_u64());
        groups.arrange(&order);
        Self {
            groups,
            order,
            varies,
            plain: Plain::new(hearers.len(), SLOT, counting, &access),
            wants: vec![false; hearers.len() * access.len()],
            hearers,
            categories,
            random,
            now: Instant::ZERO,
            on_air: Vec::new(),
            resets: Vec::new(),
            sent: 0,
        }
    }

    fn pick(&mut self, below: u64) -> u64 {
        self.random.below(below)
    }

    fn later(&mut self, micros: u64) -> Instant {
        self.now + Duration::from_micros(1 + self.pick(micros))
    }

    fn begin(&mut self, from: u32, end: Instant) {
        self.sent += 1;
        self.on_air.push((from, end));
        if self.varies && self.pick(4) == 0 {
            let deafness = self.pick(10);
            let radios = self.hearers.len() as u32;
            let mut hears = |to: &u32| *to != from && self.random.below(10) >= deafness;
            self.hearers[from as usize] = (0..radios).filter(|to| hears(to)).collect();
            self.groups.set_reach(from, &self.hearers[from as usize]);
        }
        self.groups.begin(from, self.now);
        self.plain.begin_busy(&self.hearers[from as usize], self.now);
        self.plain.begin_busy(&[from], self.now);
    }

    fn sensed(&mut self) -> Sensed {
        match self.pick(8) {
            0 => Sensed::Energy,
            1 | 2 => Sensed::Errored,
            3 => Sensed::Addressed,
            kind => {
                let longest = if kind == 7 { 2000 } else { 60 };
                let until = (self.now + Duration::from_micros(self.pick(longest))).as_nanos();
                let rts = if kind == 7 { self.sent } else { 0 };
                Sensed::Decoded { until, rts }
            }
        }
    }

    fn end(&mut self, from: u32) {
        if self.groups.is_one_group() && self.pick(3) == 0 {
            return self.end_with(&[from]);
        }
        let maximum = self.sensed();
        let hearers = self.hearers[from as usize].clone();
        let oddness = [0, 1, 5][self.pick(3) as usize];
        let mut except = Vec::new();
        for &radio in &hearers {
            let sensed = if self.pick(10) < oddness { self.sensed() } else { maximum };
            if sensed != maximum {
                except.push((radio, sensed));
            }
            if let Sensed::Decoded { rts: 1.., .. } = sensed {
                let reset = self.later(100);
                self.resets.push((self.sent, reset));
            }
            self.plain.on_reception(radio, sensed);
            self.plain.end_busy(radio, self.now);
        }
        self.plain.end_busy(from, self.now);
        self.groups.end(from, maximum, except.into_iter(), self.now);
    }

    /// Frames of these radios end, and most others have received something of their own.
    fn end_with(&mut self, ends: &[u32]) {
        let radios = self.hearers.len();
        let until = (self.now + Duration::from_micros(self.pick(120))).as_nanos();
        let is_rts = ends.len() == 1 && self.pick(3) == 0;
        let rts = if is_rts { self.sent } else { 0 };
        if is_rts {
            let reset = self.later(100);
            self.resets.push((rts, reset));
        }
        let decoded = Sensed::Decoded { until, rts };
        let mut receptions = Receptions { decoded, ..Receptions::default() };
        receptions.clear(radios);
        let kinds = 1 + self.pick(3);
        for (place, radio) in self.order.iter().enumerate() {
            if ends.contains(radio) || self.random.below(3) == 0 {
                continue;
            }
            receptions.set(place, self.random.below(kinds) as u8);
            receptions.touched.insert(place / BLOCK);
            self.plain.on_reception(*radio, receptions.sensed(receptions.kinds[place]));
        }
        let mut kinds = vec![0; radios];
        for (place, radio) in self.order.iter().enumerate() {
            kinds[*radio as usize] = receptions.kinds[place];
        }
        self.groups.end_together(&mut receptions, self.now);
        for &from in ends {
            let radio = self.pick(radios as u64) as u32;
            let is_open = radio != from && kinds[radio as usize] == Receptions::ENERGY;
            let except = (is_open && self.pick(2) == 0).then(|| (radio, self.sensed()));
            if let Some((radio, sensed)) = except {
                self.plain.on_reception(radio, sensed);
            }
            for radio in self.hearers[from as usize].iter().chain([&from]) {
                self.plain.end_busy(*radio, self.now);
            }
            self.groups.end(from, Sensed::Energy, except.into_iter(), self.now);
            let contender = from * self.categories + self.pick(u64::from(self.categories)) as u32;
            self.act(contender);
        }
    }

    /// A contender of a radio that is not on the air draws, asks or tries again.
    fn act(&mut self, contender: u32) {
        let slots = self.pick(12) as u32;
        let radio = contender / self.categories;
        if self.on_air.iter().any(|(from, _)| *from == radio) {
            return;
        }
        match self.pick(4) {
            0 | 1 if !self.wants[contender as usize] => {
                let (mut drawn, mut plain) = (false, false);
                let came_amid = self.pick(5) == 0;
                self.groups.request(contender, came_amid, self.now, || {
                    drawn = true;
                    slots
                });
                self.plain.request(contender, came_amid, self.now, || {
                    plain = true;
                    slots
                });
                assert_eq!(drawn, plain, "who draws");
                self.wants[contender as usize] = true;
            }
            2 if !self.wants[contender as usize] => {
                self.back_off(contender, slots);
                if self.pick(2) == 0 {
                    self.contend(contender);
                }
            }
            _ => {}
        }
    }

    fn back_off(&mut self, contender: u32, slots: u32) {
        self.groups.back_off(contender, slots, self.now);
        self.plain.back_off(contender, slots, self.now);
    }

    fn contend(&mut self, contender: u32) {
        self.wants[contender as usize] = true;
        self.groups.contend(contender);
        self.plain.contend(contender);
    }

    /// Those whose backoff has ended send, the first category of each radio; the others draw.
    fn win(&mut self) -> Vec<u32> {
        let (mut winners, mut plain) = (Vec::new(), Vec::new());
        self.groups.winners(self.now, &mut winners);
        self.plain.winners(self.now, &mut plain);
        assert_eq!(winners, plain, "winners");
        let mut radios: Vec<u32> = Vec::new();
        for contender in winners {
            let radio = contender / self.categories;
            if radios.last() == Some(&radio) {
                let slots = self.pick(12) as u32;
                self.back_off(contender, slots);
                self.contend(contender);
            } else {
                radios.push(radio);
                self.wants[contender as usize] = false;
                self.groups.withdraw(contender);
                self.plain.withdraw(contender);
            }
        }
        radios
    }

    fn step(&mut self) {
        let events = self.on_air.iter().map(|e| e.1).chain(self.resets.iter().map(|e| e.1));
        let idle = self.now + Duration::from_micros(1 + self.random.below(40));
        let access = self.groups.next_access().map(|access| access.max(self.now));
        let due = events.chain(access).chain([idle]).min();
        self.now = due.expect("a step can always be idle");
        let now = self.now;
        let is_collision =
            !self.on_air.is_empty() && self.on_air.iter().all(|(_, end)| *end <= now);
        if is_collision && self.groups.is_one_group() && self.pick(4) > 0 {
            let ends: Vec<u32> = self.on_air.drain(..).map(|(from, _)| from).collect();
            self.end_with(&ends);
        }
        while let Some(index) = self.on_air.iter().position(|(_, end)| *end <= now) {
            let (from, _) = self.on_air.remove(index);
            self.end(from);
            let contender = from * self.categories + self.pick(u64::from(self.categories)) as u32;
            self.act(contender);
        }
        while let Some(index) = self.resets.iter().position(|(_, at)| *at <= now) {
            let (rts, _) = self.resets.remove(index);
            self.groups.reset_nav(rts, now);
            self.plain.reset_nav(rts, now);
        }
        for _ in 0..self.pick(3) {
            let contender = self.pick(self.wants.len() as u64) as u32;
            self.act(contender);
        }
        let mut starting = self.win();
        let radio = self.pick(self.hearers.len() as u64) as u32;
        let is_on = self.on_air.iter().any(|(from, _)| *from == radio);
        if self.pick(6) == 0 && !is_on && !starting.contains(&radio) {
            starting.insert(0, radio);
        }
        let together = self.later(200);
        let ends_together = self.pick(2) == 0;
        for radio in starting {
            let end = if ends_together { together } else { self.later(200) };
            self.begin(radio, end);
        }
    }

    fn assert_same(&mut self) {
        assert_eq!(self.groups.next_access(), self.plain.next_access(), "at {}", self.now);
        for contender in 0..self.wants.len() as u32 {
            let (groups, plain) =
                (self.groups.access_of(contender), self.plain.access_of(contender));
            assert_eq!(groups, plain, "access of {contender} at {}", self.now);
        }
        for radio in 0..self.hearers.len() as u32 {
            assert_eq!(self.groups.is_quiet(radio), self.plain.is_quiet(radio), "{radio}");
            let (groups, plain) =
                (self.groups.nav_is_idle(radio, self.now), self.plain.nav_is_idle(radio, self.now));
            assert_eq!(groups, plain, "NAV of {radio} at {}", self.now);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn groups_are_what_the_plain_way_is(seed: u64) {
        let mut world = World::new(seed);
        for _ in 0..400 {
            world.step();
            world.assert_same();
        }
    }
}
