//! Keys of a cell whose stations report their Strength of Connection: `cell.soc`.

use crate::diagnostic::Refusal;
use crate::keys::{Keyed, Kind, keys, reference, table, written};
use crate::kinds::{choice, list, named, real, within};
use crate::limits::{HOUR, MILLISECOND, SECOND};
use crate::reader::{self, Read, Reader};
use crate::value::{Data, Value};
use fairwave_dot11::AccessCategory;
use fairwave_sim::world;
use fairwave_soc::{
    Curve, CurvePoint, Decay, FILTERS, POLICIES, Policies, ReporterConfigError, Rule, TableConfig,
};
use fairwave_trace::NodeId;
use fairwave_units::{Db, Duration};
use serde_json::{Value as Json, json};

keys! {
    /// Channel reports of stations, and their use by access points (`docs/models/soc.md`). The
    /// access point's queue decides whether weights act: the schedulers of hosts
    /// (`docs/models/schedulers.md`) use them, except `csdps`.
    pub struct Soc |r| {
        let usual = TableConfig::new(Policies::per_host(Curve::Equal));
        /// From one report of a station to the next.
        interval: Duration =
            within(fairwave_soc::MIN_INTERVAL, SECOND).or(Duration::from_millis(200));
        /// Maximum wait of a report for a data frame to ride on, less than the interval; "0 s"
        /// never waits.
        hold: Duration =
            within(Duration::ZERO, SECOND).or(interval / 4).phrase("a quarter of the interval");
        /// Interval at which a station reads its card.
        read_every: Duration = within(MILLISECOND, SECOND).or(Duration::from_millis(10));
        /// Format of reports: 64 bytes with a seal, or the paper's 8 bytes ("plain").
        frame: Frame = choice(FRAMES).or(Frame::Sealed);
        /// Mapping from readings to reports.
        filter: String = filter().or("mean".to_owned());
        /// Mapping from reports to weights: a name, { threshold = "5 dB" }, or
        /// { knots = [["0 dB", 0.0], ["10 dB", 1.0]], rule = "linear" }.
        policy: Policy = policy().or(Policy::Named("pw".to_owned()));
        /// Policies of access categories that have another one, where the cell has EDCA:
        /// { voice = "gb3" }.
        by_category: Option<ByCategory> =
            table("write by_category = { voice = \"gb3\" }").optional();
        /// Excess over a level that a rising SoC needs to reach it.
        hysteresis: Db = within(Db(0.0), Db(20.0)).or(Db(0.0));
        /// Share of the newest report in the weighted value, beside the one before.
        smoothing: f64 = real(0.0, 1.0).or(usual.smoothing);
        /// Factor of a missing report on the value in `decay`.
        beta: f64 = real(0.0, 1.0).or(usual.beta);
        /// Value that a missing report lowers by `beta`.
        decay: Decay = choice(DECAYS).or(usual.decay);
        /// Value that the decay ends at, and the minimum that counts.
        floor: Db = within(Db(-50.0), Db(50.0)).or(usual.floor);
        /// Silence after which the SoC of a station expires.
        forget_after: Duration = within(SECOND, HOUR).or(usual.forget_after);
    }
    check Self::check;
}

/// A policy by name, or by numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Policy {
    /// One that `fairwave list soc-policies` lists.
    Named(String),
    /// 1 above a threshold, else 0.
    GoodOrBad(GoodOrBad),
    /// Knots, and the interpolation between them.
    Knots(Knots),
}

keys! {
    /// 1 above a threshold, else 0.
    pub struct GoodOrBad |r| {
        let () = r.meaningless(&["knots", "rule"], "the policy has a threshold");
        /// The threshold.
        threshold: Db = levels().required("threshold = \"5 dB\"");
    }
}

keys! {
    /// Knots, and the interpolation between them.
    pub struct Knots |r| {
        /// Levels, rising, and weights, 0 to 1.
        knots: Vec<(Db, f64)> =
            knot_list().required("knots = [[\"0 dB\", 0.0], [\"10 dB\", 1.0]]");
        /// "linear" draws lines, "step" takes the knot above.
        rule: Rule = choice(RULES).or(Rule::Linear);
    }
}

keys! {
    /// Policies of access categories, in place of the one for all.
    pub struct ByCategory |r| {
        /// Policy of weights for background traffic.
        background: Option<Policy> = policy().optional();
        /// Policy of weights for best-effort traffic.
        best_effort as "best-effort": Option<Policy> = policy().optional();
        /// Policy of weights for video.
        video: Option<Policy> = policy().optional();
        /// Policy of weights for voice.
        voice: Option<Policy> = policy().optional();
    }
}

/// Rule for good and bad links: by a threshold, or by frames dropped at the retry limit.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkMonitor {
    /// By the true level at the station.
    Level(LevelMonitor),
    /// By frames that were given up.
    Failures(FailureMonitor),
}

keys! {
    /// By the true level at the station, fading included: the knowledge that papers assume.
    pub struct LevelMonitor |r| {
        /// A link is good above this.
        threshold: Db = levels().required("threshold = \"5 dB\"");
        /// Interval at which levels are examined.
        every: Duration = within(MILLISECOND, SECOND).or(Duration::from_millis(10));
    }
}

keys! {
    /// By frames that were given up.
    pub struct FailureMonitor |r| {
        let () = r.meaningless(&["threshold", "every"], "failures are looked at, not levels");
        /// Time for which a link is bad after one.
        back_off: Duration =
            within(MILLISECOND, Duration::from_secs(10)).required("back_off = \"100 ms\"");
    }
}

/// Format of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Fairwave's, with a seal.
    Sealed,
    /// That of the paper's Fig. 8.
    Plain,
}

const FRAMES: &[(&str, Frame)] = &[("sealed", Frame::Sealed), ("plain", Frame::Plain)];
const DECAYS: &[(&str, Decay)] = &[("soc", Decay::Soc), ("weight", Decay::Weight)];
const RULES: &[(&str, Rule)] = &[("linear", Rule::Linear), ("step", Rule::UpperStep)];

fn levels() -> Kind<Db> {
    within(Db(-50.0), Db(100.0))
}

fn filter() -> Kind<String> {
    let names: Vec<&str> = FILTERS.iter().map(|kind| kind.name).collect();
    named(names, |name| format!("there is no filter called {name:?}"))
}

/// The key `link_monitor` of a cell.
pub(crate) fn link_monitor() -> Kind<LinkMonitor> {
    let read = |value: &Value| match &value.data {
        Data::Table(table) if table.get("back_off").is_some() => {
            FailureMonitor::nested(value, &(), "").map(LinkMonitor::Failures)
        }
        _ => LevelMonitor::nested(value, &(), "write link_monitor = { threshold = \"5 dB\" }")
            .map(LinkMonitor::Level),
    };
    let write = |monitor: &LinkMonitor| match monitor {
        LinkMonitor::Level(table) => Json::Object(written(table)),
        LinkMonitor::Failures(table) => Json::Object(written(table)),
    };
    Kind::new(read, write, |definitions| {
        let level = reference::<LevelMonitor>(definitions);
        json!({ "anyOf": [level, reference::<FailureMonitor>(definitions)] })
    })
}

impl Soc {
    fn check(&self, r: &Reader<'_>) {
        let (hold, interval) = (self.hold, self.interval);
        if hold >= interval {
            let refusal = Refusal::new(ReporterConfigError::Hold { hold, interval }.to_string());
            r.refuse("hold", refusal.help("a report would still wait when the next is due"));
        }
    }
}

fn policy_names() -> Vec<&'static str> {
    POLICIES.iter().map(|kind| kind.name).collect()
}

fn policy() -> Kind<Policy> {
    let read = |value: &Value| match &value.data {
        Data::Table(table) if table.get("threshold").is_some() => {
            GoodOrBad::nested(value, &(), "").map(Policy::GoodOrBad)
        }
        Data::Table(_) => Knots::nested(value, &(), "").map(Policy::Knots),
        _ => {
            let name = reader::text(value)?;
            if policy_names().contains(&name.as_str()) {
                return Ok(Policy::Named(name));
            }
            let refusal = Refusal::new(format!("there is no policy called {name:?}"));
            Err(refusal.among(&name, &policy_names()))
        }
    };
    let write = |policy: &Policy| match policy {
        Policy::Named(name) => json!(name),
        Policy::GoodOrBad(table) => Json::Object(written(table)),
        Policy::Knots(table) => Json::Object(written(table)),
    };
    Kind::new(read, write, |definitions| {
        json!({ "anyOf": [
            { "type": "string", "enum": policy_names() },
            reference::<GoodOrBad>(definitions),
            reference::<Knots>(definitions),
        ] })
    })
}

fn knot_list() -> Kind<Vec<(Db, f64)>> {
    let write = |(level, weight): &(Db, f64)| json!([level.to_string(), weight]);
    list(knots, write, || json!({ "type": "array", "minItems": 2, "maxItems": 2 }))
}

fn knots(value: &Value) -> Read<Vec<(Db, f64)>> {
    let Data::List(list) = &value.data else {
        return Err(reader::wrong_type(value, "a list of levels and weights"));
    };
    let knots = list.iter().map(knot).collect::<Read<Vec<_>>>()?;
    curve(&knots, Rule::Linear).map_err(|error| Refusal::new(error.to_string()))?;
    Ok(knots)
}

fn knot(value: &Value) -> Read<(Db, f64)> {
    match &value.data {
        Data::List(pair) if pair.len() == 2 => {
            Ok((reader::quantity(&pair[0])?, reader::real(0.0, 1.0)(&pair[1])?))
        }
        _ => Err(reader::wrong_type(value, "a level and a weight").help("write [\"4 dB\", 0.2]")),
    }
}

fn curve(knots: &[(Db, f64)], rule: Rule) -> Result<Curve, fairwave_soc::CurveError> {
    let knots: Vec<CurvePoint> =
        knots.iter().map(|&(soc, weight)| CurvePoint { soc, weight }).collect();
    Curve::through(&knots, rule)
}

impl Policy {
    fn curve(&self) -> Curve {
        match self {
            Self::Named(name) => {
                let kind = POLICIES.iter().find(|kind| kind.name == *name);
                kind.map_or(Curve::Equal, |kind| (kind.curve)())
            }
            Self::GoodOrBad(GoodOrBad { threshold }) => Curve::GoodOrBad(*threshold),
            // The reader has refused what is no curve.
            Self::Knots(Knots { knots, rule }) => curve(knots, *rule).unwrap_or(Curve::Equal),
        }
    }
}

impl ByCategory {
    /// A curve for each access category.
    fn curves(&self, usual: &Policy) -> Vec<Curve> {
        let own = |category| match category {
            AccessCategory::Background => &self.background,
            AccessCategory::BestEffort => &self.best_effort,
            AccessCategory::Video => &self.video,
            AccessCategory::Voice => &self.voice,
        };
        let policies = AccessCategory::ALL.iter().map(|&category| own(category));
        policies.map(|policy| policy.as_ref().unwrap_or(usual).curve()).collect()
    }
}

impl LinkMonitor {
    pub(super) fn to_world(&self) -> world::Monitor {
        match *self {
            Self::Level(LevelMonitor { threshold, every }) => {
                world::Monitor::Level { threshold, every }
            }
            Self::Failures(FailureMonitor { back_off }) => world::Monitor::Failures { back_off },
        }
    }
}

impl Soc {
    /// The simulator's inputs for the access point `ap`.
    pub(super) fn to_world(&self, ap: NodeId) -> world::Soc {
        let filter = FILTERS.iter().find(|kind| kind.name == self.filter);
        let policies = match &self.by_category {
            None => Policies::per_host(self.policy.curve()),
            Some(own) => Policies::per_class(own.curves(&self.policy)),
        };
        let policies = Policies { hysteresis: self.hysteresis, ..policies };
        world::Soc {
            ap,
            interval: self.interval,
            hold: self.hold,
            read_every: self.read_every,
            filter: filter.map_or(world::FilterSpec::Mean, |kind| kind.spec),
            table: TableConfig {
                smoothing: self.smoothing,
                beta: self.beta,
                decay: self.decay,
                floor: self.floor,
                forget_after: self.forget_after,
                compat: self.frame == Frame::Plain,
                compat_interval: self.interval,
                ..TableConfig::new(policies)
            },
        }
    }
}
