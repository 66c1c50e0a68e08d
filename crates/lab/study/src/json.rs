//! The findings of a study as one JSON value.

use crate::claim::Claim;
use crate::compared::OriginalSummary;
use crate::findings::Cost;
use crate::map::file::CriterionFile;
use crate::map::joint::JointSet;
use crate::reproduction::Reproduction;
use crate::results::Effort;
use crate::verdict::ClaimVerdict;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Output of `fairwave reproduce --json`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ReproduceOutput")]
pub struct StudySummary {
    /// Name of the study.
    pub study: &'static str,
    /// Its claims with their verdicts, in the order of the paper, then questions of ours.
    pub claims: Vec<ClaimVerdict>,
    /// The largest sets of the paper's claims that one set-up satisfies; a set that another one
    /// contains is not among them.
    pub joint: Vec<JointSet>,
    /// The figures and tables of the paper beside ours, in its order.
    pub originals: Vec<OriginalSummary>,
    /// The last day on which something of the map was settled; null where none is declared.
    pub declared: Option<String>,
    /// The day of the exploring run, in UTC; null where no map is declared.
    pub explored: Option<String>,
    /// The day of the run with seeds that no exploring run had; null in the quick form.
    pub confirmed: Option<String>,
    /// Sentences of the paper behind the criteria, as far as the map's file has them.
    pub criteria: Vec<CriterionFile>,
    /// Time that it took; null where runs were read back, as are the rates below.
    #[schemars(extend("unit" = "s"))]
    pub wall_s: Option<f64>,
    /// Virtual time of all runs, those of the maps among them.
    #[schemars(extend("unit" = "s"))]
    pub simulated_s: f64,
    /// Processor time; null where that is not known.
    #[schemars(extend("unit" = "s"))]
    pub cpu_s: Option<f64>,
    /// Whether it was the quick form, with fewer seeds and points.
    pub quick: bool,
    /// Number of different seeds.
    pub seeds: usize,
    /// Number of runs.
    pub runs: usize,
    /// Frames put on the air in all runs.
    pub frames: u64,
    /// Frames simulated per second of the time that it took.
    pub frames_per_s: Option<f64>,
    /// Frames simulated per second of processor time; null where that is not known.
    pub frames_per_cpu_s: Option<f64>,
    /// Virtual seconds per second of processor time; null where that is not known.
    pub simulated_s_per_cpu_s: Option<f64>,
    /// Version of Fairwave.
    pub fairwave_version: &'static str,
}

/// A claim on one host, in the study's own set-up.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClaimSummary {
    /// Its identifier, such as `ACK-1`.
    pub id: &'static str,
    /// Whether the question is ours, and not a claim of the paper.
    pub ours: bool,
    /// `holds`, `does not hold` or `undecided`.
    pub verdict: &'static str,
    /// Whether it holds; null where it is undecided.
    pub holds: Option<bool>,
    /// Reason for which it does not hold or could not be decided; null where it holds.
    pub reason: Option<String>,
    /// Statement of the claim.
    pub statement: &'static str,
    /// Measurements, by the names of the criterion. A name ends in its unit where it has one.
    pub measured: Map<String, Value>,
    /// Conditions under which it holds, and the meaning of their names.
    pub criterion: String,
    /// Explanation of the outcome, in numbers.
    pub note: String,
}

impl ClaimSummary {
    pub(crate) fn of(claim: &Claim) -> Self {
        Self {
            id: claim.id,
            ours: claim.is_ours,
            verdict: claim.verdict.word(),
            holds: claim.verdict.holds(),
            reason: claim.verdict.reason().map(str::to_owned),
            statement: claim.statement,
            measured: claim.measured.clone(),
            criterion: claim.criterion.clone(),
            note: claim.note.clone(),
        }
    }
}

/// Returns the output of `reproduce --json`. Without a cost, where runs were read back, times and
/// rates are null.
pub fn to_json(reproduction: &Reproduction<'_>, cost: Option<Cost>) -> Value {
    let Effort { runs, seeds, simulated, frames } = reproduction.effort();
    let wall_s = cost.map(|cost| cost.wall_s);
    let cpu_s = cost.and_then(|cost| cost.cpu_s);
    let per = |amount: f64, seconds: Option<f64>| seconds.filter(|&s| s > 0.0).map(|s| amount / s);
    let maps = reproduction.maps.as_ref();
    let criteria = maps.map(|maps| maps.declared.criterion.clone());
    json!(StudySummary {
        study: reproduction.study.name(),
        claims: reproduction.verdicts(),
        joint: reproduction.joint(),
        originals: reproduction.originals(),
        declared: maps.map(|maps| maps.judged().declared.clone()),
        explored: maps.map(|maps| maps.explored.ran.clone()),
        confirmed: maps.and_then(|maps| Some(maps.confirmed.as_ref()?.ran.clone())),
        criteria: criteria.unwrap_or_default(),
        wall_s,
        simulated_s: simulated.as_secs_f64(),
        cpu_s,
        quick: reproduction.results.quick,
        seeds: seeds.len(),
        runs,
        frames,
        frames_per_s: per(frames as f64, wall_s),
        frames_per_cpu_s: per(frames as f64, cpu_s),
        simulated_s_per_cpu_s: per(simulated.as_secs_f64(), cpu_s),
        fairwave_version: env!("CARGO_PKG_VERSION"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Criterion;
    use crate::evidence::Evidence;

    #[test]
    fn an_undecided_claim_holds_neither_way_and_says_why() {
        let criterion = Criterion { id: "A-1", statement: "s", meaning: "m" };
        let mut evidence = Evidence::default();
        let (a, b) = (evidence.number("a", Some(1.5)), evidence.number("b", None));
        let tested = evidence.tested([a.above(1.0), b.below(2.0)]);
        let claim = Claim::judge(criterion, tested, String::new());
        let json = json!(ClaimSummary::of(&claim));
        assert_eq!((&json["holds"], &json["verdict"]), (&Value::Null, &json!("undecided")));
        assert_eq!(json["reason"], "no run gives b");
    }
}
