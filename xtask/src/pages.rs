//! Pages of the studies, written by the full runs that they describe, and README's table of them.

use crate::shell::{Outcome, root};
use crate::workspace::fairwave;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

/// Beginning of a page's line with the numbers of verdicts.
pub const COUNTED: &str = "Verdicts: ";

/// The names of all studies, from a release build of the command.
///
/// # Errors
/// If the command cannot be run or lists none.
pub fn studies() -> Result<Vec<String>, String> {
    let output = fairwave("release", &["--json", "list", "studies"]).output();
    let output = output.map_err(|error| format!("fairwave list: {error}"))?;
    let list: Vec<Value> = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("list studies --json: {error}"))?;
    let names: Vec<String> =
        list.iter().filter_map(|study| Some(study["name"].as_str()?.to_owned())).collect();
    if names.is_empty() { Err("list studies --json: none".into()) } else { Ok(names) }
}

/// File with the verdicts of all pages, from which the quick form shows them.
pub const VERDICTS_FILE: &str = "results/verdicts.json";

/// Writes the output of a full run as the page of its study, its verdicts into [`VERDICTS_FILE`],
/// and their numbers into README's table at once, so that all agree after an interruption.
///
/// # Errors
/// If a file cannot be read or written, or lacks the line of the study.
pub fn write(name: &str, page: &str) -> Outcome {
    let file = format!("results/studies/{name}.md");
    fs::write(root().join(&file), page).map_err(|error| format!("{file}: {error}"))?;
    let verdicts = verdicts(&pages()?)?;
    fs::write(root().join(VERDICTS_FILE), verdicts)
        .map_err(|error| format!("{VERDICTS_FILE}: {error}"))?;
    let counted = counted(page).ok_or_else(|| format!("{file}: no line {COUNTED:?}"))?;
    let readme = root().join("README.md");
    let text = fs::read_to_string(&readme).map_err(|error| format!("README.md: {error}"))?;
    let short = format!("docs/studies/{name}.md");
    let text = with_counts(&text, &short, counted);
    let text = text.ok_or(format!("README.md has no line of {short}"))?;
    let text = with_total(&text).ok_or("README.md has no row of all studies to count");
    fs::write(&readme, text?).map_err(|error| format!("README.md: {error}"))?;
    println!("{name}: {counted}");
    Ok(())
}

/// The verdicts' numbers on a page, such as `1 robust, 3 conditional; ours: 1/2`.
pub fn counted(page: &str) -> Option<&str> {
    let line = page.lines().find_map(|line| line.strip_prefix(COUNTED))?;
    Some(line.trim_end_matches('.'))
}

/// The pages of all studies, by the names of these.
///
/// # Errors
/// If `results/studies` cannot be read.
pub fn pages() -> Result<BTreeMap<String, String>, String> {
    let wrong = |error: std::io::Error| format!("results/studies: {error}");
    let mut pages = BTreeMap::new();
    for entry in fs::read_dir(root().join("results/studies")).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
        pages.extend(name.zip(Some(fs::read_to_string(&path).map_err(wrong)?)));
    }
    Ok(pages)
}

/// The verdict on each claim of each page, with its set-ups and the day of the run, as JSON.
///
/// # Errors
/// If a page names no day of a run, or has no verdict.
pub fn verdicts(pages: &BTreeMap<String, String>) -> Result<String, String> {
    let mut studies = BTreeMap::new();
    for (name, page) in pages {
        let line = page.lines().find(|line| line.contains("Exploring run of "));
        let last = line.and_then(|line| line.rsplit_once("ing run of "));
        let ran = last.and_then(|(_, day)| day.get(..10));
        let ran = ran.ok_or_else(|| format!("results/studies/{name}.md: no day of a run"))?;
        let lines = page.lines().take_while(|line| !line.starts_with("## How"));
        let claims: BTreeMap<&str, Value> = lines.filter_map(verdict).collect();
        if claims.is_empty() {
            return Err(format!("results/studies/{name}.md: no verdict"));
        }
        studies.insert(name, json!({ "claims": claims, "ran": ran }));
    }
    Ok(format!("{:#}\n", json!(studies)))
}

/// The identifier of a claim with its verdict, from a row of a page's tables of claims.
fn verdict(line: &str) -> Option<(&str, Value)> {
    let mut cells = line.strip_prefix("| ")?.split(" | ");
    let (id, verdict, setups) = (cells.next()?, cells.next()?, cells.next()?);
    let is_verdict = VERDICTS.contains(&verdict);
    is_verdict.then(|| (id, json!({ "setups": setups, "verdict": verdict })))
}

/// The text with these counts in the last cell of the row that links to `file`; `None` if there is
/// no such row.
fn with_counts(readme: &str, file: &str, counts: &str) -> Option<String> {
    let link = format!("]({file})");
    let mut is_there = false;
    let lines = readme.split_inclusive('\n').map(|line| {
        let mut cells: Vec<&str> = line.split(" | ").collect();
        let last = format!("{counts} |\n");
        match cells.last_mut() {
            Some(cell) if line.starts_with("| [") && line.contains(&link) => {
                is_there = true;
                *cell = &last;
                cells.join(" | ")
            }
            _ => line.to_owned(),
        }
    });
    let text: String = lines.collect();
    is_there.then_some(text)
}

/// Beginning of README's row with the sum over all studies.
const TOGETHER: &str = "| together | | ";
/// The words for a claim of a paper, in the order of the counts.
const VERDICTS: [&str; 4] = ["robust", "conditional", "nowhere", "not judgeable"];

/// The text with the sum of the studies' counts in the row `TOGETHER`; `None` if that row is
/// missing, or a count cannot be parsed.
pub fn with_total(readme: &str) -> Option<String> {
    let rows =
        readme.lines().filter(|line| line.starts_with("| [") && line.contains("(docs/studies/"));
    let cells: Option<Vec<&str>> =
        rows.map(|row| row.strip_suffix(" |")?.split(" | ").last()).collect();
    let total = format!("{TOGETHER}{} |", sum(&cells?)?);
    readme.lines().any(|line| line.starts_with(TOGETHER)).then(|| {
        let line = |line: &str| match line.starts_with(TOGETHER) {
            true => format!("{total}\n"),
            false => format!("{line}\n"),
        };
        readme.lines().map(line).collect()
    })
}

/// The sum of counts such as `1 robust, 3 conditional; ours: 1/2`.
fn sum(counts: &[&str]) -> Option<String> {
    let mut of_papers = [0_u32; VERDICTS.len()];
    let mut ours = [0_u32; 2];
    for cell in counts {
        let (papers, own) = cell.split_once("; ours: ")?;
        for part in papers.split(", ") {
            let (number, verdict) = part.split_once(' ')?;
            let place = VERDICTS.iter().position(|known| *known == verdict)?;
            of_papers[place] += number.parse::<u32>().ok()?;
        }
        let (hold, all) = own.split_once('/')?;
        ours[0] += hold.parse::<u32>().ok()?;
        ours[1] += all.parse::<u32>().ok()?;
    }
    let parts = of_papers.iter().zip(VERDICTS).filter(|(number, _)| **number > 0);
    let parts: Vec<String> = parts.map(|(number, verdict)| format!("{number} {verdict}")).collect();
    Some(format!("{}; ours: {}/{}", parts.join(", "), ours[0], ours[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_of_a_study_gets_its_counts_and_others_stay() {
        let row = |name: &str, counts: &str| {
            format!("| [{name}](docs/studies/{name}.md) | what | {counts} |\n")
        };
        let readme = |a: &str| format!("See docs/studies/a.md.\n{}{}", row("a", a), row("b", "2"));
        let page = "# Study a\n\nVerdicts: 1 robust; ours: 0/1.\n";
        let counts = counted(page).expect("they are counted");
        let found = with_counts(&readme("1 nowhere"), "docs/studies/a.md", counts);
        assert_eq!(found, Some(readme("1 robust; ours: 0/1")));
        assert_eq!(with_counts(&readme("1"), "docs/studies/c.md", "1"), None);
    }

    #[test]
    fn verdicts_of_a_page_have_their_set_ups_and_the_day_of_the_last_run() {
        let page = "Exploring run of 2026-11-25: 3 runs. Confirming run of 2026-11-26: 4 runs.\n\n\
                    | Claim | Verdict | Set-ups | Where |\n|---|---|---|---|\n\
                    | A-1 | robust | holds in 2 of 2 (100 %) |  |\n\n## How each\n\n\
                    | A-2 | robust | no row of claims |  |\n";
        let of = |page: &str| verdicts(&BTreeMap::from([("a".to_owned(), page.to_owned())]));
        let found: Value = serde_json::from_str(&of(page).expect("they are found")).unwrap();
        let claim = json!({ "setups": "holds in 2 of 2 (100 %)", "verdict": "robust" });
        assert_eq!(found, json!({ "a": { "claims": { "A-1": claim }, "ran": "2026-11-26" } }));
        assert!(of("| A-1 | robust | x | y |\n").is_err_and(|why| why.contains("no day")));
        let empty = page.replace("robust", "likely");
        assert!(of(&empty).is_err_and(|why| why.contains("no verdict")));
    }

    #[test]
    fn the_row_of_all_studies_is_the_sum_of_theirs() {
        let readme = |total: &str| {
            format!(
                "| [a](docs/studies/a.md) | what | 1 robust, 12 nowhere; ours: 1/2 |\n\
                 | [b](docs/studies/b.md) | what | 2 conditional, 3 nowhere; ours: 0/3 |\n\
                 {TOGETHER}{total} |\n\nText.\n"
            )
        };
        let sum = "1 robust, 2 conditional, 15 nowhere; ours: 1/5";
        assert_eq!(with_total(&readme("nothing yet")), Some(readme(sum)));
        assert_eq!(with_total("Text.\n"), None, "there is no such row");
        let unknown = readme("").replace("robust", "likely");
        assert_eq!(with_total(&unknown), None, "no verdict has that word");
    }
}
