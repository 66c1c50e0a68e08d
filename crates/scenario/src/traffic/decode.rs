//! From tables to sources.

use super::{Objects, Size, Traffic, Udp, Web, file};
use crate::diagnostic::Refusal;
use crate::reader::{self, Read, Reader};
use crate::value::{Data, Value};
use crate::video;
use crate::words::{self, TrafficWord};
use fairwave_traffic::{OnOff, Page};
use fairwave_units::{BitRate, Bytes, Duration};
use std::path::Path;

const SHORTEST: Duration = Duration::from_micros(1);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);
/// A terabyte.
const MOST_OBJECT: Bytes = Bytes(1_000_000_000_000);

/// Keys of UDP flows that are not keys of all flows.
pub(crate) const TRAFFIC_KEYS: &[&str] = &[
    "payload",
    "traffic",
    "interval",
    "rate",
    "on",
    "off",
    "pareto_shape",
    "group",
    "intra_ratio",
    "spread",
    "file",
    "emissions",
    "repeat_every",
];

/// The keys that mean something for a kind of traffic.
fn own_keys(word: TrafficWord) -> &'static [&'static str] {
    match word {
        TrafficWord::Cbr | TrafficWord::Poisson => &["payload", "interval", "rate"],
        TrafficWord::OnOff => &["payload", "interval", "rate", "on", "off", "pareto_shape"],
        TrafficWord::Voip => &["payload", "interval", "on", "off"],
        TrafficWord::Video => &["payload", "interval", "rate", "group", "intra_ratio", "spread"],
        TrafficWord::Trace => &["file", "emissions", "repeat_every"],
        TrafficWord::Saturate => &["payload"],
    }
}

/// Reads a UDP flow; files are sought from `base`.
pub(crate) fn udp(r: &Reader<'_>, base: &Path) -> Option<Udp> {
    let example = "traffic = \"saturate\"";
    let word = r.required("traffic", example, reader::choice(words::TRAFFIC))?;
    let own = own_keys(word);
    let foreign: Vec<_> =
        TRAFFIC_KEYS.iter().copied().filter(|k| *k != "traffic" && !own.contains(k)).collect();
    let name = reader::word(words::TRAFFIC, &word);
    r.meaningless(&foreign, &format!("{name:?} does not use it"));
    let size = |default| r.or("payload", default, reader::size(1, 2268));
    let payload = match word {
        TrafficWord::Trace => None,
        TrafficWord::Voip => Some(size(172)),
        _ => Some(size(1472)),
    };
    let traffic = traffic(r, word, payload.unwrap_or_default(), base)?;
    Some(Udp { payload, traffic })
}

fn traffic(r: &Reader<'_>, word: TrafficWord, payload: u32, base: &Path) -> Option<Traffic> {
    let period = |key, default| r.or(key, default, reader::within(SHORTEST, DAY));
    Some(match word {
        TrafficWord::Saturate => Traffic::Saturate {},
        TrafficWord::Cbr => Traffic::Cbr { interval: interval(r, payload)? },
        TrafficWord::Poisson => Traffic::Poisson { interval: interval(r, payload)? },
        TrafficWord::OnOff => {
            let second = Duration::from_secs(1);
            let shape = reader::or_word("off", above_one);
            let (on, off) = (period("on", second), period("off", second));
            let pareto_shape = r.or("pareto_shape", None, shape);
            Traffic::OnOff { interval: interval(r, payload)?, on, off, pareto_shape }
        }
        TrafficWord::Voip => Traffic::Voip {
            interval: r.or("interval", Duration::from_millis(20), reader::within(SHORTEST, HOUR)),
            on: period("on", OnOff::TALK),
            off: period("off", OnOff::PAUSE),
        },
        TrafficWord::Video => video(r)?,
        TrafficWord::Trace => trace(r, base)?,
    })
}

fn above_one(value: &Value) -> Read<f64> {
    reader::real(1.0, 10.0)(value).and_then(|shape| match shape > 1.0 {
        true => Ok(shape),
        false => Err(Refusal::new("with a shape of 1 there is no mean").help("write more than 1")),
    })
}

/// The interval between datagrams, or what the rate makes of it.
fn interval(r: &Reader<'_>, payload: u32) -> Option<Duration> {
    let interval = r.optional("interval", reader::within(SHORTEST, HOUR));
    let rate = r.optional("rate", |value| {
        let rate = reader::within(BitRate(1), BitRate::mbps(100_000))(value)?;
        let interval = rate.time_for(payload.into());
        if (SHORTEST..=HOUR).contains(&interval) {
            return Ok(interval);
        }
        let message = format!("{rate} makes an interval of {interval}");
        Err(Refusal::new(message).help(format!("it must be from {SHORTEST} to {HOUR}")))
    });
    if interval.is_some() {
        r.meaningless(&["rate"], "the flow has an interval");
    } else if !r.has("rate") && !r.has("interval") {
        let example = "interval = \"1 ms\", or rate = \"1 Mbps\"";
        r.required("interval", example, reader::within(SHORTEST, HOUR));
    }
    interval.or(rate)
}

fn video(r: &Reader<'_>) -> Option<Traffic> {
    video::video(r).map(Traffic::Video)
}

fn trace(r: &Reader<'_>, base: &Path) -> Option<Traffic> {
    let emissions = if r.has("emissions") {
        r.meaningless(&["file"], "the flow lists its datagrams");
        r.know(&["file"]);
        r.optional("emissions", file::listed)
    } else {
        let read = |value: &Value| file::read(&base.join(reader::text(value)?));
        r.know(&["emissions"]);
        r.required("file", "file = \"call.csv\"", read)
    };
    let repeat = reader::or_word("never", reader::within(SHORTEST, DAY));
    let repeat_every = r.or("repeat_every", None, repeat);
    let emissions = emissions?;
    let last = emissions.last().map_or(Duration::ZERO, |e| e.at);
    if repeat_every.is_some_and(|every| every < last) {
        r.refuse("repeat_every", Refusal::new(format!("the trace itself lasts {last}")));
    }
    Some(Traffic::Trace { emissions, repeat_every })
}

/// Reads the table of a web flow.
pub(crate) fn web(value: &Value) -> Read<Web> {
    let Data::Table(table) = &value.data else {
        let help = "write web = {} for its defaults";
        return Err(reader::wrong_type(value, "a table").help(help));
    };
    let page = Page::default();
    let time = || reader::within(Duration::ZERO, DAY);
    reader::nested(table, value, |r| Web {
        connections: r.or("connections", page.connections, reader::count(1, 32)),
        request: r.or("request", page.request_bytes, reader::size(1, 65_536)),
        reading: r.or("reading", page.reading, time()),
        parsing: r.or("parsing", page.parsing, time()),
        objects: r.or("objects", PARETO_OBJECTS, objects),
        main_object: r.or("main_object", log_normal(10_710, 25_032, 100), size),
        embedded_object: r.or("embedded_object", log_normal(7_758, 126_168, 50), size),
    })
}

const PARETO_OBJECTS: Objects = Objects::Pareto { least: 2, shape: 1.1, most: 55 };

const fn log_normal(mean: u64, deviation: u64, least: u64) -> Size {
    let (mean, deviation, least) = (Bytes(mean), Bytes(deviation), Bytes(least));
    Size::LogNormal { mean, deviation, least, most: Bytes(2_000_000) }
}

fn objects(value: &Value) -> Read<Objects> {
    let Data::Table(table) = &value.data else {
        return reader::count(0, 1000)(value).map(Objects::Constant);
    };
    reader::nested(table, value, |r| {
        let least = r.or("least", 2, reader::count(1, 1000));
        let shape = r.or("shape", 1.1, reader::real(0.1, 10.0));
        let most = r.or("most", 55, reader::count(1, 1000));
        if most < least {
            let message = format!("most is {most}, which is less than least, {least}");
            r.refuse("most", Refusal::new(message));
        }
        Objects::Pareto { least, shape, most }
    })
}

fn size(value: &Value) -> Read<Size> {
    let bytes = || reader::within(Bytes(1), MOST_OBJECT);
    let Data::Table(table) = &value.data else {
        return bytes()(value).map(Size::Constant);
    };
    reader::nested(table, value, |r| {
        let least = r.or("least", Bytes(1), bytes());
        let most = r.or("most", Bytes(2_000_000), bytes());
        if most < least {
            let message = format!("most is {most}, which is less than least, {least}");
            r.refuse("most", Refusal::new(message));
        }
        if r.has("shape") {
            r.meaningless(&["mean", "deviation"], "with a shape the size is Pareto");
            r.know(&["mean", "deviation"]);
            r.required("least", "least = \"1 KB\"", bytes());
            return Size::Pareto {
                shape: r.or("shape", 1.2, reader::real(0.1, 10.0)),
                least,
                most,
            };
        }
        let mean = r.required("mean", "mean = \"10 KB\", or shape = 1.2", bytes());
        let mean = mean.unwrap_or(Bytes(1));
        let deviation = r.or("deviation", mean, reader::within(Bytes(0), MOST_OBJECT));
        r.know(&["shape"]);
        Size::LogNormal { mean, deviation, least, most }
    })
}
