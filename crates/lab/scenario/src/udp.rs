//! Flows of datagrams: the keys of their sources, and the conversion to the simulator's inputs.

use crate::carrier::Carrier;
use crate::diagnostic::Refusal;
use crate::emissions;
use crate::keys::{Flat, Kind, keys};
use crate::kinds::{real, size, within};
use crate::limits::{DAY, HOUR, MICROSECOND, SECOND};
use crate::reader::{self, Reader};
use crate::variants::{Usual, variants};
use crate::video::Video;
use fairwave_sim::world;
use fairwave_trace::NodeId;
use fairwave_traffic::{self as traffic, Emission, OnOff, Period, Source};
use fairwave_units::{BitRate, Bytes, Duration};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

keys! {
    /// Datagrams of a source. Files are sought from the scenario's directory.
    pub struct Udp |r| (base: PathBuf = PathBuf::new()) {
        let word = r.peek("traffic", reader::text).unwrap_or_default();
        let usual = if word == "voip" { G711_PAYLOAD } else { 1472 };
        /// UDP payload of each datagram (the largest, for video); not for a trace. For voip it is
        /// 20 ms of G.711 and an RTP header where nothing is written, 172 B.
        payload: Option<u32> =
            size(1, 2268).or(usual).when(word != "trace", "\"trace\" does not use it");
        /// Source of datagrams.
        traffic: Traffic = Flat((payload.unwrap_or_default(), base.clone()));
    }
}

/// 20 ms of G.711 and an RTP header.
const G711_PAYLOAD: u32 = 172;

variants! {
    /// Source of datagrams.
    pub enum Traffic by "traffic", Usual::Example("traffic = \"saturate\""), |r|
    (given: (u32, PathBuf) = (1472, PathBuf::new())) {
        /// At a constant rate.
        Cbr(Paced) = "cbr", "\"cbr\" does not use it", given.0;
        /// At exponential intervals.
        Poisson(Paced) = "poisson", "\"poisson\" does not use it", given.0;
        /// At a constant rate in periods of random length, and then silent.
        OnOff(Bursty) = "on-off", "\"on-off\" does not use it", given.0;
        /// Talk-spurts and pauses of one direction of a call, both exponential (ITU-T P.59).
        Voip(Voip) = "voip", "\"voip\" does not use it", ();
        /// Frames of a video, each cut into datagrams that are sent at once.
        Video(Video) = "video", "\"video\" does not use it", ();
        /// Datagrams at the times and of the sizes of a list.
        Trace(Trace) = "trace", "\"trace\" does not use it", given.1;
        /// As fast as the interface takes them.
        Saturate(Saturate) = "saturate", "\"saturate\" does not use it", ();
    }
}

keys! {
    /// Datagrams one by one.
    pub struct Paced |r| (payload: u32 = 1472) {
        /// Time between datagrams, or its mean where it is random.
        interval: Duration = intervals().required(INTERVAL).or_key("rate", rate_schema(), |r| {
            interval(r, *payload)
        });
    }
}

keys! {
    /// Datagrams in periods.
    pub struct Bursty |r| (payload: u32 = 1472) {
        let periods = || within(MICROSECOND, DAY);
        /// Time between the datagrams of a period.
        interval: Duration = intervals().required(INTERVAL).or_key("rate", rate_schema(), |r| {
            interval(r, *payload)
        });
        /// Mean length of a period.
        on: Duration = periods().or(SECOND);
        /// Mean length of silence.
        off: Duration = periods().or(SECOND);
        /// Periods and silences are Pareto distributed with this shape, above 1, or "off":
        /// exponential.
        pareto_shape: Option<f64> = real(1.0, 10.0).checked(above_one).or_word("off").or(None);
    }
}

keys! {
    /// Datagrams of a call.
    pub struct Voip |r| {
        let periods = || within(MICROSECOND, DAY);
        /// Time between the datagrams of a talk-spurt.
        interval: Duration = intervals().or(Duration::from_millis(20));
        /// Mean talk-spurt.
        on: Duration = periods().or(OnOff::TALK);
        /// Mean pause.
        off: Duration = periods().or(OnOff::PAUSE);
    }
}

keys! {
    /// Datagrams of a list.
    pub struct Trace |r| (base: PathBuf = PathBuf::new()) {
        /// Each `"<time> <bytes>"`, as in `"20 ms 160 B"`, in order of time; at most 30,000.
        emissions: Arc<[Emission]> = lines().required(FILE).or_key("file", file_schema(), |r| {
            listed(r, base)
        });
        /// The list begins anew so often, or "never".
        repeat_every: Option<Duration> = within(MICROSECOND, DAY).or_word("never").or(None);
    }
    check Self::check;
}

keys! {
    /// Datagrams without a pause.
    pub struct Saturate |r| {
        let _ = r;
    }
}

const INTERVAL: &str = "interval = \"1 ms\", or rate = \"1 Mbps\"";
const FILE: &str = "file = \"call.csv\"";

fn intervals() -> Kind<Duration> {
    within(MICROSECOND, HOUR)
}

fn rate_schema() -> serde_json::Value {
    let about = "Mean rate of payload in bits, in place of `interval`.";
    json!({ "description": about, "type": "string" })
}

fn file_schema() -> serde_json::Value {
    let about = "A CSV file with lines of seconds and bytes, in place of `emissions`.";
    json!({ "description": about, "type": "string" })
}

fn lines() -> Kind<Arc<[Emission]>> {
    let line = |e: &Emission| format!("{} {}", e.at, Bytes(u64::from(e.bytes)));
    let write = move |list: &Arc<[Emission]>| json!(list.iter().map(line).collect::<Vec<_>>());
    let schema = |_: &_| json!({ "type": "array", "items": { "type": "string" } });
    Kind::new(emissions::listed, write, schema)
}

fn above_one(shape: f64) -> reader::Read<f64> {
    if shape > 1.0 {
        return Ok(shape);
    }
    Err(Refusal::new("with a shape of 1 there is no mean").help("write more than 1"))
}

/// The interval between datagrams, or the one that results from the rate.
fn interval(r: &Reader<'_>, payload: u32) -> Duration {
    let interval = r.optional("interval", reader::within(MICROSECOND, HOUR));
    let rate = r.optional("rate", |value| {
        let rate = reader::within(BitRate(1), BitRate::mbps(100_000))(value)?;
        let interval = rate.time_for(payload.into());
        if (MICROSECOND..=HOUR).contains(&interval) {
            return Ok(interval);
        }
        let message = format!("{rate} makes an interval of {interval}");
        Err(Refusal::new(message).help(format!("it must be from {MICROSECOND} to {HOUR}")))
    });
    if interval.is_some() {
        r.meaningless(&["rate"], "the flow has an interval");
    } else if !r.has("rate") && !r.has("interval") {
        r.required("interval", INTERVAL, reader::within(MICROSECOND, HOUR));
    }
    interval.or(rate).unwrap_or_default()
}

/// The list of a trace, or the content of a file.
fn listed(r: &Reader<'_>, base: &Path) -> Arc<[Emission]> {
    let list = if r.has("emissions") {
        r.meaningless(&["file"], "the flow lists its datagrams");
        r.optional("emissions", emissions::listed)
    } else {
        r.know(&["emissions"]);
        r.required("file", FILE, |value| emissions::read(&base.join(reader::text(value)?)))
    };
    list.unwrap_or_default()
}

impl Trace {
    fn check(&self, r: &Reader<'_>) {
        let last = self.emissions.last().map_or(Duration::ZERO, |e| e.at);
        if self.repeat_every.is_some_and(|every| every < last) {
            r.refuse("repeat_every", Refusal::new(format!("the trace itself lasts {last}")));
        }
    }
}

impl Udp {
    /// Its source; none makes datagrams as fast as they are taken.
    pub(crate) fn source(&self) -> Option<Source> {
        let payload_bytes = self.payload.unwrap_or_default();
        Some(match &self.traffic {
            Traffic::Saturate(_) => return None,
            Traffic::Cbr(Paced { interval }) => Source::Cbr { payload_bytes, interval: *interval },
            Traffic::Poisson(Paced { interval }) => {
                Source::Poisson { payload_bytes, interval: *interval }
            }
            Traffic::OnOff(Bursty { interval, on, off, pareto_shape }) => {
                let (on, off) = (period(*on, *pareto_shape), period(*off, *pareto_shape));
                Source::OnOff(OnOff { payload_bytes, interval: *interval, on, off })
            }
            Traffic::Voip(Voip { interval, on, off }) => {
                let (on, off) = (period(*on, None), period(*off, None));
                Source::OnOff(OnOff { payload_bytes, interval: *interval, on, off })
            }
            Traffic::Video(video) => video.to_world(payload_bytes),
            Traffic::Trace(Trace { emissions, repeat_every }) => Source::Trace(traffic::Trace {
                emissions: emissions.clone(),
                repeat_every: *repeat_every,
            }),
        })
    }
}

fn period(mean: Duration, shape: Option<f64>) -> Period {
    match shape {
        Some(shape) => Period::Pareto { mean, shape },
        None => Period::Exponential { mean },
    }
}

impl Carrier for Udp {
    fn to_world(&self, _: &dyn Fn(&str) -> NodeId) -> world::Traffic {
        match self.source() {
            Some(source) => world::Traffic::Datagrams(source),
            None => world::Traffic::Saturate(world::SaturateFlow {
                payload_bytes: self.payload.unwrap_or_default(),
            }),
        }
    }

    fn fills_links(&self) -> bool {
        matches!(self.traffic, Traffic::Saturate(_))
    }
}

#[cfg(test)]
mod tests {
    use super::Traffic;

    #[test]
    fn every_source_of_datagrams_has_its_word() {
        let sources = fairwave_traffic::ALL.iter().map(|entry| entry.name);
        assert_eq!(Traffic::WORDS, sources.filter(|name| *name != "web").collect::<Vec<_>>());
    }
}
