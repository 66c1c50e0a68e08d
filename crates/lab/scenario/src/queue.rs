//! Queues of radios and links: a bound alone, or a discipline with its parameters.

use crate::diagnostic::Refusal;
use crate::keys::{
    Entry, Flat, Keyed, Kind as Values, Part, describe, keys, listed, schema, written,
};
use crate::kinds::{boolean, bounds, count, named, size, within};
use crate::limits::{HOUR, MICROSECOND, SECOND};
use crate::own::OwnAlgorithms;
use crate::reader::{self, Mode, Read, Reader, show_limit};
use crate::service::{Promise, curve_rates};
use crate::value::{Data, Value};
use crate::variants::{Usual, others, variants};
use fairwave_queue::{
    ALL, AirtimeConfig, CifQConfig, CodelConfig, DrrConfig, FairConfig, HfscConfig, HostConfig,
    IwfqConfig, Kind, Limit, Mac80211Config, OwnConfig, QueueLimits, RingConfig, ServiceCurve,
    SocpsConfig, Spec, SwitchingConfig, WfqConfig,
};
use fairwave_units::{BitRate, Duration};
use serde_json::{Value as Json, json};
use std::sync::OnceLock;

/// A queue: drop-tail where only a bound is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue(pub Spec);

/// Place of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Radio,
    Link,
}

impl Place {
    pub(super) const fn usual(self) -> Limit {
        match self {
            Self::Radio => Limit::Packets(100),
            Self::Link => Limit::Packets(1000),
        }
    }

    /// The usual parameters of a discipline here.
    fn spec(self, kind: &Kind) -> Spec {
        (kind.spec)(kind.limit.unwrap_or(self.usual()))
    }

    pub(crate) fn check(self, spec: Spec) -> Read<Spec> {
        if self == Self::Link && spec.counts_airtime() {
            return Err(Refusal::new("a wired link has no airtime to share out")
                .help("use it at a radio, or \"fq-codel\" here"));
        }
        if self == Self::Link && spec.name().starts_with("socps") {
            return Err(Refusal::new("no station reports to a wired link")
                .help("use it at an access point, or \"wfq\" here"));
        }
        if let Spec::Ring(ring) = spec
            && ring.descriptors < ring.taken_by(MAX_PACKET)
        {
            let (has, needs) = (ring.descriptors, ring.taken_by(MAX_PACKET));
            return Err(Refusal::new(format!(
                "{has} descriptors never take a packet of {MAX_PACKET} bytes"
            ))
            .help(format!("write {needs} or more, or a larger `buffer`")));
        }
        Ok(spec)
    }
}

/// Bytes of the largest packet that every queue must take: an MSDU.
const MAX_PACKET: u32 = 2304;

/// Inputs of a queue's keys.
#[derive(Clone, Debug)]
pub(crate) struct At {
    place: Place,
    own: OwnAlgorithms,
}

impl At {
    /// A place where the disciplines of the list alone are known.
    pub(crate) fn of(place: Place) -> Self {
        Self { place, own: OwnAlgorithms::default() }
    }
}

/// A queue at `place`, which may have a scheduler of `own`.
pub(super) fn queue(place: Place, own: OwnAlgorithms) -> Values<Queue> {
    let at = At { place, own };
    let read = move |value: &Value| match &value.data {
        Data::Table(_) => Spec::nested(value, &at, "").and_then(|spec| place.check(spec)),
        Data::Text(word) if names(&at.own).iter().any(|name| name == word.trim()) => {
            let table = format!("{{ {TAG} = {:?} }}", word.trim());
            Err(Refusal::new(format!("{word:?} is no bound, but the name of a discipline"))
                .help(format!("write queue = {table}, or a bound such as \"100 packets\"")))
        }
        _ => reader::limit(value).map(Spec::from),
    };
    let values = Values::new(read, write, |definitions| {
        if !definitions.borrow().contains_key(Spec::NAME) {
            let either = json!({
                "description": DESCRIPTION,
                "anyOf": [{ "type": "string" }, schema::<Spec>(definitions)],
            });
            definitions.borrow_mut().insert(Spec::NAME.to_owned(), either);
        }
        json!({ "$ref": "#/$defs/Queue" })
    });
    values.map(Queue, |queue| queue.0.clone())
}

/// The bound of drop-tail, or a table.
fn write(spec: &Spec) -> Json {
    match spec {
        Spec::DropTail { limit } => json!(show_limit(limit)),
        spec => Json::Object(written(spec)),
    }
}

const DESCRIPTION: &str = "A bound in packets or bytes, or a discipline with its parameters: \
    drop-tail, where none is named. `fairwave list queues` says more.";

/// The key that names the discipline.
const TAG: &str = "discipline";

impl Keyed for Spec {
    const NAME: &'static str = "Queue";
    const ABOUT: &'static str = "A discipline with its parameters.";
    type Context = At;

    fn usual() -> At {
        At::of(Place::Radio)
    }

    fn keys(r: &Reader<'_>, this: Option<&Self>, at: &At) -> Self {
        let place = at.place;
        match (r.mode(), this) {
            (Mode::Write(written), Some(spec)) => {
                written.borrow_mut().insert(TAG.to_owned(), json!(spec.name()));
                parameters(r, spec.clone())
            }
            (Mode::Describe(described), _) => {
                for kind in ALL {
                    let variant = describe(described.definitions, |r| {
                        if let Mode::Describe(described) = r.mode() {
                            Usual::Word(ALL[0].name).describe(described, TAG, kind.name);
                        }
                        parameters(r, place.spec(kind));
                    });
                    described.add_variant(variant, &about(kind));
                }
                place.usual().into()
            }
            (Mode::Name(names), _) => {
                for kind in ALL {
                    names.borrow_mut().push(TAG);
                    parameters(r, place.spec(kind));
                }
                place.usual().into()
            }
            _ => read(r, at),
        }
    }
}

/// Description of a discipline, as a sentence.
fn about(kind: &Kind) -> String {
    let (first, rest) = kind.summary.split_at(1);
    format!("{}{rest}.", first.to_uppercase())
}

/// The names of all disciplines.
fn names(own: &OwnAlgorithms) -> Vec<String> {
    let listed = ALL.iter().map(|kind| kind.name);
    listed.chain(own.schedulers()).map(str::to_owned).collect()
}

fn read(r: &Reader<'_>, At { place, own }: &At) -> Spec {
    let known = |name: &str| format!("there is no queue discipline called {name:?}");
    let known = named(names(own), known);
    let name = r.or(TAG, ALL[0].name.to_owned(), |value| known.read(value));
    let kind = |name: &str| ALL.iter().position(|kind| kind.name == name).unwrap_or_default();
    let scheduler = own.scheduler(&name);
    // A scheduler from outside has the keys of one that has none but those of hosts.
    let kind = scheduler.map_or(kind(&name), |_| kind(PLAIN));
    r.meaningless(&others(sets(), Some(kind)), &format!("{name:?} does not have it"));
    parameters(
        r,
        match (scheduler.cloned(), place.spec(&ALL[kind])) {
            (Some(scheduler), Spec::Wf2qPlus(hosts)) => Spec::Own(OwnConfig { hosts, scheduler }),
            (_, spec) => spec,
        },
    )
}

/// A scheduler without parameters of its own.
const PLAIN: &str = "wf2q+";

/// The keys of each discipline beside its name.
fn sets() -> &'static [Vec<&'static str>] {
    static SETS: OnceLock<Vec<Vec<&'static str>>> = OnceLock::new();
    let set = |kind: &Kind| listed(|r| parameters(r, Place::Radio.spec(kind))).0;
    SETS.get_or_init(|| ALL.iter().map(set).collect())
}

/// Goes through the keys of a discipline: where they are written these are the parameters,
/// elsewhere they are the defaults.
fn parameters(r: &Reader<'_>, usual: Spec) -> Spec {
    match usual {
        Spec::DropTail { limit } => Spec::DropTail { limit: bound(r, limit) },
        Spec::AckFilter { limit } => Spec::AckFilter { limit: bound(r, limit) },
        Spec::AckSplit { limit: usual, ack_limit } => {
            let all = bound(r, usual);
            let entry = bounds().or(all).phrase("as `limit`");
            let ack_limit = key(r, "ack_limit", "Bound of the ACKs.", entry, &ack_limit);
            Spec::AckSplit { limit: all, ack_limit }
        }
        Spec::WindowClamp { limit, idle } => {
            let limit = bound(r, limit);
            let about = "Silence after which a connection does not count.";
            Spec::WindowClamp { limit, idle: key(r, "idle", about, times().or(idle), &idle) }
        }
        Spec::Lifetime { limit, lifetime } => {
            let limit = bound(r, limit);
            let about = "How long a packet may wait: 512 ms are 500 TU, the standard's default.";
            let entry = times().or(lifetime);
            Spec::Lifetime { limit, lifetime: key(r, "lifetime", about, entry, &lifetime) }
        }
        Spec::Ring(config) => Spec::Ring(go(r, &config)),
        Spec::Red(config) => Spec::Red(go(r, &config)),
        Spec::Pie(config) => Spec::Pie(go(r, &config)),
        Spec::FqCodel(config) => Spec::FqCodel(go(r, &config)),
        Spec::Cake(config) => Spec::Cake(go(r, &config)),
        Spec::AirtimeDrr(config) => Spec::AirtimeDrr(go(r, &config)),
        Spec::Mac80211(config) => Spec::Mac80211(go(r, &config)),
        Spec::Drr(config) => Spec::Drr(go(r, &config)),
        Spec::Wfq(config) => Spec::Wfq(go(r, &config)),
        Spec::Wf2qPlus(hosts) => Spec::Wf2qPlus(go(r, &hosts)),
        Spec::Hfsc(config) => Spec::Hfsc(go(r, &config)),
        Spec::Socps(config) => Spec::Socps(go(r, &config)),
        Spec::Switching(config) => Spec::Switching(go(r, &config)),
        Spec::Csdps(hosts) => Spec::Csdps(go(r, &hosts)),
        Spec::Iwfq(config) => Spec::Iwfq(go(r, &config)),
        Spec::CifQ(config) => Spec::CifQ(go(r, &config)),
        Spec::Own(OwnConfig { hosts, scheduler }) => {
            Spec::Own(OwnConfig { hosts: go(r, &hosts), scheduler })
        }
    }
}

/// A table of parameters whose context is the usual ones.
fn go<T: Keyed<Context = T>>(r: &Reader<'_>, usual: &T) -> T {
    T::keys(r, Some(usual), usual)
}

fn key<T: Clone + 'static>(
    r: &Reader<'_>,
    name: &'static str,
    about: &str,
    entry: Entry<T>,
    this: &T,
) -> T {
    entry.go(r, name, about, Some(this))
}

/// The bound of a discipline that has no usual one of its own.
fn bound(r: &Reader<'_>, usual: Limit) -> Limit {
    let entry = bounds().or(usual).phrase("that without a discipline");
    key(r, "limit", BOUND, entry, &usual)
}

const BOUND: &str = "Bound, in packets or bytes.";

pub(crate) fn times() -> Values<Duration> {
    within(MICROSECOND, HOUR)
}

keys! {
    /// A ring of descriptors.
    for RingConfig |r| (usual: RingConfig = RingConfig::of(Place::Radio.usual())) {
        /// Number of descriptors.
        descriptors: u32 = count(1, 1_000_000)
            .or(usual.descriptors)
            .phrase("the packets that wait without a discipline");
        /// Size of a descriptor's buffer; a packet, from its IP header on, takes as many as it
        /// needs.
        buffer: u32 = size(64, 1 << 16).or(usual.buffer);
        /// Further descriptors of each packet.
        per_packet: u32 = count(0, 16).or(usual.per_packet);
    }
}

keys! {
    /// Queues of flows.
    for FairConfig |r| (usual: FairConfig = FairConfig::fq_codel(Place::Radio.usual())) {
        /// Bound, in packets or bytes.
        limit: Limit = bounds().or(usual.limit);
        /// Queues that flows are spread over.
        buckets: u32 = count(1, 65_536).or(usual.buckets);
        /// Bytes of a flow's turn.
        quantum: u32 = size(64, 1 << 20).or(usual.quantum);
        /// CoDel of each queue.
        codel: CodelConfig = Flat(usual.codel);
    }
}

keys! {
    /// CoDel.
    for CodelConfig |r| (usual: CodelConfig = FairConfig::fq_codel(Place::Radio.usual()).codel) {
        /// The standing delay that CoDel tolerates.
        target: Duration = times().or(usual.target);
        /// CoDel's interval.
        interval: Duration = times().or(usual.interval);
        /// Mark packets that take part in ECN instead of dropping them.
        ecn: bool = boolean().or(usual.ecn);
    }
}

keys! {
    /// Airtime shared out among stations.
    for AirtimeConfig |r| (usual: AirtimeConfig = AirtimeConfig::mac80211(Place::Radio.usual())) {
        /// The flows of each station.
        flows: FairConfig = Flat(usual.flows);
        /// Airtime of a station's turn.
        quantum as "airtime_quantum": Duration = times().or(usual.quantum);
    }
}

keys! {
    /// The queues of Linux's mac80211.
    for Mac80211Config |r| (usual: Mac80211Config = Mac80211Config::linux(Place::Radio.usual())) {
        /// Order of service.
        airtime: AirtimeConfig = Flat(usual.airtime);
        /// Room of the device.
        limits: QueueLimits = Flat(usual.limits);
    }
}

keys! {
    /// Airtime queue limits.
    for QueueLimits |r| (usual: QueueLimits = Mac80211Config::linux(Place::Radio.usual()).limits) {
        /// Airtime of frames to one station in one category that the device takes while it has
        /// `aql_threshold` in all.
        low as "aql_low": Duration = times().or(usual.low);
        /// The same while it has less.
        high as "aql_high": Duration = times().or(usual.high);
        /// Airtime in the device from which on `aql_low` holds.
        threshold as "aql_threshold": Duration = times().or(usual.threshold);
    }
}

keys! {
    /// Queues of stations.
    for HostConfig |r| (usual: HostConfig = HostConfig::of(Place::Radio.usual())) {
        /// Bound, in packets or bytes.
        limit: Limit = bounds().or(usual.limit);
        /// Bound of each station's queue.
        host_limit: Limit = bounds().or(usual.host_limit);
        /// Serve stations of weight zero while no other has anything to send.
        idle_serve: bool = boolean().or(usual.idle_serve);
    }
}

keys! {
    /// Deficit round robin.
    for DrrConfig |r| (usual: DrrConfig = DrrConfig {
        hosts: HostConfig::usual(),
        quantum: 1514,
    }) {
        /// The stations.
        hosts: HostConfig = Flat(usual.hosts);
        /// Bytes of a station's turn.
        quantum: u32 = size(64, 1 << 20).or(usual.quantum);
    }
}

keys! {
    /// Weighted fair queueing.
    for WfqConfig |r| (usual: WfqConfig = WfqConfig::of(Place::Radio.usual())) {
        /// The stations.
        hosts: HostConfig = Flat(usual.hosts);
        /// The link's rate, by which the fluid system works; without it, it works as packets are
        /// taken.
        rate: Option<BitRate> = curve_rates().optional();
    }
}

keys! {
    /// Fair service curves.
    for HfscConfig |r| (usual: HfscConfig = HfscConfig::of(Place::Radio.usual())) {
        /// The stations.
        hosts: HostConfig = Flat(usual.hosts);
        /// Service guaranteed to their datagrams.
        realtime: Option<ServiceCurve> = Promised;
        ..*usual
    }
}

/// The keys of a curve that may be promised.
struct Promised;

impl Part<Option<ServiceCurve>> for Promised {
    fn go(
        self,
        r: &Reader<'_>,
        _: &'static str,
        _: &str,
        this: Option<&Option<ServiceCurve>>,
    ) -> Option<ServiceCurve> {
        Promise::keys(r, this.map(|curve| Promise::of(*curve)).as_ref(), &()).curve()
    }
}

variants! {
    /// The scheduler that shares by the weights.
    enum Over by "over", Usual::Word("wfq"), |r| (limit: Limit = Place::Radio.usual()) {
        /// Weighted fair queueing.
        Wfq(WfqConfig) = "wfq", "\"wfq\" does not have it", WfqConfig::of(*limit);
        /// Fair service curves.
        Hfsc(HfscConfig) = "h-fsc", "\"h-fsc\" does not have it", HfscConfig::of(*limit);
    }
}

impl Keyed for SocpsConfig {
    const NAME: &'static str = Over::NAME;
    const ABOUT: &'static str = Over::ABOUT;
    type Context = Self;

    fn usual() -> Self {
        Self::Wfq(WfqConfig::usual())
    }

    fn keys(r: &Reader<'_>, this: Option<&Self>, usual: &Self) -> Self {
        let (Self::Wfq(WfqConfig { hosts, .. }) | Self::Hfsc(HfscConfig { hosts, .. })) = usual;
        let this = this.map(|this| match *this {
            Self::Wfq(config) => Over::Wfq(config),
            Self::Hfsc(config) => Over::Hfsc(config),
        });
        match Over::keys(r, this.as_ref(), &hosts.limit) {
            Over::Wfq(config) => Self::Wfq(config),
            Over::Hfsc(config) => Self::Hfsc(config),
        }
    }
}

keys! {
    /// Weights for stations that are sent datagrams.
    for SwitchingConfig |r| (usual: SwitchingConfig = SwitchingConfig::of(Place::Radio.usual())) {
        /// The scheduler that shares by the weights.
        over: SocpsConfig = Flat(usual.over);
        /// Time over which the data sent to a station is counted.
        window as "traffic_window": Duration =
            within(Duration::from_millis(10), SECOND * 60).or(usual.window);
        /// Share of TCP in a window, in percent, from which on a station counts as one that is
        /// sent TCP.
        tcp_from_percent: u32 = count(0, 100).or(usual.tcp_from_percent);
        /// Share, in percent, down to which it remains one.
        tcp_until_percent: u32 = count(0, 100).or(usual.tcp_until_percent);
    }
    check until_is_below_from;
}

fn until_is_below_from(config: &SwitchingConfig, r: &Reader<'_>) {
    let SwitchingConfig { tcp_from_percent: from, tcp_until_percent: until, .. } = config;
    if until >= from {
        let message = format!("a host is a TCP host from {from} % on, and none until {until} %");
        let refusal = Refusal::new(message).help("write less than tcp_from_percent");
        r.refuse("tcp_until_percent", refusal);
    }
}

keys! {
    /// Weighted fair queueing that repays at once.
    for IwfqConfig |r| (usual: IwfqConfig = IwfqConfig::of(Place::Radio.usual())) {
        /// The stations.
        hosts: HostConfig = Flat(usual.hosts);
        /// Bytes that a station may claim for the time that its link was bad.
        lag: u32 = size(0, 1 << 30).or(usual.lag);
        /// Bytes by which a station may be ahead before it stops paying for it.
        lead: u32 = size(0, 1 << 30).or(usual.lead);
    }
}

keys! {
    /// Fair queueing that repays little by little.
    for CifQConfig |r| (usual: CifQConfig = CifQConfig::of(Place::Radio.usual())) {
        /// The stations.
        hosts: HostConfig = Flat(usual.hosts);
        /// Share of its turns, in percent, that a station keeps which is ahead.
        alpha_percent: u32 = count(0, 100).or(usual.alpha_percent);
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn scenario(ap: &str, link: &str) -> String {
        format!(
            "duration = \"1 s\"\ncell = {{ standard = \"802.11a\", soc = {{}} }}\n\
             [[node]]\nname = \"ap\"\nkind = \"access-point\"\nqueue = {ap}\n\
             [[node]]\nname = \"sta\"\nkind = \"station\"\n\
             [[node]]\nname = \"server\"\nkind = \"host\"\n\
             [[link]]\nends = [\"ap\", \"server\"]\nqueue = {link}\n\
             [[flow]]\nname = \"up\"\nfrom = \"sta\"\nto = \"server\"\n"
        )
    }

    #[test]
    fn every_discipline_survives_being_written_and_read() {
        for kind in fairwave_queue::ALL {
            let (key, bound) = match kind.name {
                "ring" => ("descriptors", "77"),
                _ => ("limit", "\"77 packets\""),
            };
            let queue = format!("{{ discipline = {:?}, {key} = {bound} }}", kind.name);
            let of_radios =
                ["airtime-drr", "mac80211", "socps", "socps-traffic"].contains(&kind.name);
            let link = if of_radios { "\"7 packets\"" } else { queue.as_str() };
            let read = Scenario::parse("s", &scenario(&queue, link)).unwrap();
            let again = Scenario::parse("t", &read.to_toml()).unwrap();
            assert_eq!(read, again, "{}", read.to_toml());
            assert!(read.to_toml().contains(bound));
        }
    }

    #[test]
    fn every_parameter_acts() {
        let with = |text: &str| Scenario::parse("s", &scenario(text, "\"9 packets\"")).unwrap();
        for (discipline, key, value) in [
            ("ack-split", "ack_limit", "\"3 packets\""),
            ("window-clamp", "idle", "\"3 s\""),
            ("ring", "descriptors", "33"),
            ("ring", "buffer", "\"256 B\""),
            ("ring", "per_packet", "1"),
            ("red", "min_threshold", "\"3 packets\""),
            ("red", "max_threshold", "\"33 packets\""),
            ("red", "max_percent", "3"),
            ("red", "weight_shift", "3"),
            ("red", "packet_time", "\"3 ms\""),
            ("red", "gentle", "true"),
            ("red", "adaptive", "true"),
            ("red", "ecn", "true"),
            ("pie", "target", "\"3 ms\""),
            ("pie", "update", "\"3 ms\""),
            ("pie", "max_burst", "\"3 ms\""),
            ("pie", "ecn", "true"),
            ("fq-codel", "buckets", "3"),
            ("fq-codel", "quantum", "\"3000 B\""),
            ("fq-codel", "target", "\"3 ms\""),
            ("fq-codel", "interval", "\"3 ms\""),
            ("fq-codel", "ecn", "false"),
            ("cake", "limit", "\"3 packets\""),
            ("cake", "rate", "\"3 Mbps\""),
            ("cake", "rate = \"3 Mbps\", overhead", "\"18 B\""),
            ("cake", "rate = \"3 Mbps\", min_packet", "\"64 B\""),
            ("cake", "rtt", "\"3 ms\""),
            ("cake", "isolation", "\"flows\""),
            ("airtime-drr", "target", "\"3 ms\""),
            ("airtime-drr", "airtime_quantum", "\"3 ms\""),
            ("mac80211", "target", "\"3 ms\""),
            ("mac80211", "airtime_quantum", "\"3 ms\""),
            ("mac80211", "aql_low", "\"3 ms\""),
            ("mac80211", "aql_high", "\"3 ms\""),
            ("mac80211", "aql_threshold", "\"3 ms\""),
            ("drr", "quantum", "\"3000 B\""),
            ("drr", "host_limit", "\"3 packets\""),
            ("wfq", "idle_serve", "true"),
            ("wfq", "rate", "\"3 Mbps\""),
            ("wf2q+", "host_limit", "\"3 packets\""),
            ("h-fsc", "realtime_rate", "\"3 Mbps\""),
            ("socps", "over", "\"h-fsc\""),
            ("socps-traffic", "over", "\"h-fsc\""),
            ("socps-traffic", "traffic_window", "\"3 s\""),
            ("socps-traffic", "tcp_from_percent", "70"),
            ("socps-traffic", "tcp_until_percent", "30"),
            ("iwfq", "lag", "\"3000 B\""),
            ("iwfq", "lead", "\"3000 B\""),
            ("cif-q", "alpha_percent", "90"),
            ("h-fsc", "realtime_rate = \"3 Mbps\", realtime_first_rate", "\"9 Mbps\""),
        ] {
            let plain = with(&format!("{{ discipline = {discipline:?} }}"));
            let set = with(&format!("{{ discipline = {discipline:?}, {key} = {value} }}"));
            assert_ne!(plain, set, "{discipline}.{key}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (ap, link, printed) in [
            ("{ discipline = \"sfb\" }", "\"9 packets\"", "no queue discipline called \"sfb\""),
            (
                "{ discipline = \"red\", min_threshold = \"20 packets\" }",
                "\"9 packets\"",
                "below max_threshold",
            ),
            (
                "{ discipline = \"red\", min_threshold = \"3000 B\" }",
                "\"9 packets\"",
                "in packets or both in bytes",
            ),
            ("{ target = \"3 ms\" }", "\"9 packets\"", "\"drop-tail\" does not have it"),
            (
                "{ discipline = \"h-fsc\", realtime_first_rate = \"3 Mbps\" }",
                "\"9 packets\"",
                "begins",
            ),
            (
                "{ discipline = \"socps-traffic\", tcp_until_percent = 60 }",
                "\"9 packets\"",
                "less than tcp_from_percent",
            ),
            ("{ limits = \"3 ms\" }", "\"9 packets\"", "unknown key"),
            ("\"9 packets\"", "{ discipline = \"airtime-drr\" }", "no airtime"),
            ("\"9 packets\"", "{ discipline = \"socps\" }", "no station reports"),
        ] {
            let error = Scenario::parse("s", &scenario(ap, link)).unwrap_err().to_string();
            assert!(error.contains(printed), "{error}");
        }
    }
}
