//! Carriers of packets from node to node: the emulator with a world, or a bare forwarder.

use crate::limits_load::{LASTS, Load, Sent};
use fairwave_emulator::address;
use fairwave_emulator::drive::{self, Drive, End, Inbox, Options, Turn, Way};
use fairwave_emulator::log::{Keep, Reader, Record, Writer};
use fairwave_emulator::meter::Lateness;
use fairwave_linux::clock::Clock;
use fairwave_linux::{OwnProcessor, become_realtime};
use fairwave_netns::VNET_HEADER_LENGTH;
use fairwave_netns::{Namespaces, NodePlan, Offload, Plan, Prefix};
use fairwave_sim::Spread;
use fairwave_sim::world::World;
use fairwave_trace::{Discard, NodeId};
use fairwave_units::{Duration, Instant};
use rustix::event::epoll;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

/// Time that the emulator stays awake before events and after packets. It is longer than the
/// sender's pauses, so that the emulator never has to be woken under load (`emulate.busy_wait`).
const AWAKE: Duration = Duration::from_micros(500);

/// Reserves the last processor for the calling thread, and gives it a real-time priority. Without
/// permission the thread keeps the usual priority, as all others have.
pub(crate) fn stand_out() {
    own_processor().iter().for_each(OwnProcessor::take);
    let _ = become_realtime();
}

/// Leaves the last processor to the thread that [stands out](stand_out); applies to the caller and
/// to all threads that it will start. If a thread of usual priority waited there behind a real-time
/// thread that stays awake, the kernel would move it only after milliseconds. The benchmark would
/// then measure the kernel's load balancing.
pub(crate) fn stand_back() {
    own_processor();
}

/// The processor, reserved once by the thread that starts all others.
fn own_processor() -> &'static Option<OwnProcessor> {
    static OWN: OnceLock<Option<OwnProcessor>> = OnceLock::new();
    OWN.get_or_init(OwnProcessor::reserve)
}

/// A world with two real nodes, or none, and their namespaces.
pub(crate) struct Path {
    namespaces: Namespaces,
    world: Option<World>,
    nodes: [NodeId; 2],
}

/// Figures of the carrier.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Packets that a device refused or that waited too long to be read.
    pub(crate) lost_here: u64,
    /// Packets that were lost in the world.
    pub(crate) lost_in_world: u64,
    /// The largest lateness at p99, and its name.
    pub(crate) late: (&'static str, Duration),
    /// Share of a processor that it used.
    pub(crate) cpu_load: f64,
    packets: u64,
    turns: u64,
}

/// The largest of several latenesses at p99, with its name.
fn latest<const N: usize>(all: [(&'static str, Duration); N]) -> (&'static str, Duration) {
    all.into_iter().max_by_key(|(_, late)| *late).unwrap_or_default()
}

impl Seen {
    /// Number of turns of its loop per packet.
    pub(crate) fn wakes_per_packet(&self) -> f64 {
        self.turns as f64 / self.packets.max(1) as f64
    }
}

impl Path {
    /// Two namespaces without a world between them, and without offloads. If `is_bare`, the
    /// forwarder also does the receiver's work up to its socket. Otherwise other processors do it,
    /// as for the emulator.
    pub(crate) fn forwarder(is_bare: bool) -> Result<Self, String> {
        Self::new(None, [NodeId(0), NodeId(1)], Offload::Off, !is_bare)
    }

    /// Nodes `a` and `b` of a world.
    pub(crate) fn emulator(world: World) -> Result<Self, String> {
        let find = |name: &str| {
            let place = world.nodes.iter().position(|node| node.name == name);
            place.map(|place| NodeId(place as u32)).ok_or(format!("there is no node {name}"))
        };
        let nodes = [find("a")?, find("b")?];
        Self::new(Some(world), nodes, Offload::On, true)
    }

    fn new(
        world: Option<World>,
        nodes: [NodeId; 2],
        offload: Offload,
        has_receivers: bool,
    ) -> Result<Self, String> {
        let node = |(name, id): (&str, NodeId)| NodePlan {
            addresses: vec![Prefix::new(address::v4(id), address::V4_PREFIX_LEN)],
            offload,
            ..NodePlan::new(name)
        };
        let plan = Plan {
            nodes: ["a", "b"].into_iter().zip(nodes).map(node).collect(),
            receivers: own_processor().as_ref().filter(|_| has_receivers).map(OwnProcessor::others),
            ..Plan::default()
        };
        let namespaces = Namespaces::build(&plan).map_err(|error| error.to_string())?;
        Ok(Self { namespaces, world, nodes })
    }

    /// Carries a load at a rate, and returns the figures of both sides.
    pub(crate) fn carry(&self, load: Load, rate: f64) -> Result<(Seen, Sent), String> {
        let stop = Arc::new(AtomicBool::new(false));
        let clock = Clock::start();
        let before = self.dropped()?;
        let to: Ipv4Addr = address::v4(self.nodes[1]);
        let (carried, sent) = thread::scope(|scope| {
            let theirs = Arc::clone(&stop);
            let carrier = scope.spawn(move || {
                stand_out();
                match &self.world {
                    Some(world) => self.emulate(world, load, clock, theirs),
                    None => self.forward(load, clock, &theirs),
                }
            });
            let sent = load.send(&self.namespaces, to, rate, clock);
            stop.store(true, Ordering::Relaxed);
            (carrier.join().expect("it does not panic"), sent)
        });
        let mut seen = carried?;
        seen.lost_here += self.dropped()? - before;
        Ok((seen, sent?))
    }

    /// Packets that the kernel dropped since earlier ones had not been read.
    fn dropped(&self) -> Result<u64, String> {
        let unread = |node| {
            let dropped = self.namespaces.dropped(node).map_err(|error| error.to_string());
            dropped.map(|dropped| dropped.unread)
        };
        Ok(unread(0)? + unread(1)?)
    }

    fn emulate(
        &self,
        world: &World,
        load: Load,
        clock: Clock,
        stop: Arc<AtomicBool>,
    ) -> Result<Seen, String> {
        let end = |place: usize| -> Result<End, String> {
            let fd = self.namespaces.tun_fd(place).try_clone_to_owned();
            Ok(End {
                node: self.nodes[place],
                fd: fd.map_err(|error| error.to_string())?,
                offload: drive::Offload::On,
                way: Way::Addressed { gateway: None },
            })
        };
        let options = Options {
            end: Some(Instant::ZERO + LASTS + Duration::from_secs(9)),
            measures_host: false,
            busy_wait: AWAKE,
            ..Options::default()
        };
        let file = Memory::default();
        let record = Writer::new(file.clone(), Keep::Heads).map_err(|error| error.to_string())?;
        let drive = Drive {
            clock,
            world,
            ends: vec![end(0)?, end(1)?],
            options,
            record: Some(record),
            stop: Some(stop),
            inbox: Inbox::default(),
            associations: None,
        };
        let (mut turns, mut under_way) = (0, 0);
        let mut on_turn = |turn: &Turn<'_>| {
            turns += 1;
            under_way = turn.under_way as u64;
            ControlFlow::Continue(())
        };
        let report = drive.run(&mut Discard, &mut on_turn).map_err(|error| error.to_string())?;
        let sum = |count: fn(&drive::EndCounts) -> u64| report.ends.iter().map(count).sum::<u64>();
        let (packets, out) = (sum(|end| end.packets_in), sum(|end| end.packets_out));
        let lost_here = sum(drive::EndCounts::lost);
        let fidelity = &report.fidelity;
        let reads = file.waits(load)?.map_or(fidelity.reads.p99, |waits| waits.p99);
        let (events, written) = (fidelity.events.p99, fidelity.packets.p99);
        Ok(Seen {
            lost_here,
            lost_in_world: packets.saturating_sub(out + lost_here + under_way),
            late: latest([("events", events), ("writing", written), ("reading", reads)]),
            cpu_load: fidelity.cpu_load,
            packets,
            turns,
        })
    }

    /// The minimum that carries packets: one thread that waits, reads and writes.
    fn forward(&self, load: Load, clock: Clock, stop: &AtomicBool) -> Result<Seen, String> {
        let fault = |error: rustix::io::Errno| error.to_string();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(fault)?;
        for place in [0, 1] {
            let fd = self.namespaces.tun_fd(place as usize);
            let data = epoll::EventData::new_u64(place);
            epoll::add(&epoll, fd.as_fd(), data, epoll::EventFlags::IN).map_err(fault)?;
        }
        let tick = rustix::time::Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        let nothing =
            epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        let (mut ready, mut packet) = ([nothing; 2], vec![0; 1 << 16]);
        let began = clock.now();
        let before = fairwave_linux::clock::thread_cpu();
        let (mut lost_here, mut packets, mut turns) = (0, 0, 0);
        let (mut reads, mut writes) = (Spread::with_room(), Spread::with_room());
        while !stop.load(Ordering::Relaxed) {
            turns += 1;
            let count = epoll::wait(&epoll, &mut ready[..], Some(&tick)).map_err(fault)?;
            for event in &ready[..count] {
                let from = event.data.u64() as usize;
                let [from, to] = [from, 1 - from].map(|place| self.namespaces.tun(place));
                let mut first = None;
                while let Some(length) = from.receive(&mut packet).map_err(|e| e.to_string())? {
                    let read = clock.now();
                    let ip = &packet[VNET_HEADER_LENGTH..length];
                    let since = load.stamp(ip).unwrap_or(*first.get_or_insert(read));
                    reads.add(read.since(since));
                    let taken = to.send(&packet[..length]).map_err(|e| e.to_string())?;
                    writes.add(clock.now().since(read));
                    lost_here += u64::from(!taken);
                    packets += 1;
                }
            }
        }
        let used = fairwave_linux::clock::thread_cpu().saturating_sub(before).as_secs_f64();
        let cpu_load = used / clock.now().since(began).as_secs_f64();
        let [reads, writes] = [reads, writes].map(|spread| Lateness::of(&spread).p99);
        let late = latest([("writing", writes), ("reading", reads)]);
        Ok(Seen { lost_here, lost_in_world: 0, late, cpu_load, packets, turns })
    }
}

/// A record in memory. From its times of reading and the packets' own sending times follows how
/// long packets waited to be read.
#[derive(Clone, Debug, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    /// Waiting times of a load's packets; `None` if they do not carry their sending times.
    fn waits(&self, load: Load) -> Result<Option<Lateness>, String> {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reader = Reader::new(&bytes[..]).map_err(|error| error.to_string())?;
        let mut waits = Spread::with_room();
        while let Some(record) = reader.read().map_err(|error| error.to_string())? {
            let Record::Packet { at, bytes, .. } = record else { continue };
            if let Some(sent) = load.stamp(bytes) {
                waits.add(at.since(sent));
            }
        }
        let waits = Lateness::of(&waits);
        Ok((waits.count > 0).then_some(waits))
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
