//! The one list of studies. Command line, tests and documentation are views of it.
//! `real_time` runs a study with the sockets of a kernel, where there is Linux.

#[cfg(target_os = "linux")]
pub mod real_time;

use fairwave_study::Study;
use fairwave_study_ack_loss::AckLoss;
use fairwave_study_ap::{ApBuffer, Fairness, TcpAv};
use fairwave_study_handover::TfrcHandover;
use fairwave_study_shake::Shake;
use fairwave_study_socps::Socps;

/// Every study.
pub const ALL: &[&dyn Study] =
    &[&AckLoss, &ApBuffer, &Fairness, &Shake, &Socps, &TcpAv, &TfrcHandover];

/// The study called `name`.
pub fn find(name: &str) -> Option<&'static dyn Study> {
    ALL.iter().copied().find(|study| study.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_study::Results;
    use std::collections::BTreeSet;

    #[test]
    fn a_claim_is_known_by_its_id_over_all_studies() {
        let mut ids = BTreeSet::new();
        for study in ALL {
            let findings = study.evaluate(&Results::default()).unwrap();
            assert!(!findings.claims.is_empty(), "{}", study.name());
            for claim in findings.claims {
                assert!(ids.insert(claim.id), "{} of {} stands twice", claim.id, study.name());
                assert_eq!(claim.verdict.holds(), None, "{} is decided without a run", claim.id);
            }
        }
    }
}
