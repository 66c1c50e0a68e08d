//! A study on two hosts for a terminal.

use super::Beside;
use crate::claim::Verdict;
use crate::definition::Study;
use fairwave_text::{BAD, GOOD, HEADING, WORTH_A_LOOK, styled};

/// A verdict in one set-up as a word in its colour.
fn word(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Holds => styled(GOOD, "HOLDS"),
        Verdict::DoesNotHold(_) => styled(BAD, "DOES NOT HOLD"),
        Verdict::Undecided(_) => styled(WORTH_A_LOOK, "UNDECIDED"),
    }
}

/// Each claim with the verdicts on both hosts, and the experiments that were not run.
pub fn text(study: &dyn Study, beside: &Beside) -> String {
    let mut text = format!("{}\n\n", styled(HEADING, study.paper()));
    for (simulator, kernel) in beside.claims() {
        text.push_str(&format!("{}  {}\n", styled(HEADING, simulator.id), simulator.statement));
        for (host, claim) in [("simulator", simulator), ("kernel", kernel)] {
            let verdict = word(&claim.verdict);
            let measured = claim.measured.iter().map(|(name, value)| format!("{name} = {value}"));
            let measured = measured.collect::<Vec<_>>().join(", ");
            text.push_str(&format!("  {host:<10} {verdict}  {measured}\n"));
            if let Some(why) = claim.verdict.reason() {
                text.push_str(&format!("  {:<10} because: {why}\n", ""));
            }
        }
        text.push_str(&format!("  criterion  {}\n\n", simulator.criterion));
    }
    text.extend(beside.provenance(study).iter().map(|line| format!("{line}\n")));
    text
}
