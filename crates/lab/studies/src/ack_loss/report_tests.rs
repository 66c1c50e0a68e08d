//! The page holds what it must, and nothing that it was given can break it.

use super::*;
use fairwave_study::report::{Context, page, write};
use fairwave_study::{Reproduction, Verdict};
use std::fs;

fn made() -> Reproduction<'static> {
    let results = tests::results(tests::as_in_the_paper);
    let findings = AckLoss.evaluate(&results).unwrap();
    Reproduction { study: &AckLoss, results, findings, maps: None }
}

fn context() -> Context<'static> {
    Context { command: "fairwave reproduce ack-loss --quick", cost: None }
}

#[test]
fn the_page_says_what_was_found_and_how() {
    let made = made();
    let page = page(&context(), &made).unwrap();
    for text in [
        "ACK-1",
        "✓ holds",
        "conditional",
        "fairwave reproduce ack-loss --quick",
        "Quick form",
        "Jain",
    ] {
        assert!(page.contains(text), "{text} is missing");
    }
    assert_eq!(page.matches("<svg").count(), made.findings.exhibits.len());
    assert_eq!(page.matches("role=\"img\"").count(), made.findings.exhibits.len());
}

#[test]
fn a_verdict_is_what_the_claim_says() {
    let mut made = made();
    let verdict = Verdict::DoesNotHold("so".to_owned());
    made.findings.claims.iter_mut().for_each(|claim| claim.verdict = verdict.clone());
    let page = page(&context(), &made).unwrap();
    assert!(!page.contains("✓ holds") && page.contains("✗ does not hold"));
    assert!(!page.contains("conditional") && page.contains("nowhere"));
    let verdict = Verdict::Undecided("one seed".to_owned());
    made.findings.claims.iter_mut().for_each(|claim| claim.verdict = verdict.clone());
    let page = self::page(&context(), &made).unwrap();
    assert!(!page.contains("✗ does not hold") && page.contains("? undecided"));
    assert!(page.contains("one seed") && page.contains("not judgeable"));
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let made = made();
    let page = page(&context(), &made).unwrap();
    let page = page.replace("http://www.w3.org/2000/svg", "");
    for foreign in ["http://", "https://", "<script", "<link", "@import", "src="] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

#[test]
fn writing_twice_gives_the_same_bytes() {
    let root = std::env::temp_dir().join(format!("fairwave-report-{}", std::process::id()));
    let made = made();
    let [a, b] = ["a", "b"].map(|name| {
        let path = write(&context(), &made, &root.join(name)).unwrap();
        fs::read(path).unwrap()
    });
    assert_eq!(a, b);
    assert!(root.join("a/figures/fig3-reno.png").exists());
    assert!(root.join("a/figures/fig3-reno.svg").exists());
}
