//! One set-up is not called robust without a reason, words are counted, and joint sets have the
//! claims without a grid.

use super::*;
use crate::claim::Criterion;
use crate::evidence::Evidence;
use crate::map::PointOfMap;
use crate::map::file::{Known, Source};
use std::collections::BTreeMap;

/// A claim that measured this, and holds above 1.
fn claim(id: &'static str, measured: Option<f64>) -> Claim {
    let mut evidence = Evidence::default();
    let x = evidence.number("x", measured);
    let criterion = Criterion { id, statement: "s", meaning: "m" };
    Claim::judge(criterion, evidence.tested([x.above(1.0)]), String::new())
}

/// A map in which A-1 has one set-up, and the reason of another day.
fn declared() -> Declared {
    let text = "declared = \"2026-11-24\"\n[[single]]\nid = \"A-1\"\nwhy = \"It is all stated.\"\n\
                [[criterion]]\nid = \"A-1\"\ndeclared = \"2026-11-25\"\nsentence = \"Section 1\"\n";
    let claims = BTreeMap::from([("A-1", vec!["x".to_owned()]), ("A-2", vec![])]);
    let known = Known { experiments: &[], claims: &claims, quantities: &[] };
    Declared::parse(Source { file: "map.toml", text }, known).expect("it is right")
}

fn word(measured: Option<f64>, declared: Option<&Declared>) -> (&'static str, String) {
    let verdict = ClaimVerdict::single(&claim("A-1", measured), declared);
    (verdict.verdict, verdict.condition)
}

#[test]
fn one_set_up_is_conditional_unless_the_study_says_why_there_is_no_other() {
    let declared = declared();
    assert_eq!(word(Some(2.0), None), ("conditional", ONLY_HERE.to_owned()));
    assert_eq!(word(Some(2.0), Some(&declared)), ("robust", String::new()));
    for declared in [None, Some(&declared)] {
        assert_eq!(word(Some(0.5), declared), ("nowhere", String::new()));
        assert_eq!(word(None, declared), ("not judgeable", String::new()));
    }
}

#[test]
fn the_last_day_of_what_a_claim_hangs_on_is_its_own() {
    let declared = declared();
    let day = |id| ClaimVerdict::single(&claim(id, Some(2.0)), Some(&declared)).declared;
    assert_eq!(day("A-1"), Some("2026-11-25".to_owned()));
    assert_eq!(day("A-2"), None);
}

#[test]
fn a_paper_s_claim_fails_nowhere_and_one_of_ours_where_it_does_not_hold() {
    let fails = |claim: &Claim| ClaimVerdict::of(claim, None).fails();
    assert!(!fails(&claim("A-1", Some(2.0))) && !fails(&claim("A-1", None)));
    assert!(fails(&claim("A-1", Some(0.5))));
    assert!(fails(&claim("A-X1", Some(0.5)).ours()) && !fails(&claim("A-X1", None).ours()));
}

#[test]
fn words_are_counted_those_of_ours_apart() {
    let claims = [
        claim("A-1", Some(2.0)),
        claim("A-2", Some(0.5)),
        claim("A-3", None),
        claim("A-4", Some(2.0)),
        claim("A-X1", Some(2.0)).ours(),
        claim("A-X2", Some(0.5)).ours(),
    ];
    let verdicts: Vec<ClaimVerdict> =
        claims.iter().map(|claim| ClaimVerdict::of(claim, None)).collect();
    let expected = "2 conditional, 1 nowhere, 1 not judgeable; ours: 1/2";
    assert_eq!(words(&verdicts), expected);
    assert_eq!(words(&verdicts[..1]), "1 conditional");
}

#[test]
fn a_question_without_an_admitted_set_up_holds_in_none() {
    let holding = ClaimVerdict::of(&claim("A-X1", Some(2.0)).ours(), None);
    assert_eq!(words(std::slice::from_ref(&holding)), "ours: 1/1");
    let setups = Tally { tried: 4, admitted: 0, holding: 0, undecided: 0 };
    assert_eq!(words(&[ClaimVerdict { setups, ..holding }]), "ours: 0/1");
}

#[test]
fn claims_without_a_grid_that_hold_have_a_part_in_joint_sets() {
    let claims = [
        claim("A-1", Some(2.0)),
        claim("A-2", Some(2.0)),
        claim("A-3", Some(0.5)),
        claim("A-4", Some(2.0)),
        claim("A-X1", Some(2.0)).ours(),
    ];
    let alone = alone(&claims, Some(&declared()), &["A-4".to_owned()]);
    let found: Vec<(&str, bool)> =
        alone.iter().map(|alone| (alone.id.as_str(), alone.everywhere)).collect();
    assert_eq!(found, [("A-1", true), ("A-2", false)]);
}

/// The map of A-1 in the study's own set-up, with this outcome there.
fn maps(quick: bool, settings: &[&str], outcome: &'static str) -> Maps {
    let point = PointOfMap {
        setup: BTreeMap::new(),
        outcome,
        contradicts: None,
        reason: None,
        seeds: 2,
        open: false,
        base: true,
    };
    let holding = usize::from(outcome == "holds");
    let map = ClaimMap {
        id: "A-1".to_owned(),
        ours: false,
        statement: "s",
        verdict: if holding == 1 { "conditional" } else { "nowhere" },
        condition: String::new(),
        declared: "2026-11-24".to_owned(),
        share: None,
        setups: Tally { tried: 1, admitted: 1, holding, undecided: 0 },
        decides: None,
        direction: None,
        measured: Map::new(),
        criterion: String::new(),
        note: String::new(),
        one_way: Vec::new(),
        anchors: BTreeMap::new(),
        points: vec![point],
    };
    let explored = MapSummary {
        study: "a",
        claims: vec![map],
        joint: Vec::new(),
        declared: "2026-11-24".to_owned(),
        ran: "2026-11-24".to_owned(),
        confirms: false,
        first_seed: 1,
        quick,
        runs: 1,
        runs_not_needed: 0,
        wall_s: 1.0,
        simulated_s: 1.0,
        cpu_s: None,
        fairwave_version: "0",
    };
    let quick = settings.iter().map(ToString::to_string).collect();
    let declared = Declared { quick, ..declared() };
    Maps { declared, explored, confirmed: None, effort: Effort::default() }
}

#[test]
fn shorter_runs_that_contradict_the_own_set_up_decide_nothing() {
    let shorter = ["duration=60 s"];
    let word = |maps: &Maps| ClaimVerdict::of(&claim("A-1", Some(2.0)), Some(maps)).verdict;
    assert_eq!(word(&maps(true, &shorter, "does not hold")), "undecided");
    assert_eq!(word(&maps(true, &[], "does not hold")), "nowhere", "runs of the full length");
    assert_eq!(word(&maps(false, &shorter, "does not hold")), "nowhere", "the full form");
    for outcome in ["holds", "undecided"] {
        let same = word(&maps(true, &shorter, outcome));
        assert_ne!(same, "undecided", "{outcome} contradicts nothing");
    }
    let verdict =
        ClaimVerdict::of(&claim("A-1", Some(2.0)), Some(&maps(true, &shorter, "does not hold")));
    assert!(verdict.condition.contains("shorter runs"), "{}", verdict.condition);
    assert!(!verdict.fails(), "undecided is no failure");
}

/// The full form's word comes from more and longer runs; a quick run that contradicts it fails
/// nothing.
#[test]
fn a_quick_word_that_contradicts_the_published_one_is_undecided() {
    let published = |verdict: &str| Published {
        ran: "2026-11-26".to_owned(),
        verdict: verdict.to_owned(),
        setups: "holds in the only one tried".to_owned(),
    };
    for own in [claim("A-1", Some(0.5)), claim("A-X1", Some(0.5)).ours()] {
        let quick = || ClaimVerdict::of(&own, None);
        assert!(quick().verdict == "nowhere" && quick().fails());
        let same = quick().beside_published(Some(published("nowhere")));
        assert!(same.verdict == "nowhere" && same.fails());
        let other = quick().beside_published(Some(published("conditional")));
        assert!(other.verdict == "undecided" && !other.fails());
        let both = ["'nowhere'", "2026-11-26", "'conditional'", "--full"];
        assert!(both.iter().all(|part| other.condition.contains(part)), "{}", other.condition);
        assert_eq!(quick().beside_published(None), quick(), "a full run has none");
    }
}
