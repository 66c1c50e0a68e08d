//! Shares of an interface by weight: HTB or HFSC with a class for each station, or one for each
//! kind of its traffic, behind a classifier by link or IP address.
//!
//! Every class owns a part of the rate in proportion to its weight, and gets unused bandwidth in
//! that proportion, too. So stations that always have something to send get the shares of their
//! weights, and nothing is left unused. The keeper deletes the qdisc when this process ends,
//! however it does; the kernel then puts its default one back.

use crate::Error;
use crate::classify::{self, Destination, Row, Traffic};
use crate::keeper::Keeper;
use crate::kernel::unshare;
use crate::netlink::Netlink;
use crate::plan::KeeperCommand;
use crate::replace;
use crate::tc::{self, Discipline, Share};
use crate::undo::Undo;
use netlink_packet_route::tc::TcMessage;
use rustix::thread::UnshareFlags;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

/// The class of which all others borrow, and that of unknown stations.
const ALL: u16 = 1;
const UNKNOWN: u16 = 2;
/// Classes of stations.
const FIRST: u16 = 0x10;
/// Bytes of a full weight in its turn, and the minimum of any: a long frame.
const QUANTUM: f64 = 60_000.0;
const MIN_QUANTUM: u32 = 1_600;
/// Bytes a second of a station whose weight is 0: the kernel's minimum that still ends a queue.
const TRICKLE: u32 = 125;
/// By how much the sum of weights for which rates are computed may exceed the true one.
const SLACK: f64 = 1.25;

/// Parameters of the shared interface.
#[derive(Debug, Clone)]
pub struct ShaperPlan {
    /// The interface by which frames go to stations.
    pub interface: String,
    /// Total rate in bits a second: somewhat less than the radio carries.
    pub rate_bps: u64,
    /// The qdisc: one that the kernel has.
    pub discipline: Discipline,
    /// Packets that wait in each class.
    pub queue_packets: u32,
    /// The kinds of traffic that have classes of their own for each station, beside one for the
    /// rest. None twice.
    pub traffic: Vec<Traffic>,
    /// The EtherType of frames to stations that do not wait in the stations' queues.
    pub urgent: u16,
    /// Whether another program's qdisc is taken away for the life of this. One that could not be
    /// put back stays.
    pub replace: bool,
    /// Command of the keeper.
    pub keeper: KeeperCommand,
}

/// Present state of an interface, and the kernel's capabilities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shapeable {
    /// The root qdisc that was set; `None` if it is the kernel's default.
    pub foreign: Option<Foreign>,
    /// Whether the kernel has HTB.
    pub htb: bool,
    /// Whether the kernel has HFSC.
    pub hfsc: bool,
}

/// A qdisc of another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    /// Its kind and its handle, as tc(8) writes them.
    pub name: String,
    /// Reason for which it could not be put back, if it were taken away.
    pub obstacle: Option<String>,
}

impl Shapeable {
    /// The kernel's qdiscs, the better first: the link-sharing curves of HFSC are weights, where
    /// HTB has rates and serves in rounds.
    pub fn disciplines(&self) -> Vec<Discipline> {
        let all = [(self.hfsc, Discipline::Hfsc), (self.htb, Discipline::Htb)];
        all.into_iter().filter(|(has, _)| *has).map(|(_, one)| one).collect()
    }
}

/// Maximum number of stations that can be served, by the kinds of traffic that have classes of
/// their own.
pub const fn max_stations(traffic: &[Traffic]) -> usize {
    classify::most(traffic)
}

/// Returns the possibilities at an interface.
///
/// # Errors
/// If there is no such interface, or the user may not look.
pub fn shapeable(interface: &str) -> Result<Shapeable, Error> {
    let at = || Error::at(format!("interface `{interface}`"));
    let mut netlink = Netlink::open().map_err(at())?;
    let index = netlink.index(interface).map_err(at())?;
    let root = replace::saved(&mut netlink, index).map_err(at())?;
    let obstacle = root.as_ref().map(|_| replace::obstacle(&mut netlink, index)).transpose();
    let obstacle = obstacle.map_err(at())?.flatten();
    let foreign = root.map(|root| Foreign { name: root.to_string(), obstacle });
    Ok(Shapeable { foreign, htb: has(Discipline::Htb), hfsc: has(Discipline::Hfsc) })
}

/// Returns whether the kernel has a qdisc: tried in a separate network namespace. Where those are
/// refused, as services may be, it counts as had, and setting it up reports if it is not.
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
    traffic: Vec<Traffic>,
    stations: BTreeMap<[u8; 6], Station>,
    /// The sum of weights for which rates were computed.
    whole: f64,
    _keeper: Keeper,
}

#[derive(Debug, Clone)]
struct Station {
    /// A number that no other has.
    number: u16,
    /// Its IP address, if it is not reached at its link address.
    address: Option<IpAddr>,
    /// Of the rest, and then of each kind of traffic.
    weights: Vec<f64>,
}

impl Shaper {
    /// Sets up the qdisc, with a class for unknown stations.
    ///
    /// # Errors
    /// If there is no such interface, another program has set a qdisc there, or the user may not
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
        let before = replace::saved(&mut netlink, index).map_err(step("its qdisc"))?;
        if let Some(root) = &before {
            let tried = plan.replace.then(|| replace::obstacle(&mut netlink, index)).transpose();
            let obstacle = tried.map_err(step("its qdisc"))?.flatten();
            if !plan.replace || obstacle.is_some() {
                return Err(replace::refused(name, root, obstacle.as_deref()));
            }
        }
        let mut keeper = Keeper::start_without_programs(&plan.keeper)?;
        match before {
            None => keeper.note(Undo::Qdisc(name.clone()))?,
            Some(root) => {
                keeper.note(Undo::Replaced { interface: name.clone(), root })?;
                netlink.delete_root(index).map_err(step("its qdisc"))?;
            }
        }
        let discipline = plan.discipline;
        let root = tc::qdisc(discipline, index, UNKNOWN);
        netlink.add_qdisc(root).map_err(step(discipline.name()))?;
        let mut shaper = Self {
            netlink,
            index,
            discipline,
            rate,
            queue_packets: plan.queue_packets,
            traffic: plan.traffic.clone(),
            stations: BTreeMap::new(),
            whole: SLACK,
            _keeper: keeper,
        };
        shaper.set_up(plan.urgent).map_err(step("classes and filters"))?;
        Ok(shaper)
    }

    /// Returns the qdisc that shares it.
    pub const fn discipline(&self) -> Discipline {
        self.discipline
    }

    fn set_up(&mut self, urgent: u16) -> io::Result<()> {
        let (rate, index) = (self.rate, self.index);
        let all = Share { rate, ceil: rate, quantum: MIN_QUANTUM };
        self.netlink.add_class(self.class(ALL, 0, all))?;
        self.netlink.add_class(self.class(UNKNOWN, ALL, self.share(1.0)))?;
        self.netlink.add_qdisc(tc::pfifo(index, UNKNOWN, self.queue_packets))?;
        let mut filters = classify::set_up(index, urgent, UNKNOWN).into_iter();
        filters.try_for_each(|filter| self.netlink.add_filter(filter))
    }

    /// Gives a station weights from 0 to 1: of the rest, and then of each kind of traffic of the
    /// plan; kinds for which there is none have that of the rest. One that is new gets classes and
    /// filters. Frames to it are known by its IP address if that is given, as those to a station
    /// behind a router are, and else by its link address.
    ///
    /// # Errors
    /// If the kernel refuses, as it does when another program has deleted the qdisc.
    pub fn serve(
        &mut self,
        station: [u8; 6],
        address: Option<IpAddr>,
        weights: &[f64],
    ) -> io::Result<()> {
        let first = weights.first().copied().unwrap_or(1.0);
        let weight = |at: usize| {
            let weight = weights.get(at).copied().unwrap_or(first);
            if weight.is_finite() { weight.clamp(0.0, 1.0) } else { 0.0 }
        };
        let weights: Vec<f64> = (0..=self.traffic.len()).map(weight).collect();
        let before = match self.stations.get_mut(&station) {
            Some(known) => std::mem::replace(&mut known.weights, weights),
            None => {
                self.add(station, address, weights.clone())?;
                weights
            }
        };
        self.reach(station, address)?;
        if self.fit() { self.set_all() } else { self.set(station, &before) }
    }

    /// Takes a station's classes away: its frames go with those of unknown ones.
    ///
    /// # Errors
    /// As [`Shaper::serve`].
    pub fn stop(&mut self, station: [u8; 6]) -> io::Result<()> {
        let Some(known) = self.stations.remove(&station) else { return Ok(()) };
        for filter in self.row(station, &known).delete(self.index) {
            self.netlink.delete_filter(filter)?;
        }
        let any = Share { rate: TRICKLE, ceil: TRICKLE, quantum: MIN_QUANTUM };
        for minor in self.minors(&known) {
            self.netlink.delete_class(self.class(minor, ALL, any))?;
        }
        if self.fit() { self.set_all() } else { Ok(()) }
    }

    /// The class of a station's frames that are of no kind with a class of its own, as tc(8) writes
    /// it.
    pub fn class_of(&self, station: [u8; 6]) -> Option<String> {
        let minor = self.minors(self.stations.get(&station)?).next()?;
        Some(format!("{:x}:{minor:x}", tc::MAJOR))
    }

    fn add(
        &mut self,
        station: [u8; 6],
        address: Option<IpAddr>,
        weights: Vec<f64>,
    ) -> io::Result<()> {
        let number = self.free().ok_or_else(|| io::Error::other("no class is left"))?;
        let known = Station { number, address, weights };
        for (minor, weight) in self.minors(&known).zip(&known.weights) {
            self.netlink.add_class(self.class(minor, ALL, self.share(*weight)))?;
            self.netlink.add_qdisc(tc::pfifo(self.index, minor, self.queue_packets))?;
        }
        for filter in self.row(station, &known).add(self.index) {
            self.netlink.add_filter(filter)?;
        }
        self.stations.insert(station, known);
        Ok(())
    }

    /// Knows frames to a station by another address than before.
    fn reach(&mut self, station: [u8; 6], address: Option<IpAddr>) -> io::Result<()> {
        let Some(known) = self.stations.get_mut(&station) else { return Ok(()) };
        let before = std::mem::replace(&mut known.address, address);
        if before == address {
            return Ok(());
        }
        let known = known.clone();
        for filter in self.row(station, &known).add(self.index) {
            self.netlink.add_filter(filter)?;
        }
        let known = Station { address: before, ..known };
        for filter in self.row(station, &known).delete(self.index) {
            self.netlink.delete_filter(filter)?;
        }
        Ok(())
    }

    fn row(&self, station: [u8; 6], known: &Station) -> Row<'_> {
        let destination = known.address.map_or(Destination::Link(station), Destination::Address);
        let minor = self.first_minor(known);
        Row { destination, number: known.number, traffic: &self.traffic, minor }
    }

    fn first_minor(&self, known: &Station) -> u16 {
        FIRST + known.number * (self.traffic.len() as u16 + 1)
    }

    /// The classes of a station: of the rest, and then of each kind of traffic.
    fn minors(&self, known: &Station) -> impl Iterator<Item = u16> + use<> {
        let first = self.first_minor(known);
        first..=first + self.traffic.len() as u16
    }

    /// The lowest number that no station has.
    fn free(&self) -> Option<u16> {
        let mut taken: Vec<u16> = self.stations.values().map(|known| known.number).collect();
        taken.sort_unstable();
        let gap = taken.iter().zip(0..).find(|(taken, number)| *taken != number);
        let free = gap.map_or(taken.len() as u16, |(_, number)| number);
        (self.stations.len() < max_stations(&self.traffic)).then_some(free)
    }

    /// Fits the sum for which rates are computed to the weights: the rates that classes own must
    /// not come to more than the whole, nor to much less. Whether it moved.
    fn fit(&mut self) -> bool {
        let sum = 1.0 + self.stations.values().flat_map(|known| &known.weights).sum::<f64>();
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
        all.into_iter().try_for_each(|station| self.set(station, &[]))
    }

    /// Sets the shares of a station whose weights are not those of `before`.
    fn set(&mut self, station: [u8; 6], before: &[f64]) -> io::Result<()> {
        let Some(known) = self.stations.get(&station) else { return Ok(()) };
        let all = self.minors(known).zip(&known.weights).enumerate();
        let new = all.filter(|(at, (_, weight))| before.get(*at) != Some(*weight));
        let new: Vec<(u16, f64)> = new.map(|(_, (minor, weight))| (minor, *weight)).collect();
        for (minor, weight) in new {
            self.netlink.change_class(self.class(minor, ALL, self.share(weight)))?;
        }
        Ok(())
    }

    fn class(&self, minor: u16, parent: u16, share: Share) -> TcMessage {
        tc::share_class(self.discipline, self.index, minor, parent, share)
    }

    fn share(&self, weight: f64) -> Share {
        if weight == 0.0 {
            return Share { rate: TRICKLE, ceil: TRICKLE, quantum: MIN_QUANTUM };
        }
        let own = f64::from(self.rate) * weight / self.whole;
        let quantum = ((QUANTUM * weight) as u32).max(MIN_QUANTUM);
        Share { rate: (own as u32).max(TRICKLE), ceil: self.rate, quantum }
    }
}
