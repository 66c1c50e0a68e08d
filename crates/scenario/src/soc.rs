//! Keys of a cell whose stations report their Strength of Connection: `cell.soc`.

use super::diagnostic::Refusal;
use super::reader::{self, Read, Reader, nested};
use super::value::{Data, Value};
use fairwave_dot11::AccessCategory;
use fairwave_sim::world;
use fairwave_soc::{
    Curve, Decay, FILTERS, Knot, POLICIES, Policies, ReporterConfigError, Rule, TableConfig,
};
use fairwave_trace::NodeId;
use fairwave_units::{Db, Duration};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// What stations report of their channels and what access points make of it (`docs/models/soc.md`).
/// Whether weights act is up to the access point's queue: `wfq` and its kin serve by them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Soc {
    /// From one report of a station to the next, 20 ms to 1 s. Default: "200 ms".
    #[schemars(with = "String")]
    pub interval: Duration,
    /// How long a report waits for a data frame to ride on, less than the interval; "0 s" never
    /// waits. Default: a quarter of the interval.
    #[schemars(with = "String")]
    pub hold: Duration,
    /// How often a station reads its card, 1 ms to 1 s. Default: "10 ms".
    #[schemars(with = "String")]
    pub read_every: Duration,
    /// From readings to what is reported. Default: "mean".
    pub filter: String,
    /// From what is reported to weights: a name, { threshold = "5 dB" }, or
    /// { knots = [["0 dB", 0.0], ["10 dB", 1.0]], rule = "linear" }. Default: "pw".
    pub policy: Policy,
    /// Policies of access categories that have another one, where the cell has EDCA:
    /// { voice = "gb3" }. Default: none has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_category: Option<ByCategory>,
    /// How much higher a level must be to count on the way up, up to 20 dB. Default: "0 dB".
    #[schemars(with = "String")]
    pub hysteresis: Db,
    /// Share of the newest report in what is weighed, beside the one before. Default: 1.
    pub smoothing: f64,
    /// What is left after a report that does not come, 0 to 1. Default: 0.7.
    pub beta: f64,
    /// What that lowers. Default: "soc".
    #[serde(serialize_with = "decay")]
    #[schemars(with = "String", extend("enum" = ["soc", "weight"]))]
    pub decay: Decay,
    /// What it decays to, and the least that counts. Default: "0 dB".
    #[schemars(with = "String")]
    pub floor: Db,
    /// Silence after which a station is not known any more, 1 s to 1 h. Default: "60 s".
    #[schemars(with = "String")]
    pub forget_after: Duration,
}

/// A policy by name, or by numbers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Policy {
    /// One that `fairwave list soc-policies` lists.
    Named(String),
    /// 1 above a threshold, else 0.
    GoodOrBad {
        /// The threshold. Required.
        #[schemars(with = "String")]
        threshold: Db,
    },
    /// Knots, and what is between them.
    Knots {
        /// Levels, rising, and weights, 0 to 1. Required.
        #[schemars(with = "Vec<(String, f64)>")]
        knots: Vec<(Db, f64)>,
        /// "linear" draws lines, "step" takes the knot above. Default: "linear".
        #[serde(serialize_with = "rule_word")]
        #[schemars(with = "String", extend("enum" = ["linear", "step"]))]
        rule: Rule,
    },
}

/// Policies of access categories, in place of the one for all.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ByCategory {
    /// What weighs background traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<Policy>,
    /// What weighs most data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_effort: Option<Policy>,
    /// What weighs video.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub video: Option<Policy>,
    /// What weighs voice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voice: Option<Policy>,
}

/// How good links are told from bad ones: by a threshold, or by frames that were given up.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LinkMonitor {
    /// By the true level at the station, fading included: what schedulers of papers know.
    Level {
        /// A link is good above this. Required.
        #[schemars(with = "String")]
        threshold: Db,
        /// How often levels are looked at, 1 ms to 1 s. Default: "10 ms".
        #[schemars(with = "String")]
        every: Duration,
    },
    /// By frames that were given up.
    Failures {
        /// How long a link is bad after one, 1 ms to 10 s. Required.
        #[schemars(with = "String")]
        back_off: Duration,
    },
}

const DECAYS: &[(&str, Decay)] = &[("soc", Decay::Soc), ("weight", Decay::Weight)];
const RULES: &[(&str, Rule)] = &[("linear", Rule::Linear), ("step", Rule::UpperStep)];

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn decay<S: Serializer>(value: &Decay, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(reader::word(DECAYS, value))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn rule_word<S: Serializer>(value: &Rule, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(reader::word(RULES, value))
}

/// The key `soc` of a cell.
pub(super) fn soc(value: &Value) -> Read<Soc> {
    let Data::Table(table) = &value.data else {
        let help = "write soc = { policy = \"pw\" }";
        return Err(reader::wrong_type(value, "a table").help(help));
    };
    nested(table, value, read)
}

/// The key `link_monitor` of a cell.
pub(super) fn link_monitor(value: &Value) -> Read<LinkMonitor> {
    let Data::Table(table) = &value.data else {
        let help = "write link_monitor = { threshold = \"5 dB\" }";
        return Err(reader::wrong_type(value, "a table").help(help));
    };
    let times = |most| reader::within(Duration::from_millis(1), Duration::from_secs(most));
    nested(table, value, |r| {
        if r.has("back_off") {
            r.meaningless(&["threshold", "every"], "failures are looked at, not levels");
            let back_off = r.or("back_off", Duration::from_millis(100), times(10));
            return LinkMonitor::Failures { back_off };
        }
        let level = reader::within(Db(-50.0), Db(100.0));
        LinkMonitor::Level {
            threshold: r.required("threshold", "threshold = \"5 dB\"", level).unwrap_or_default(),
            every: r.or("every", Duration::from_millis(10), times(1)),
        }
    })
}

fn read(r: &Reader<'_>) -> Soc {
    let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3600));
    let times = |least| reader::within(least, second);
    let ratio = |most| reader::within(Db(0.0), Db(most));
    let usual = TableConfig::new(Policies::per_host(Curve::Equal));
    let interval =
        r.or("interval", Duration::from_millis(200), times(fairwave_soc::INTERVAL_LEAST));
    let soc = Soc {
        interval,
        hold: r.or("hold", interval / 4, times(Duration::ZERO)),
        read_every: r.or("read_every", Duration::from_millis(10), times(Duration::from_millis(1))),
        filter: r.or("filter", "mean".to_owned(), filter),
        policy: r.or("policy", Policy::Named("pw".to_owned()), policy),
        by_category: r.optional("by_category", by_category),
        hysteresis: r.or("hysteresis", Db(0.0), ratio(20.0)),
        smoothing: r.or("smoothing", usual.smoothing, reader::real(0.0, 1.0)),
        beta: r.or("beta", usual.beta, reader::real(0.0, 1.0)),
        decay: r.or("decay", usual.decay, reader::choice(DECAYS)),
        floor: r.or("floor", usual.floor, reader::within(Db(-50.0), Db(50.0))),
        forget_after: r.or("forget_after", usual.forget_after, reader::within(second, hour)),
    };
    if soc.hold >= soc.interval {
        let (hold, interval) = (soc.hold, soc.interval);
        let refusal = Refusal::new(ReporterConfigError::Hold { hold, interval }.to_string());
        r.refuse("hold", refusal.help("a report would still wait when the next is due"));
    }
    soc
}

fn by_category(value: &Value) -> Read<ByCategory> {
    let Data::Table(table) = &value.data else {
        let help = "write by_category = { voice = \"gb3\" }";
        return Err(reader::wrong_type(value, "a table").help(help));
    };
    nested(table, value, |r| ByCategory {
        background: r.optional("background", policy),
        best_effort: r.optional("best-effort", policy),
        video: r.optional("video", policy),
        voice: r.optional("voice", policy),
    })
}

fn filter(value: &Value) -> Read<String> {
    let names: Vec<&str> = FILTERS.iter().map(|kind| kind.name).collect();
    known(value, "filter", &names)
}

fn known(value: &Value, what: &str, names: &[&str]) -> Read<String> {
    let name = reader::text(value)?;
    if names.contains(&name.as_str()) {
        return Ok(name);
    }
    Err(Refusal::new(format!("there is no {what} called {name:?}")).among(&name, names))
}

fn policy(value: &Value) -> Read<Policy> {
    let names: Vec<&str> = POLICIES.iter().map(|kind| kind.name).collect();
    let Data::Table(table) = &value.data else {
        return known(value, "policy", &names).map(Policy::Named);
    };
    let level = reader::within(Db(-50.0), Db(100.0));
    nested(table, value, |r| {
        if r.has("threshold") {
            r.meaningless(&["knots", "rule"], "the policy has a threshold");
            let threshold = r.or("threshold", Db(0.0), &level);
            return Policy::GoodOrBad { threshold };
        }
        let example = "knots = [[\"0 dB\", 0.0], [\"10 dB\", 1.0]]";
        let knots = r.required("knots", example, knots).unwrap_or_default();
        Policy::Knots { knots, rule: r.or("rule", Rule::Linear, reader::choice(RULES)) }
    })
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
    let knots: Vec<Knot> = knots.iter().map(|&(soc, weight)| Knot { soc, weight }).collect();
    Curve::through(&knots, rule)
}

impl Policy {
    fn curve(&self) -> Curve {
        match self {
            Self::Named(name) => {
                let kind = POLICIES.iter().find(|kind| kind.name == *name);
                kind.map_or(Curve::Equal, |kind| (kind.curve)())
            }
            Self::GoodOrBad { threshold } => Curve::GoodOrBad(*threshold),
            // The reader has refused what is no curve.
            Self::Knots { knots, rule } => curve(knots, *rule).unwrap_or(Curve::Equal),
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
            Self::Level { threshold, every } => world::Monitor::Level { threshold, every },
            Self::Failures { back_off } => world::Monitor::Failures { back_off },
        }
    }
}

impl Soc {
    /// What the simulator is told for the access point `ap`.
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
                ..TableConfig::new(policies)
            },
        }
    }
}
