//! Flows of the buffer probe: their keys, and from those to what the simulator runs.

use super::diagnostic::Refusal;
use super::reader::{self, Read, Reader};
use super::value::{Data, Value};
use fairwave_sim::world;
use fairwave_units::{BitRate, Bytes, Duration};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// The least that a packet of the probe can carry: head, number, time and seal.
const LEAST_PAYLOAD: u32 = 46;
const MOST_PAYLOAD: u32 = 2268;
const MOST_SIZES: usize = 16;

/// Keys of probe flows that are not keys of all flows.
pub(super) const KEYS: &[&str] =
    &["payload", "rate", "train", "trials", "spaced", "interval", "rest", "watches"];

/// A flow of the buffer probe: its sender at `from`, its receiver at `to`. What it found is in the
/// flow's summary.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Probe {
    /// Highest rate of the trains, in bits of IP packets per second: a little less than the wire's.
    /// Required.
    #[schemars(with = "String")]
    pub rate: BitRate,
    /// UDP payload of the packets, 46 B to 2268 B, or up to 16 of them in a list: several tell a
    /// limit in packets from one in bytes. Default: "1472 B".
    #[serde(serialize_with = "sizes")]
    #[schemars(with = "OneOrMore")]
    pub payload: Vec<u32>,
    /// Packets of a train, up to 100000; none only watches. Default: 10000.
    pub train: u32,
    /// Trials of each size, 1 to 1000. Default: 10.
    pub trials: u32,
    /// Packets apart before each train, up to 100000. Default: 20.
    pub spaced: u32,
    /// Between packets apart, 1 us to 1 h. Default: "20 ms".
    #[schemars(with = "String")]
    pub interval: Duration,
    /// Silence after a trial is accounted for, up to 1 h. Default: "100 ms".
    #[schemars(with = "String")]
    pub rest: Duration,
    /// Another probe flow from the same node, whose trains load the buffer while the packets of
    /// this one say who waits behind them. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watches: Option<String>,
}

/// How `payload` is written.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes a key to the schema")]
enum OneOrMore {
    /// One size.
    One(String),
    /// Several.
    More(Vec<String>),
}

fn sizes<S: Serializer>(list: &[u32], s: S) -> Result<S::Ok, S::Error> {
    let text = |bytes: &u32| Bytes(u64::from(*bytes)).to_string();
    match list {
        [one] => s.serialize_str(&text(one)),
        more => s.collect_seq(more.iter().map(text)),
    }
}

fn payloads(value: &Value) -> Read<Vec<u32>> {
    let size = reader::size(LEAST_PAYLOAD, MOST_PAYLOAD);
    let Data::List(values) = &value.data else { return size(value).map(|one| vec![one]) };
    if values.is_empty() || values.len() > MOST_SIZES {
        let message = format!("{} sizes; from 1 to {MOST_SIZES} are possible", values.len());
        return Err(Refusal::new(message));
    }
    values.iter().map(size).collect()
}

/// Reads a probe flow.
pub(super) fn probe(r: &Reader<'_>) -> Option<Probe> {
    let rates = reader::within(BitRate(1_000), BitRate::mbps(100_000));
    let hour = Duration::from_secs(3600);
    let microsecond = Duration::from_micros(1);
    let rate = r.required("rate", "rate = \"95 Mbps\"", rates);
    let probe = Probe {
        rate: rate.unwrap_or_default(),
        payload: r.or("payload", vec![1472], payloads),
        train: r.or("train", 10_000, reader::count(0, 100_000)),
        trials: r.or("trials", 10, reader::count(1, 1_000)),
        spaced: r.or("spaced", 20, reader::count(0, 100_000)),
        interval: r.or("interval", Duration::from_millis(20), reader::within(microsecond, hour)),
        rest: r.or("rest", Duration::from_millis(100), reader::within(Duration::ZERO, hour)),
        watches: r.optional("watches", reader::text),
    };
    if probe.train == 0 && probe.spaced == 0 {
        let help = "write how many packets a train has, or how many are sent apart";
        r.refuse("train", Refusal::new("this probe sends nothing").help(help));
    }
    rate.map(|_| probe)
}

impl Probe {
    pub(super) fn to_world(&self) -> world::Traffic {
        let Self { train, spaced, interval, .. } = *self;
        let trial = |payload_bytes| world::Trial { payload_bytes, spaced, interval, train };
        let trials = self
            .payload
            .iter()
            .flat_map(|size| std::iter::repeat_n(trial(*size), self.trials as usize));
        let plan = world::Plan { trials: trials.collect(), rest: self.rest };
        let packets = u32::try_from(plan.packets()).unwrap_or(u32::MAX);
        let limits = world::Limits { rate: self.rate, packets, duration: Duration::MAX };
        world::Traffic::Probe(world::ProbeFlow { plan, limits, watches: self.watches.clone() })
    }
}
