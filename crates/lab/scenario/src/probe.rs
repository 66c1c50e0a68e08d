//! Flows of the buffer probe: their keys, and the conversion to the simulator's inputs.

use crate::carrier::Carrier;
use crate::diagnostic::Refusal;
use crate::keys::{Kind, keys};
use crate::kinds::{count, text, within};
use crate::limits::{HOUR, MICROSECOND};
use crate::reader::{self, Read, Reader};
use crate::value::{Data, Value};
use fairwave_sim::world;
use fairwave_trace::NodeId;
use fairwave_units::{BitRate, Bytes, Duration};
use serde_json::json;

/// Minimum payload of a packet of the probe: head, number, time and seal.
const MIN_PAYLOAD: u32 = 46;
const MAX_PAYLOAD: u32 = 2268;
const MAX_SIZES: usize = 16;

keys! {
    /// A flow of the buffer probe: its sender at `from`, its receiver at `to`. Its findings are
    /// in the flow's summary.
    pub struct Probe |r| {
        /// Highest rate of the trains, in bits of IP packets per second: a little less than the
        /// wire's.
        rate: BitRate =
            within(BitRate(1_000), BitRate::mbps(100_000)).required("rate = \"95 Mbps\"");
        /// UDP payload of the packets, or up to 16 of them in a list: several sizes distinguish a
        /// limit in packets from one in bytes.
        payload: Vec<u32> = payloads().or(vec![1472]);
        /// Packets of a train; with none the flow only watches.
        train: u32 = count(0, 100_000).or(10_000);
        /// Trials of each size.
        trials: u32 = count(1, 1_000).or(10);
        /// Packets apart before each train.
        spaced: u32 = count(0, 100_000).or(20);
        /// Time between packets apart.
        interval: Duration = within(MICROSECOND, HOUR).or(Duration::from_millis(20));
        /// Silence after a trial is accounted for.
        rest: Duration = within(Duration::ZERO, HOUR).or(Duration::from_millis(100));
        /// Another probe flow from the same node, whose trains load the buffer while the packets of
        /// this one measure the delay behind them.
        watches: Option<String> = text().optional();
    }
    check Self::check;
}

/// One size, or a list of several.
fn payloads() -> Kind<Vec<u32>> {
    let read = |value: &Value| -> Read<Vec<u32>> {
        let size = reader::size(MIN_PAYLOAD, MAX_PAYLOAD);
        let Data::List(values) = &value.data else { return size(value).map(|one| vec![one]) };
        if values.is_empty() || values.len() > MAX_SIZES {
            let message = format!("{} sizes; from 1 to {MAX_SIZES} are possible", values.len());
            return Err(Refusal::new(message));
        }
        values.iter().map(size).collect()
    };
    let text = |bytes: &u32| Bytes(u64::from(*bytes)).to_string();
    let write = move |list: &Vec<u32>| match list.as_slice() {
        [one] => json!(text(one)),
        more => json!(more.iter().map(text).collect::<Vec<_>>()),
    };
    Kind::new(read, write, |_| {
        let items = json!({ "type": "string" });
        let list = json!({ "type": "array", "items": items, "minItems": 1, "maxItems": MAX_SIZES });
        let range = format!("From {MIN_PAYLOAD} B to {MAX_PAYLOAD} B");
        json!({ "anyOf": [{ "type": "string" }, list], "x-range": range })
    })
}

impl Probe {
    fn check(&self, r: &Reader<'_>) {
        if self.train == 0 && self.spaced == 0 {
            let help = "write how many packets a train has, or how many are sent apart";
            r.refuse("train", Refusal::new("this probe sends nothing").help(help));
        }
    }
}

impl Carrier for Probe {
    fn to_world(&self, _: &dyn Fn(&str) -> NodeId) -> world::Traffic {
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
