//! Findings of a buffer probe, as they stand in `summary.json`.

use fairwave_sim::ProbeOutcome;
use fairwave_sim::probe::diagnosis::{Contention, Finding, Limit, Policy, Radio, Sharing};
use fairwave_sim::probe::estimate::SizeEstimate;
use fairwave_units::stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Findings of a buffer probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeSummary {
    /// Whether the plan was completed; otherwise the reason, or that the run ended first.
    pub ended: String,
    /// Estimates by packet size.
    pub sizes: Vec<SizeSummary>,
    /// Unit of the limit: `packets` or `bytes`.
    pub limit: FindingSummary,
    /// Policy by which packets are dropped: `drop-tail` or `aqm`.
    pub policy: FindingSummary,
    /// Whether the radio loses packets: `clean` or `lossy`.
    pub radio: FindingSummary,
    /// Whether the radio served the train alone: `alone` or `beside`.
    pub company: FindingSummary,
    /// Whether the watched flow's receiver has its own queue: `shared` or `separate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<FindingSummary>,
}

/// Estimates from the trains of one packet size, in packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeSummary {
    /// UDP payload of each packet.
    pub payload_bytes: u32,
    /// Trains that were evaluated.
    pub trains: u64,
    /// The number of packets before the first gap.
    pub naive: Option<IntervalSummary>,
    /// Packets that waited at the first drop of a full buffer.
    pub corrected: Option<IntervalSummary>,
    /// The minimum over the trains.
    #[serde(alias = "corrected_least")]
    #[schemars(extend("unit" = "packets"))]
    pub corrected_min: Option<f64>,
    /// The maximum over the trains.
    #[serde(alias = "corrected_most")]
    #[schemars(extend("unit" = "packets"))]
    pub corrected_max: Option<f64>,
    /// Packets that waited at later drops.
    pub later: Option<IntervalSummary>,
    /// The naive number times one less the ratio of the rates.
    #[schemars(extend("unit" = "packets"))]
    pub by_rates: Option<f64>,
    /// Packets sent per second.
    pub sent_per_s: Option<f64>,
    /// Packets received per second.
    pub drained_per_s: Option<IntervalSummary>,
}

/// Mean and 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalSummary {
    /// Number of trains.
    pub n: u64,
    /// The mean.
    #[schemars(extend("unit" = "that of the averaged figure"))]
    pub mean: f64,
    /// Half the width of the interval; null for one train.
    #[schemars(extend("unit" = "that of the mean"))]
    pub half_width: Option<f64>,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindingSummary {
    /// The answer; null if the trains cannot decide.
    pub verdict: Option<String>,
    /// The numbers that support it.
    pub evidence: String,
}

impl ProbeSummary {
    pub(super) fn of(found: &ProbeOutcome) -> Self {
        let diagnosis = &found.diagnosis;
        let ended = match found.ended {
            None => "the run ended first".to_owned(),
            Some(Ok(())) => "complete".to_owned(),
            Some(Err(failure)) => format!("{failure:?}"),
        };
        Self {
            ended,
            sizes: found.sizes.iter().map(SizeSummary::of).collect(),
            limit: finding(&diagnosis.limit, |limit| match limit {
                Limit::Packets => "packets",
                Limit::Bytes => "bytes",
            }),
            policy: finding(&diagnosis.policy, |policy| match policy {
                Policy::DropTail => "drop-tail",
                Policy::Aqm => "aqm",
            }),
            radio: finding(&diagnosis.radio, |radio| match radio {
                Radio::Clean => "clean",
                Radio::Lossy => "lossy",
            }),
            company: finding(&diagnosis.contention, |contention| match contention {
                Contention::Alone => "alone",
                Contention::Beside => "beside",
            }),
            sharing: found.sharing.as_ref().map(|found| {
                finding(found, |sharing| match sharing {
                    Sharing::Shared => "shared",
                    Sharing::Separate => "separate",
                })
            }),
        }
    }

    /// The findings in order, each with the question it answers.
    pub fn findings(&self) -> Vec<(&'static str, &FindingSummary)> {
        let own = [
            ("limit", &self.limit),
            ("policy", &self.policy),
            ("radio", &self.radio),
            ("company", &self.company),
        ];
        own.into_iter().chain(self.sharing.as_ref().map(|found| ("sharing", found))).collect()
    }
}

impl SizeSummary {
    fn of(size: &SizeEstimate) -> Self {
        let interval = |found: Option<Estimate>| found.map(IntervalSummary::of);
        Self {
            payload_bytes: size.payload_bytes,
            trains: size.trains as u64,
            naive: interval(size.naive),
            corrected: interval(size.waiting),
            corrected_min: size.extremes.map(|(min, _)| min),
            corrected_max: size.extremes.map(|(_, max)| max),
            later: interval(size.later),
            by_rates: size.by_rates,
            sent_per_s: size.sent_rate,
            drained_per_s: interval(size.drain_rate),
        }
    }
}

impl IntervalSummary {
    fn of(found: Estimate) -> Self {
        Self { n: found.n as u64, mean: found.mean, half_width: found.half_width }
    }
}

fn finding<T: Copy>(found: &Finding<T>, word: impl Fn(T) -> &'static str) -> FindingSummary {
    let verdict = found.verdict.map(|verdict| word(verdict).to_owned());
    FindingSummary { verdict, evidence: found.evidence.clone() }
}
