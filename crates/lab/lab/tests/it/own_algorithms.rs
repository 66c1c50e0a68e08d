//! Runs of algorithms from outside: one that fails ends them, and none is taken from before.

use crate::store::open;
use fairwave_cc::Reno;
use fairwave_lab::run::{self, Before, Cause, Output, Run, SweepOptions, Watch};
use fairwave_scenario::OwnAlgorithms;
use fairwave_scenario::plan::{Override, Plan};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const SCENARIO: &str = r#"
duration = "9 s"
node = [{ name = "a", kind = "host" }, { name = "b", kind = "host" }]
link = [{ ends = ["a", "b"], rate = "50 Mbps", delay = "5 ms" }]
flow = [{ name = "up", from = "a", to = "b" }]
sweep.seeds = 3
"#;

/// The scenario with an algorithm `mine`, which `made` has made so often.
struct Own {
    plan: Plan,
    made: Arc<AtomicU32>,
}

/// `fails`: at its first start.
fn own(congestion_control: &str, fails: bool) -> Own {
    let (mut own, made) = (OwnAlgorithms::default(), Arc::<AtomicU32>::default());
    let (failure, count) = (own.failure().clone(), Arc::clone(&made));
    let make = move |initial| -> Box<dyn fairwave_cc::Controller> {
        count.fetch_add(1, Ordering::Relaxed);
        if fails {
            failure.set();
        }
        Box::new(Reno::new(initial))
    };
    own.add_congestion_control("mine", make).expect("a name of its own");
    let set = [Override::set(&format!("tcp.congestion_control={congestion_control}"))];
    let plan = Plan::parse_with("test", SCENARIO, &set, &own).unwrap_or_else(|e| panic!("{e}"));
    Own { plan, made }
}

fn sweep(plan: &Plan, how: SweepOptions<'_>) -> Result<Vec<Run>, run::Error> {
    let watch = Watch { progress: &|_| {}, stop: &AtomicBool::new(false) };
    run::sweep_with(plan, 1, how, watch, &|run| run)
}

#[test]
fn an_algorithm_that_fails_ends_its_run_and_the_sweep() {
    let Own { plan, made } = own("mine", true);
    let error = sweep(&plan, (Output::Nothing, Before::Rerun).into()).expect_err("it fails");
    assert!(matches!(error.cause, Cause::Algorithm), "{error}");
    assert_eq!(error.to_string(), "run with seed 1: an algorithm from outside failed");
    assert_eq!(made.load(Ordering::Relaxed), 2, "at both ends of the connection of one run");
    plan.own.failure().clear();
    let Own { plan, .. } = own("reno", true);
    sweep(&plan, (Output::Nothing, Before::Rerun).into()).expect("it does not use it");
}

#[test]
fn runs_that_were_made_before_are_made_again() {
    let root = tempfile::tempdir().expect("a directory");
    let (store, _) = open(&root.path().join("store"));
    let before = SweepOptions {
        store: Some(&store),
        ..SweepOptions::from((Output::Summary(root.path()), Before::Resume))
    };
    let Own { plan, made } = own("mine", false);
    let first = sweep(&plan, before).expect("it runs");
    let again = sweep(&plan, before).expect("it runs");
    assert_eq!(first, again);
    assert_eq!(made.load(Ordering::Relaxed), 2 * 2 * 3, "of three runs, twice");
    assert_eq!(run::replaced(&plan, root.path()), None, "they are of this sweep");
    let other = run::replaced(&own("reno", false).plan, root.path());
    assert_eq!(other, Some(root.path().join("seed-1")));
}
