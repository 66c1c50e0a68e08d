//! Maps: planted rules are found, words and joint sets are right, files tell what is wrong where,
//! and a map of runs is the same however it was interrupted.

use super::file::{Declared, Known, Source};
use super::judge::{Judged, Word};
use super::outcome::Outcome;
use super::{Axis, Grid, MapRequest, SetUp, Tree, explore, figure, joint, panels};
use crate::claim::{Claim, Criterion};
use crate::definition::{Error, Study};
use crate::evidence::Evidence;
use crate::experiment::Experiment;
use crate::findings::Findings;
use crate::measure::{over, total_mbps};
use crate::results::Results;
use fairwave_lab::run::{Before, Progress, Watch};
use fairwave_units::Duration;
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

fn axis(key: &str, values: usize, is_ordered: bool) -> Axis {
    Axis {
        key: key.to_owned(),
        name: format!("the {key}"),
        is_ordered,
        labels: (0..values).map(|value| value.to_string()).collect(),
        weights: vec![1.0; values],
        base: Some(0),
        is_alone: false,
    }
}

fn grids() -> impl Strategy<Value = Grid> {
    prop::collection::vec((2..5_usize, any::<bool>()), 1..4).prop_map(|axes| {
        let axis = |(index, (values, is_ordered))| axis(&format!("a{index}"), values, is_ordered);
        whole(axes.into_iter().enumerate().map(axis).collect())
    })
}

fn whole(axes: Vec<Axis>) -> Grid {
    Grid { axes, is_star: false }
}

fn judged(grid: &Grid, holds: impl Fn(&[usize]) -> bool) -> Judged {
    let outcome = |set_up: SetUp| {
        let outcome = if holds(&set_up) { Outcome::Holds } else { Outcome::Fails };
        (set_up, outcome)
    };
    Judged::of(grid, grid.set_ups().map(outcome).collect())
}

proptest! {
    #[test]
    fn a_grid_has_each_combination_once(grid in grids()) {
        let all: BTreeSet<SetUp> = grid.set_ups().collect();
        prop_assert_eq!(all.len(), grid.len());
        let product: usize = grid.axes.iter().map(|axis| axis.labels.len()).product();
        prop_assert_eq!(all.len(), product);
        prop_assert!(grid.base().is_some_and(|base| all.contains(&base)));
    }

    #[test]
    fn a_star_goes_along_one_axis_at_a_time(grid in grids()) {
        let star = Grid { is_star: true, ..grid.clone() };
        let all: BTreeSet<SetUp> = star.set_ups().collect();
        prop_assert_eq!(all.len(), star.len());
        let others: usize = grid.axes.iter().map(|axis| axis.labels.len() - 1).sum();
        prop_assert_eq!(all.len(), 1 + others);
        prop_assert!(all.iter().all(|set_up| grid.distance_from_base(set_up) <= 1));
    }

    #[test]
    fn the_parameter_that_decides_is_found(grid in grids(), pick in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>()) {
        let axis = pick.index(grid.axes.len());
        let threshold = 1 + cut.index(grid.axes[axis].labels.len() - 1);
        let judged = judged(&grid, |set_up| set_up[axis] >= threshold);
        let split = judged.tree.split.as_ref().expect("something decides");
        prop_assert_eq!(split.axis, axis);
        let values: Vec<usize> = (threshold..grid.axes[axis].labels.len()).collect();
        prop_assert_eq!(&split.values, &values);
        prop_assert_eq!(split.with.holding, split.with.decided);
        prop_assert_eq!(split.without.holding, 0);
        prop_assert_eq!(split.is_lower, grid.axes[axis].is_ordered.then_some(false));
        if judged.word == Word::Conditional {
            let name = format!("the a{axis} is ");
            prop_assert!(judged.condition(&grid).contains(&name), "{}", judged.condition(&grid));
        }
    }

    #[test]
    fn the_tree_counts_each_decided_set_up_once(grid in grids(), seed in any::<u64>()) {
        let bit = |set_up: &[usize]| {
            let key = set_up.iter().fold(seed, |key, &value| key.rotate_left(7) ^ value as u64);
            key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1
        };
        let judged = judged(&grid, bit);
        let holding = grid.set_ups().filter(|set_up| bit(set_up)).count();
        prop_assert_eq!(judged.tally.holding, holding);
        fn leaves(tree: &Tree) -> (usize, usize) {
            tree.split.as_ref().map_or((tree.holding, tree.decided), |split| {
                let (with, without) = (leaves(&split.with), leaves(&split.without));
                (with.0 + without.0, with.1 + without.1)
            })
        }
        prop_assert_eq!(leaves(&judged.tree), (holding, grid.len()));
    }

    #[test]
    fn no_joint_set_lies_within_another(grid in grids(), seed in any::<u64>()) {
        let held: Vec<(SetUp, BTreeSet<String>)> = grid.set_ups().enumerate().map(|(index, s)| {
            let bits = (seed ^ index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
            let claims = (0..4).filter(|bit| bits >> bit & 1 == 1).map(|bit| format!("C{bit}"));
            (s, claims.collect())
        }).collect();
        let sets = joint::sets(&grid, &held);
        for (a, b) in sets.iter().flat_map(|a| sets.iter().map(move |b| (a, b))) {
            prop_assert!(a == b || !a.claims.iter().all(|claim| b.claims.contains(claim)));
        }
        for (_, claims) in held.iter().filter(|(_, claims)| !claims.is_empty()) {
            let is_within = |set: &&joint::JointSet| claims.iter().all(|c| set.claims.contains(c));
            prop_assert!(sets.iter().any(|set| is_within(&set)));
        }
    }
}

#[test]
fn words_follow_from_shares() {
    let grid = whole(vec![axis("a", 5, true)]);
    let word = |holding: usize| judged(&grid, |set_up| set_up[0] < holding).word;
    let words: Vec<Word> = (0..=5).map(word).collect();
    let conditional = Word::Conditional;
    let expected =
        [Word::Nowhere, conditional, conditional, conditional, Word::Robust, Word::Robust];
    assert_eq!(words, expected);
    let out = |set_up| (set_up, Outcome::LeftOut("A".to_owned()));
    let none = Judged::of(&grid, grid.set_ups().map(out).collect());
    assert_eq!((none.word, none.share, none.tally.admitted), (Word::NotJudgeable, None, 0));
}

#[test]
fn one_decided_set_up_is_too_little_to_be_robust() {
    let grid = whole(vec![axis("a", 5, true)]);
    let outcome = |a: usize| if a == 0 { Outcome::Holds } else { Outcome::Undecided };
    let outcomes = grid.set_ups().map(|set_up| (set_up.clone(), outcome(set_up[0]))).collect();
    let judged = Judged::of(&grid, outcomes);
    assert_eq!((judged.word, judged.share), (Word::Conditional, Some(1.0)));
    assert_eq!(judged.condition(&grid), "Holds in the only set-up that could be decided.");
}

/// The quick form has a word only where undecided set-ups cannot change it.
#[test]
fn the_quick_form_is_undecided_where_further_seeds_could_give_another_word() {
    let star = Grid { is_star: true, ..whole(vec![axis("a", 5, true)]) };
    let word = |outcomes: &str, grid: &Grid| {
        let outcome = |letter| match letter {
            'H' => Outcome::Holds,
            'F' => Outcome::Fails,
            'A' => Outcome::LeftOut("A".to_owned()),
            _ => Outcome::Undecided,
        };
        let outcomes = grid.set_ups().zip(outcomes.chars().map(outcome)).collect();
        Judged::of(grid, outcomes).word
    };
    for (outcomes, expected) in [
        ("H????", Word::Undecided),
        ("FFFF?", Word::Undecided),
        ("HHH??", Word::Undecided),
        ("?????", Word::Undecided),
        ("AAAAA", Word::Undecided),
        ("HFFF?", Word::Conditional),
        ("HHHH?", Word::Robust),
        ("FFFFF", Word::Nowhere),
        ("AAAFF", Word::Nowhere),
    ] {
        assert_eq!(word(outcomes, &star), expected, "{outcomes}");
    }
    let full = whole(vec![axis("a", 5, true)]);
    assert_eq!(word("H????", &full), Word::Conditional, "the full form had all its seeds");
    assert_eq!(word("?????", &full), Word::NotJudgeable);
}

#[test]
fn what_cannot_be_judged_says_why() {
    let grid = whole(vec![axis("a", 3, true)]);
    let why = |of: fn(usize) -> Outcome| {
        let outcomes = grid.set_ups().map(|set_up| (set_up.clone(), of(set_up[0]))).collect();
        Judged::of(&grid, outcomes).condition(&grid)
    };
    let contradict = why(|a| Outcome::LeftOut(["FULL", "STEADY"][a % 2].to_owned()));
    assert_eq!(contradict, "Left out: all 3 set-ups contradict FULL or STEADY.");
    let open = why(|_| Outcome::Undecided);
    assert_eq!(open, "Undecided in each of 3 admitted set-ups.");
    let one = why(|a| if a == 0 { Outcome::Undecided } else { Outcome::LeftOut("A".to_owned()) });
    assert_eq!(one, "Undecided in the only admitted set-up.");
}

#[test]
fn weights_count_in_the_share_and_not_in_the_tally() {
    let mut grid = whole(vec![axis("a", 2, false)]);
    grid.axes[0].weights = vec![3.0, 1.0];
    let judged = judged(&grid, |set_up| set_up[0] == 0);
    assert_eq!((judged.share, judged.tally.holding), (Some(0.75), 1));
}

const SCENARIO: &str = r#"# Does one station upload?
title = "One upload: for tests"
duration = "300 ms"
warm_up = "100 ms"
cell.standard = "802.11a"
node = [
    { name = "ap", kind = "access-point", data_rate = "54 Mbps" },
    { name = "sta", kind = "station", data_rate = "54 Mbps" },
]
flow = [{ name = "up", from = "sta", to = "ap" }]
[sweep]
"node.sta.data_rate" = ["6 Mbps", "54 Mbps"]
seeds = 2
"#;

const MAP: &str = r#"declared = "2026-11-23"
seeds = { quick = 2, full = 3, max = 4, explore_from = 10, confirm_from = 20 }

[[axis]]
key = "rate"
name = "the rate"
ordered = true
base = "54"
value = [
    { label = "6", set = ["node.sta.data_rate=6 Mbps"], why = "slow",
      read_as = { "node.sta.data_rate" = "54 Mbps" } },
    { label = "54", set = ["node.sta.data_rate=54 Mbps"], why = "fast" },
]

[[axis]]
key = "algorithm"
name = "the algorithm"
base = "reno"
value = [
    { label = "reno", why = "old" },
    { label = "cubic", set = ["tcp.congestion_control={algorithm}"], why = "new" },
]

[[claim]]
id = "TINY-1"
run = [{ experiment = "upload" }]

[[claim]]
id = "TINY-2"
run = [{ experiment = "upload" }]

[[anchor]]
id = "SLOW"
statement = "The paper measures at least 1 Mbps"
for = ["TINY-2"]
quantity = "total_mbps"
at_least = 10.0
run = [{ experiment = "upload" }]
"#;

#[derive(Debug)]
struct Tiny;

fn total(results: &Results) -> Option<fairwave_lab::stats::Estimate> {
    over(&results.select("upload", &[("node.sta.data_rate", "54 Mbps")]), total_mbps)
}

impl Study for Tiny {
    fn name(&self) -> &'static str {
        "tiny"
    }

    fn paper(&self) -> &'static str {
        "Nobody: Nothing"
    }

    fn statement(&self) -> &'static str {
        "A station uploads."
    }

    fn experiments(&self) -> &'static [Experiment] {
        &[Experiment {
            name: "upload",
            file: "upload.toml",
            text: SCENARIO,
            quick: &[],
            series: false,
        }]
    }

    fn originals(&self) -> &'static [crate::Original] {
        &[]
    }

    fn not_emulated(&self) -> &'static [&'static str] {
        &[]
    }

    fn limits(&self) -> &'static [&'static str] {
        &[]
    }

    fn evaluate(&self, results: &Results) -> Result<Findings, Error> {
        let claim = |id| {
            let mut evidence = Evidence::of(results, &["upload"]);
            let total = evidence.estimate("total_mbps", total(results));
            let criterion = Criterion { id, statement: "It uploads fast", meaning: "In all" };
            Claim::judge(criterion, evidence.tested([total.mean.above(10.0)]), String::new())
        };
        let claims = vec![claim("TINY-1"), claim("TINY-2")];
        Ok(Findings { claims, exhibits: vec![], tables: vec![], explanations: vec![] })
    }

    fn map(&self) -> Option<Source<'static>> {
        Some(Source { file: "map.toml", text: MAP })
    }

    fn quantities(&self, results: &Results) -> Vec<(&'static str, Option<f64>)> {
        vec![("total_mbps", total(results).map(|total| total.mean))]
    }
}

fn parsed(text: &str) -> Result<Declared, super::file::Error> {
    let claims = BTreeMap::from([("TINY-1", vec!["total_mbps".to_owned()]), ("TINY-2", vec![])]);
    let known = Known { experiments: &["upload"], claims: &claims, quantities: &["total_mbps"] };
    Declared::parse(Source { file: "map.toml", text }, known)
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    assert!(parsed(MAP).is_ok());
    let cases = [
        ("base = \"54\"", "base = \"11\"", "map.toml:8:8: no value of the quick form is called"),
        (
            "experiment = \"upload\" }]\n\n[[claim]]",
            "experiment = \"up\" }]\n\n[[claim]]",
            "experiment",
        ),
        ("id = \"TINY-1\"", "id = \"TINY-9\"", "the study has no claim \"TINY-9\"; there are"),
        ("key = \"algorithm\"", "key = \"rate\"", "the axis \"rate\" is there twice"),
        (
            "={algorithm}",
            "={algorithms}",
            "no axis is called \"algorithms\"; there are: rate, algorithm",
        ),
        (
            "run = [{ experiment = \"upload\" }]\n\n[[claim]]",
            "run = [{ experiment = \"upload\", set = [\"seed={rat}\"] }]\n\n[[claim]]",
            "no axis of TINY-1 is called \"rat\"; there are: rate, algorithm",
        ),
        ("confirm_from = 20", "confirm_from = 12", "must be others than those that explore"),
        ("quantity = \"total_mbps\"", "quantity = \"total\"", "no quantity \"total\""),
        ("why = \"old\"", "why = \"old\", wgt = 1", "map.toml:20:"),
        ("declared = \"2026-11-23\"", "declared = \"23.11.2026\"", "is no day: write it as"),
        (
            "[[anchor]]",
            "[[single]]\nid = \"TINY-1\"\nwhy = \"w\"\n[[anchor]]",
            "TINY-1 has a grid, and is a [[single]]",
        ),
        ("for = [\"TINY-2\"]", "for = [\"TINY-3\"]", "this map has no \"TINY-3\"; there are"),
    ];
    for (from, to, expected) in cases {
        let text = MAP.replacen(from, to, 1);
        assert_ne!(text, MAP, "{from}");
        let error = parsed(&text).expect_err(to).to_string();
        assert!(error.starts_with("map.toml:") && error.contains(expected), "{to}: {error}");
    }
}

#[test]
fn one_set_up_takes_the_study_s_own_values_for_what_is_not_named() {
    let pair = |key: &str, label: &str| (key.to_owned(), label.to_owned());
    let at = |pairs: &[(String, String)]| parsed(MAP).unwrap().at(pairs).unwrap().grid(true);
    let texts = |grid: &Grid| grid.set_ups().map(|s| grid.text(&s)).collect::<Vec<_>>();
    let one = at(&[pair("algorithm", "cubic")]);
    assert_eq!(texts(&one), ["rate = 54, algorithm = cubic"]);
    assert_eq!(one.base(), None, "the study's own is another");
    let both = at(&[pair("algorithm", "cubic"), pair("rate", "6")]);
    assert_eq!(texts(&both), ["rate = 6, algorithm = cubic"]);
    assert_eq!(at(&[]).base(), Some(vec![0, 0]), "nothing else is asked for");
    let error = parsed(MAP).unwrap().at(&[pair("algorithm", "vegas")]).unwrap_err();
    assert_eq!(error, "algorithm has no value \"vegas\"; there are: reno, cubic");
    let error = parsed(MAP).unwrap().at(&[pair("algorithms", "reno")]).unwrap_err();
    assert_eq!(error, "the map has no axis \"algorithms\"; there are: rate, algorithm");
}

/// A directory of this test alone.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let name = format!("fairwave-map-{name}-{}", std::process::id());
        let place = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&place);
        Self(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Maps both claims in full under `root`; `stop` ends it after that many reports of progress.
fn map(root: &Path, before: Before, stop: usize) -> Result<super::Explored, Error> {
    mapped(root, before, stop, |ask| explore(&ask))
}

/// The same with what `with` makes of the question.
fn mapped<T>(root: &Path, before: Before, stop: usize, with: impl Fn(MapRequest<'_>) -> T) -> T {
    let declared = super::of(&Tiny).expect("it is right").expect("it has a map");
    let claims = ["TINY-1".to_owned(), "TINY-2".to_owned()];
    let (ended, reports) = (AtomicBool::new(false), std::sync::atomic::AtomicUsize::new(0));
    let report = |_: Progress| {
        if reports.fetch_add(1, Ordering::Relaxed) + 1 >= stop {
            ended.store(true, Ordering::Relaxed);
        }
    };
    with(MapRequest {
        study: &Tiny,
        declared: &declared,
        claims: &claims,
        quick: false,
        confirms: false,
        with_traces: false,
        workers: 1,
        root,
        before,
        only_kept: false,
        store: None,
        alone: &[],
        watch: Watch { progress: &report, stop: &ended },
    })
}

#[test]
fn a_map_judges_each_set_up_and_leaves_out_what_an_anchor_contradicts() {
    let place = Place::new("judges");
    let found = map(&place.0, Before::Rerun, usize::MAX).unwrap();
    let [first, second] = &found.claims[..] else { panic!("two claims are mapped") };
    let condition = first.judged.condition(&first.grid);
    let expected = "Holds where the rate is at least 54 in 2 of 2 set-ups; elsewhere in none of 2 \
                    set-ups.";
    assert_eq!(condition, expected);
    assert_eq!((second.judged.tally.admitted, second.judged.word), (2, Word::Robust));
    assert_eq!(found.joint.len(), 1);
    assert_eq!(found.joint[0].claims, ["TINY-1", "TINY-2"]);
    // Four set-ups of two seeds; both claims and the anchor share their runs.
    assert_eq!((found.effort.runs, found.effort.seeds), (8, BTreeSet::from([10, 11])));
    // One more seed confirms, and all are others.
    let confirms = |ask: MapRequest<'_>| explore(&MapRequest { confirms: true, ..ask });
    let found = mapped(&place.0, Before::Rerun, usize::MAX, confirms).unwrap();
    assert_eq!((found.effort.runs, found.effort.seeds), (12, BTreeSet::from([20, 21, 22])));
}

/// Two set-ups of two points: in the second the faster one shows that the claim does not hold.
#[test]
fn a_set_up_that_its_first_points_settle_has_no_others() {
    let place = Place::new("order");
    let found = |first: &str| {
        let (head, rest) = MAP.split_once("[[axis]]\nkey = \"rate\"").unwrap();
        let (_, rest) = rest.split_once("[[axis]]").unwrap();
        let rest = rest.replace("tcp.congestion_control={algorithm}", "flow.up.start=250 ms");
        let order = format!("order = {{ axis = 'node.sta.data_rate', first = {first} }}");
        let run = "run = [{ experiment = \"upload\"";
        let text = format!("{head}[[axis]]{rest}").replace(run, &format!("{run}, {order}"));
        let declared = parsed(&text).unwrap();
        let one = ["TINY-1".to_owned()];
        let ask = |ask: MapRequest<'_>| {
            explore(&MapRequest { declared: &declared, claims: &one, ..ask }).unwrap()
        };
        mapped(&place.0, Before::Rerun, usize::MAX, ask)
    };
    let (whole, part) = (found("[]"), found("[['54 Mbps']]"));
    assert_eq!((whole.effort.runs, whole.runs_not_needed), (8, 0));
    assert_eq!((part.effort.runs, part.runs_not_needed), (6, 2));
    let outcomes = |found: &super::Explored| found.claims[0].judged.clone();
    assert_eq!(outcomes(&whole).tally.holding, 1);
    assert_eq!(outcomes(&part), outcomes(&whole));
}

/// What a value sets in every run, a run can set by its label: as if it were written there, since a
/// name in braces is no algorithm.
#[test]
fn settings_of_a_run_may_have_the_label_of_an_axis() {
    let place = Place::new("label");
    let set = "set = [\"tcp.congestion_control={algorithm}\"]";
    let run = "experiment = \"upload\"";
    let text = MAP.replace(&format!("{set}, "), "").replace(run, &format!("{run}, {set}"));
    let declared = parsed(&text).unwrap();
    let ask = |ask: MapRequest<'_>| explore(&MapRequest { declared: &declared, ..ask }).unwrap();
    let found = mapped(&place.0, Before::Rerun, usize::MAX, ask);
    let usual = map(&place.0, Before::Rerun, usize::MAX).unwrap();
    assert_eq!(found.effort.runs, usual.effort.runs);
    assert_eq!(found.claims[0].judged, usual.claims[0].judged);
}

#[test]
fn a_run_has_settings_of_its_own_in_the_full_form_and_in_no_other() {
    let place = Place::new("full");
    let mut declared = super::of(&Tiny).unwrap().unwrap();
    let claims = declared.claim.iter_mut().flat_map(|claim| &mut claim.run);
    claims.for_each(|run| run.full = vec!["duration=500 ms".to_owned()]);
    let one = ["TINY-1".to_owned()];
    let simulated = |quick: bool| {
        let ask = |ask: MapRequest<'_>| {
            explore(&MapRequest { declared: &declared, claims: &one, quick, ..ask }).unwrap().effort
        };
        let effort = mapped(&place.0, Before::Rerun, usize::MAX, ask);
        effort.simulated / effort.runs as u64
    };
    assert_eq!(simulated(true), Duration::from_millis(300));
    assert_eq!(simulated(false), Duration::from_millis(500));
}

#[test]
fn one_set_up_is_measured_although_an_anchor_contradicts_it() {
    let place = Place::new("contradicted");
    let pair = |key: &str, label: &str| (key.to_owned(), label.to_owned());
    let one = super::of(&Tiny).unwrap().unwrap().at(&[pair("rate", "6")]).unwrap();
    let visit = |with_traces: bool| {
        let ask = |ask: MapRequest<'_>| explore(&MapRequest { declared: &one, with_traces, ..ask });
        let found = mapped(&place.0, Before::Rerun, usize::MAX, ask).unwrap();
        let second = &found.claims[1].visits[0];
        (second.outcome.word(), second.seeds, second.claim.is_some())
    };
    assert_eq!(visit(false), ("left out", 0, false));
    assert_eq!(visit(true), ("left out", 2, true));
}

#[test]
fn runs_of_a_map_are_read_back_or_named() {
    let place = Place::new("kept");
    let read = |root: &Path| {
        mapped(root, Before::Rerun, usize::MAX, |ask| {
            explore(&MapRequest { only_kept: true, ..ask })
        })
    };
    let missing = read(&place.0).unwrap_err().to_string();
    assert!(missing.contains("missing: ") && missing.contains("seed-10"), "{missing}");
    let made = map(&place.0, Before::Rerun, usize::MAX).unwrap();
    assert_eq!(read(&place.0).unwrap(), made);
}

#[test]
fn claims_without_a_grid_join_the_sets_where_they_are_known_to_hold() {
    let place = Place::new("alone");
    let alone = [
        joint::Alone { id: "TINY-3".to_owned(), everywhere: true },
        joint::Alone { id: "TINY-4".to_owned(), everywhere: false },
    ];
    let found = mapped(&place.0, Before::Rerun, usize::MAX, |ask| {
        explore(&MapRequest { alone: &alone, ..ask })
    });
    let joint = found.unwrap().joint;
    // The others hold together in two set-ups, of which one is the study's own.
    assert_eq!(joint.len(), 1);
    assert_eq!(joint[0].claims, ["TINY-1", "TINY-2", "TINY-3", "TINY-4"]);
    assert_eq!((joint[0].setups, joint[0].setup["algorithm"].as_str()), (1, "reno"));
}

/// A map of two axes with a rule: it holds from the second column on, and the second row is left
/// out.
fn drawn() -> (Grid, super::ClaimMap) {
    let grid = whole(vec![axis("a", 3, true), axis("b", 2, false)]);
    let outcome = |set_up: &SetUp| match (set_up[0] >= 1, set_up[1]) {
        (_, 1) => Outcome::LeftOut("FACT".to_owned()),
        (true, _) => Outcome::Holds,
        (false, _) => Outcome::Fails,
    };
    let visits = grid.set_ups().map(|set_up| super::Visit {
        outcome: outcome(&set_up),
        direction: outcome(&set_up),
        seeds: 2,
        is_open: set_up[0] == 2,
        claim: None,
    });
    let outcomes = grid.set_ups().map(|set_up| (set_up.clone(), outcome(&set_up))).collect();
    let judged = Judged::of(&grid, outcomes);
    let id = "TINY-1".to_owned();
    let visits = visits.collect();
    let mapped = super::Mapped { id, grid: grid.clone(), visits, judged, direction: None };
    let declared = super::of(&Tiny).expect("it is right").expect("it has a map");
    (grid, super::ClaimMap::of(&mapped, &declared))
}

#[test]
fn small_multiples_mark_the_own_set_up_the_threshold_and_what_is_left_out() {
    let (grid, claim) = drawn();
    let panels = panels::of(&grid, &claim);
    let [panel] = &panels[..] else { panic!("two axes fill one panel: {panels:?}") };
    assert_eq!((panel.across.key.as_str(), panel.threshold(&claim)), ("a", Some(1)));
    let expected = "b \\ a   0    1    2\n0      (–)   H    H *\n1       ·    ·    · *\n";
    assert_eq!(figure::text(&panels), expected);
    let svg = figure::svg(&panels, &claim, "what it shows");
    assert_eq!(svg.matches("url(#out-TINY-1)").count(), 3 + 1, "three cells and the legend");
    assert_eq!(svg.matches("stroke-dasharray").count(), 1 + 1, "the threshold and the legend");
    assert!(svg.contains("aria-label=\"what it shows\""));
    let mut partly = grid.clone();
    partly.axes[1].is_alone = true;
    let expected = "a   0    1    2       b   0    1\n   (–)   H    H *        (–)   ·\n";
    let star = Grid { is_star: true, ..grid };
    for grid in [star, partly] {
        assert_eq!(figure::text(&panels::of(&grid, &claim)), expected);
    }
}

#[test]
fn a_map_that_was_interrupted_comes_to_the_same() {
    let (whole, parts) = (Place::new("whole"), Place::new("parts"));
    let expected = map(&whole.0, Before::Rerun, usize::MAX).unwrap();
    let rounds = Cell::new(0);
    let found = loop {
        rounds.set(rounds.get() + 1);
        match map(&parts.0, Before::Resume, 3 * rounds.get()) {
            Ok(found) => break found,
            Err(Error::Run(error)) if error.is_interruption() => {}
            Err(error) => panic!("{error}"),
        }
    };
    assert!(rounds.get() > 1, "it was never interrupted");
    assert_eq!(found, expected);
}
