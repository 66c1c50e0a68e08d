//! The page holds what it must, and nothing that it was given can break it.

use super::*;
use fairwave_study::report::{Context, page, write};
use fairwave_study::{Reproduction, Verdict};
use std::collections::BTreeSet;
use std::fs;

fn made() -> Reproduction<'static> {
    let results = tests::results(tests::as_in_the_paper);
    let findings = AckLoss.evaluate(&results).unwrap();
    Reproduction { study: &AckLoss, results, findings, maps: None }
}

fn context() -> Context<'static> {
    let explorer = fairwave_lab::plot::Explorer::default();
    Context { command: "fairwave reproduce ack-loss --quick", cost: None, explorer }
}

/// Text as the page has it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The section of a claim: the visible part, and the folded one.
fn section<'p>(page: &'p str, id: &str) -> (&'p str, &'p str) {
    let start = format!("id=\"{id}\"");
    let section = page.split(&start).nth(1).unwrap_or_else(|| panic!("no section {id}"));
    let section = section.split("</section>").next().unwrap_or_default();
    section.split_once("<details>").unwrap_or_else(|| panic!("{id} folds nothing"))
}

/// The page without its folded parts.
fn visible(page: &str) -> String {
    let mut parts = page.split("<details>");
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.filter_map(|part| Some(part.split_once("</details>")?.1)).collect::<String>()
}

#[test]
fn the_page_says_what_was_found_and_how() {
    let made = made();
    let page = page(&context(), &made).unwrap();
    for text in ["Verdicts", "fairwave reproduce ack-loss --quick", "Quick form", "Jain"] {
        assert!(page.contains(text), "{text} is missing");
    }
    // Each drawing is there once. ACK-3 and ACK-4 have the same figure.
    assert_eq!(page.matches("<svg id=\"plot-").count(), made.findings.exhibits.len());
    assert_eq!(page.matches("<use href=\"#plot-fig4-up-down\">").count(), 1);
    assert_eq!(page.matches("role=\"img\"").count(), made.findings.exhibits.len() + 1);
}

#[test]
fn each_claim_has_its_verdict_and_its_figure_and_folds_the_rest() {
    let made = made();
    let page = page(&context(), &made).unwrap();
    let list =
        page.split("<h2>Verdicts</h2>").nth(1).and_then(|rest| rest.split("</section>").next());
    let list = list.expect("a list");
    for one in made.verdicts() {
        let words = escaped(&one.in_words());
        assert!(list.contains(&words) && list.contains(&escaped(one.statement)), "{}", one.id);
        let (shown, folded) = section(&page, one.id);
        assert!(shown.contains(&words) && shown.contains(&escaped(one.statement)), "{}", one.id);
        assert!(shown.contains("<div class=\"plot\""), "{} has no figure", one.id);
        for figure in one.figures() {
            let texts = [figure.name, figure.value, figure.bound];
            assert!(texts.iter().all(|text| shown.contains(&escaped(text))), "{texts:?}");
        }
        assert!(folded.contains(&escaped(&one.criterion)), "{}", one.id);
        let bases = one.measured.keys().map(|key| key.trim_end_matches("_low"));
        assert!(bases.map(|key| key.trim_end_matches("_high")).all(|key| folded.contains(key)));
    }
}

#[test]
fn keys_of_measurements_are_folded() {
    let made = made();
    let visible = visible(&page(&context(), &made).unwrap());
    for one in made.verdicts() {
        let keys = one.measured.keys().filter(|key| key.contains('_'));
        let shown: Vec<&String> = keys.filter(|key| visible.contains(key.as_str())).collect();
        assert!(shown.is_empty(), "{}: {shown:?}", one.id);
    }
}

#[test]
fn every_element_is_closed_and_every_identifier_is_unique() {
    let page = page(&context(), &made()).unwrap();
    let (_, body) = page.split_once("</style>").expect("a style");
    let mut open = vec!["html", "head"];
    let mut ids = BTreeSet::new();
    for tag in body.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or_default()) {
        let name = tag.split([' ', '\n', '/']).find(|part| !part.is_empty()).unwrap_or_default();
        match tag.starts_with('/') {
            true => assert_eq!(open.pop(), Some(name), "</{name}> closes nothing"),
            false if tag.ends_with('/') || name == "meta" => {}
            false => open.push(name),
        }
        if let Some(id) = tag.split(" id=\"").nth(1).and_then(|rest| rest.split('"').next()) {
            assert!(ids.insert(id.to_owned()), "{id} is there twice");
        }
    }
    assert!(open.is_empty(), "{open:?}");
    for target in body.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(ids.contains(target), "{target} is nowhere");
    }
}

#[test]
fn a_verdict_is_what_the_claim_says() {
    let mut made = made();
    let is_quick = std::mem::replace(&mut made.results.quick, false);
    assert!(is_quick, "published verdicts stand beside those of quick runs");
    let verdict = Verdict::DoesNotHold("so".to_owned());
    made.findings.claims.iter_mut().for_each(|claim| claim.verdict = verdict.clone());
    let page = page(&context(), &made).unwrap();
    assert!(!page.contains(">holds in") && page.contains(">does not hold in the one set-up tried"));
    assert!(!page.contains("conditional") && page.contains("nowhere"));
    // By quick runs a claim is undecided where the published verdict differs.
    made.results.quick = true;
    let page = self::page(&context(), &made).unwrap();
    assert!(page.contains(": conditional, ") && page.contains(">undecided in the quick form"));
    made.results.quick = false;
    let verdict = Verdict::Undecided("one seed".to_owned());
    made.findings.claims.iter_mut().for_each(|claim| claim.verdict = verdict.clone());
    let page = self::page(&context(), &made).unwrap();
    assert!(!page.contains(">does not hold") && page.contains(">not decided in the one set-up"));
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
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    let made = made();
    let [a, b] = ["a", "b"].map(|name| {
        let path = write(&context(), &made, &root.join(name)).unwrap();
        fs::read(path).unwrap()
    });
    assert_eq!(a, b);
    assert!(root.join("a/figures/fig3-reno.png").exists());
    assert!(root.join("a/figures/fig3-reno.svg").exists());
}
