//! From tables to the keys of a varying channel: types, bounds and defaults.

use super::{
    BEGINNINGS, BySignal, Discard, Fading, Handover, INTERPOLATIONS, Roaming, Shadowing, SnrTrace,
    WayPoint, file,
};
use crate::diagnostic::Refusal;
use crate::model::Errors;
use crate::reader::{self, Read, Reader, nested};
use crate::value::{Data, Table, Value};
use fairwave_dot11::{Interpolation, rate_control as algorithms};
use fairwave_units::{Db, Duration, Metres};
use std::path::Path;

const DAY: Duration = Duration::from_secs(86_400);
const HOUR: Duration = Duration::from_secs(3600);
/// Points of a path or a trace that a scenario lists.
const MOST_POINTS: usize = 100_000;

fn table(value: &Value) -> Read<&Table> {
    match &value.data {
        Data::Table(table) => Ok(table),
        _ => Err(reader::wrong_type(value, "a table")),
    }
}

fn list(value: &Value) -> Read<&[Value]> {
    match &value.data {
        Data::List(list) if list.len() <= MOST_POINTS => Ok(list),
        Data::List(list) => {
            Err(Refusal::new(format!("{} entries; at most {MOST_POINTS} are possible", list.len())))
        }
        _ => Err(reader::wrong_type(value, "a list")),
    }
}

/// The key `fading` of a cell.
pub(crate) fn fading(value: &Value) -> Read<Fading> {
    let help = "write fading = { doppler_hz = 12 }";
    let table = table(value).map_err(|refusal| refusal.help(help))?;
    let doppler_hz = |r: &Reader<'_>| {
        r.required("doppler_hz", "doppler_hz = 12", |value| reader::real(0.0, 10_000.0)(value))
    };
    nested(table, value, |r| Fading {
        rice_k: r.or("rice_k", None, reader::or_word("none", reader::within(Db(-30.0), Db(60.0)))),
        doppler_hz: doppler_hz(r).unwrap_or_default(),
    })
}

/// The key `shadowing` of a cell.
pub(crate) fn shadowing(value: &Value) -> Read<Shadowing> {
    let help = "write shadowing = { sigma = \"6 dB\" }";
    let table = table(value).map_err(|refusal| refusal.help(help))?;
    let way = reader::or_word("none", reader::within(Metres(0.01), Metres(100_000.0)));
    let sigma = reader::within(Db(0.0), Db(30.0));
    nested(table, value, |r| Shadowing {
        sigma: r.required("sigma", "sigma = \"6 dB\"", &sigma).unwrap_or_default(),
        decorrelation: r.or("decorrelation", None, &way),
    })
}

/// Losses in bursts, for the key `errors` of a cell.
pub(crate) fn bursts(r: &Reader<'_>) -> Errors {
    let required = |key, example| r.required(key, example, reader::probability);
    Errors::Bursts {
        p: required("p", "p = 0.02").unwrap_or_default(),
        r: required("r", "r = 0.25").unwrap_or_default(),
        good: r.or("good", 0.0, reader::probability),
        bad: r.or("bad", 1.0, reader::probability),
    }
}

/// The key `errors` of a cell, if delivery follows a slope.
pub(crate) fn slope(r: &Reader<'_>) -> Errors {
    let middle = reader::within(Db(-50.0), Db(100.0));
    let width = reader::within(Db(0.01), Db(20.0));
    Errors::Slope {
        middle: r.required("middle", "middle = \"5 dB\"", middle).unwrap_or_default(),
        width: r.required("width", "width = \"1 dB\"", width).unwrap_or_default(),
    }
}

/// The key `rate_control` of a radio.
pub(crate) fn rate_control(value: &Value) -> Read<String> {
    let name = reader::text(value)?;
    if algorithms::find(&name).is_some() {
        return Ok(name);
    }
    let names: Vec<_> = algorithms::ALL.iter().map(|algorithm| algorithm.name).collect();
    Err(Refusal::new(format!("there is no rate control called {name:?}")).among(&name, &names))
}

/// The key `path` of a station.
pub(crate) fn path(value: &Value) -> Read<Vec<WayPoint>> {
    let points = list(value)?.iter().map(way_point).collect::<Read<Vec<_>>>()?;
    if points.is_empty() {
        return Err(Refusal::new("a path has one point at least"));
    }
    in_order(&points, |point| point.at).map_or(Ok(points), Err)
}

fn way_point(value: &Value) -> Read<WayPoint> {
    let help = "write { at = \"10 s\", position = [\"0 m\", \"4 m\"] }";
    let table = table(value).map_err(|refusal| refusal.help(help))?;
    let at = reader::within(Duration::ZERO, DAY);
    nested(table, value, |r| WayPoint {
        at: r.required("at", "at = \"10 s\"", &at).unwrap_or_default(),
        position: r
            .required("position", "position = [\"0 m\", \"4 m\"]", reader::position)
            .unwrap_or_default(),
    })
}

/// What is wrong with points of which one is not later than the one before.
fn in_order<T>(points: &[T], at: impl Fn(&T) -> Duration) -> Option<Refusal> {
    let early = points.windows(2).find(|pair| at(&pair[1]) <= at(&pair[0]))?;
    let (before, early) = (at(&early[0]), at(&early[1]));
    Some(Refusal::new(format!("the point at {early} follows one at {before}")))
}

/// The key `snr_trace` of a station; files are sought from `base`.
pub(crate) fn snr_trace(value: &Value, base: &Path) -> Read<SnrTrace> {
    let help = "write snr_trace = { file = \"walk.csv\" }";
    let table = table(value).map_err(|refusal| refusal.help(help))?;
    let linear = Interpolation::Linear;
    nested(table, value, |r| {
        let from_file = |value: &Value| file::read(&base.join(reader::text(value)?));
        let points = if r.has("points") {
            r.meaningless(&["file"], "the trace lists its points");
            r.optional("points", points)
        } else {
            r.required("file", "file = \"walk.csv\"", from_file)
        };
        SnrTrace {
            points: points.unwrap_or_default(),
            interpolation: r.or("interpolation", linear, reader::choice(INTERPOLATIONS)),
        }
    })
}

fn points(value: &Value) -> Read<Vec<(Duration, Db)>> {
    let points = list(value)?.iter().map(point).collect::<Read<Vec<_>>>()?;
    if points.is_empty() {
        return Err(Refusal::new("a trace has one point at least"));
    }
    in_order(&points, |point| point.0).map_or(Ok(points), Err)
}

fn point(value: &Value) -> Read<(Duration, Db)> {
    match list(value)? {
        [at, snr] => Ok((
            reader::within(Duration::ZERO, DAY)(at)?,
            reader::within(Db(-100.0), Db(100.0))(snr)?,
        )),
        _ => Err(Refusal::new("a point has a time and a ratio").help("write [\"5 s\", \"20 dB\"]")),
    }
}

/// The key `roaming` of a station with `ap`; `aps` are all access points.
pub(crate) fn roaming(value: &Value, ap: &str, aps: &[&str]) -> Read<Roaming> {
    let table = table(value)?;
    let span = |least, most| reader::within(least, most);
    nested(table, value, |r| {
        let listed = r.optional("aps", |value| {
            list(value)?.iter().map(|value| known(value, aps)).collect::<Read<Vec<_>>>()
        });
        let mut reachable =
            listed.unwrap_or_else(|| aps.iter().map(|ap| (*ap).to_owned()).collect());
        if !reachable.iter().any(|known| known == ap) {
            reachable.insert(0, ap.to_owned());
        }
        let names: Vec<&str> = reachable.iter().map(String::as_str).collect();
        let handovers = r.or("handovers", Vec::new(), |value| handovers(value, &names));
        Roaming {
            begin_with_strongest: r.or("begin", false, reader::choice(BEGINNINGS)),
            hold: r.or("hold", 50, reader::counted("packets", 0, 100_000)),
            by_signal: r.or(
                "by_signal",
                None,
                reader::or_word("off", |value| by_signal(value, span(Duration::ZERO, HOUR))),
            ),
            discard: r.or("discard", None, reader::or_word("none", discard)),
            handovers,
            aps: reachable,
        }
    })
}

fn discard(value: &Value) -> Read<Discard> {
    if matches!(&value.data, Data::Text(text) if text.trim().ends_with("packets")) {
        return reader::counted("packets", 1, 1_000_000)(value).map(Discard::Oldest);
    }
    let age = reader::within(Duration::from_millis(1), HOUR)(value);
    age.map(Discard::Older)
        .map_err(|refusal| refusal.help("write \"200 ms\", \"25 packets\" or \"none\""))
}

fn known(value: &Value, names: &[&str]) -> Read<String> {
    let name = reader::text(value)?;
    if names.contains(&name.as_str()) {
        return Ok(name);
    }
    let refusal = Refusal::new(format!("{name:?} is not an access point that the station may use"));
    Err(refusal.among(&name, names))
}

fn handovers(value: &Value, aps: &[&str]) -> Read<Vec<Handover>> {
    let handover = |value| handover(value, aps);
    let handovers = list(value)?.iter().map(handover).collect::<Read<Vec<_>>>()?;
    in_order(&handovers, |handover| handover.at).map_or(Ok(handovers), Err)
}

fn handover(value: &Value, aps: &[&str]) -> Read<Handover> {
    let help = "write { at = \"20 s\", to = \"ap2\", disconnection = \"500 ms\" }";
    let table = table(value).map_err(|refusal| refusal.help(help))?;
    let time = |most| reader::within(Duration::ZERO, most);
    nested(table, value, |r| Handover {
        at: r.required("at", "at = \"20 s\"", time(DAY)).unwrap_or_default(),
        to: r.required("to", "to = \"ap2\"", |value| known(value, aps)).unwrap_or_default(),
        disconnection: r.or("disconnection", Duration::from_millis(50), time(HOUR)),
    })
}

fn by_signal(value: &Value, time: impl Fn(&Value) -> Read<Duration>) -> Read<BySignal> {
    nested(table(value)?, value, |r| BySignal {
        hysteresis: r.or("hysteresis", Db(6.0), reader::within(Db(0.0), Db(60.0))),
        dwell: r.or("dwell", Duration::from_millis(500), &time),
        disconnection: r.or("disconnection", Duration::from_millis(50), &time),
    })
}
