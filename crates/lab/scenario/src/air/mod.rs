//! Keys of a varying channel and of stations that move, for [`super::Scenario`].

mod file;
mod world;

use crate::diagnostic::Refusal;
use crate::keys::{Keyed, Kind, keys, reference, table, written};
use crate::kinds::{choice, counted, list, position, real, within};
use crate::limits::{DAY, HOUR, MILLISECOND};
use crate::reader::{self, Read};
use crate::value::{Data, Value};
use fairwave_dot11::{Interpolation, rate_control as algorithms};
use fairwave_units::{Db, Duration, Metres};
use serde_json::{Value as Json, json};
use std::fmt;
use std::path::PathBuf;

keys! {
    /// Small-scale fading of every pair of radios.
    pub struct Fading |r| {
        /// Power of the direct path over that of the scattered ones (Rice's K), or "none" for
        /// Rayleigh fading.
        rice_k: Option<Db> = within(Db(-30.0), Db(60.0)).or_word("none").or(None);
        /// Greatest Doppler shift in hertz, speed over wavelength: walking makes 12 Hz at 2.4 GHz.
        /// At 0 a pair keeps the gain that it drew.
        doppler_hz: f64 = real(0.0, 10_000.0).required("doppler_hz = 12");
    }
}

keys! {
    /// Log-normal shadowing of every pair of radios.
    pub struct Shadowing |r| {
        /// Standard deviation.
        sigma: Db = within(Db(0.0), Db(30.0)).required("sigma = \"6 dB\"");
        /// Distance at which the correlation has fallen to 1/e, or "none": a pair keeps its draw
        /// wherever its ends go.
        decorrelation: Option<Metres> =
            within(Metres(0.01), Metres(100_000.0)).or_word("none").or(None);
    }
}

keys! {
    /// A place that a station passes at a set time.
    pub struct WayPoint [Copy] |r| {
        /// When.
        at: Duration = within(Duration::ZERO, DAY).required("at = \"10 s\"");
        /// Where.
        position: [Metres; 2] = position().required("position = [\"0 m\", \"4 m\"]");
    }
}

keys! {
    /// SNR over time between a station and access points. Files are sought beside the scenario.
    pub struct SnrTrace |r| (base: PathBuf = PathBuf::new()) {
        /// Times and ratios, in order: [["0 s", "20 dB"], ["5 s", "8 dB"]].
        points: Vec<(Duration, Db)> = points().required(FILE).or_key("file", file_schema(), |r| {
            if r.has("points") {
                r.meaningless(&["file"], "the trace lists its points");
                return r.optional("points", read_points).unwrap_or_default();
            }
            let read = |value: &Value| file::read(&base.join(reader::text(value)?));
            r.required("file", FILE, read).unwrap_or_default()
        });
        /// Interpolation between two points: "linear" or "step".
        interpolation: Interpolation = choice(INTERPOLATIONS).or(Interpolation::Linear);
    }
}

/// The access point of a station, and all that there are.
pub(crate) type Reach = (String, Vec<String>);

keys! {
    /// Rule by which a station changes its access point.
    pub struct Roaming |r| (reach: Reach = Reach::default()) {
        /// Access points that it may use, on whatever channels; its `ap` is always one.
        aps: Vec<String> = known_aps(reach.clone())
            .or(with_own(reach, reach.1.clone()))
            .phrase("all");
        /// "named" begins with `ap`, "strongest" with the strongest.
        begin: bool = choice(BEGINNINGS).or(false);
        /// Time between its choice of a new access point, when it knows the announced load of that
        /// one and notifies its flows, and its departure from the old one. A handover at a set time
        /// is chosen so much earlier, one by signal leaves so much later.
        prepare: Duration = within(Duration::ZERO, HOUR).or(Duration::ZERO);
        /// Packets that its last access point keeps for it while it has none; the oldest stay.
        hold: u32 = counted("packets", 0, 100_000).or(50);
        /// Waiting packets that it drops after an absence: "200 ms" all that were made longer ago,
        /// also while it is away; "25 packets" this number of the oldest once it is back; or
        /// "none".
        discard: Option<Discard> = discards().or_word("none").or(None);
        /// Behaviour of its MAC while it has no access point: "waits" keeps its frames, "attempts"
        /// continues to send them to the last one, which does not receive them, and drops each at
        /// its retry limit.
        while_away: bool = choice(WHILE_AWAY).or(false);
        /// Handovers at set times, in order.
        handovers: Vec<Handover> = handovers(aps.clone()).or(Vec::new());
        /// Handovers to a stronger access point, or "off".
        by_signal: Option<BySignal> = table("").or_word("off").or(None);
    }
}

/// Rule by which a station discards waiting packets because of its absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// Packets older than this age.
    Older(Duration),
    /// This number of the oldest packets.
    Oldest(u32),
}

impl fmt::Display for Discard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Older(age) => age.fmt(f),
            Self::Oldest(packets) => write!(f, "{packets} packets"),
        }
    }
}

keys! {
    /// A handover at a set time.
    pub struct Handover [Eq] |r| (aps: Vec<String> = Vec::new()) {
        /// Time at which the station leaves its access point.
        at: Duration = within(Duration::ZERO, DAY).required("at = \"20 s\"");
        /// The access point that it goes to.
        to: String = known_ap(aps.clone()).required("to = \"ap2\"");
        /// Time without an access point.
        disconnection: Duration = within(Duration::ZERO, HOUR).or(Duration::from_millis(50));
    }
}

keys! {
    /// Handovers to a stronger access point, decided by mean levels every 100 ms.
    pub struct BySignal |r| {
        /// By how much the other must be stronger.
        hysteresis: Db = within(Db(0.0), Db(60.0)).or(Db(6.0));
        /// For how long without a break.
        dwell: Duration = within(Duration::ZERO, HOUR).or(Duration::from_millis(500));
        /// Time without an access point at such a handover.
        disconnection: Duration = within(Duration::ZERO, HOUR).or(Duration::from_millis(50));
    }
}

const INTERPOLATIONS: &[(&str, Interpolation)] =
    &[("linear", Interpolation::Linear), ("step", Interpolation::Step)];

const BEGINNINGS: &[(&str, bool)] = &[("named", false), ("strongest", true)];

/// Whether a MAC attempts.
const WHILE_AWAY: &[(&str, bool)] = &[("waits", false), ("attempts", true)];

const FILE: &str = "file = \"walk.csv\"";

/// Points of a path or a trace that a scenario lists.
const MAX_POINTS: usize = 100_000;

fn file_schema() -> Json {
    let about = "A CSV file with lines of seconds and dB, in place of `points`.";
    json!({ "description": about, "type": "string" })
}

fn entries(value: &Value) -> Read<&[Value]> {
    match &value.data {
        Data::List(list) if list.len() <= MAX_POINTS => Ok(list),
        Data::List(list) => {
            Err(Refusal::new(format!("{} entries; at most {MAX_POINTS} are possible", list.len())))
        }
        _ => Err(reader::wrong_type(value, "a list")),
    }
}

/// The error for points of which one is not later than the one before.
fn in_order<T>(points: &[T], at: impl Fn(&T) -> Duration) -> Option<Refusal> {
    let early = points.windows(2).find(|pair| at(&pair[1]) <= at(&pair[0]))?;
    let (before, early) = (at(&early[0]), at(&early[1]));
    Some(Refusal::new(format!("the point at {early} follows one at {before}")))
}

/// A list of tables, which `check` checks.
fn tables<T: Keyed>(
    context: T::Context,
    help: &'static str,
    check: impl Fn(&[T]) -> Option<Refusal> + 'static,
) -> Kind<Vec<T>> {
    let read = move |value: &Value| {
        let read = |value| T::nested(value, &context, help);
        let tables = entries(value)?.iter().map(read).collect::<Read<Vec<T>>>()?;
        check(&tables).map_or(Ok(tables), Err)
    };
    let write = |tables: &Vec<T>| tables.iter().map(|table| Json::Object(written(table))).collect();
    Kind::new(
        read,
        write,
        |definitions| json!({ "type": "array", "items": reference::<T>(definitions) }),
    )
}

/// The key `path` of a station.
pub(crate) fn path() -> Kind<Vec<WayPoint>> {
    tables((), "write { at = \"10 s\", position = [\"0 m\", \"4 m\"] }", |points: &[WayPoint]| {
        if points.is_empty() {
            return Some(Refusal::new("a path has one point at least"));
        }
        in_order(points, |point| point.at)
    })
}

fn handovers(aps: Vec<String>) -> Kind<Vec<Handover>> {
    let help = "write { at = \"20 s\", to = \"ap2\", disconnection = \"500 ms\" }";
    tables(aps, help, |handovers: &[Handover]| in_order(handovers, |handover| handover.at))
}

fn points() -> Kind<Vec<(Duration, Db)>> {
    let write = |(at, snr): &(Duration, Db)| json!([at.to_string(), snr.to_string()]);
    list(read_points, write, || json!({ "type": "array", "items": { "type": "string" } }))
}

fn read_points(value: &Value) -> Read<Vec<(Duration, Db)>> {
    let points = entries(value)?.iter().map(point).collect::<Read<Vec<_>>>()?;
    if points.is_empty() {
        return Err(Refusal::new("a trace has one point at least"));
    }
    in_order(&points, |point| point.0).map_or(Ok(points), Err)
}

fn point(value: &Value) -> Read<(Duration, Db)> {
    match entries(value)? {
        [at, snr] => Ok((
            reader::within(Duration::ZERO, DAY)(at)?,
            reader::within(Db(-100.0), Db(100.0))(snr)?,
        )),
        _ => Err(Refusal::new("a point has a time and a ratio").help("write [\"5 s\", \"20 dB\"]")),
    }
}

/// `aps` with the access point of the station.
fn with_own(reach: &Reach, mut aps: Vec<String>) -> Vec<String> {
    if !aps.contains(&reach.0) {
        aps.insert(0, reach.0.clone());
    }
    aps
}

fn known_aps(reach: Reach) -> Kind<Vec<String>> {
    let all = reach.1.clone();
    let read = move |value: &Value| {
        let names = entries(value)?.iter().map(|value| read_ap(value, &all));
        names.collect::<Read<Vec<_>>>()
    };
    list(read, |name| json!(name), || json!({ "type": "string" }))
        .checked(move |aps| Ok(with_own(&reach, aps)))
}

fn known_ap(aps: Vec<String>) -> Kind<String> {
    let read = move |value: &Value| read_ap(value, &aps);
    Kind::new(read, |name| json!(name), |_| json!({ "type": "string" }))
}

fn read_ap(value: &Value, aps: &[String]) -> Read<String> {
    let name = reader::text(value)?;
    if aps.contains(&name) {
        return Ok(name);
    }
    let refusal = Refusal::new(format!("{name:?} is not an access point that the station may use"));
    Err(refusal.among(&name, aps))
}

fn discards() -> Kind<Discard> {
    let read = |value: &Value| {
        if matches!(&value.data, Data::Text(text) if text.trim().ends_with("packets")) {
            return reader::counted("packets", 1, 1_000_000)(value).map(Discard::Oldest);
        }
        let age = reader::within(MILLISECOND, HOUR)(value);
        age.map(Discard::Older)
            .map_err(|refusal| refusal.help("write \"200 ms\", \"25 packets\" or \"none\""))
    };
    Kind::new(read, |discard| json!(discard.to_string()), |_| json!({ "type": "string" }))
}

/// The rate control of the list called `name`, or the first.
pub(crate) fn rate_control(name: &str) -> algorithms::Chosen {
    (*algorithms::find(name).unwrap_or(&algorithms::ALL[0])).into()
}
