//! Experiments, measures, claims and figures of the five papers, a folder for each study, and the
//! one list of studies. Command line, tests and documentation are views of that list.
//! `real_time` runs a study with the sockets of a kernel, where there is Linux.
//!
//! ```
//! let names: Vec<&str> = fairwave_studies::ALL.iter().map(|study| study.name()).collect();
//! assert!(names.contains(&"ack-loss"));
//! ```

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
    use fairwave_lab::run::{Before, Run, Watch};
    use fairwave_scenario::plan::{Override, Point};
    use fairwave_study::map::MapRequest;
    use fairwave_study::map::file::RunFile;
    use fairwave_study::{Counterpart, Results, made};
    use fairwave_units::Seed;
    use std::collections::BTreeSet;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

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

    /// Whether the figures exist depends on runs; `cargo xtask test` asks the quick forms.
    #[test]
    fn each_figure_of_a_paper_names_claims_and_files_that_exist() {
        for study in ALL {
            let findings = study.evaluate(&Results::default()).unwrap();
            let is_claim = |id: &&str| findings.claims.iter().any(|claim| claim.id == *id);
            assert!(!study.originals().is_empty(), "{}", study.name());
            for original in study.originals() {
                let is_known = match original.counterpart {
                    Counterpart::Drawn { figures, claims } => {
                        !figures.is_empty() && claims.iter().all(is_claim)
                    }
                    Counterpart::Measured(claims) => claims.iter().all(is_claim),
                    Counterpart::Defined(files) => {
                        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
                        files.iter().all(|file| root.join(file).is_file())
                    }
                    Counterpart::Missing(why) => !why.is_empty(),
                };
                assert!(is_known, "{original:?} of {}", study.name());
            }
        }
    }

    /// Three runs of a point with random goodputs.
    fn random_runs(point: &Point, seed: u64) -> impl Iterator<Item = Run> {
        let flows = point.scenario.to_world(1).flows;
        let axes: Vec<(&str, &str)> =
            point.axes.iter().map(|(key, value)| (&**key, &**value)).collect();
        let mut random = Seed(seed).stream(&format!("{axes:?}"));
        let mut next = move || random.next_u64() as f64 / u64::MAX as f64;
        let runs = (1..=3).map(|seed| {
            let rates: Vec<f64> = flows.iter().map(|_| 1.0 + next()).collect();
            let mut run = made::run(&axes, seed, &rates, 0.1);
            for (flow, of) in run.summary.flows.iter_mut().zip(&flows) {
                flow.name.clone_from(&of.name);
                flow.bins_bps = (0..9).map(|_| (2e6 * next()) as u64).collect();
            }
            run
        });
        runs.collect::<Vec<_>>().into_iter()
    }

    /// The runs of the first `steps` of an experiment.
    fn first(study: &dyn Study, run: &RunFile, steps: usize, seed: u64) -> Results {
        let name = run.experiment.get_ref();
        let experiment = study.experiments().iter().find(|e| e.name == name).unwrap();
        let sets: Vec<Override> = run.set.iter().map(|set| Override::set(set)).collect();
        let plan = experiment.plan_with(false, &sets).unwrap_or_else(|e| panic!("{e}"));
        let order = run.order.as_ref().unwrap();
        let points = plan.points.iter().filter(|point| order.step(&point.axes) < steps);
        let runs: Vec<Run> = points.flat_map(|point| random_runs(point, seed)).collect();
        assert!(!runs.is_empty(), "{name}: no point in the first {steps} steps of its order");
        Results { runs: [(name.clone(), runs)].into(), ..Results::default() }
    }

    /// A set-up whose first points show that a claim does not hold has no others.
    #[test]
    fn a_condition_has_its_value_after_some_steps_or_after_all() {
        for study in ALL {
            let Some(declared) = fairwave_study::map::of(*study).unwrap() else { continue };
            let runs = declared
                .claim
                .iter()
                .flat_map(|claim| claim.run.iter().map(move |run| (claim, run)));
            for (claim, run) in runs.filter(|(_, run)| run.order.is_some()) {
                for seed in 0..4 {
                    let conditions = |steps: usize| {
                        let claims = study.claims(&first(*study, run, steps, seed)).unwrap();
                        let judged = claims.into_iter().find(|judged| judged.id == claim.id);
                        judged.unwrap().conditions
                    };
                    let whole = conditions(run.all_steps());
                    assert_eq!(
                        conditions(run.steps()),
                        whole,
                        "{}: points that are shown alone",
                        claim.id
                    );
                    for steps in 1..run.steps() {
                        for (part, whole) in conditions(steps).iter().zip(&whole) {
                            assert!(part.value().is_err() || part == whole, "{part:?} {whole:?}");
                        }
                    }
                }
            }
        }
    }

    /// The quick forms leave values out: a key that has a new name would be found in a full map
    /// after an hour.
    #[test]
    fn scenarios_accept_every_value_of_every_map() {
        for study in ALL {
            let Some(declared) = fairwave_study::map::of(*study).unwrap() else { continue };
            let claims: Vec<_> = declared.claim.iter().map(|claim| claim.id.clone()).collect();
            let request = MapRequest {
                study: *study,
                declared: &declared,
                claims: &claims,
                quick: false,
                confirms: false,
                with_traces: false,
                workers: 1,
                root: Path::new("nowhere"),
                before: Before::Rerun,
                only_kept: true,
                store: None,
                alone: &[],
                watch: Watch { progress: &|_| {}, stop: &AtomicBool::new(false) },
            };
            request.check().unwrap_or_else(|error| panic!("{}: {error}", study.name()));
        }
    }
}
