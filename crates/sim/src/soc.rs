//! Strength of Connection: stations read their cards and report, access points believe and weigh.
//!
//! Reports travel as frames do: alone through the station's queue, or in front of the next data
//! frame that the station's radio takes. What they hold is the sealed bytes of
//! [`fairwave_wire::soc`], which the access point's table checks as it would on the air.

use crate::Error;
use crate::packet::{Packet, address};
use crate::simulator::{Actor, Simulator};
use crate::world::{self, Role, World};
use fairwave_dot11::AccessCategory;
use fairwave_machine::Machine;
use fairwave_queue::Weight;
use fairwave_soc::{
    Heard, Made, Observation, Reporter, ReporterConfig, ReporterInput, Sent, Station, Table,
    TableInput,
};
use fairwave_trace::{NodeId, Sample, Sink, SocSample};
use fairwave_units::{Db, Duration, Instant};
use fairwave_wire::datagram::{Datagram, Transport};
use fairwave_wire::ethernet::{EtherType, Mac};
use fairwave_wire::seal::Key;
use fairwave_wire::soc;
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
}

/// A station that reports.
#[derive(Debug)]
struct Reporting {
    node: NodeId,
    ap: NodeId,
    /// Its access point's place among the tables.
    table: usize,
    reporter: Reporter,
    /// When it reads its card next, and what the access point had been on the air at the last
    /// reading.
    read_at: Instant,
    on_air: Duration,
    /// Reports under way, and the number of the newest.
    sent: VecDeque<[u8; soc::LEN]>,
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
    pub(crate) fn new(world: &World) -> Option<Self> {
        if world.soc.is_empty() {
            return None;
        }
        let mut all = Self {
            reporters: Vec::new(),
            tables: Vec::new(),
            places: vec![(None, None); world.nodes.len()],
        };
        for spec in &world.soc {
            all.listen(world, spec);
        }
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
                key: Some(key(node)),
                ipv4: Some(address(node)),
                ipv6: None,
            };
            table.handle(Instant::ZERO, TableInput::Register(station));
            self.places[node.0 as usize].0 = Some(self.reporters.len());
            self.reporters.push(Reporting {
                node,
                ap: spec.ap,
                table: self.tables.len(),
                reporter: Reporter::new(config(spec, node), key(node), start)
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
}

impl Soc {
    /// Counts what a table saw of a station.
    fn note(&mut self, event: Observation) {
        let (from, add): (Mac, fn(&mut SocSample)) = match event {
            Observation::Heard { station, .. } => (station, |seen| seen.heard += 1),
            Observation::Missed { station, .. } => (station, |seen| seen.missed += 1),
            Observation::Refused { from, .. } => (from, |seen| seen.refused += 1),
            Observation::AgedOut { .. } | Observation::Evicted { .. } => return,
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

    /// Takes what the reporter has to send; the number under which the bytes are kept.
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
    fn bytes(&self, number: u32) -> Option<&[u8; soc::LEN]> {
        let back = self.newest.checked_sub(number)? as usize;
        self.sent.len().checked_sub(back + 1).map(|place| &self.sent[place])
    }

    /// A report in a frame of its own.
    fn packet(&self, number: u32, now: Instant) -> Packet {
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

fn mac(node: NodeId) -> Mac {
    Mac::local(node.0)
}

/// The node of an address that [`Mac::local`] made.
fn node_of(mac: Mac) -> NodeId {
    let [_, _, a, b, c, d] = mac.0;
    NodeId(u32::from_be_bytes([a, b, c, d]))
}

/// A station's key. Nobody forges in a simulation, so it need not be secret.
fn key(node: NodeId) -> Key {
    let shared = Key::new(b"fairwave simulator").expect("it is long enough");
    shared.derive("soc station", &[&mac(node).0])
}

/// Refuses what cannot report or be weighed.
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
        if let Err(why) = Reporter::new(config(spec, spec.ap), key(spec.ap), Instant::ZERO) {
            return invalid(spec, &why.to_string());
        }
    }
    Ok(())
}

impl Simulator<'_> {
    /// Sets the first deadlines and weights, and those of link monitors.
    pub(crate) fn begin_soc(&mut self, sink: &mut dyn Sink) {
        for i in 0..self.monitors.len() {
            self.after_monitor(i);
        }
        let Some(soc) = self.soc.as_deref() else { return };
        let (reporters, tables) = (soc.reporters(), soc.tables());
        for i in 0..reporters {
            self.after_reporter(i);
        }
        for i in 0..tables {
            self.after_table(i, sink);
        }
    }

    /// A station reads its card, ends an interval or has waited for data for long enough.
    pub(crate) fn run_reporter(&mut self, i: usize, sink: &mut dyn Sink) {
        self.read_card(i);
        let now = self.now;
        let Some(station) = self.reporting(i) else { return };
        station.reporter.wake(now);
        station.note_made();
        let (node, ap) = (station.node, station.ap);
        while let Some((number, _)) = self.reporting(i).and_then(|station| station.poll(now)) {
            let Some(packet) = self.reporting(i).map(|station| station.packet(number, now)) else {
                break;
            };
            self.send_by_radio(node, ap, packet, sink);
        }
        self.after_reporter(i);
    }

    fn reporting(&mut self, i: usize) -> Option<&mut Reporting> {
        self.soc.as_deref_mut().and_then(|soc| soc.reporters.get_mut(i))
    }

    fn after_reporter(&mut self, i: usize) {
        let deadline = self.reporting(i).and_then(|station| station.deadline());
        self.set_deadline(Actor::Reporter(i), deadline);
    }

    /// Reads the card if it is time, and if the access point has been on the air since the last.
    fn read_card(&mut self, i: usize) {
        let now = self.now;
        let Some(soc) = self.soc.as_deref_mut() else { return };
        let station = &mut soc.reporters[i];
        if station.read_at > now {
            return;
        }
        station.read_at = now + soc.tables[station.table].read_every;
        let port = |node: NodeId| self.ports[node.0 as usize].as_ref();
        let (Some(own), Some(ap)) = (port(station.node), port(station.ap)) else { return };
        let channel = &mut self.cells[own.cell].channel;
        let stats = channel.stats(ap.radio);
        let on_air = stats.airtime + stats.control_airtime;
        if std::mem::replace(&mut station.on_air, on_air) == on_air {
            return;
        }
        station.seen.read = channel.reading(ap.radio, own.radio, now);
        if let Some(snr) = station.seen.read {
            station.reporter.handle(now, ReporterInput::Snr(snr));
        }
    }

    /// A packet is about to leave a node: a report that waits there rides in front of it.
    pub(crate) fn let_report_ride(&mut self, node: NodeId, packet: &mut Packet) {
        let now = self.now;
        let Some(i) = self.soc.as_deref().and_then(|soc| soc.of(node)) else { return };
        let Some(station) = self.reporting(i).filter(|_| packet.report == 0) else { return };
        station.reporter.handle(now, ReporterInput::DataLeaves(EtherType::IPV4));
        if let Some((number, _)) = station.poll(now) {
            packet.report = number;
            self.after_reporter(i);
        }
    }

    /// Takes the report out of a packet that has arrived at its access point, and tells the table;
    /// what remains, if anything.
    pub(crate) fn take_report(
        &mut self,
        at: NodeId,
        mut packet: Packet,
        sink: &mut dyn Sink,
    ) -> Option<Packet> {
        if packet.report == 0 {
            return Some(packet);
        }
        let number = std::mem::take(&mut packet.report);
        self.hear(at, packet.source, number, sink);
        (!packet.is_report()).then_some(packet)
    }

    fn hear(&mut self, at: NodeId, from: NodeId, number: u32, sink: &mut dyn Sink) {
        let now = self.now;
        let Some(soc) = self.soc.as_deref_mut() else { return };
        let station = soc.of(from).map(|i| &soc.reporters[i]);
        let bytes = station.and_then(|station| station.bytes(number));
        let table = soc.places[at.0 as usize].1;
        if let (Some(bytes), Some(table)) = (bytes, table) {
            let heard = Heard::new(mac(from), bytes);
            soc.tables[table].table.handle(now, TableInput::Report(heard));
            self.after_table(table, sink);
        }
    }

    /// Reports were missed, or stations were silent for too long.
    pub(crate) fn run_soc_table(&mut self, i: usize, sink: &mut dyn Sink) {
        let now = self.now;
        if let Some(soc) = self.soc.as_deref_mut() {
            soc.tables[i].table.wake(now);
        }
        self.after_table(i, sink);
    }

    /// Does what a table says: weights go to the access point's queue, which may have something
    /// to send by the new ones.
    fn after_table(&mut self, i: usize, sink: &mut dyn Sink) {
        let Some(soc) = self.soc.as_deref_mut() else { return };
        while let Some(event) = soc.tables[i].table.event() {
            soc.note(event);
        }
        let Listening { ap, table, by_class, .. } = &mut soc.tables[i];
        let (ap, by_class) = (*ap, *by_class);
        let mut changed = false;
        while let Some(change) = table.poll(self.now) {
            let Some(port) = self.ports[ap.0 as usize].as_mut() else { break };
            let class = by_class.then_some(usize::from(change.class.0));
            let weight = Weight(change.weight.0);
            port.queue.set_weight(node_of(change.station).0, class, weight, self.now);
            changed = true;
        }
        let deadline = table.deadline();
        self.set_deadline(Actor::SocTable(i), deadline);
        if changed {
            self.send_next(ap, sink);
            let cell = self.ports[ap.0 as usize].as_ref().map(|port| port.cell);
            cell.into_iter().for_each(|cell| self.after_cell(cell));
        }
    }

    /// The report that a packet carries, for a capture.
    pub(crate) fn report_of(&self, packet: &Packet) -> Option<[u8; soc::LEN]> {
        let soc = self.soc.as_deref().filter(|_| packet.report != 0)?;
        soc.reporters[soc.of(packet.source)?].bytes(packet.report).copied()
    }

    /// Records what stations report and what they are taken for.
    pub(crate) fn sample_soc(&self, sink: &mut dyn Sink) {
        for station in self.soc.iter().flat_map(|soc| &soc.reporters) {
            let Some(own) = self.ports[station.node.0 as usize].as_ref() else { continue };
            let Some(ap) = self.ports[station.ap.0 as usize].as_ref() else { continue };
            let table = &self.soc.as_deref().expect("it has stations").tables[station.table].table;
            let sample = SocSample {
                channel: self.cells[own.cell].channel.mean_snr(ap.radio, own.radio, self.now),
                soc: table.soc(mac(station.node)),
                weight: table.weight(mac(station.node), fairwave_soc::Class(0)).fraction(),
                ..station.seen
            };
            sink.record(self.now, &Sample::Soc(station.node, sample));
        }
    }
}
