//! What carries packets from node to node: the emulator with a world, or a bare forwarder.

use crate::limits_load::{LASTS, Load, Sent};
use fairwave_emu::address;
use fairwave_emu::clock::Clock;
use fairwave_emu::drive::{self, Drive, End, Inbox, Options, Turn, Way};
use fairwave_netns::{Namespaces, NodePlan, Offload, Plan, Prefix, become_realtime};
use fairwave_sim::world::World;
use fairwave_trace::{Discard, NodeId};
use fairwave_units::{Duration, Instant};
use rustix::event::epoll;
use std::net::Ipv4Addr;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A world with two real nodes, or none, and their namespaces.
pub(crate) struct Path {
    namespaces: Namespaces,
    world: Option<World>,
    nodes: [NodeId; 2],
}

/// What the carrier saw.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Packets that a device did not take or that waited too long to be read.
    pub(crate) lost_here: u64,
    /// Packets that ended in the world.
    pub(crate) lost_in_world: u64,
    /// The worst of events, packets and reading at p99.
    pub(crate) late: Option<Duration>,
    /// The part of a processor that it used.
    pub(crate) cpu_load: f64,
    packets: u64,
    turns: u64,
}

impl Seen {
    /// How often it went through its loop for each packet.
    pub(crate) fn wakes_per_packet(&self) -> f64 {
        self.turns as f64 / self.packets.max(1) as f64
    }
}

impl Path {
    /// Two namespaces without a world between them, and without offloads.
    pub(crate) fn forwarder() -> Result<Self, String> {
        Self::new(None, [NodeId(0), NodeId(1)], Offload::Off)
    }

    /// Nodes `a` and `b` of a world.
    pub(crate) fn emulator(world: World) -> Result<Self, String> {
        let find = |name: &str| {
            let place = world.nodes.iter().position(|node| node.name == name);
            place.map(|place| NodeId(place as u32)).ok_or(format!("there is no node {name}"))
        };
        let nodes = [find("a")?, find("b")?];
        Self::new(Some(world), nodes, Offload::On)
    }

    fn new(world: Option<World>, nodes: [NodeId; 2], offload: Offload) -> Result<Self, String> {
        let node = |(name, id): (&str, NodeId)| NodePlan {
            addresses: vec![Prefix::new(address::v4(id), address::V4_PREFIX_LEN)],
            offload,
            ..NodePlan::new(name)
        };
        let plan = Plan {
            nodes: ["a", "b"].into_iter().zip(nodes).map(node).collect(),
            ..Plan::default()
        };
        let namespaces = Namespaces::build(&plan).map_err(|error| error.to_string())?;
        Ok(Self { namespaces, world, nodes })
    }

    /// Carries a load at a rate, and says what came of it.
    pub(crate) fn carry(&self, load: Load, rate: f64) -> Result<(Seen, Sent), String> {
        let stop = Arc::new(AtomicBool::new(false));
        let before = self.dropped()?;
        let to: Ipv4Addr = address::v4(self.nodes[1]);
        let (carried, sent) = thread::scope(|scope| {
            let theirs = Arc::clone(&stop);
            let carrier = scope.spawn(move || {
                // Without permission it has the usual priority, as all others have.
                let _ = become_realtime();
                match &self.world {
                    Some(world) => self.emulate(world, theirs),
                    None => self.forward(&theirs),
                }
            });
            let sent = load.send(&self.namespaces, to, rate);
            stop.store(true, Ordering::Relaxed);
            (carrier.join().expect("it does not panic"), sent)
        });
        let mut seen = carried?;
        seen.lost_here += self.dropped()? - before;
        Ok((seen, sent?))
    }

    /// Packets that the kernel dropped as nobody had read those before them.
    fn dropped(&self) -> Result<u64, String> {
        let unread = |node| self.namespaces.unread(node).map_err(|error| error.to_string());
        Ok(unread(0)? + unread(1)?)
    }

    fn emulate(&self, world: &World, stop: Arc<AtomicBool>) -> Result<Seen, String> {
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
            ..Options::default()
        };
        let drive = Drive {
            clock: Clock::start(),
            world,
            ends: vec![end(0)?, end(1)?],
            options,
            record: None,
            stop: Some(stop),
            inbox: Inbox::default(),
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
        Ok(Seen {
            lost_here,
            lost_in_world: packets.saturating_sub(out + lost_here + under_way),
            late: Some(fidelity.events.p99.max(fidelity.packets.p99).max(fidelity.reads.p99)),
            cpu_load: fidelity.cpu_load,
            packets,
            turns,
        })
    }

    /// The least that carries packets: one thread that waits, reads and writes.
    fn forward(&self, stop: &AtomicBool) -> Result<Seen, String> {
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
        let clock = Clock::start();
        let before = fairwave_emu::clock::thread_cpu();
        let (mut lost_here, mut packets, mut turns) = (0, 0, 0);
        while !stop.load(Ordering::Relaxed) {
            turns += 1;
            let count = epoll::wait(&epoll, &mut ready[..], Some(&tick)).map_err(fault)?;
            for event in &ready[..count] {
                let from = event.data.u64() as usize;
                let [from, to] = [from, 1 - from].map(|place| self.namespaces.tun(place));
                while let Some(length) = from.receive(&mut packet).map_err(|e| e.to_string())? {
                    let taken = to.send(&packet[..length]).map_err(|e| e.to_string())?;
                    lost_here += u64::from(!taken);
                    packets += 1;
                }
            }
        }
        let used = fairwave_emu::clock::thread_cpu().saturating_sub(before).as_secs_f64();
        let cpu_load = used / clock.now().since(Instant::ZERO).as_secs_f64();
        Ok(Seen { lost_here, lost_in_world: 0, late: None, cpu_load, packets, turns })
    }
}
