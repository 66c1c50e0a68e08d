//! Experiments, measures, claims and figures of the five papers, a folder for each study, and the
//! one list of studies. Command line, tests and documentation are views of that list.
//! `real_time` runs a study with the sockets of a kernel, where there is Linux.

mod ack_loss;
mod ap_buffer;
mod declare;
mod fairness;
mod handover;
#[cfg(target_os = "linux")]
pub mod real_time;
mod shake;
mod socps;
mod tcp_av;

use ack_loss::AckLoss;
use ap_buffer::ApBuffer;
use fairness::Fairness;
use fairwave_study::Study;
use handover::TfrcHandover;
use shake::Shake;
use socps::Socps;
use tcp_av::TcpAv;

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
