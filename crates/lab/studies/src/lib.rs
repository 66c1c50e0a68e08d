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

    /// Claims whose figures are drawn where there are runs alone.
    const OF_RUNS: [&str; 6] = ["BUF-2", "BUF-3", "BUF-4", "BUF-5", "BUF-X1", "BUF-X5"];

    #[test]
    fn each_claim_has_a_figure_or_a_sentence_in_its_place() {
        for study in ALL {
            let findings = study.evaluate(&Results::default()).unwrap();
            let ids: BTreeSet<&str> = findings.claims.iter().map(|claim| claim.id).collect();
            let drawn: BTreeSet<&str> =
                findings.exhibits.iter().flat_map(|exhibit| exhibit.claims).copied().collect();
            let not: BTreeSet<&str> = study.without_figure().iter().map(|(id, _)| *id).collect();
            assert!(drawn.is_subset(&ids) && not.is_subset(&ids), "{drawn:?} {not:?} {ids:?}");
            for id in ids {
                let is_drawn = drawn.contains(id) || OF_RUNS.contains(&id);
                assert_ne!(is_drawn, not.contains(id), "{id} of {}", study.name());
            }
        }
    }
}
