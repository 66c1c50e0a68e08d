//! Queues of radios and links: a bound alone, or a discipline with its parameters.

use super::diagnostic::Refusal;
use super::keys::Kind as Values;
use super::reader::{self, Read, Reader, show_limit};
use super::service::{self, rates};
use super::value::{Data, Value};
use fairwave_queue::{
    ALL, AirtimeConfig, CifQConfig, CodelConfig, DrrConfig, FairConfig, HfscConfig, HostConfig,
    IwfqConfig, Kind, Limit, ServiceCurve, SocpsConfig, Spec, SwitchingConfig, WfqConfig,
};
use fairwave_units::Duration;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value as Json, json};

/// A queue: drop-tail where only a bound is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue(pub Spec);

/// Where the queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
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
}

/// Keys that some disciplines have beside `discipline` and `limit`.
const OWN_KEYS: &[&str] = &[
    "ack_limit",
    "idle",
    "buckets",
    "quantum",
    "target",
    "interval",
    "ecn",
    "airtime_quantum",
    "host_limit",
    "idle_serve",
    "rate",
    "over",
    "lag",
    "lead",
    "kept_percent",
    "traffic_window",
    "tcp_from_percent",
    "tcp_until_percent",
    "realtime_rate",
    "realtime_first_rate",
    "realtime_first_for",
];

/// A queue at `place`.
pub(super) fn queue(place: Place) -> Values<Queue> {
    let write = |queue: &Queue| serde_json::to_value(queue).unwrap_or_default();
    Values::new(read(place), write, Json::Null).described(|definitions| {
        definitions.borrow_mut().entry("Queue").or_insert_with(schema);
        json!({ "$ref": "#/$defs/Queue" })
    })
}

fn read(place: Place) -> impl Fn(&Value) -> Read<Queue> {
    move |value| match &value.data {
        Data::Table(table) => {
            let names: Vec<&str> = ALL.iter().map(|kind| kind.name).collect();
            let name = table.text("discipline");
            let kind = ALL.iter().find(|kind| name.is_none_or(|name| kind.name == name));
            let Some(kind) = kind else {
                let name = name.unwrap_or_default();
                let refusal = Refusal::new(format!("there is no queue discipline called {name:?}"));
                return Err(refusal.among(name, &names));
            };
            let spec = reader::nested(table, value, |r| spec(r, kind, place))?;
            if place == Place::Link && spec.counts_airtime() {
                return Err(Refusal::new("a wired link has no airtime to share out")
                    .help("use it at a radio, or \"fq-codel\" here"));
            }
            if place == Place::Link && spec.name().starts_with("socps") {
                return Err(Refusal::new("nobody reports to a wired link")
                    .help("use it at an access point, or \"wfq\" here"));
            }
            Ok(Queue(spec))
        }
        _ => reader::limit(value).map(|limit| Queue(limit.into())),
    }
}

fn spec(r: &Reader<'_>, kind: &Kind, place: Place) -> Spec {
    let _ = r.or("discipline", String::new(), reader::text);
    let usual = kind.limit.unwrap_or(place.usual());
    let spec = match (kind.spec)(r.or("limit", usual, reader::limit)) {
        Spec::AckSplit { limit, ack_limit } => {
            Spec::AckSplit { limit, ack_limit: r.or("ack_limit", ack_limit, reader::limit) }
        }
        Spec::WindowClamp { limit, idle } => {
            Spec::WindowClamp { limit, idle: r.or("idle", idle, time()) }
        }
        Spec::FqCodel(config) => Spec::FqCodel(fair(r, config)),
        Spec::AirtimeDrr(AirtimeConfig { quantum, flows }) => Spec::AirtimeDrr(AirtimeConfig {
            quantum: r.or("airtime_quantum", quantum, time()),
            flows: fair(r, flows),
        }),
        Spec::Drr(DrrConfig { hosts, quantum }) => Spec::Drr(DrrConfig {
            hosts: by_host(r, hosts),
            quantum: r.or("quantum", quantum, reader::size(64, 1 << 20)),
        }),
        Spec::Wfq(config) => Spec::Wfq(wfq(r, config)),
        Spec::Wf2qPlus(hosts) => Spec::Wf2qPlus(by_host(r, hosts)),
        Spec::Hfsc(config) => Spec::Hfsc(hfsc(r, config)),
        Spec::Socps(config) => Spec::Socps(socps(r, config)),
        Spec::Switching(config) => Spec::Switching(switching(r, config)),
        Spec::Csdps(hosts) => Spec::Csdps(by_host(r, hosts)),
        Spec::Iwfq(IwfqConfig { hosts, lag, lead }) => Spec::Iwfq(IwfqConfig {
            hosts: by_host(r, hosts),
            lag: r.or("lag", lag, reader::size(0, 1 << 30)),
            lead: r.or("lead", lead, reader::size(0, 1 << 30)),
        }),
        Spec::CifQ(CifQConfig { hosts, kept_percent }) => Spec::CifQ(CifQConfig {
            hosts: by_host(r, hosts),
            kept_percent: r.or("kept_percent", kept_percent, reader::count(0, 100)),
        }),
        plain @ (Spec::DropTail { .. } | Spec::AckFilter { .. }) => plain,
    };
    let known = r.known();
    let foreign: Vec<_> = OWN_KEYS.iter().copied().filter(|key| !known.contains(key)).collect();
    r.meaningless(&foreign, &format!("{:?} does not have it", kind.name));
    spec
}

fn fair(r: &Reader<'_>, config: FairConfig) -> FairConfig {
    let CodelConfig { target, interval, ecn } = config.codel;
    FairConfig {
        limit: config.limit,
        buckets: r.or("buckets", config.buckets, reader::count(1, 65_536)),
        quantum: r.or("quantum", config.quantum, reader::size(64, 1 << 20)),
        codel: CodelConfig {
            target: r.or("target", target, time()),
            interval: r.or("interval", interval, time()),
            ecn: r.or("ecn", ecn, reader::boolean),
        },
    }
}

fn by_host(r: &Reader<'_>, HostConfig { limit, host_limit, idle_serve }: HostConfig) -> HostConfig {
    HostConfig {
        limit,
        host_limit: r.or("host_limit", host_limit, reader::limit),
        idle_serve: r.or("idle_serve", idle_serve, reader::boolean),
    }
}

fn wfq(r: &Reader<'_>, config: WfqConfig) -> WfqConfig {
    WfqConfig { hosts: by_host(r, config.hosts), rate: r.optional("rate", rates()) }
}

fn hfsc(r: &Reader<'_>, config: HfscConfig) -> HfscConfig {
    HfscConfig {
        hosts: by_host(r, config.hosts),
        realtime: service::curve(r, service::REALTIME),
        ..config
    }
}

/// What SoCPS is over: whether it is H-FSC.
const OVER: &[(&str, bool)] = &[("wfq", false), ("h-fsc", true)];

fn socps(r: &Reader<'_>, config: SocpsConfig) -> SocpsConfig {
    let limit = match config {
        SocpsConfig::Wfq(config) => config.hosts.limit,
        SocpsConfig::Hfsc(config) => config.hosts.limit,
    };
    if r.or("over", false, reader::choice(OVER)) {
        SocpsConfig::Hfsc(hfsc(r, HfscConfig::of(limit)))
    } else {
        SocpsConfig::Wfq(wfq(r, WfqConfig::of(limit)))
    }
}

fn switching(r: &Reader<'_>, config: SwitchingConfig) -> SwitchingConfig {
    let SwitchingConfig { over, window, tcp_from_percent, tcp_until_percent } = config;
    let (least, most) = (Duration::from_millis(10), Duration::from_secs(60));
    let config = SwitchingConfig {
        over: socps(r, over),
        window: r.or("traffic_window", window, reader::within(least, most)),
        tcp_from_percent: r.or("tcp_from_percent", tcp_from_percent, reader::count(0, 100)),
        tcp_until_percent: r.or("tcp_until_percent", tcp_until_percent, reader::count(0, 100)),
    };
    let SwitchingConfig { tcp_from_percent: from, tcp_until_percent: until, .. } = config;
    if until >= from {
        let message = format!("a host is a TCP host from {from} % on, and none until {until} %");
        let refusal = Refusal::new(message).help("write less than tcp_from_percent");
        r.refuse("tcp_until_percent", refusal);
    }
    config
}

fn time() -> impl Fn(&Value) -> Read<Duration> {
    reader::within(Duration::from_micros(1), Duration::from_secs(3600))
}

impl Serialize for Queue {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if let Spec::DropTail { limit } = self.0 {
            return s.serialize_str(&show_limit(&limit));
        }
        let mut map = s.serialize_map(None)?;
        map.serialize_entry("discipline", self.0.name())?;
        match self.0 {
            Spec::DropTail { limit } | Spec::AckFilter { limit } => {
                map.serialize_entry("limit", &show_limit(&limit))?;
            }
            Spec::AckSplit { limit, ack_limit } => {
                map.serialize_entry("limit", &show_limit(&limit))?;
                map.serialize_entry("ack_limit", &show_limit(&ack_limit))?;
            }
            Spec::WindowClamp { limit, idle } => {
                map.serialize_entry("limit", &show_limit(&limit))?;
                map.serialize_entry("idle", &idle.to_string())?;
            }
            Spec::FqCodel(config) => write_fair::<S>(&mut map, &config)?,
            Spec::AirtimeDrr(AirtimeConfig { quantum, flows }) => {
                write_fair::<S>(&mut map, &flows)?;
                map.serialize_entry("airtime_quantum", &quantum.to_string())?;
            }
            Spec::Drr(DrrConfig { hosts, quantum }) => {
                write_hosts::<S>(&mut map, &hosts)?;
                map.serialize_entry("quantum", &format!("{quantum} B"))?;
            }
            Spec::Wfq(config) => write_wfq::<S>(&mut map, &config)?,
            Spec::Wf2qPlus(hosts) | Spec::Csdps(hosts) => write_hosts::<S>(&mut map, &hosts)?,
            Spec::Iwfq(IwfqConfig { hosts, lag, lead }) => {
                write_hosts::<S>(&mut map, &hosts)?;
                map.serialize_entry("lag", &format!("{lag} B"))?;
                map.serialize_entry("lead", &format!("{lead} B"))?;
            }
            Spec::CifQ(CifQConfig { hosts, kept_percent }) => {
                write_hosts::<S>(&mut map, &hosts)?;
                map.serialize_entry("kept_percent", &kept_percent)?;
            }
            Spec::Hfsc(config) => write_hfsc::<S>(&mut map, &config)?,
            Spec::Socps(config) => write_socps::<S>(&mut map, &config)?,
            Spec::Switching(config) => {
                let SwitchingConfig { over, window, tcp_from_percent, tcp_until_percent } = config;
                write_socps::<S>(&mut map, &over)?;
                map.serialize_entry("traffic_window", &window.to_string())?;
                map.serialize_entry("tcp_from_percent", &tcp_from_percent)?;
                map.serialize_entry("tcp_until_percent", &tcp_until_percent)?;
            }
        }
        map.end()
    }
}

fn write_socps<S: Serializer>(
    map: &mut S::SerializeMap,
    config: &SocpsConfig,
) -> Result<(), S::Error> {
    match config {
        SocpsConfig::Wfq(config) => {
            map.serialize_entry("over", "wfq")?;
            write_wfq::<S>(map, config)
        }
        SocpsConfig::Hfsc(config) => {
            map.serialize_entry("over", "h-fsc")?;
            write_hfsc::<S>(map, config)
        }
    }
}

fn write_hosts<S: Serializer>(
    map: &mut S::SerializeMap,
    hosts: &HostConfig,
) -> Result<(), S::Error> {
    let HostConfig { limit, host_limit, idle_serve } = hosts;
    map.serialize_entry("limit", &show_limit(limit))?;
    map.serialize_entry("host_limit", &show_limit(host_limit))?;
    map.serialize_entry("idle_serve", idle_serve)
}

fn write_wfq<S: Serializer>(map: &mut S::SerializeMap, config: &WfqConfig) -> Result<(), S::Error> {
    write_hosts::<S>(map, &config.hosts)?;
    config.rate.map_or(Ok(()), |rate| map.serialize_entry("rate", &rate.to_string()))
}

fn write_hfsc<S: Serializer>(
    map: &mut S::SerializeMap,
    config: &HfscConfig,
) -> Result<(), S::Error> {
    write_hosts::<S>(map, &config.hosts)?;
    let Some(ServiceCurve { first, lasts, then }) = config.realtime else { return Ok(()) };
    map.serialize_entry("realtime_rate", &then.to_string())?;
    if lasts > Duration::ZERO {
        map.serialize_entry("realtime_first_rate", &first.to_string())?;
        map.serialize_entry("realtime_first_for", &lasts.to_string())?;
    }
    Ok(())
}

fn write_fair<S: Serializer>(
    map: &mut S::SerializeMap,
    config: &FairConfig,
) -> Result<(), S::Error> {
    let FairConfig { limit, buckets, quantum, codel } = config;
    map.serialize_entry("limit", &show_limit(limit))?;
    map.serialize_entry("buckets", buckets)?;
    map.serialize_entry("quantum", &format!("{quantum} B"))?;
    map.serialize_entry("target", &codel.target.to_string())?;
    map.serialize_entry("interval", &codel.interval.to_string())?;
    map.serialize_entry("ecn", &codel.ecn)
}

impl schemars::JsonSchema for Queue {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Queue".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "$ref": "#/$defs/Queue" })
    }
}

fn schema() -> Json {
    json!({
        "description": "A bound in packets or bytes, or a discipline with its parameters.",
        "anyOf": [
            { "type": "string" },
            { "type": "object", "properties": properties(), "additionalProperties": false },
        ],
    })
}

fn percent(description: &str) -> Json {
    let (kind, most) = ("integer", 100);
    json!({ "description": description, "type": kind, "minimum": 0, "maximum": most })
}

/// The keys of a queue.
fn properties() -> Json {
    let text = |description: &str| json!({ "description": description, "type": "string" });
    let names: Vec<&str> = ALL.iter().map(|kind| kind.name).collect();
    json!({
        "discipline": {
            "description": "What decides who is served and what is dropped; \
                `fairwave list queues`. Default: \"drop-tail\".",
            "type": "string",
            "enum": names,
        },
        "limit": text("Bound, in packets or bytes. Default: the bound that the \
            queue has without a discipline; 10240 packets for fq-codel, 8192 \
            packets for airtime-drr, 1000 packets for schedulers of hosts."),
        "ack_limit": text("ack-split: bound of the ACKs. Default: limit."),
        "idle": text("window-clamp: silence after which a connection does not \
            count. Default: \"10 s\"."),
        "buckets": {
            "description": "fq-codel, airtime-drr: queues that flows are spread \
                over. Default: 1024.",
            "type": "integer", "minimum": 1, "maximum": 65_536,
        },
        "quantum": text("fq-codel, airtime-drr: bytes of a flow's turn; drr: of a \
            host's. Default: \"1514 B\"."),
        "target": text("fq-codel, airtime-drr: CoDel's tolerated standing delay. \
            Default: \"5 ms\" for fq-codel, \"20 ms\" for airtime-drr."),
        "interval": text("fq-codel, airtime-drr: CoDel's interval. Default: \
            \"100 ms\"."),
        "ecn": {
            "description": "fq-codel, airtime-drr: mark packets that take part \
                in ECN instead of dropping them. Default: true.",
            "type": "boolean",
        },
        "airtime_quantum": text("airtime-drr: airtime of a station's turn. \
            Default: \"300 us\"."),
        "host_limit": text("Schedulers of hosts: bound of each host's queue. \
            Default: \"100 packets\"."),
        "idle_serve": {
            "description": "Schedulers of hosts: serve hosts of weight zero \
                while no other has anything to send. Default: false.",
            "type": "boolean",
        },
        "over": {
            "description": "socps, socps-traffic: the scheduler that shares by the weights. \
                Default: \"wfq\".",
            "type": "string",
            "enum": ["wfq", "h-fsc"],
        },
        "lag": text("iwfq: bytes that a station may claim for the time that its \
            link was bad. Default: \"15000 B\"."),
        "lead": text("iwfq: bytes by which a station may be ahead before it stops \
            paying for it. Default: \"15000 B\"."),
        "kept_percent": percent("cif-q: share of its turns that a station keeps which \
            is ahead. Default: 50."),
        "traffic_window": text("socps-traffic: time over which it is counted what a \
            station is sent. Default: \"1 s\"."),
        "tcp_from_percent": percent("socps-traffic: share of TCP in a window from which \
            on a station counts as one that is sent TCP. Default: 60."),
        "tcp_until_percent": percent("socps-traffic: share down to which it remains one. \
            Default: 40."),
        "realtime_rate": text("h-fsc, socps over it: what each station's datagrams \
            are promised in the long run. Default: no promise."),
        "realtime_first_rate": text("h-fsc: what they are promised at the \
            beginning of a backlog. Default: realtime_rate."),
        "realtime_first_for": text("h-fsc: for how long. Default: \"10 ms\"."),
        "rate": text("wfq, socps over it: the link's rate, by which its fluid \
            system works. Default: it works as packets are taken."),
    })
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
            let queue = format!("{{ discipline = {:?}, limit = \"77 packets\" }}", kind.name);
            let of_radios = ["airtime-drr", "socps", "socps-traffic"].contains(&kind.name);
            let link = if of_radios { "\"7 packets\"" } else { queue.as_str() };
            let read = Scenario::parse("s", &scenario(&queue, link)).unwrap();
            let again = Scenario::parse("t", &read.to_toml()).unwrap();
            assert_eq!(read, again, "{}", read.to_toml());
            assert!(read.to_toml().contains("77 packets"));
        }
    }

    #[test]
    fn every_parameter_acts() {
        let with = |text: &str| Scenario::parse("s", &scenario(text, "\"9 packets\"")).unwrap();
        for (discipline, key, value) in [
            ("ack-split", "ack_limit", "\"3 packets\""),
            ("window-clamp", "idle", "\"3 s\""),
            ("fq-codel", "buckets", "3"),
            ("fq-codel", "quantum", "\"3000 B\""),
            ("fq-codel", "target", "\"3 ms\""),
            ("fq-codel", "interval", "\"3 ms\""),
            ("fq-codel", "ecn", "false"),
            ("airtime-drr", "target", "\"3 ms\""),
            ("airtime-drr", "airtime_quantum", "\"3 ms\""),
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
            ("cif-q", "kept_percent", "90"),
            ("h-fsc", "realtime_rate = \"3 Mbps\", realtime_first_rate", "\"9 Mbps\""),
        ] {
            let plain = with(&format!("{{ discipline = {discipline:?} }}"));
            let set = with(&format!("{{ discipline = {discipline:?}, {key} = {value} }}"));
            assert_ne!(plain, set, "{discipline}.{key}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (ap, link, said) in [
            ("{ discipline = \"red\" }", "\"9 packets\"", "no queue discipline called \"red\""),
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
            ("\"9 packets\"", "{ discipline = \"socps\" }", "nobody reports"),
        ] {
            let error = Scenario::parse("s", &scenario(ap, link)).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
