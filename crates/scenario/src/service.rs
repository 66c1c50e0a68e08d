//! What an access point has agreed with a station: `service` of a station.

use super::reader::{self, Read, Reader, nested};
use super::value::{Data, Value};
use fairwave_queue::{ServiceCurve, Weight};
use fairwave_sim::world;
use fairwave_units::{BitRate, Duration};
use schemars::JsonSchema;
use serde::Serialize;

/// How the queues of its access points serve a station, if they are schedulers of hosts. A curve
/// is a rate, and perhaps another one at the beginning of a backlog; `h-fsc` and `socps` over it
/// know curves.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Service {
    /// Its weight beside others', 0.001 to 1000; weights by its channel are multiplied by it.
    /// Default: 1.
    pub weight: f64,
    /// What its datagrams are promised in the long run. Default: as the queue says for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub realtime_rate: Option<BitRate>,
    /// What they are promised at first. Default: realtime_rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub realtime_first_rate: Option<BitRate>,
    /// For how long. Default: "10 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub realtime_first_for: Option<Duration>,
    /// Its share of what is not promised, in proportion to the others'. Default: "100 Mbps".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub share_rate: Option<BitRate>,
    /// The same at first. Default: share_rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub share_first_rate: Option<BitRate>,
    /// For how long. Default: "10 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub share_first_for: Option<Duration>,
    /// What it gets at most. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub upper_rate: Option<BitRate>,
    /// The same at first. Default: upper_rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub upper_first_rate: Option<BitRate>,
    /// For how long. Default: "10 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub upper_first_for: Option<Duration>,
}

/// The keys of a curve: its rate, the one at first, and for how long.
pub(super) type CurveKeys = [&'static str; 3];

pub(super) const REALTIME: CurveKeys =
    ["realtime_rate", "realtime_first_rate", "realtime_first_for"];
const SHARE: CurveKeys = ["share_rate", "share_first_rate", "share_first_for"];
const UPPER: CurveKeys = ["upper_rate", "upper_first_rate", "upper_first_for"];

/// The key `service` of a station.
pub(super) fn service(value: &Value) -> Read<Service> {
    let Data::Table(table) = &value.data else {
        let help = "write service = { weight = 2 }";
        return Err(reader::wrong_type(value, "a table").help(help));
    };
    nested(table, value, |r| {
        let weight = r.or("weight", 1.0, reader::real(0.001, 1000.0));
        let [realtime, share, upper] = [REALTIME, SHARE, UPPER].map(|keys| curve(r, keys));
        let first = |curve: Option<ServiceCurve>| {
            curve
                .filter(|curve| curve.lasts > Duration::ZERO)
                .map(|curve| (curve.first, curve.lasts))
        };
        Service {
            weight,
            realtime_rate: realtime.map(|curve| curve.then),
            realtime_first_rate: first(realtime).map(|(rate, _)| rate),
            realtime_first_for: first(realtime).map(|(_, lasts)| lasts),
            share_rate: share.map(|curve| curve.then),
            share_first_rate: first(share).map(|(rate, _)| rate),
            share_first_for: first(share).map(|(_, lasts)| lasts),
            upper_rate: upper.map(|curve| curve.then),
            upper_first_rate: first(upper).map(|(rate, _)| rate),
            upper_first_for: first(upper).map(|(_, lasts)| lasts),
        }
    })
}

/// A curve: a rate, and perhaps another one for the beginning.
pub(super) fn curve(r: &Reader<'_>, keys: CurveKeys) -> Option<ServiceCurve> {
    let [rate, first_rate, first_for] = keys;
    let then = r.optional(rate, rates());
    let first = r.optional(first_rate, rates());
    let times = reader::within(Duration::from_micros(1), Duration::from_secs(3600));
    let lasts = r.or(first_for, Duration::from_millis(10), times);
    let Some(then) = then else {
        let why = format!("it begins the curve of {rate:?}, which is not set");
        r.meaningless(&[first_rate, first_for], &why);
        return None;
    };
    let Some(first) = first else {
        r.meaningless(&[first_for], &format!("there is no {first_rate:?}"));
        return Some(ServiceCurve::linear(then));
    };
    Some(ServiceCurve { first, lasts, then })
}

/// Rates of links and curves.
pub(super) fn rates() -> impl Fn(&Value) -> Read<BitRate> {
    reader::within(BitRate(1_000), BitRate::mbps(1_000_000))
}

impl Service {
    /// Whether it has a curve.
    pub(super) const fn has_curves(&self) -> bool {
        self.realtime_rate.is_some() || self.share_rate.is_some() || self.upper_rate.is_some()
    }

    /// What the simulator is told.
    pub(super) fn to_world(&self) -> world::Service {
        let curve = |then: Option<BitRate>, first: Option<BitRate>, lasts: Option<Duration>| {
            let then = then?;
            let Some((first, lasts)) = first.zip(lasts) else {
                return Some(ServiceCurve::linear(then));
            };
            Some(ServiceCurve { first, lasts, then })
        };
        world::Service {
            weight: Weight((self.weight * f64::from(Weight::ONE.0)).round() as u32),
            realtime: curve(self.realtime_rate, self.realtime_first_rate, self.realtime_first_for),
            share: curve(self.share_rate, self.share_first_rate, self.share_first_for),
            upper: curve(self.upper_rate, self.upper_first_rate, self.upper_first_for),
        }
    }
}
