//! The cluster and SHAKE together: leases come and go while one connection sends over its own
//! uplink and over those that are lent to it.

use crate::common;

use crate::common::{Net, at, kbps, lend, ms, secs, uplink, want};
use bytes::Bytes;
use fairwave_cluster::{Event, Input, LeaseId, Limits, Uplink, Way};
use fairwave_machine::Machine;
use fairwave_machine::line::{End, Line, Wire};
use fairwave_shake::{self as shake, Connection, Profile, Segment, envelope};
use fairwave_units::{BitRate, Duration, Instant, Seed};
use fairwave_wire::seal::Key;
use fairwave_wire::shake::{Side, connection_key};
use std::collections::BTreeMap;

const ID: u64 = 0x5eed;
/// IPv4 and UDP.
const HEADERS: u64 = 28;
/// The borrower's own uplink; borrowed ones begin at 1.
const OWN: u8 = 0;

/// A path: its line, and the lease that packets go over; none for the host's own uplink.
struct Road {
    line: Line<(u8, Bytes)>,
    lease: Option<(usize, LeaseId)>,
}

/// Member 0 borrows and sends to a server; the others lend.
struct World {
    cluster: Net,
    reported: usize,
    ends: [Connection<Bytes>; 2],
    got: Vec<u8>,
    to_write: Bytes,
    finished: bool,
    key: Key,
    /// By path id, as now.
    ways: BTreeMap<u8, Road>,
    /// Bytes that went over each path of which lender, and packets that were not let over.
    carried: BTreeMap<usize, u64>,
    kept_out: u64,
    lines: u64,
    now: Instant,
}

fn wire(mbps: u64) -> Wire {
    let (delay, rate) = (ms(15), Some(BitRate::mbps(mbps)));
    Wire { delay, rate, queue: Some(60), ..Wire::default() }
}

fn data(len: usize) -> Bytes {
    let byte = |n: usize| (n as u8).wrapping_mul(31) ^ (n >> 8) as u8;
    (0..len).map(byte).collect::<Vec<u8>>().into()
}

impl World {
    fn new(lenders: usize, len: usize) -> Self {
        let config = Profile::Modern.config();
        let end =
            |side, seed| Connection::new(config, Profile::Modern.rules(), side, ID, Seed(seed));
        let mut world = Self {
            cluster: Net::calm(1 + lenders),
            reported: 0,
            ends: [end(Side::Opener, 1), end(Side::Acceptor, 2)],
            got: Vec::new(),
            to_write: data(len),
            finished: false,
            key: connection_key(&Key::new(b"a secret of the two ends").unwrap(), ID),
            ways: BTreeMap::new(),
            carried: BTreeMap::new(),
            kept_out: 0,
            lines: 0,
            now: at(0),
        };
        world.open(OWN, wire(4), None);
        world.ends[0].handle(at(0), shake::Input::Join { path: OWN, nominal: None });
        world
    }

    fn open(&mut self, path: u8, wire: Wire, lease: Option<(usize, LeaseId)>) {
        self.lines += 1;
        let line = Line::symmetric(Seed(self.lines), wire);
        self.ways.insert(path, Road { line, lease });
    }

    /// One to one: what the cluster tells is what SHAKE is told.
    fn receive_cluster(&mut self) {
        while let Some((_, event)) = self.cluster.events[0].get(self.reported).copied() {
            self.reported += 1;
            match event {
                Event::Join { path, nominal, over } => {
                    let lender = (1..self.cluster.members.len())
                        .find(|index| common::id(*index) == over.lender);
                    let lease = LeaseId { borrower: common::id(0), lease: over.lease };
                    let place = Some((lender.unwrap(), lease));
                    if self.ways.get(&path).is_none_or(|way| way.lease != place) {
                        self.open(path, wire(6), place);
                    }
                    self.ends[0].handle(self.now, shake::Input::Join { path, nominal });
                }
                Event::Leave { path, .. } => {
                    self.ends[0].handle(self.now, shake::Input::Leave { path });
                }
                _ => {}
            }
        }
    }

    /// What an end has to send goes over the lender, if it is let.
    fn send(&mut self, end: usize, segment: &Segment<Bytes>) {
        let path = segment.header.path;
        let mut bytes = Vec::new();
        envelope::seal(segment, &self.key, &mut bytes).unwrap();
        let size = bytes.len() as u64 + HEADERS;
        let Some(way) = self.ways.get_mut(&path) else { return };
        if let Some((lender, lease)) = way.lease {
            let direction = if end == 0 { Way::Up } else { Way::Down };
            let member = self.cluster.members[lender].as_mut();
            let carried = member.map(|member| member.carry(self.now, lease, direction, size));
            self.cluster.drain(lender);
            if carried != Some(Ok(())) {
                self.kept_out += 1;
                return;
            }
            *self.carried.entry(lender).or_default() += size;
        }
        let from = if end == 0 { End::A } else { End::B };
        way.line.send(self.now, from, (path, Bytes::from(bytes)), size);
    }

    fn drain(&mut self) {
        self.receive_cluster();
        let space = self.ends[0].send_space() as usize;
        let part = self.to_write.split_to(space.min(self.to_write.len()));
        if !part.is_empty() {
            self.ends[0].handle(self.now, shake::Input::Write(part));
        } else if self.to_write.is_empty() && !self.finished {
            self.finished = true;
            self.ends[0].handle(self.now, shake::Input::Finish);
            self.ends[1].handle(self.now, shake::Input::Finish);
        }
        for end in 0..2 {
            while let Some(segment) = self.ends[end].poll(self.now) {
                self.send(end, &segment);
            }
            while self.ends[end].event().is_some() {}
            while let Some(data) = self.ends[end].read(u32::MAX) {
                self.got.extend_from_slice(&data);
            }
            while let Some(segment) = self.ends[end].poll(self.now) {
                self.send(end, &segment);
            }
        }
    }

    fn next(&self) -> Option<Instant> {
        let arrivals = self.ways.values().filter_map(|way| way.line.next_arrival());
        let ends = self.ends.iter().filter_map(Machine::deadline);
        arrivals.chain(ends).chain(self.cluster.next()).min()
    }

    fn run_until(&mut self, end: Instant) {
        self.drain();
        while let Some(next) = self.next().filter(|next| *next <= end) {
            self.now = next;
            self.cluster.run_until(next);
            let mut arrived = Vec::new();
            for way in self.ways.values_mut() {
                while let Some(item) = way.line.arrive(next) {
                    arrived.push(item);
                }
            }
            for (to, (_, bytes)) in arrived {
                let segment = envelope::open(&bytes, &self.key).unwrap();
                self.ends[usize::from(to == End::B)].handle(next, shake::Input::Segment(segment));
            }
            for end in &mut self.ends {
                if end.deadline().is_some_and(|deadline| deadline <= next) {
                    end.wake(next);
                }
            }
            self.drain();
        }
        self.now = end;
        self.cluster.run_until(end);
        self.drain();
    }

    /// When the connection is over; it must be by `limit`.
    fn run_to_the_end(&mut self, limit: Instant) -> Duration {
        while !self.ends.iter().all(Connection::is_over) {
            assert!(self.now < limit, "not over by {limit}: {:?}", self.ends[0].stats());
            self.run_until(self.now + ms(100));
        }
        self.now.since(at(0))
    }
}

/// Lends 3 Mbps up of 6.
fn phone() -> Uplink {
    let nominal = kbps(6_000, 6_000);
    let lent = kbps(3_000, 3_000);
    let limits = Limits { borrower_rates: lent, ..Limits::half_of(nominal) };
    Uplink { limits, ..uplink(1, nominal) }
}

fn borrow(world: &mut World) {
    let mut wanted = want(2, kbps(3_000, 3_000));
    wanted.duration = secs(4);
    world.cluster.notify(0, Input::Want(Some(wanted)));
}

#[test]
fn lent_uplinks_make_a_transfer_faster() {
    let alone = World::new(0, 6_000_000).run_to_the_end(at(60_000));
    let mut world = World::new(2, 6_000_000);
    for lender in 1..3 {
        world.cluster.notify(lender, lend(&[phone()]));
    }
    borrow(&mut world);
    let together = world.run_to_the_end(at(60_000));
    assert!(world.got == data(6_000_000), "byte for byte");
    // 48 Mbit over 4 Mbps, and over 4 and twice 3.
    assert!(alone >= secs(12) && alone < secs(14), "alone {alone}");
    assert!(together < secs(8), "together {together}");
    for lender in 1..3 {
        assert!(world.carried[&lender] > 1_200_000, "{:?}", world.carried);
        let booked = world.cluster.member(lender).carried_today(1);
        assert_eq!(booked, world.carried[&lender], "all that went is accounted for");
    }
}

/// One lender withdraws its uplink and lends it again; the other dies without a word and comes back
/// as another start. What was written arrives, whatever happens.
#[test]
fn leases_come_and_go_in_mid_transfer() {
    let mut world = World::new(2, 20_000_000);
    for lender in 1..3 {
        world.cluster.notify(lender, lend(&[phone()]));
    }
    borrow(&mut world);
    world.run_until(at(3_000));
    assert_eq!(world.cluster.paths(0), [1, 2]);
    world.cluster.notify(1, lend(&[]));
    world.run_until(at(5_500));
    let (withdrawn, other) = (world.carried[&1], world.carried[&2]);
    assert_eq!(world.cluster.paths(0).len(), 1);
    world.run_until(at(8_000));
    assert_eq!(world.carried[&1], withdrawn, "after its notice nothing goes over it");
    assert!(world.carried[&2] > other + 500_000, "the other goes on: {:?}", world.carried);
    world.cluster.members[2] = None;
    world.run_until(at(13_000));
    assert_eq!(world.cluster.paths(0), [], "silence costs a lease of four seconds");
    let alone = world.ends[1].received();
    world.run_until(at(15_000));
    let rate = (world.ends[1].received() - alone) * 8 / 2;
    assert!(rate > 3_000_000, "its own uplink goes on: {rate} bit/s");
    let died = world.carried[&2];
    world.cluster.restart(2, 2);
    for lender in 1..3 {
        world.cluster.notify(lender, lend(&[phone()]));
    }
    world.run_until(at(17_000));
    assert_eq!(world.cluster.paths(0).len(), 2);
    world.run_to_the_end(at(60_000));
    assert!(world.got == data(20_000_000), "byte for byte");
    assert!(world.carried[&1] > withdrawn + 1_000_000, "{:?}", world.carried);
    assert!(world.carried[&2] > died + 1_000_000, "{:?}", world.carried);
    world.cluster.notify(0, Input::Want(None));
    world.cluster.run_for(ms(50));
    for lender in 1..3 {
        assert_eq!(world.cluster.member(lender).census().lent, 0);
    }
}
