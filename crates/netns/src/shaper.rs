//! Shares of an interface by weight: HTB or HFSC with one class for each station, behind a
//! classifier by link address.
//!
//! Every class owns a part of the rate in proportion to its weight, and gets of what others leave
//! in that proportion, too. So the shares of stations that always have something to send are those
//! of their weights, and nothing is left unused. The keeper deletes the qdisc when this process
//! ends, however it does; the kernel then puts its default one back.

use crate::Error;
use crate::keeper::Keeper;
use crate::kernel::unshare;
use crate::netlink::Netlink;
use crate::plan::KeeperCommand;
use crate::tc::{self, Discipline, RootQdisc, Share};
use crate::undo::Undo;
use netlink_packet_route::tc::TcMessage;
use rustix::thread::UnshareFlags;
use std::collections::BTreeMap;
use std::io;

/// The class of which all others borrow, and that of unknown stations.
const ALL: u16 = 1;
const UNKNOWN: u16 = 2;
/// Classes of stations; their numbers fit into a handle of u32.
const FIRST: u16 = 0x10;
/// Most stations.
pub const STATIONS_MOST: usize = 0xf00;
/// What a full weight sends in its turn, in bytes, and the least of any: a long frame.
const QUANTUM: f64 = 60_000.0;
const LEAST_QUANTUM: u32 = 1_600;
/// Bytes a second of a station whose weight is 0: the kernel's least that still ends a queue.
const TRICKLE: u32 = 125;
/// By how much the sum of weights for which rates are computed may exceed the true one.
const SLACK: f64 = 1.25;

/// What is to be shared.
#[derive(Debug, Clone)]
pub struct ShaperPlan {
    /// The interface by which frames go to stations.
    pub interface: String,
    /// What all together get, in bits a second: somewhat less than the radio carries.
    pub rate_bps: u64,
    /// By what: one that the kernel has.
    pub discipline: Discipline,
    /// Packets that wait for each station.
    pub queue_packets: u32,
    /// The EtherType of frames to stations that do not wait in the stations' queues.
    pub urgent: u16,
    /// How the keeper is started.
    pub keeper: KeeperCommand,
}

/// What an interface has now, and the kernel can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shapeable {
    /// The root qdisc that somebody set, with its handle; `None` if it is the kernel's default.
    pub foreign: Option<String>,
    /// Whether the kernel has HTB.
    pub htb: bool,
    /// Whether the kernel has HFSC.
    pub hfsc: bool,
}

impl Shapeable {
    /// What the kernel has, the better first: the link-sharing curves of HFSC are weights, where
    /// HTB has rates and serves in rounds.
    pub fn disciplines(&self) -> Vec<Discipline> {
        let all = [(self.hfsc, Discipline::Hfsc), (self.htb, Discipline::Htb)];
        all.into_iter().filter(|(has, _)| *has).map(|(_, one)| one).collect()
    }
}

/// What can be done at an interface.
///
/// # Errors
/// If there is no such interface, or the user may not look.
pub fn shapeable(interface: &str) -> Result<Shapeable, Error> {
    let at = || Error::at(format!("interface `{interface}`"));
    let mut netlink = Netlink::open().map_err(at())?;
    let index = netlink.index(interface).map_err(at())?;
    let root = netlink.root_qdisc(index).map_err(at())?;
    let foreign = root.filter(|root| !root.is_default()).map(|root| root.to_string());
    Ok(Shapeable { foreign, htb: has(Discipline::Htb), hfsc: has(Discipline::Hfsc) })
}

/// Whether the kernel has a qdisc: tried in a network namespace that nobody else sees. Where those
/// are refused, as services may be, it counts as had, and setting it up says if it is not.
fn has(discipline: Discipline) -> bool {
    let tried = std::thread::spawn(move || {
        if unshare(UnshareFlags::NEWNET).is_err() {
            return Ok(());
        }
        let mut netlink = Netlink::open()?;
        let index = netlink.index("lo")?;
        netlink.try_qdisc(index, discipline)
    });
    matches!(tried.join(), Ok(Ok(())))
}

/// An interface whose rate is shared for as long as this lives.
#[derive(Debug)]
pub struct Shaper {
    netlink: Netlink,
    index: u32,
    discipline: Discipline,
    /// Bytes a second.
    rate: u32,
    queue_packets: u32,
    stations: BTreeMap<[u8; 6], Station>,
    /// The sum of weights for which rates were computed.
    whole: f64,
    _keeper: Keeper,
}

#[derive(Debug, Clone, Copy)]
struct Station {
    minor: u16,
    weight: f64,
}

impl Shaper {
    /// Sets up the qdisc, with a class for those who are not known.
    ///
    /// # Errors
    /// Where there is no such interface, somebody else has set a qdisc there, or the user may not
    /// (CAP_NET_ADMIN). Nothing is left then.
    pub fn start(plan: &ShaperPlan) -> Result<Self, Error> {
        let rate = u32::try_from(plan.rate_bps / 8).ok().filter(|rate| *rate >= 1_000);
        let rate = rate.ok_or_else(|| {
            Error::Plan(
                "the rate has to be from 8 kbps to 34 Gbps, what the kernel takes".to_owned(),
            )
        })?;
        let name = &plan.interface;
        let step = |what: &str| Error::at(format!("interface `{name}`: {what}"));
        let mut netlink = Netlink::open().map_err(step("netlink"))?;
        let index = netlink.index(name).map_err(step("its index"))?;
        let root = netlink.root_qdisc(index).map_err(step("its qdisc"))?;
        if let Some(root) = root.filter(|root| !root.is_default()) {
            return Err(foreign(name, &root));
        }
        let mut keeper = Keeper::start_without_programs(&plan.keeper)?;
        keeper.note(Undo::Qdisc(name.clone()))?;
        let discipline = plan.discipline;
        let root = tc::qdisc(discipline, index, UNKNOWN);
        netlink.add_qdisc(root).map_err(step(discipline.name()))?;
        let mut shaper = Self {
            netlink,
            index,
            discipline,
            rate,
            queue_packets: plan.queue_packets,
            stations: BTreeMap::new(),
            whole: SLACK,
            _keeper: keeper,
        };
        shaper.set_up(plan.urgent).map_err(step("classes and filters"))?;
        Ok(shaper)
    }

    /// By what it is shared.
    pub const fn discipline(&self) -> Discipline {
        self.discipline
    }

    fn set_up(&mut self, urgent: u16) -> io::Result<()> {
        let (rate, index) = (self.rate, self.index);
        let all = Share { rate, ceil: rate, quantum: LEAST_QUANTUM };
        self.netlink.add_class(self.class(ALL, 0, all))?;
        self.netlink.add_class(self.class(UNKNOWN, ALL, self.share(1.0)))?;
        self.netlink.add_qdisc(tc::pfifo(index, UNKNOWN, self.queue_packets))?;
        self.netlink.add_filter(tc::hash_table(index))?;
        self.netlink.add_filter(tc::to_class_by_type(index, urgent, UNKNOWN))?;
        self.netlink.add_filter(tc::hashing(index))
    }

    /// Gives a station a weight from 0 to 1. One that is new gets a class and a filter.
    ///
    /// # Errors
    /// If the kernel refuses, as it does when somebody has deleted the qdisc.
    pub fn serve(&mut self, station: [u8; 6], weight: f64) -> io::Result<()> {
        let weight = if weight.is_finite() { weight.clamp(0.0, 1.0) } else { 0.0 };
        match self.stations.get_mut(&station) {
            Some(known) => known.weight = weight,
            None => self.add(station, weight)?,
        }
        if self.fit() { self.set_all() } else { self.set(station) }
    }

    /// Takes a station's class away: its frames go with those of unknown ones.
    ///
    /// # Errors
    /// As [`Shaper::serve`].
    pub fn stop(&mut self, station: [u8; 6]) -> io::Result<()> {
        let Some(Station { minor, .. }) = self.stations.remove(&station) else { return Ok(()) };
        self.netlink.delete_filter(tc::filter_of(self.index, station, minor))?;
        let any = Share { rate: TRICKLE, ceil: TRICKLE, quantum: LEAST_QUANTUM };
        self.netlink.delete_class(self.class(minor, ALL, any))?;
        if self.fit() { self.set_all() } else { Ok(()) }
    }

    fn add(&mut self, station: [u8; 6], weight: f64) -> io::Result<()> {
        let minor = self.free().ok_or_else(|| io::Error::other("no class is left"))?;
        let share = self.share(weight);
        self.netlink.add_class(self.class(minor, ALL, share))?;
        self.netlink.add_qdisc(tc::pfifo(self.index, minor, self.queue_packets))?;
        self.netlink.add_filter(tc::to_station(self.index, station, minor))?;
        self.stations.insert(station, Station { minor, weight });
        Ok(())
    }

    /// The lowest number of a class that nobody has.
    fn free(&self) -> Option<u16> {
        let mut taken: Vec<u16> = self.stations.values().map(|known| known.minor).collect();
        taken.sort_unstable();
        let gap = taken.iter().zip(FIRST..).find(|(minor, number)| *minor != number);
        let free = gap.map_or(FIRST + taken.len() as u16, |(_, number)| number);
        (self.stations.len() < STATIONS_MOST).then_some(free)
    }

    /// Fits the sum for which rates are computed to the weights: the rates that classes own must
    /// not come to more than the whole, nor to much less. Whether it moved.
    fn fit(&mut self) -> bool {
        let sum = 1.0 + self.stations.values().map(|known| known.weight).sum::<f64>();
        if sum <= self.whole && sum * SLACK * SLACK >= self.whole {
            return false;
        }
        self.whole = sum * SLACK;
        true
    }

    fn set_all(&mut self) -> io::Result<()> {
        let unknown = self.share(1.0);
        self.netlink.change_class(self.class(UNKNOWN, ALL, unknown))?;
        let all: Vec<[u8; 6]> = self.stations.keys().copied().collect();
        all.into_iter().try_for_each(|station| self.set(station))
    }

    fn set(&mut self, station: [u8; 6]) -> io::Result<()> {
        let Some(&Station { minor, weight }) = self.stations.get(&station) else { return Ok(()) };
        let share = self.share(weight);
        self.netlink.change_class(self.class(minor, ALL, share))
    }

    fn class(&self, minor: u16, parent: u16, share: Share) -> TcMessage {
        tc::share_class(self.discipline, self.index, (minor, parent), share)
    }

    fn share(&self, weight: f64) -> Share {
        if weight == 0.0 {
            return Share { rate: TRICKLE, ceil: TRICKLE, quantum: LEAST_QUANTUM };
        }
        let own = f64::from(self.rate) * weight / self.whole;
        let quantum = ((QUANTUM * weight) as u32).max(LEAST_QUANTUM);
        Share { rate: (own as u32).max(TRICKLE), ceil: self.rate, quantum }
    }
}

fn foreign(name: &str, root: &RootQdisc) -> Error {
    Error::Plan(format!(
        "interface `{name}` has the qdisc {root}, which somebody set: it is left alone; \
         `tc qdisc delete dev {name} root` would make room"
    ))
}
