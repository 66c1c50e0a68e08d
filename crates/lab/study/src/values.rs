//! Measured values as text for people.

use crate::claim::Claim;
use serde_json::Value;

/// The measured values, each with its interval beside it instead of on lines of its own.
pub(crate) fn measurements(claim: &Claim) -> Vec<(&str, String)> {
    let end = |key: &str, side: &str| claim.measured.get(&format!("{key}_{side}")).map(measured);
    let of_another = |key: &str| {
        let base = key.strip_suffix("_low").or_else(|| key.strip_suffix("_high"));
        base.is_some_and(|base| claim.measured.contains_key(base))
    };
    let shown = claim.measured.iter().filter(|(key, _)| !of_another(key));
    shown
        .map(|(key, value)| match (end(key, "low"), end(key, "high")) {
            (Some(low), Some(high)) => {
                (key.as_str(), format!("{} [{low}, {high}]", measured(value)))
            }
            _ => (key.as_str(), measured(value)),
        })
        .collect()
}

/// A measured value as short as it may be read.
fn measured(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if number.fract() != 0.0 => format!("{number:.3}"),
        _ => value.to_string(),
    }
}
