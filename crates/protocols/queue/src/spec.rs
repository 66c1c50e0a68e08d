//! The one list of disciplines, and how parameters become a queue.

use crate::cif_q::CifQ;
use crate::csdps::Csdps;
use crate::drr::Drr;
use crate::hfsc::Hfsc;
use crate::iwfq::Iwfq;
use crate::own::Own;
use crate::scheduled::{Order, Scheduled};
use crate::switching::Switching;
use crate::wf2q::Wf2q;
use crate::wfq::Wfq;
use crate::{
    AckFilter, AckSplit, AirtimeConfig, AirtimeDrr, Cake, CakeConfig, CifQConfig, CodelConfig,
    Discipline, DropTail, DrrConfig, FairConfig, FqCodel, HfscConfig, HostConfig, Item, IwfqConfig,
    Lifetime, Limit, Mac80211Config, OwnConfig, Pie, PieConfig, Queue, QueueLimits, Red, RedConfig,
    Ring, RingConfig, ServiceCurve, SocpsConfig, SwitchingConfig, WfqConfig, WindowClamp,
};
use core::fmt::Debug;
use fairwave_units::{BitRate, Duration, Stream};

/// A discipline with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// [`DropTail`].
    DropTail {
        /// Its bound.
        limit: Limit,
    },
    /// [`AckFilter`].
    AckFilter {
        /// Its bound.
        limit: Limit,
    },
    /// [`AckSplit`].
    AckSplit {
        /// Limit of packets that are no pure ACKs.
        limit: Limit,
        /// Bound of pure ACKs.
        ack_limit: Limit,
    },
    /// [`WindowClamp`].
    WindowClamp {
        /// Its bound.
        limit: Limit,
        /// Silence after which a connection no longer counts.
        idle: Duration,
    },
    /// [`Lifetime`].
    Lifetime {
        /// Its bound.
        limit: Limit,
        /// Time for which a packet may wait.
        lifetime: Duration,
    },
    /// [`Ring`].
    Ring(RingConfig),
    /// [`Red`].
    Red(RedConfig),
    /// [`Pie`].
    Pie(PieConfig),
    /// [`FqCodel`].
    FqCodel(FairConfig),
    /// [`Cake`].
    Cake(CakeConfig),
    /// [`AirtimeDrr`].
    AirtimeDrr(AirtimeConfig),
    /// [`AirtimeDrr`] as Linux has it today, above a device with airtime queue limits.
    Mac80211(Mac80211Config),
    /// Deficit round robin among hosts.
    Drr(DrrConfig),
    /// Weighted fair queueing among hosts.
    Wfq(WfqConfig),
    /// Worst-case fair weighted fair queueing among hosts.
    Wf2qPlus(HostConfig),
    /// Hierarchical fair service curves among hosts.
    Hfsc(HfscConfig),
    /// Hosts weighed by the strength of their connection.
    Socps(SocpsConfig),
    /// The same for hosts that receive datagrams; hosts with TCP have equal weights.
    Switching(SwitchingConfig),
    /// Round robin among hosts whose link is good.
    Csdps(HostConfig),
    /// Weighted fair queueing among hosts whose link is good, which the others catch up with.
    Iwfq(IwfqConfig),
    /// Fair queueing in which hosts that had a bad link are repaid by the hosts that gained.
    CifQ(CifQConfig),
    /// A scheduler from outside.
    Own(OwnConfig),
}

impl From<Limit> for Spec {
    fn from(limit: Limit) -> Self {
        Self::DropTail { limit }
    }
}

/// A discipline as users choose it.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its spelling in scenarios.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// The standard or paper that defines it.
    pub source: &'static str,
    /// Its own usual bound; `None` where that is the interface's.
    pub limit: Option<Limit>,
    /// Its usual parameters with this bound.
    pub spec: fn(Limit) -> Spec,
}

/// Every discipline, in the order in which it is listed.
pub const ALL: &[Kind] = &[
    Kind {
        name: "drop-tail",
        summary: "first in, first out; a full queue drops arriving packets",
        source: "",
        limit: None,
        spec: |limit| Spec::DropTail { limit },
    },
    Kind {
        name: "ack-filter",
        summary: "drop-tail in which a pure ACK takes the place of an older one of its flow",
        source: "Balakrishnan, Padmanabhan, Katz 1997; RFC 3449 section 5.2.1",
        limit: None,
        spec: |limit| Spec::AckFilter { limit },
    },
    Kind {
        name: "ack-split",
        summary: "pure ACKs and other packets in queues of their own, one of each by turns",
        source: "RFC 3449, upstream link scheduling",
        limit: None,
        spec: |limit| Spec::AckSplit { limit, ack_limit: limit },
    },
    Kind {
        name: "window-clamp",
        summary: "drop-tail that lowers advertised windows to a share of its B packets, B/n",
        source: "Pilosof, Ramjee, Raz, Shavitt, Sinha 2003",
        limit: None,
        spec: |limit| Spec::WindowClamp { limit, idle: Duration::from_secs(10) },
    },
    Kind {
        name: "lifetime",
        summary: "drop-tail that drops packets older than the lifetime of an MSDU",
        source: "802.11-2020 clause 10.23.2.12",
        limit: None,
        spec: |limit| Spec::Lifetime { limit, lifetime: Duration::from_micros(512_000) },
    },
    Kind {
        name: "ring",
        summary: "drop-tail over a driver's descriptors, each with a buffer of one size",
        source: "MadWifi, if_athvar.h; Linux, b43 and macb",
        limit: None,
        spec: |limit| Spec::Ring(RingConfig::of(limit)),
    },
    Kind {
        name: "red",
        summary: "drops or marks arrivals at random, the more the longer the queue is on average",
        source: "Floyd, Jacobson 1993; Linux, sch_red",
        limit: None,
        spec: |limit| Spec::Red(RedConfig::of(limit)),
    },
    Kind {
        name: "pie",
        summary: "drops or marks arrivals with a probability that brings waits to a target",
        source: "RFC 8033; Linux, sch_pie",
        limit: None,
        spec: |limit| Spec::Pie(PieConfig::of(limit)),
    },
    Kind {
        name: "fq-codel",
        summary: "a queue for each flow, deficit round robin, CoDel in each, ECN marks",
        source: "RFC 8290, RFC 8289",
        limit: Some(Limit::Packets(10_240)),
        spec: |limit| Spec::FqCodel(FairConfig::fq_codel(limit)),
    },
    Kind {
        name: "cake",
        summary: "hosts share equally, and each one's flows; COBALT for each flow, and a shaper",
        source: "Hoiland-Jorgensen, Taht, Morton 2018; Linux, sch_cake",
        limit: Some(Limit::Packets(10_240)),
        spec: |limit| Spec::Cake(CakeConfig::of(limit)),
    },
    Kind {
        name: "airtime-drr",
        summary: "stations share airtime by deficit round robin, their flows by FQ-CoDel",
        source: "Hoiland-Jorgensen, Kazior, Taht, Hurtig, Brunstrom 2017",
        limit: Some(Limit::Packets(8_192)),
        spec: |limit| Spec::AirtimeDrr(AirtimeConfig::mac80211(limit)),
    },
    Kind {
        name: "mac80211",
        summary: "airtime-drr with today's defaults of Linux, and its limits on the device",
        source: "Linux, net/mac80211; Hoiland-Jorgensen et al. 2017",
        limit: Some(Limit::Packets(8_192)),
        spec: |limit| Spec::Mac80211(Mac80211Config::linux(limit)),
    },
    Kind {
        name: "drr",
        summary: "a queue for each host, deficit round robin by weight",
        source: "Shreedhar, Varghese 1995",
        limit: HOSTS_LIMIT,
        spec: |limit| Spec::Drr(DrrConfig { hosts: HostConfig::of(limit), quantum: 1514 }),
    },
    Kind {
        name: "wfq",
        summary: "a queue for each host, served as a fluid would be shared by weight",
        source: "Demers, Keshav, Shenker 1989; Parekh, Gallager 1993",
        limit: HOSTS_LIMIT,
        spec: |limit| Spec::Wfq(WfqConfig::of(limit)),
    },
    Kind {
        name: "wf2q+",
        summary: "as wfq, but a packet is eligible only once the fluid system has begun it",
        source: "Bennett, Zhang 1997",
        limit: HOSTS_LIMIT,
        spec: |limit| Spec::Wf2qPlus(HostConfig::of(limit)),
    },
    Kind {
        name: "h-fsc",
        summary: "hosts share by weight; their datagrams may be promised a service curve",
        source: "Stoica, Zhang, Ng 1997",
        limit: HOSTS_LIMIT,
        spec: |limit| Spec::Hfsc(HfscConfig::of(limit)),
    },
    Kind {
        name: "socps",
        summary: "wfq or h-fsc whose weights follow the strength of each station's connection",
        source: "Aida, Tobe, Tokuda 2003",
        limit: HOSTS_LIMIT,
        spec: |limit| Spec::Socps(SocpsConfig::Wfq(WfqConfig::of(limit))),
    },
    Kind {
        name: "socps-traffic",
        summary: "socps for stations that are sent datagrams; those sent TCP weigh the same",
        source: "Aida, Tobe, Tokuda 2003, section 6",
        limit: HOSTS_LIMIT,
        spec: |limit| Spec::Switching(SwitchingConfig::of(limit)),
    },
    Kind {
        name: "csdps",
        summary: "a packet to each station by turns, none to one whose link is bad",
        source: "Bhagwat, Bhattacharya, Krishna, Tripathi 1996",
        limit: HOSTS_LIMIT,
        spec: |limit| Spec::Csdps(HostConfig::of(limit)),
    },
    Kind {
        name: "iwfq",
        summary: "wfq among stations whose link is good; the others come first afterwards",
        source: "Lu, Nandagopal, Bharghavan 1997",
        limit: HOSTS_LIMIT,
        spec: |limit| Spec::Iwfq(IwfqConfig::of(limit)),
    },
    Kind {
        name: "cif-q",
        summary: "fair queueing that repays stations whose link was bad, little by little",
        source: "Ng, Stoica, Zhang 1998",
        limit: HOSTS_LIMIT,
        spec: |limit| Spec::CifQ(CifQConfig::of(limit)),
    },
];

/// The bound of a scheduler of hosts: ten full ones.
const HOSTS_LIMIT: Option<Limit> = Some(Limit::Packets(1000));

impl HostConfig {
    /// 100 packets for each host, in the given bound of all together; strict about weight zero.
    pub const fn of(limit: Limit) -> Self {
        Self { limit, host_limit: Limit::Packets(100), idle_serve: false }
    }
}

impl FairConfig {
    /// The defaults of RFC 8290 section 5.2: 1024 queues, a quantum of 1514 bytes, CoDel with 5 ms
    /// and 100 ms, ECN.
    pub const fn fq_codel(limit: Limit) -> Self {
        let (target, interval) = (Duration::from_millis(5), Duration::from_millis(100));
        let codel = CodelConfig { target, interval, ecn: true };
        Self { limit, buckets: 1024, quantum: 1514, codel }
    }
}

impl AirtimeConfig {
    /// 300 us a turn (Høiland-Jørgensen et al. 2017), and FQ-CoDel with the target of 20 ms that
    /// Linux's mac80211 has for it.
    pub const fn mac80211(limit: Limit) -> Self {
        let fq = FairConfig::fq_codel(limit);
        let codel = CodelConfig { target: Duration::from_millis(20), ..fq.codel };
        Self { quantum: Duration::from_micros(300), flows: FairConfig { codel, ..fq } }
    }
}

impl Mac80211Config {
    /// Linux since 5.5: 4096 flows with a quantum of 300 bytes, an airtime weight of 256 us a
    /// turn, and for each station and category 12 ms of airtime in the device, or 5 ms where
    /// that has 24 ms.
    pub const fn linux(limit: Limit) -> Self {
        let AirtimeConfig { flows, .. } = AirtimeConfig::mac80211(limit);
        let flows = FairConfig { buckets: 4096, quantum: 300, ..flows };
        Self {
            airtime: AirtimeConfig { quantum: Duration::from_micros(256), flows },
            limits: QueueLimits {
                low: Duration::from_millis(5),
                high: Duration::from_millis(12),
                threshold: Duration::from_millis(24),
            },
        }
    }
}

impl WfqConfig {
    /// The fluid system works as packets are taken.
    pub const fn of(limit: Limit) -> Self {
        Self { hosts: HostConfig::of(limit), rate: None }
    }
}

impl SwitchingConfig {
    /// WFQ, windows of one second, and a TCP host from 60 % of TCP on until it has 40 %: Fairwave's
    /// choices. A second is some round trips, and the minimum wait of a TCP after a timeout (RFC
    /// 6298).
    pub const fn of(limit: Limit) -> Self {
        let over = SocpsConfig::Wfq(WfqConfig::of(limit));
        let window = Duration::from_secs(1);
        Self { over, window, tcp_from_percent: 60, tcp_until_percent: 40 }
    }
}

impl IwfqConfig {
    /// Ten full packets of lag and of lead: Fairwave's choice, the paper leaves them open.
    pub const fn of(limit: Limit) -> Self {
        Self { hosts: HostConfig::of(limit), lag: 15_000, lead: 15_000 }
    }
}

impl CifQConfig {
    /// Leading hosts keep half of their turns: Fairwave's choice, the paper leaves alpha open.
    pub const fn of(limit: Limit) -> Self {
        Self { hosts: HostConfig::of(limit), alpha_percent: 50 }
    }
}

impl HfscConfig {
    /// Sharing by weight alone: no real-time curve, no upper limit.
    pub const fn of(limit: Limit) -> Self {
        let share = ServiceCurve::linear(BitRate::mbps(100));
        Self { hosts: HostConfig::of(limit), realtime: None, share, upper: None }
    }
}

impl Spec {
    /// The name of its discipline in [`ALL`], or of a scheduler from outside.
    pub fn name(&self) -> &str {
        match self {
            Self::DropTail { .. } => "drop-tail",
            Self::AckFilter { .. } => "ack-filter",
            Self::AckSplit { .. } => "ack-split",
            Self::WindowClamp { .. } => "window-clamp",
            Self::Lifetime { .. } => "lifetime",
            Self::Ring(_) => "ring",
            Self::Red(_) => "red",
            Self::Pie(_) => "pie",
            Self::FqCodel(_) => "fq-codel",
            Self::Cake(_) => "cake",
            Self::AirtimeDrr(_) => "airtime-drr",
            Self::Mac80211(_) => "mac80211",
            Self::Drr(_) => "drr",
            Self::Wfq(_) => "wfq",
            Self::Wf2qPlus(_) => "wf2q+",
            Self::Hfsc(_) => "h-fsc",
            Self::Socps(_) => "socps",
            Self::Switching(_) => "socps-traffic",
            Self::Csdps(_) => "csdps",
            Self::Iwfq(_) => "iwfq",
            Self::CifQ(_) => "cif-q",
            Self::Own(config) => config.scheduler.name(),
        }
    }

    /// The same with other settings for hosts; `None` for disciplines without hosts.
    pub fn with_hosts(self, hosts: HostConfig) -> Option<Self> {
        match self {
            Self::Drr(config) => Some(Self::Drr(DrrConfig { hosts, ..config })),
            Self::Wfq(config) => Some(Self::Wfq(WfqConfig { hosts, ..config })),
            Self::Wf2qPlus(_) => Some(Self::Wf2qPlus(hosts)),
            Self::Hfsc(config) => Some(Self::Hfsc(HfscConfig { hosts, ..config })),
            Self::Socps(config) => Some(Self::Socps(config.with_hosts(hosts))),
            Self::Switching(config) => Some(Self::Switching(config.with_hosts(hosts))),
            Self::Csdps(_) => Some(Self::Csdps(hosts)),
            Self::Iwfq(config) => Some(Self::Iwfq(IwfqConfig { hosts, ..config })),
            Self::CifQ(config) => Some(Self::CifQ(CifQConfig { hosts, ..config })),
            Self::Own(config) => Some(Self::Own(OwnConfig { hosts, ..config })),
            _ => None,
        }
    }

    /// Whether it follows weights that [`Discipline::set_weight`] sets.
    pub const fn follows_weights(&self) -> bool {
        matches!(
            self,
            Self::Drr(_)
                | Self::Wfq(_)
                | Self::Wf2qPlus(_)
                | Self::Hfsc(_)
                | Self::Socps(_)
                | Self::Switching(_)
                | Self::Iwfq(_)
                | Self::CifQ(_)
                | Self::Own(_)
        )
    }

    /// Whether hosts have fair service curves: those of [`Discipline::set_service`], too.
    pub const fn has_service_curves(&self) -> bool {
        let over = match self {
            Self::Socps(over) => over,
            Self::Switching(config) => &config.over,
            _ => return matches!(self, Self::Hfsc(_)),
        };
        matches!(over, SocpsConfig::Hfsc(_))
    }

    /// Whether it passes over receivers whose link [`Discipline::set_link`] calls bad.
    pub const fn watches_links(&self) -> bool {
        matches!(self, Self::Csdps(_) | Self::Iwfq(_) | Self::CifQ(_) | Self::Own(_))
    }

    /// Whether it needs [`Discipline::beside`] for the packets that its node sends out elsewhere.
    pub const fn looks_beside(&self) -> bool {
        matches!(self, Self::WindowClamp { .. })
    }

    /// Whether it needs airtime by [`Discipline::charge`].
    pub const fn counts_airtime(&self) -> bool {
        matches!(self, Self::AirtimeDrr(_) | Self::Mac80211(_))
    }

    /// Maximum airtime in the device below; `None`: as much as it has room for.
    pub const fn airtime_limits(&self) -> Option<QueueLimits> {
        match self {
            Self::Mac80211(config) => Some(config.limits),
            _ => None,
        }
    }

    /// Packets that may wait in it: those of its bound, or if that is in bytes, as many of 1500
    /// bytes as it has room for.
    pub fn max_packets(&self) -> u64 {
        let packets = |limit: Limit| match limit {
            Limit::Packets(packets) => u64::from(packets),
            Limit::Bytes(bytes) => bytes.0 / 1500,
        };
        match *self {
            Self::DropTail { limit }
            | Self::AckFilter { limit }
            | Self::WindowClamp { limit, .. }
            | Self::Lifetime { limit, .. } => packets(limit),
            Self::AckSplit { limit, ack_limit } => packets(limit) + packets(ack_limit),
            Self::Ring(config) => u64::from(config.descriptors / config.taken_by(0)),
            Self::Red(config) => packets(config.limit),
            Self::Pie(config) => packets(config.limit),
            Self::FqCodel(config) => packets(config.limit),
            Self::Cake(config) => packets(config.limit),
            Self::AirtimeDrr(config) | Self::Mac80211(Mac80211Config { airtime: config, .. }) => {
                packets(config.flows.limit)
            }
            Self::Drr(DrrConfig { hosts, .. })
            | Self::Wfq(WfqConfig { hosts, .. })
            | Self::Wf2qPlus(hosts)
            | Self::Hfsc(HfscConfig { hosts, .. })
            | Self::Csdps(hosts)
            | Self::Iwfq(IwfqConfig { hosts, .. })
            | Self::CifQ(CifQConfig { hosts, .. })
            | Self::Own(OwnConfig { hosts, .. }) => packets(hosts.limit),
            Self::Socps(over) | Self::Switching(SwitchingConfig { over, .. }) => match over {
                SocpsConfig::Wfq(WfqConfig { hosts, .. })
                | SocpsConfig::Hfsc(HfscConfig { hosts, .. }) => packets(hosts.limit),
            },
        }
    }

    /// Queues inside it that flows are spread over.
    pub fn buckets(&self) -> u64 {
        match self {
            Self::FqCodel(config) => u64::from(config.buckets),
            Self::Cake(_) => CakeConfig::QUEUES,
            Self::AirtimeDrr(config) | Self::Mac80211(Mac80211Config { airtime: config, .. }) => {
                u64::from(config.flows.buckets)
            }
            _ => 0,
        }
    }

    /// [`Self::build`] for a host that asks the queue several times for each packet.
    pub fn queue<T: Item + Debug + Send + 'static>(&self, random: Stream) -> Queue<T> {
        match *self {
            Self::DropTail { limit } => Queue::DropTail(DropTail::new(limit)),
            _ => Queue::Other(self.build(random)),
        }
    }

    /// An empty queue of this kind, which draws from `random` if it needs random numbers.
    pub fn build<T: Item + Debug + Send + 'static>(
        &self,
        random: Stream,
    ) -> Box<dyn Discipline<T>> {
        match *self {
            Self::DropTail { limit } => Box::new(DropTail::new(limit)),
            Self::AckFilter { limit } => Box::new(AckFilter::new(limit)),
            Self::AckSplit { limit, ack_limit } => Box::new(AckSplit::new(ack_limit, limit)),
            Self::WindowClamp { limit, idle } => Box::new(WindowClamp::new(limit, idle)),
            Self::Lifetime { limit, lifetime } => Box::new(Lifetime::new(limit, lifetime)),
            Self::Ring(config) => Box::new(Ring::new(config)),
            Self::Red(config) => Box::new(Red::new(config, random)),
            Self::Pie(config) => Box::new(Pie::new(config, random)),
            Self::FqCodel(config) => Box::new(FqCodel::new(config)),
            Self::Cake(config) => Box::new(Cake::new(config, random)),
            Self::AirtimeDrr(config) => Box::new(AirtimeDrr::new(config)),
            Self::Mac80211(config) => Self::AirtimeDrr(config.airtime).build(random),
            Self::Socps(SocpsConfig::Wfq(config)) => Self::Wfq(config).build(random),
            Self::Socps(SocpsConfig::Hfsc(config)) => Self::Hfsc(config).build(random),
            Self::Switching(switch) => match switch.over {
                SocpsConfig::Wfq(WfqConfig { hosts, rate }) => {
                    Box::new(Switching::new(switch, Scheduled::new(hosts, Wfq::new(rate))))
                }
                SocpsConfig::Hfsc(config) => {
                    let scheduler = Scheduled::new(config.hosts, Hfsc::new(&config));
                    Box::new(Switching::new(switch, scheduler))
                }
            },
            Self::Drr(DrrConfig { hosts, quantum }) => scheduled(hosts, Drr::new(quantum)),
            Self::Wfq(WfqConfig { hosts, rate }) => scheduled(hosts, Wfq::new(rate)),
            Self::Wf2qPlus(hosts) => scheduled(hosts, Wf2q::new()),
            Self::Hfsc(config) => scheduled(config.hosts, Hfsc::new(&config)),
            Self::Csdps(hosts) => scheduled(hosts, Csdps::new()),
            Self::Iwfq(config) => scheduled(config.hosts, Iwfq::new(&config)),
            Self::CifQ(config) => scheduled(config.hosts, CifQ::new(config.alpha_percent)),
            Self::Own(ref config) => scheduled(config.hosts, Own::new(&config.scheduler)),
        }
    }
}

fn scheduled<T, O>(hosts: HostConfig, order: O) -> Box<dyn Discipline<T>>
where
    T: Item + Debug + Send + 'static,
    O: Order + 'static,
{
    Box::new(Scheduled::new(hosts, order))
}
