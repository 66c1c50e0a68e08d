//! The rule about studies: each has its generated page, and README's line about a study agrees with
//! its page.

use super::{Finding, Source, demand, sources};
use std::fs;
use xtask::pages::{self, COUNTED, VERDICTS_FILE, counted, with_total};
use xtask::shell::root;

/// Directory of the pages that full runs write.
const PAGES: &str = "results/studies/";
/// Directory of the manual's pages of studies, to which README links.
const MANUAL: &str = "docs/studies/";

/// Pages that the README's table of studies lacks, and lines of it that differ from their pages or
/// whose pages do not exist.
fn disagreements(readme: &Source, pages: &[Source]) -> Vec<Finding> {
    let table: Vec<(usize, &str, String)> = readme
        .lines()
        .skip_while(|(_, line)| *line != "## Studies")
        .skip(1)
        .take_while(|(_, line)| !line.starts_with("## "))
        .filter_map(|(at, line)| Some((at, line, linked(line)?)))
        .collect();
    let gone = table.iter().filter(|(_, _, link)| pages.iter().all(|page| page.path != *link));
    let mut findings: Vec<Finding> =
        gone.map(|(at, _, link)| readme.finding(*at, format!("{link} is gone"))).collect();
    for page in pages {
        let Some(wanted) = counted(&page.text) else {
            findings.push(page.finding(1, format!("no line {COUNTED:?}")));
            continue;
        };
        match table.iter().find(|(_, _, link)| page.path == *link) {
            None => findings.push(page.finding(1, format!("README has no line: {wanted}"))),
            Some((at, line, _)) if !line.ends_with(&format!("| {wanted} |")) => {
                findings.push(readme.finding(*at, format!("{} says: {wanted}", page.path)));
            }
            Some(_) => {}
        }
    }
    findings
}

/// The page of results of the study that a line links to.
fn linked(line: &str) -> Option<String> {
    let (_, behind) = line.split_once("](")?;
    let (link, _) = behind.split_once(')')?;
    link.strip_prefix(MANUAL).map(|name| format!("{PAGES}{name}"))
}

/// Studies of a source without a page, or without a name where this rule reads it.
fn pageless(source: &Source, pages: &[Source]) -> Vec<Finding> {
    let lines = source.product_lines();
    let studies = lines.iter().enumerate().filter(|(_, (_, line))| {
        line.starts_with("impl Study for ") || line.starts_with("impl fairwave_study::Study for ")
    });
    studies
        .filter_map(|(index, (at, _))| {
            let Some(name) = name(&lines[index..]) else {
                return Some(source.finding(*at, "a study whose `fn name` is not a literal"));
            };
            let path = format!("{PAGES}{name}.md");
            let has_page = pages.iter().any(|page| page.path == path);
            (!has_page).then(|| source.finding(*at, format!("{path} is missing")))
        })
        .collect()
}

/// The literal in `fn name` of the first `impl` of these lines.
fn name<'a>(lines: &[(usize, &'a str)]) -> Option<&'a str> {
    let body = lines.iter().map(|(_, line)| *line).take_while(|line| *line != "}");
    let mut body = body.skip_while(|line| !line.trim_start().starts_with("fn name("));
    body.nth(1)?.trim().strip_prefix('"')?.strip_suffix('"')
}

/// Every page of `results/studies`, sorted by name.
fn pages() -> Vec<Source> {
    let entries = fs::read_dir(root().join(PAGES)).expect("results/studies is there");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names.iter().map(|name| Source::read(&format!("{PAGES}{name}"))).collect()
}

#[test]
fn the_readme_says_what_the_pages_of_studies_say() {
    demand(
        "README's table of studies counts the verdicts of results/studies",
        "write both by `cargo xtask pages STUDY`",
        &disagreements(&Source::read("README.md"), &pages()),
    );
}

#[test]
fn the_readme_adds_up_what_the_pages_of_studies_say() {
    let readme = Source::read("README.md");
    let wrong = with_total(&readme.text).is_none_or(|total| total != readme.text);
    demand(
        "README's table of studies ends with their sum",
        "write it by `cargo xtask pages STUDY`",
        &wrong
            .then(|| readme.finding(1, "the row `together`".to_owned()))
            .into_iter()
            .collect::<Vec<_>>(),
    );
}

#[test]
fn the_published_verdicts_are_those_of_the_pages() {
    let file = Source::read(VERDICTS_FILE);
    let wanted = pages::pages().and_then(|pages| pages::verdicts(&pages));
    let wrong = wanted.as_ref().is_ok_and(|wanted| *wanted != file.text);
    assert!(wanted.is_ok(), "{wanted:?}");
    demand(
        "results/verdicts.json has the verdicts of results/studies",
        "write it by `cargo xtask pages STUDY`",
        &wrong
            .then(|| file.finding(1, "other verdicts than those of the pages".to_owned()))
            .into_iter()
            .collect::<Vec<_>>(),
    );
}

#[test]
fn every_study_has_its_page() {
    let pages = pages();
    let papers =
        sources().into_iter().filter(|source| source.path.starts_with("crates/lab/studies/"));
    let findings: Vec<Finding> = papers.flat_map(|source| pageless(&source, &pages)).collect();
    demand(
        "every study has a page in results/studies",
        "give it a line in README, and write both by `cargo xtask pages STUDY`",
        &findings,
    );
}

#[test]
fn a_study_can_lack_its_page() {
    let study = |kind: &str, name: &str| {
        let name = format!("    fn name(&self) -> &'static str {{\n        {name}\n    }}\n");
        let paper = "    fn paper(&self) -> &'static str {\n        \"P\"\n    }\n";
        format!("impl Study for {kind} {{\n{name}\n{paper}}}\n\n")
    };
    let text = [study("A", "\"a\""), study("B", "\"b\""), study("C", "NAME")].concat();
    let pages = [Source::new("results/studies/a.md", "")];
    let findings = pageless(&Source::new("crates/lab/studies/src/x/mod.rs", &text), &pages);
    let found: Vec<(usize, &str)> =
        findings.iter().map(|finding| (finding.line, finding.what.as_str())).collect();
    let unread = "a study whose `fn name` is not a literal";
    assert_eq!(found, [(11, "results/studies/b.md is missing"), (21, unread)]);
}

#[test]
fn a_wrong_count_a_missing_line_and_a_missing_page_are_found() {
    let printed = "1 robust, 2 conditional; ours: 1/2";
    let page = |name: &str| {
        let text = format!("# Study {name}\n\nVerdicts: {printed}.\n");
        Source::new(&format!("results/studies/{name}.md"), &text)
    };
    let row =
        |name: &str, counts: &str| format!("| [{name}](docs/studies/{name}.md) | T | {counts} |\n");
    let rows = [row("a", printed), row("b", "3 robust"), row("d", printed)].concat();
    let readme = format!("## Studies\n\n{rows}");
    let uncounted = Source::new("results/studies/e.md", "# Study e\n");
    let findings = disagreements(
        &Source::new("README.md", &readme),
        &[page("a"), page("b"), page("c"), uncounted],
    );
    let what: Vec<&str> = findings.iter().map(|finding| finding.what.as_str()).collect();
    let (wrong, missing) =
        (format!("results/studies/b.md says: {printed}"), format!("README has no line: {printed}"));
    let expected = ["results/studies/d.md is gone", &wrong, &missing, "no line \"Verdicts: \""];
    assert_eq!(what, expected);
}
