//! Findings of an exploring run, which stand beside those of a confirming one.

use super::request::MapRequest;
use super::summary::{ClaimMap, MapSummary};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// File with the summary of an exploring run.
pub const EXPLORED: &str = "explored.json";
/// File with the summary of a confirming run.
pub const CONFIRMED: &str = "confirmed.json";

/// Findings of an earlier run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    /// Its day, in UTC.
    pub ran: String,
    /// Its verdict on each claim, by identifiers.
    pub claims: BTreeMap<String, EarlierVerdict>,
}

/// Verdict of an earlier run on a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlierVerdict {
    /// Its word.
    pub verdict: String,
    /// The parameter that decided, its name and its threshold.
    pub decides: Option<[String; 3]>,
}

/// Whether `reported`, the output of `--json` of an earlier run, is of the requested map: of the
/// same study and form, and of the same claims in the same set-ups.
pub fn is_of_map(reported: &Value, ask: &MapRequest<'_>) -> bool {
    let claims = ask.declared.claim.iter().filter(|claim| ask.claims.contains(&claim.id));
    let requested: Value = claims
        .map(|claim| {
            let axes = ask.declared.axes_of_map(&claim.id);
            let grid = ask.declared.grid(ask.quick).of(&axes);
            let labels = |set_up: Vec<usize>| json!(BTreeMap::from_iter(grid.labels(&set_up)));
            json!([claim.id, grid.set_ups().map(labels).collect::<Vec<_>>()])
        })
        .collect();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let claims = list(&reported["claims"]).into_iter();
    let found: Value = claims
        .map(|claim| {
            let set_ups = list(&claim["points"]).into_iter().map(|point| point["setup"].clone());
            json!([claim["id"], set_ups.collect::<Vec<_>>()])
        })
        .collect();
    reported["study"] == ask.study.name() && reported["quick"] == ask.quick && found == requested
}

impl Earlier {
    /// Reads the findings in the file [`EXPLORED`] of a directory, if they are of the same map.
    pub fn read(directory: &Path, map: &MapSummary) -> Option<Self> {
        let found = fs::read(directory.join(EXPLORED)).ok()?;
        Self::of(&serde_json::from_slice(&found).ok()?, map)
    }

    /// Reads the output of `--json` for the same map, if it is of an exploring run of the same
    /// grid.
    pub fn of(reported: &Value, map: &MapSummary) -> Option<Self> {
        let is_same = reported["study"] == map.study
            && reported["declared"] == map.declared
            && reported["quick"] == map.quick
            && reported["confirms"] == false;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let claims = reported["claims"].as_array().filter(|_| is_same)?.iter();
        let decides = |reported: &Value| {
            Some([text(&reported["key"])?, text(&reported["name"])?, text(&reported["threshold"])?])
        };
        let verdict = |c: &Value| {
            let verdict =
                EarlierVerdict { verdict: text(&c["verdict"])?, decides: decides(&c["decides"]) };
            Some((text(&c["id"])?, verdict))
        };
        Some(Self { ran: text(&reported["ran"])?, claims: claims.filter_map(verdict).collect() })
    }

    /// The word of that run, and the parameter that decided in it if another one decides in this
    /// one.
    pub(crate) fn of_claim(&self, claim: &ClaimMap) -> String {
        let Some(earlier) = self.claims.get(&claim.id) else {
            return format!("not mapped in the exploring run of {}", self.ran);
        };
        let text = format!("{} in the exploring run of {}", earlier.verdict, self.ran);
        let now = claim.decides.as_ref().map(|decides| (&decides.key, &decides.threshold));
        match &earlier.decides {
            Some([key, name, threshold]) if now != Some((key, threshold)) => {
                format!("{text}, where it was decided by {name} ({threshold})")
            }
            _ => text,
        }
    }
}
