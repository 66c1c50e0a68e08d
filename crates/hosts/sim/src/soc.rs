//! Strength of Connection: stations read their cards and report, access points believe and weigh.
//!
//! Reports travel as frames do: alone through the station's queue, or in front of the next data
//! frame that the station's radio takes. They hold the bytes of [`fairwave_wire::soc`], sealed
//! or in the paper's format, which the access point's table checks as it would on the air.
//!
//! Nothing here knows the network: cards are read for it, and weights are handed back.

use crate::actors::{Actor, Actors, Ids};
use crate::deadlines::Deadlines;
use crate::error::Error;
use crate::packet::{Packet, address};
use crate::world::{self, Role, World};
use fairwave_dot11::AccessCategory;
use fairwave_machine::Machine;
use fairwave_queue::Weight;
use fairwave_soc::{
    Format, Made, Observation, ReceivedFrame, Reporter, ReporterConfig, ReporterInput, Sent,
    Station, Table, TableInput,
};
use fairwave_trace::{NodeId, SocSample};
use fairwave_units::{Db, Duration, Instant};
use fairwave_wire::datagram::{Datagram, Transport};
use fairwave_wire::ethernet::{EtherType, Mac};
use fairwave_wire::seal::Key;
use fairwave_wire::soc::Written;
use std::collections::VecDeque;

/// Reports of a station that may be under way at once; older ones would be stale.
const UNDER_WAY: usize = 256;

/// All stations that report, and the access points that listen.
#[derive(Debug)]
pub(crate) struct Soc {
    reporters: Vec<Reporting>,
    tables: Vec<Listening>,
    /// Each node's place among the reporters, and among the tables.
    places: Vec<(Option<usize>, Option<usize>)>,
    reporter_ids: Ids,
    table_ids: Ids,
}

/// A card that is to be read: that of a station, on its access point's signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Card {
    /// Place of the station among the reporters.
    reporter: usize,
    pub(crate) station: NodeId,
    pub(crate) ap: NodeId,
}

/// An access point's estimate of a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Weighing {
    pub(crate) ap: NodeId,
    pub(crate) station: NodeId,
    /// For which of its queues; `None` for all.
    pub(crate) class: Option<usize>,
    pub(crate) weight: Weight,
}

/// A station that reports.
#[derive(Debug)]
struct Reporting {
    node: NodeId,
    ap: NodeId,
    /// Its access point's place among the tables.
    table: usize,
    reporter: Reporter,
    /// Time of its next reading, and the access point's time on the air at the last reading.
    read_at: Instant,
    on_air: Duration,
    /// Reports under way, and the number of the newest.
    sent: VecDeque<Written>,
    newest: u32,
    seen: SocSample,
}

/// An access point that listens.
#[derive(Debug)]
struct Listening {
    ap: NodeId,
    table: Table,
    /// Whether it has a curve for each access category.
    by_class: bool,
    read_every: Duration,
}

impl Soc {
    /// The stations of a world that [`check`] has passed; `None` without any.
    pub(crate) fn new(world: &World, actors: &mut Actors) -> Option<Self> {
        if world.soc.is_empty() {
            return None;
        }
        let none = actors.enlist(0, Actor::Reporter);
        let mut all = Self {
            reporters: Vec::new(),
            tables: Vec::new(),
            places: vec![(None, None); world.nodes.len()],
            reporter_ids: none,
            table_ids: none,
        };
        for spec in &world.soc {
            all.listen(world, spec);
        }
        all.reporter_ids = actors.enlist(all.reporters.len(), Actor::Reporter);
        all.table_ids = actors.enlist(all.tables.len(), Actor::SocTable);
        Some(all)
    }

    pub(crate) fn reporters(&self) -> usize {
        self.reporters.len()
    }

    pub(crate) fn tables(&self) -> usize {
        self.tables.len()
    }

    /// Adds an access point and its stations, which begin at times of their own.
    fn listen(&mut self, world: &World, spec: &world::Soc) {
        let mut table = Table::new(spec.table.clone());
        self.places[spec.ap.0 as usize].1 = Some(self.tables.len());
        for node in stations(world, spec.ap) {
            let name = &world.nodes[node.0 as usize].name;
            let mut phase = world.seed.stream(&format!("soc/{name}"));
            let start = Instant::from_nanos(phase.below(spec.interval.as_nanos()));
            let station = Station {
                link: mac(node),
                key: (!spec.table.compat).then(|| key(node)),
                ipv4: Some(address(node)),
                ipv6: None,
            };
            table.handle(Instant::ZERO, TableInput::Register(station));
            self.places[node.0 as usize].0 = Some(self.reporters.len());
            self.reporters.push(Reporting {
                node,
                ap: spec.ap,
                table: self.tables.len(),
                reporter: Reporter::new(config(spec, node), format(spec, node), start)
                    .expect("`check` has passed it"),
                read_at: start,
                on_air: Duration::ZERO,
                sent: VecDeque::new(),
                newest: 0,
                seen: SocSample::default(),
            });
        }
        let by_class = spec.table.policies.curves.len() > 1;
        self.tables.push(Listening { ap: spec.ap, table, by_class, read_every: spec.read_every });
    }

    fn of(&self, node: NodeId) -> Option<usize> {
        self.places.get(node.0 as usize)?.0
    }

    // Stations.

    /// The card of a station, if it is time to read it.
    pub(crate) fn card(&mut self, reporter: usize, now: Instant) -> Option<Card> {
        let station = &mut self.reporters[reporter];
        if station.read_at > now {
            return None;
        }
        station.read_at = now + self.tables[station.table].read_every;
        Some(Card { reporter, station: station.node, ap: station.ap })
    }

    /// Whether a card shows anything new, when its access point has been on the air for so long.
    pub(crate) fn is_new(&mut self, card: Card, on_air: Duration) -> bool {
        let before = &mut self.reporters[card.reporter].on_air;
        std::mem::replace(before, on_air) != on_air
    }

    /// A card was read.
    pub(crate) fn read(&mut self, card: Card, snr: Option<Db>, now: Instant) {
        let station = &mut self.reporters[card.reporter];
        station.seen.read = snr;
        if let Some(snr) = snr {
            station.reporter.handle(now, ReporterInput::Snr(snr));
        }
    }

    /// A station ends an interval, or has waited for data for long enough.
    pub(crate) fn wake_reporter(&mut self, i: usize, now: Instant) {
        let station = &mut self.reporters[i];
        station.reporter.wake(now);
        station.note_made();
    }

    /// The next report that a station sends in a frame of its own.
    pub(crate) fn poll_reporter(&mut self, i: usize, now: Instant) -> Option<Packet> {
        let (number, sent) = self.reporters[i].poll(now)?;
        Some(self.reporters[i].packet(number, &sent, now))
    }

    /// Sets the deadline of a station.
    pub(crate) fn arm_reporter(&self, i: usize, deadlines: &mut Deadlines) {
        deadlines.set(self.reporter_ids.of(i), self.reporters[i].deadline());
    }

    /// A packet is about to leave a node: a report that waits there rides in front of it.
    pub(crate) fn ride(
        &mut self,
        node: NodeId,
        packet: &mut Packet,
        now: Instant,
        deadlines: &mut Deadlines,
    ) {
        let Some(i) = self.of(node).filter(|_| packet.report == 0) else { return };
        let station = &mut self.reporters[i];
        station.reporter.handle(now, ReporterInput::DataLeaves(EtherType::IPV4));
        if let Some((number, sent)) = station.poll(now) {
            (packet.report, packet.report_len) = (number, sent.bytes().len() as u8);
            self.arm_reporter(i, deadlines);
        }
    }

    /// The report that a packet carries, for a capture.
    pub(crate) fn report_of(&self, packet: &Packet) -> Option<Written> {
        if packet.report == 0 {
            return None;
        }
        self.reporters[self.of(packet.source)?].bytes(packet.report).copied()
    }

    /// Reports of stations and their estimates; `mean_snr` is that of a station's channel from its
    /// access point, where there is one.
    pub(crate) fn samples(
        &self,
        mean_snr: impl Fn(NodeId, NodeId) -> Option<Db>,
    ) -> impl Iterator<Item = (NodeId, SocSample)> {
        self.reporters.iter().filter_map(move |station| {
            let table = &self.tables[station.table].table;
            let sample = SocSample {
                channel: mean_snr(station.ap, station.node)?,
                soc: table.soc(mac(station.node)),
                weight: table.weight(mac(station.node), fairwave_soc::Class(0)).fraction(),
                ..station.seen
            };
            Some((station.node, sample))
        })
    }

    // Access points.

    /// A report has come from a station: passes it to the table there, whose place this is.
    pub(crate) fn receive(
        &mut self,
        at: NodeId,
        from: NodeId,
        number: u32,
        now: Instant,
    ) -> Option<usize> {
        let bytes = self.of(from).and_then(|i| self.reporters[i].bytes(number))?;
        let table = self.places[at.0 as usize].1?;
        let accepted = ReceivedFrame::new(mac(from), bytes);
        self.tables[table].table.handle(now, TableInput::Report(accepted));
        Some(table)
    }

    /// Reports were missed, or stations were silent for too long.
    pub(crate) fn wake_table(&mut self, i: usize, now: Instant) {
        self.tables[i].table.wake(now);
    }

    /// Counts a table's observations; then it is polled.
    pub(crate) fn note_seen(&mut self, i: usize) {
        while let Some(event) = self.tables[i].table.event() {
            self.note(event);
        }
    }

    /// Returns a table's next output.
    pub(crate) fn poll_table(&mut self, i: usize, now: Instant) -> Option<Weighing> {
        let Listening { ap, table, by_class, .. } = &mut self.tables[i];
        let change = table.poll(now)?;
        Some(Weighing {
            ap: *ap,
            station: node_of(change.station),
            class: by_class.then_some(usize::from(change.class.0)),
            weight: Weight(change.weight.0),
        })
    }

    /// Sets the deadline of a table.
    pub(crate) fn arm_table(&self, i: usize, deadlines: &mut Deadlines) {
        deadlines.set(self.table_ids.of(i), self.tables[i].table.deadline());
    }

    /// Counts a table's observation of a station.
    fn note(&mut self, event: Observation) {
        let (from, add): (Mac, fn(&mut SocSample)) = match event {
            Observation::Reported { station, .. } => (station, |seen| seen.accepted += 1),
            Observation::Missed { station, .. } => (station, |seen| seen.missed += 1),
            Observation::Refused { from, .. } => (from, |seen| seen.refused += 1),
            Observation::AgedOut { .. }
            | Observation::Ended { .. }
            | Observation::Evicted { .. } => return,
        };
        if let Some(i) = self.of(node_of(from)) {
            add(&mut self.reporters[i].seen);
        }
    }
}

impl Reporting {
    fn deadline(&self) -> Option<Instant> {
        self.reporter.deadline().map(|at| at.min(self.read_at))
    }

    /// Takes the reporter's output; returns the number under which the bytes are kept.
    fn poll(&mut self, now: Instant) -> Option<(u32, Sent)> {
        let sent = self.reporter.poll(now)?;
        match sent {
            Sent::Alone(_) => self.seen.alone += 1,
            Sent::InFront(_) => self.seen.in_front += 1,
        }
        if self.sent.len() == UNDER_WAY {
            self.sent.pop_front();
        }
        self.sent.push_back(*sent.bytes());
        self.newest += 1;
        Some((self.newest, sent))
    }

    fn note_made(&mut self) {
        while let Some(Made { soc, .. }) = self.reporter.event() {
            self.seen.reported = soc.map(|soc| Db(soc.db()));
        }
    }

    /// The bytes of a report, unless it is too old.
    fn bytes(&self, number: u32) -> Option<&Written> {
        let back = self.newest.checked_sub(number)? as usize;
        self.sent.len().checked_sub(back + 1).map(|place| &self.sent[place])
    }

    /// A report in a frame of its own.
    fn packet(&self, number: u32, sent: &Sent, now: Instant) -> Packet {
        let transport = Transport::Udp { source_port: 0, destination_port: 0 };
        let (source, destination) = (address(self.node), address(self.ap));
        let datagram =
            Datagram { source, destination, id: 0, ttl: 1, tos: 0, transport, payload_len: 0 };
        Packet {
            flow: Packet::NO_FLOW,
            source: self.node,
            destination: self.ap,
            via: self.ap,
            number,
            sent: now,
            datagram,
            report: number,
            report_len: sent.bytes().len() as u8,
        }
    }
}

/// The stations of an access point, in node order.
pub(crate) fn stations(world: &World, ap: NodeId) -> impl Iterator<Item = NodeId> + '_ {
    let role = move |(_, node): &(usize, &world::Node)| {
        node.radio.as_ref().is_some_and(|radio| radio.role == Role::Station { ap })
    };
    world.nodes.iter().enumerate().filter(role).map(|(i, _)| NodeId(i as u32))
}

fn config(spec: &world::Soc, node: NodeId) -> ReporterConfig {
    ReporterConfig {
        interval: spec.interval,
        hold: spec.hold,
        filter: spec.filter,
        ..ReporterConfig::new(mac(node), address(node))
    }
}

/// The format in which the stations of an access point report.
fn format(spec: &world::Soc, node: NodeId) -> Format {
    if spec.table.compat { Format::Plain } else { Format::Sealed(key(node)) }
}

fn mac(node: NodeId) -> Mac {
    Mac::local(node.0)
}

/// The node of an address that [`Mac::local`] made.
fn node_of(mac: Mac) -> NodeId {
    let [_, _, a, b, c, d] = mac.0;
    NodeId(u32::from_be_bytes([a, b, c, d]))
}

/// A station's key. There is no forger in a simulation, so it need not be secret.
fn key(node: NodeId) -> Key {
    let shared = Key::new(b"fairwave simulator").expect("it is long enough");
    shared.derive("soc station", &[&mac(node).0])
}

/// Refuses stations that cannot report or have a weight.
pub(crate) fn check(world: &World) -> Result<(), Error> {
    let invalid = |spec: &world::Soc, why: &str| {
        let name = world.nodes.get(spec.ap.0 as usize).map_or("?", |node| &node.name);
        Err(Error::Invalid(format!("soc of {name}: {why}")))
    };
    for (i, spec) in world.soc.iter().enumerate() {
        let ap = world.nodes.get(spec.ap.0 as usize).and_then(|node| node.radio.as_ref());
        let Some(ap) = ap.filter(|radio| radio.role == Role::AccessPoint) else {
            return invalid(spec, "it is no access point");
        };
        if world.soc[..i].iter().any(|other| other.ap == spec.ap) {
            return invalid(spec, "it is there twice");
        }
        let roams = |node: NodeId| {
            world.nodes[node.0 as usize].radio.as_ref().is_some_and(|radio| radio.roaming.is_some())
        };
        if stations(world, spec.ap).any(roams) {
            return invalid(spec, "a station that roams cannot report");
        }
        let categories =
            if world.cells[ap.cell].edca.is_some() { AccessCategory::ALL.len() } else { 1 };
        let curves = spec.table.policies.curves.len();
        if curves != 1 && curves != categories {
            return invalid(spec, "one curve, or with EDCA one for each access category");
        }
        if spec.read_every.is_zero() {
            return invalid(spec, "a card cannot be read all the time");
        }
        if let Err(why) = Reporter::new(config(spec, spec.ap), format(spec, spec.ap), Instant::ZERO)
        {
            return invalid(spec, &why.to_string());
        }
    }
    Ok(())
}
