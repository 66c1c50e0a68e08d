//! Members on a local link that loses, delays, reorders, duplicates and damages what they say.

use fairwave_cluster::{
    Config, Event, Input, LeaseId, Limits, Member, Output, To, Uplink, Uplinks, Want,
};
use fairwave_machine::Machine;
use fairwave_units::{BitRate, Duration, Instant, Seed, Stream};
use fairwave_wire::cluster::{Body, Cost, Kind, MemberId, Name, Rates, parse};
use fairwave_wire::seal::Key;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU64;

pub(crate) fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

pub(crate) fn kbps(up: u64, down: u64) -> Rates {
    Rates { up: BitRate(up * 1_000), down: BitRate(down * 1_000) }
}

pub(crate) fn id(index: usize) -> MemberId {
    MemberId(NonZeroU64::new(0x100 + index as u64).unwrap())
}

/// Where a member is.
pub(crate) fn address(index: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, index as u8 + 1], 4_500))
}

/// Where nobody of the cluster is.
pub(crate) fn elsewhere(host: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, host], 4_500))
}

pub(crate) fn cluster_key() -> Key {
    Key::new(b"the secret of this cluster").unwrap()
}

pub(crate) fn config(index: usize, start: u32) -> Config {
    Config::new(id(index), Name::new(&format!("host {index}")).unwrap(), start)
}

pub(crate) fn member(config: Config, now: Instant) -> Member {
    let secret = cluster_key().derive(
        "of one start, for a test",
        &[&config.id.0.get().to_be_bytes(), &config.start.to_be_bytes()],
    );
    Member::new(config, cluster_key(), secret, now).unwrap()
}

pub(crate) fn uplink(number: u8, nominal: Rates) -> Uplink {
    Uplink {
        number,
        kind: Kind::Cellular,
        cost: Cost::Flat,
        nominal,
        rtt_us: None,
        limits: Limits::half_of(nominal),
        carried_today: 0,
    }
}

pub(crate) fn lend(uplinks: &[Uplink]) -> Input {
    Input::Lend(Uplinks::new(uplinks.to_vec()).unwrap())
}

pub(crate) fn want(uplinks: u8, rates: Rates) -> Want {
    Want { uplinks, rates, bytes: 1_000_000_000, duration: secs(20), metered: false }
}

/// What the link does to what is said, to each copy for itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weather {
    pub(crate) loss: f64,
    pub(crate) duplicate: f64,
    pub(crate) corrupt: f64,
    pub(crate) delay: Duration,
    pub(crate) jitter: Duration,
}

/// A datagram that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) to: To,
    pub(crate) bytes: Vec<u8>,
}

impl Sent {
    pub(crate) fn body(&self) -> Body {
        parse(&self.bytes).unwrap().unchecked().body
    }
}

pub(crate) struct Net {
    /// Members that are there; those that crashed are not.
    pub(crate) members: Vec<Option<Member>>,
    pub(crate) events: Vec<Vec<(Instant, Event)>>,
    pub(crate) sent: Vec<Sent>,
    pub(crate) now: Instant,
    weather: Weather,
    random: Stream,
    flying: BTreeMap<(Instant, u64), (usize, SocketAddr, Vec<u8>)>,
    launched: u64,
}

impl Net {
    pub(crate) fn new(members: usize, weather: Weather, seed: Seed) -> Self {
        let start = at(0);
        Self {
            members: (0..members).map(|index| Some(member(config(index, 1), start))).collect(),
            events: vec![Vec::new(); members],
            sent: Vec::new(),
            now: start,
            weather,
            random: seed.stream("cluster link"),
            flying: BTreeMap::new(),
            launched: 0,
        }
    }

    pub(crate) fn calm(members: usize) -> Self {
        Self::new(members, Weather { delay: ms(2), ..Weather::default() }, Seed(1))
    }

    pub(crate) fn set_weather(&mut self, weather: Weather) {
        self.weather = weather;
    }

    pub(crate) fn member(&self, index: usize) -> &Member {
        self.members[index].as_ref().expect("it is there")
    }

    pub(crate) fn notify(&mut self, index: usize, input: Input) {
        if let Some(member) = &mut self.members[index] {
            member.handle(self.now, input);
        }
        self.drain(index);
    }

    /// A datagram comes out of nowhere.
    pub(crate) fn inject(&mut self, to: usize, from: SocketAddr, bytes: &[u8]) {
        self.notify(to, Input::Datagram { from, bytes: bytes.to_vec() });
    }

    /// It stops without a word, and begins again as another start.
    pub(crate) fn restart(&mut self, index: usize, start: u32) {
        self.members[index] = Some(member(config(index, start), self.now));
    }

    pub(crate) fn drain(&mut self, index: usize) {
        let Some(member) = &mut self.members[index] else { return };
        let mut out = Vec::new();
        while let Some(output) = member.poll(self.now) {
            out.push(output);
            assert!(out.len() < 1_000, "a drain does not end");
        }
        while let Some(event) = member.event() {
            self.events[index].push((self.now, event));
        }
        let deadline = member.deadline();
        assert!(deadline.is_none_or(|at| at >= self.now), "{deadline:?} lies before {}", self.now);
        for Output { to, bytes } in out {
            self.launch(index, to, &bytes);
            self.sent.push(Sent { at: self.now, to, bytes });
        }
    }

    fn launch(&mut self, from: usize, to: To, bytes: &[u8]) {
        for index in 0..self.members.len() {
            if index == from || !(to == To::All || to == To::One(address(index))) {
                continue;
            }
            if self.random.chance(self.weather.loss) {
                continue;
            }
            let copies = 1 + u8::from(self.random.chance(self.weather.duplicate));
            for _ in 0..copies {
                let mut bytes = bytes.to_vec();
                if self.random.chance(self.weather.corrupt) {
                    let bit = self.random.below(bytes.len() as u64 * 8) as usize;
                    bytes[bit / 8] ^= 1 << (bit % 8);
                }
                let jitter = self.random.below(self.weather.jitter.as_nanos().max(1));
                let arrives = self.now + self.weather.delay + Duration::from_nanos(jitter);
                self.flying.insert((arrives, self.launched), (index, address(from), bytes));
                self.launched += 1;
            }
        }
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        let arrival = self.flying.first_key_value().map(|((at, _), _)| *at);
        self.members.iter().flatten().filter_map(Machine::deadline).chain(arrival).min()
    }

    /// One instant; false if nothing happens until `end`.
    pub(crate) fn step(&mut self, end: Instant) -> bool {
        let Some(next) = self.next().filter(|next| *next <= end) else {
            self.now = self.now.max(end);
            return false;
        };
        self.now = next;
        while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= next) {
            let (to, from, bytes) = entry.remove();
            self.notify(to, Input::Datagram { from, bytes });
        }
        for index in 0..self.members.len() {
            if let Some(member) = &mut self.members[index]
                && member.deadline().is_some_and(|deadline| deadline <= next)
            {
                member.wake(next);
                self.drain(index);
            }
        }
        true
    }

    pub(crate) fn run_until(&mut self, end: Instant) {
        while self.step(end) {}
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    /// What a member told of its borrowed paths: those that are there, by path.
    pub(crate) fn paths(&self, index: usize) -> Vec<u8> {
        let mut paths = Vec::new();
        for (_, event) in &self.events[index] {
            match event {
                Event::Join { path, .. } if !paths.contains(path) => paths.push(*path),
                Event::Leave { path, .. } => paths.retain(|known| known != path),
                _ => {}
            }
        }
        paths
    }

    /// The only lease that a member has given.
    pub(crate) fn only_lease(&self, lender: usize) -> LeaseId {
        let leases: Vec<_> = self.member(lender).lent().collect();
        assert_eq!(leases.len(), 1, "{leases:?}");
        leases[0].lease
    }
}
