//! Verdicts of the last full runs, which the quick form shows beside its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Verdicts by study. `cargo xtask pages` writes this file from the pages in `results/studies`.
const VERDICTS: &str = include_str!("../../../../results/verdicts.json");

/// Verdict of the last full run of a study on a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Published {
    /// The day of that run, in UTC.
    pub ran: String,
    /// Its word.
    pub verdict: String,
    /// Number of set-ups of each kind in it, in words.
    pub setups: String,
}

#[derive(Deserialize)]
struct StudyFile {
    ran: String,
    claims: BTreeMap<String, ClaimFile>,
}

#[derive(Deserialize)]
struct ClaimFile {
    verdict: String,
    setups: String,
}

/// The published verdict on a claim; `None` if no full run had it.
pub(crate) fn of(study: &str, claim: &str) -> Option<Published> {
    static ALL: OnceLock<BTreeMap<String, StudyFile>> = OnceLock::new();
    // A file that cannot be read publishes nothing; a test reads it.
    let all = ALL.get_or_init(|| serde_json::from_str(VERDICTS).unwrap_or_default());
    let StudyFile { ran, claims } = all.get(study)?;
    let ClaimFile { verdict, setups } = claims.get(claim)?;
    Some(Published { ran: ran.clone(), verdict: verdict.clone(), setups: setups.clone() })
}

impl Published {
    /// "published 2026-11-26: robust, holds in 2 of 2 (100 %)"
    pub fn text(&self) -> String {
        format!("published {}: {}, {}", self.ran, self.verdict, self.setups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_verdicts_can_be_read() {
        let all: BTreeMap<String, StudyFile> = serde_json::from_str(VERDICTS).unwrap();
        assert!(all.len() >= 7 && all.values().all(|study| !study.claims.is_empty()));
        let found = of("ack-loss", "ACK-1").unwrap();
        assert!(found.text().starts_with(&format!("published {}: ", found.ran)), "{found:?}");
        assert_eq!((of("ack-loss", "none"), of("none", "ACK-1")), (None, None));
    }
}
