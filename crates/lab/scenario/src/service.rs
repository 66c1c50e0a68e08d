//! Service agreed between an access point and a station: `service` of a station.

use crate::keys::{Entry, Flat, Kind, keys};
use crate::kinds::{real, within};
use crate::limits::{HOUR, MICROSECOND};
use fairwave_queue::{ServiceCurve, Weight};
use fairwave_sim::world;
use fairwave_units::{BitRate, Duration};

keys! {
    /// Service of a station by the queues of its access points, if they are schedulers of
    /// hosts. A curve is a rate, and perhaps another one at the beginning of a backlog; `h-fsc`
    /// and `socps` over it support curves.
    pub struct Service |r| {
        /// Its weight beside others'; weights by its channel are multiplied by it.
        weight: f64 = real(0.001, 1000.0).or(1.0);
        /// Service guaranteed to its datagrams.
        promise: Promise = Flat(());
        /// Its share of the rate without a guarantee, in proportion to the others', else 100 Mbps.
        share_rate: Option<BitRate> = curve_rates().optional();
        /// The same at first, else `share_rate`.
        share_first_rate: Option<BitRate> = first_rate("share_rate", share_rate);
        /// For how long.
        share_first_for: Option<Duration> =
            first_for(["share_rate", "share_first_rate"], share_rate, share_first_rate);
        /// Maximum rate; without it there is no limit.
        upper_rate: Option<BitRate> = curve_rates().optional();
        /// The same at first, else `upper_rate`.
        upper_first_rate: Option<BitRate> = first_rate("upper_rate", upper_rate);
        /// For how long.
        upper_first_for: Option<Duration> =
            first_for(["upper_rate", "upper_first_rate"], upper_rate, upper_first_rate);
    }
}

/// Duration of the rate at the beginning of a backlog.
const FIRST_FOR: Duration = Duration::from_millis(10);

/// Rates of links and curves.
pub(super) fn curve_rates() -> Kind<BitRate> {
    within(BitRate(1_000), BitRate::mbps(1_000_000))
}

fn unset(rate: &str) -> String {
    format!("it begins the curve of {rate:?}, which is not set")
}

/// The rate at the beginning of a curve whose rate is `then`, under the key `key`.
fn first_rate(key: &str, then: Option<BitRate>) -> Entry<Option<BitRate>> {
    curve_rates().optional().only_if(then.is_some(), unset(key), None)
}

/// For how long the rate `first` holds at the beginning of a curve, whose keys are `keys`.
fn first_for(
    keys: [&str; 2],
    then: Option<BitRate>,
    first: Option<BitRate>,
) -> Entry<Option<Duration>> {
    let [key, first_key] = keys;
    let why = if then.is_none() { unset(key) } else { format!("there is no {first_key:?}") };
    within(MICROSECOND, HOUR).or(FIRST_FOR).when(first.is_some(), why)
}

keys! {
    /// Service guaranteed to a station's datagrams: by a scheduler to each of its stations, or
    /// agreed with one station.
    pub struct Promise |r| {
        /// Long-term guaranteed rate of a station's datagrams. Without it the queue guarantees
        /// nothing, and a station has the guarantee of its queue.
        realtime_rate: Option<BitRate> = curve_rates().optional();
        /// Guaranteed rate at the beginning of a backlog, else `realtime_rate`.
        realtime_first_rate: Option<BitRate> = first_rate("realtime_rate", realtime_rate);
        /// For how long.
        realtime_first_for: Option<Duration> =
            first_for(["realtime_rate", "realtime_first_rate"], realtime_rate, realtime_first_rate);
    }
}

impl Promise {
    /// The promise of a curve.
    pub(super) fn of(curve: Option<ServiceCurve>) -> Self {
        let first = curve.filter(|curve| !curve.lasts.is_zero());
        Self {
            realtime_rate: curve.map(|curve| curve.then),
            realtime_first_rate: first.map(|curve| curve.first),
            realtime_first_for: first.map(|curve| curve.lasts),
        }
    }

    /// The curve that is promised, if one is.
    pub(super) fn curve(&self) -> Option<ServiceCurve> {
        curve(self.realtime_rate, self.realtime_first_rate, self.realtime_first_for)
    }
}

/// A curve with the rate `then`, and perhaps another one for the beginning.
fn curve(
    then: Option<BitRate>,
    first: Option<BitRate>,
    lasts: Option<Duration>,
) -> Option<ServiceCurve> {
    let then = then?;
    let Some((first, lasts)) = first.zip(lasts) else {
        return Some(ServiceCurve::linear(then));
    };
    Some(ServiceCurve { first, lasts, then })
}

impl Service {
    /// Whether it has a curve.
    pub(super) fn has_curves(&self) -> bool {
        self.promise.curve().is_some() || self.share_rate.is_some() || self.upper_rate.is_some()
    }

    /// The simulator's inputs.
    pub(super) fn to_world(&self) -> world::Service {
        world::Service {
            weight: Weight((self.weight * f64::from(Weight::ONE.0)).round() as u32),
            realtime: self.promise.curve(),
            share: curve(self.share_rate, self.share_first_rate, self.share_first_for),
            upper: curve(self.upper_rate, self.upper_first_rate, self.upper_first_for),
        }
    }
}
