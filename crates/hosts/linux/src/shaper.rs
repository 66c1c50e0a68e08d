//! Shares of an interface by weight: HTB or HFSC with a class for each station, or one for each
//! kind of its traffic, behind a classifier by link or IP address.
//!
//! Every class owns a part of the rate in proportion to its weight, and gets unused bandwidth in
//! that proportion, too. So stations that always have something to send get the shares of their
//! weights, and nothing is left unused. The keeper deletes the qdisc when this process ends,
//! however it does; the kernel then puts its default one back.

use crate::Error;
use crate::classify::{self, Destination, Traffic};
use crate::dump::{CLASS, dump};
use crate::keeper::Keeper;
use crate::kernel::unshare;
use crate::leaf::{self, Leaf};
use crate::netlink::Netlink;
use crate::plan::KeeperCommand;
use crate::replace;
use crate::tc::{self, Discipline};
use crate::undo::{Place, Undo};
use classes::{Classes, Layout, UNKNOWN};
use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::TcHandle;
use rustix::thread::UnshareFlags;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

mod classes;

/// Bytes of a frame beside the packet in it: Ethernet's header and two tags of VLANs.
const AROUND: u32 = 14 + 2 * 4;
/// Bytes of the longest frame at least, for interfaces with a smaller MTU.
const MIN_LONGEST: u32 = 1_600;

/// Bytes of the longest frame at an interface with this MTU.
fn longest(mtu: u32) -> u32 {
    mtu.saturating_add(AROUND).max(MIN_LONGEST)
}

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
    /// The qdisc in which they wait; `None` is fq_codel where the kernel has it, or else a FIFO.
    pub leaf: Option<Leaf>,
    /// Bytes that the link adds to each frame, which HTB counts; 0 for another qdisc.
    pub overhead: u16,
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
    /// Whether the kernel has HTB, and TBF for its classes.
    pub htb: bool,
    /// Whether the kernel has HFSC, and TBF for its classes.
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
        // Both the qdisc and those that cut segments for its classes.
        netlink.add_qdisc(leaf::trial(index))?;
        netlink.delete_root(index)?;
        netlink.add_qdisc(tc::qdisc(discipline, index, 0))
    });
    matches!(tried.join(), Ok(Ok(())))
}

/// An interface whose rate is shared for as long as this lives.
#[derive(Debug)]
pub struct Shaper {
    netlink: Netlink,
    classes: Classes,
    _keeper: Keeper,
}

/// Counters of one class of a station.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassCount {
    /// The station's link address; `None` for unknown stations.
    pub station: Option<[u8; 6]>,
    /// 0 for the rest of its traffic, and then the place of the kind of traffic in the plan.
    pub kind: usize,
    /// Its weight, from 0 to 1.
    pub weight: f64,
    /// Bytes that were sent since the class was made.
    pub bytes: u64,
    /// Packets that wait now.
    pub waiting: u32,
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
                "the rate has to be from 8 kbps to 34 Gbps, the range of the kernel".to_owned(),
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
        let at = Place { interface: name.clone(), index };
        match before {
            None => keeper.note(Undo::Qdisc(at))?,
            Some(root) => {
                keeper.note(Undo::Replaced { at, root })?;
                netlink.delete_root(index).map_err(step("its qdisc"))?;
            }
        }
        let discipline = plan.discipline;
        let root = tc::qdisc(discipline, index, UNKNOWN);
        netlink.add_qdisc(root).map_err(step(discipline.name()))?;
        let mtu = netlink.mtu(index).map_err(step("its MTU"))?;
        let mut classes = Classes::new(Layout {
            index,
            discipline,
            rate,
            overhead: plan.overhead,
            longest: longest(mtu),
            leaf: plan.leaf.unwrap_or(Leaf::FqCodel),
            queue_packets: plan.queue_packets,
            traffic: plan.traffic.clone(),
        });
        let set_up = classes.set_up(&mut netlink, plan.urgent, plan.leaf.is_none());
        set_up.map_err(step("classes and filters"))?;
        Ok(Self { netlink, classes, _keeper: keeper })
    }

    /// Returns the qdisc that shares it.
    pub const fn discipline(&self) -> Discipline {
        self.classes.layout().discipline
    }

    /// Returns the qdisc in which packets of each class wait.
    pub const fn leaf(&self) -> Leaf {
        self.classes.layout().leaf
    }

    /// Gives a station weights from 0 to 1: of the rest, and then of each kind of traffic of the
    /// plan; kinds for which there is none have that of the rest. One that is new gets classes and
    /// filters. Frames to it are known by its IP address if that is given, as those to a station
    /// behind a router are, and else by its link address.
    ///
    /// After an error the kernel's state is open; [`Shaper::settle`] asks for the rest.
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
        let weights = (0..=self.classes.layout().traffic.len()).map(weight).collect();
        let destination = address.map_or(Destination::Link(station), Destination::Address);
        self.classes.serve(&mut self.netlink, station, destination, weights)
    }

    /// Takes a station's classes away: its frames go with those of unknown ones.
    ///
    /// # Errors
    /// As [`Shaper::serve`].
    pub fn stop(&mut self, station: [u8; 6]) -> io::Result<()> {
        self.classes.stop(&mut self.netlink, station)
    }

    /// Whether the kernel has confirmed all classes, weights and filters.
    pub fn is_settled(&self) -> bool {
        self.classes.is_settled()
    }

    /// Asks again for all that the kernel has not confirmed, and has longer frames pass if the
    /// interface's MTU has grown.
    ///
    /// # Errors
    /// The first refusal; the rest was requested nevertheless.
    pub fn settle(&mut self) -> io::Result<()> {
        let mtu = self.netlink.mtu(self.classes.layout().index)?;
        self.classes.lengthen(longest(mtu));
        self.classes.settle(&mut self.netlink)
    }

    /// The class of a station's frames that are of no kind with a class of its own, as tc(8) writes
    /// it.
    pub fn class_of(&self, station: [u8; 6]) -> Option<String> {
        let minor = self.classes.minors(station)?.next()?;
        Some(format!("{:x}:{minor:x}", tc::MAJOR))
    }

    /// Returns the counters of all classes; those of unknown stations are the first.
    ///
    /// # Errors
    /// If the kernel does not answer, or another program has deleted the qdisc.
    pub fn counts(&mut self) -> io::Result<Vec<ClassCount>> {
        let index = self.classes.layout().index;
        let question = tc::message(index, TcHandle::UNSPEC, tc::class(0));
        self.netlink.post(RouteNetlinkMessage::GetTrafficClass(question), NLM_F_DUMP)?;
        let all = dump(&self.netlink, CLASS)?.into_iter().filter(|one| one.index == index);
        let found: BTreeMap<u32, (u64, u32)> =
            all.map(|one| (one.handle, (one.bytes, one.waiting))).collect();
        if !found.contains_key(&u32::from(tc::class(UNKNOWN))) {
            let gone = "another program has deleted the qdisc: the rate is no longer shared";
            return Err(io::Error::other(gone));
        }
        let counted = self.classes.all().filter_map(|(minor, station, kind, weight)| {
            let (bytes, waiting) = *found.get(&u32::from(tc::class(minor)))?;
            Some(ClassCount { station, kind, weight, bytes, waiting })
        });
        Ok(counted.collect())
    }

    /// Returns the bytes that the interface has sent, whether through the classes or not.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn sent(&mut self) -> io::Result<u64> {
        self.netlink.sent(self.classes.layout().index)
    }
}
