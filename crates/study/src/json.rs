//! The findings of a study as one JSON value.

use crate::claim::Claim;
use crate::definition::Study;
use crate::findings::{Cost, Findings};
use crate::results::{Effort, Results};
use serde_json::{Value, json};

/// What `reproduce --json` prints. Without a cost, that of runs which were read back, times and
/// rates are null.
pub fn to_json(
    study: &dyn Study,
    results: &Results,
    findings: &Findings,
    cost: Option<Cost>,
) -> Value {
    let Effort { runs, seeds, simulated, frames } = results.effort();
    let claims: Vec<Value> = findings.claims.iter().map(Claim::to_json).collect();
    let wall_s = cost.map(|cost| cost.wall_s);
    let cpu_s = cost.and_then(|cost| cost.cpu_s);
    let per = |amount: f64, seconds: Option<f64>| seconds.filter(|&s| s > 0.0).map(|s| amount / s);
    json!({
        "study": study.name(),
        "claims": claims,
        "wall_s": wall_s,
        "simulated_s": simulated.as_secs_f64(),
        "quick": results.quick,
        "seeds": seeds.len(),
        "runs": runs,
        "frames": frames,
        "frames_per_s": per(frames as f64, wall_s),
        "frames_per_cpu_s": per(frames as f64, cpu_s),
        "simulated_s_per_cpu_s": per(simulated.as_secs_f64(), cpu_s),
        "fairwave_version": env!("CARGO_PKG_VERSION"),
    })
}
