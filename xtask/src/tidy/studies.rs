//! The rule about studies: README's line of a study says what its generated page says.

use super::{Finding, Source, demand};
use crate::shell::root;
use std::fs;

/// The headings of a page under which its claims stand. Other tables may name claims, too, as
/// what they come to in other circumstances.
const CLAIMS: [&str; 2] = ["## Claims", "## Questions of ours"];

/// How many verdicts of each kind a page has: holds, does not hold, undecided.
fn counts(page: &Source) -> [usize; 3] {
    let mut is_claims = false;
    let verdicts = page.text.lines().filter_map(|line| {
        if line.starts_with("## ") {
            is_claims = CLAIMS.contains(&line);
        }
        if !is_claims {
            return None;
        }
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        // A claim's identifier has a number, `ACK-1` or `ACK-X1`; titles of columns have none.
        cells.next()?.contains('-').then(|| cells.next())?
    });
    let mut counts = [0; 3];
    for verdict in verdicts {
        match verdict {
            "holds" => counts[0] += 1,
            "does not hold" => counts[1] += 1,
            "undecided" => counts[2] += 1,
            _ => {}
        }
    }
    counts
}

/// As README has it: `3 hold, 2 do not, 1 undecided`; what there is none of is left out.
fn in_words([hold, fail, open]: [usize; 3]) -> String {
    let one = |count: usize, one: &str, several: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {several}")),
    };
    let parts = [
        one(hold, "holds", "hold"),
        one(fail, "does not", "do not"),
        one(open, "undecided", "undecided"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Pages that the README's table of studies lacks, and lines of it that are not as their pages.
fn disagreements(readme: &Source, pages: &[Source]) -> Vec<Finding> {
    let table: Vec<(usize, &str)> = readme
        .lines()
        .skip_while(|(_, line)| *line != "## Studies")
        .skip(1)
        .take_while(|(_, line)| !line.starts_with("## "))
        .filter(|(_, line)| line.contains("](docs/studies/"))
        .collect();
    let mut findings = Vec::new();
    for page in pages {
        let wanted = in_words(counts(page));
        let row = table.iter().find(|(_, line)| line.contains(&format!("]({})", page.path)));
        match row {
            None => findings.push(page.finding(1, format!("README has no line: {wanted}"))),
            Some((at, line)) if !line.ends_with(&format!("| {wanted} |")) => {
                findings.push(readme.finding(*at, format!("{} says: {wanted}", page.path)));
            }
            Some(_) => {}
        }
    }
    findings
}

#[test]
fn the_readme_says_what_the_pages_of_studies_say() {
    let directory = root().join("docs/studies");
    let entries = fs::read_dir(&directory).expect("docs/studies is there");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let read = |name: &String| Source::read(&format!("docs/studies/{name}"));
    let pages: Vec<Source> = names.iter().map(read).collect();
    demand(
        "README's table of studies counts the verdicts of docs/studies",
        "correct README; pages are written by `fairwave reproduce STUDY --full --markdown`",
        &disagreements(&Source::read("README.md"), &pages),
    );
}

#[test]
fn a_wrong_count_and_a_missing_line_are_found() {
    let page = |name: &str| {
        let text = "## Claims\n\n| Claim | Verdict | Statement | Measured |\n|---|---|---|---|\n\
                    | A-1 | holds | x | y |\n| A-2 | does not hold | x | y |\n\
                    | A-3 | does not hold | x | y |\n\n## Questions of ours\n\n\
                    | A-X1 | undecided | x | y |\n\n## Results\n\n| A-1 | holds | holds |\n";
        Source::new(&format!("docs/studies/{name}.md"), text)
    };
    let row =
        |name: &str, counts: &str| format!("| [{name}](docs/studies/{name}.md) | T | {counts} |\n");
    let said = "1 holds, 2 do not, 1 undecided";
    let readme = format!("## Studies\n\n{}{}", row("a", said), row("b", "4 hold"));
    let findings =
        disagreements(&Source::new("README.md", &readme), &[page("a"), page("b"), page("c")]);
    let what: Vec<&str> = findings.iter().map(|finding| finding.what.as_str()).collect();
    let (wrong, missing) =
        (format!("docs/studies/b.md says: {said}"), format!("README has no line: {said}"));
    assert_eq!(what, [wrong, missing]);
}
