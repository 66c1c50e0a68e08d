//! Both hosts stand side by side, and what was not run is said.

use super::*;
use crate::claim::Criterion;
use crate::definition::Error;
use crate::evidence::Evidence;
use crate::experiment::Experiment;
use serde_json::json;

#[derive(Debug)]
struct Paper;

impl Study for Paper {
    fn name(&self) -> &'static str {
        "paper"
    }

    fn paper(&self) -> &'static str {
        "Nobody: Nothing"
    }

    fn statement(&self) -> &'static str {
        "Something is so."
    }

    fn experiments(&self) -> &'static [Experiment] {
        &[]
    }

    fn originals(&self) -> &'static [crate::Original] {
        &[]
    }

    fn not_emulated(&self) -> &'static [&'static str] {
        &["The rest is simulated only."]
    }

    fn limits(&self) -> &'static [&'static str] {
        &[]
    }

    fn evaluate(&self, _: &Results) -> Result<Findings, Error> {
        Ok(judged(None).findings)
    }
}

/// One claim that more than 1 was measured.
fn judged(measured: Option<f64>) -> Judged {
    let criterion = Criterion { id: "A-1", statement: "a is large", meaning: "a > 1" };
    let mut evidence = Evidence::default();
    let a = evidence.number("a", measured);
    let claim = Claim::judge(criterion, evidence.tested([a.above(1.0)]), String::new());
    let findings = Findings {
        claims: vec![claim],
        exhibits: Vec::new(),
        tables: Vec::new(),
        explanations: Vec::new(),
    };
    Judged { results: Results { quick: true, ..Results::default() }, findings }
}

fn beside(kernel: Option<f64>) -> Beside {
    Beside {
        simulator: judged(Some(2.0)),
        kernel: judged(kernel),
        release: "6.18.5".to_owned(),
        left_out: vec![LeftOut {
            experiment: "uploads".to_owned(),
            runs: 2,
            why: "the kernel has no congestion control fw_compound".to_owned(),
        }],
        repeated: 1,
        wall_s: None,
    }
}

#[test]
fn each_host_has_its_verdict() {
    let json = beside(Some(0.5)).to_json(&Paper);
    let claim = &json["claims"][0];
    assert_eq!(claim["simulator"]["verdict"], "holds");
    assert_eq!(claim["kernel"]["verdict"], "does not hold");
    assert_eq!(claim["kernel"]["measured"]["a"], 0.5);
    assert_eq!((&json["host"], &json["kernel"]), (&json!("emulate"), &json!("6.18.5")));
}

#[test]
fn what_was_not_run_is_undecided_and_named() {
    let beside = beside(None);
    let json = beside.to_json(&Paper);
    assert_eq!(json["claims"][0]["kernel"]["verdict"], "undecided");
    assert_eq!(json["left_out"][0]["runs"], 2);
    let page = beside.markdown(&Paper, "fairwave reproduce paper --host emulate");
    assert!(page.contains("| A-1 | holds | undecided | a is large |"), "{page}");
    let left = "- Left out: 2 runs of uploads: the kernel has no congestion control fw_compound.\n";
    assert!(page.contains(left), "{page}");
    assert!(page.contains("- The rest is simulated only.\n"), "{page}");
    assert!(page.contains("- 1 run was late, and was run once more.\n"), "{page}");
}

#[test]
fn a_claim_of_which_nothing_was_run_is_named_and_no_more() {
    let blank = Beside { simulator: judged(None), ..beside(None) };
    let page = blank.markdown(&Paper, "fairwave reproduce paper --host emulate");
    assert!(page.contains("- Not judged, as nothing of it was run: A-1.\n"), "{page}");
    assert!(!page.contains("| A-1 |"), "{page}");
    assert_eq!(blank.to_json(&Paper)["claims"][0]["kernel"]["verdict"], "undecided");
}

/// Counts and notes of a claim do not make it one that was judged.
#[test]
fn a_claim_without_a_run_of_its_experiment_is_not_judged_whatever_was_noted() {
    let unrun = || {
        let results = Results { quick: true, ..Results::default() };
        let mut evidence = Evidence::of(&results, &["uploads"]);
        evidence.fact("cells", 0_usize);
        let a = evidence.number("a", None);
        let criterion = Criterion { id: "A-1", statement: "a is large", meaning: "a > 1" };
        let claim = Claim::judge(criterion, evidence.tested([a.above(1.0)]), String::new());
        let mut judged = judged(None);
        judged.findings.claims = vec![claim];
        judged
    };
    let page = Beside { simulator: unrun(), kernel: unrun(), ..beside(None) }
        .markdown(&Paper, "fairwave reproduce paper --host emulate");
    assert!(page.contains("- Not judged, as nothing of it was run: A-1.\n"), "{page}");
}

/// What is measured of no run is null, as a claim beside that of the paper is.
#[test]
fn a_claim_with_nothing_but_unknown_values_is_blank() {
    let unknown = || {
        let mut judged = judged(None);
        judged.findings.claims[0].measured.insert("kept_holds".to_owned(), json!(null));
        judged
    };
    let blank = Beside { simulator: unknown(), kernel: unknown(), ..beside(None) };
    assert_eq!(blank.claims().count(), 0);
    let known = Beside { simulator: judged(Some(2.0)), ..blank };
    assert_eq!(known.claims().count(), 1);
}

#[test]
fn results_of_both_hosts_stand_one_below_the_other() {
    let with = |rows: &[[&str; 3]]| {
        let mut of = judged(Some(2.0));
        let row = |row: &[&str; 3]| row.iter().map(|&cell| cell.to_owned()).collect();
        of.findings.tables = vec![ResultTable {
            title: "Rates".to_owned(),
            header: vec!["Algorithm".to_owned(), "AVR".to_owned(), "Mbps".to_owned()],
            rows: rows.iter().map(row).collect(),
        }];
        of
    };
    let both = Beside {
        simulator: with(&[["reno", "0.5", "4.1"], ["vegas", NO_RUNS, NO_RUNS]]),
        kernel: with(&[["reno", "0.6", "4.2"], ["vegas", NO_RUNS, NO_RUNS]]),
        ..beside(None)
    };
    let page = both.markdown(&Paper, "fairwave reproduce paper");
    let expected = "### Rates\n\n| Run by | Algorithm | AVR | Mbps |\n|---|---|---|---|\n\
                    | simulator | reno | 0.5 | 4.1 |\n| kernel | reno | 0.6 | 4.2 |\n";
    assert!(page.ends_with(expected), "{page}");
    assert!(page_of(&both).contains("<td>kernel</td>"));
    let alike = || with(&[["reno", "0.5", "4.1"]]);
    let page = Beside { simulator: alike(), kernel: alike(), ..beside(None) };
    let page = page.markdown(&Paper, "fairwave reproduce paper");
    assert!(
        page.ends_with("| Algorithm | AVR | Mbps |\n|---|---|---|\n| reno | 0.5 | 4.1 |\n"),
        "{page}"
    );
}

fn page_of(beside: &Beside) -> String {
    let explorer = fairwave_lab::plot::Explorer::default();
    page::page(beside, &Paper, "fairwave reproduce paper", explorer).unwrap()
}

#[test]
fn the_page_for_a_browser_has_both_hosts_in_a_section() {
    let page = page_of(&beside(Some(0.5)));
    let section = page.split("id=\"A-1\"").nth(1).expect("a section");
    let section = section.split("</section>").next().unwrap();
    let (holds, fails) = (section.find("✓ holds"), section.find("✗ does not hold"));
    assert!(holds.is_some() && holds < fails, "{section}");
    assert!(section.contains("<b>0.5</b> a <span class=\"asked\">(asked: &gt; 1)"), "{section}");
}
