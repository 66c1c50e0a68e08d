//! Pages of the studies, written by the full runs that they describe, and README's table of them.

use crate::shell::{Outcome, root};
use crate::workspace::fairwave;
use serde_json::Value;
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

/// Writes the output of a full run as the page of its study, and its numbers of verdicts into
/// README's table at once, so that both agree after an interruption.
///
/// # Errors
/// If a file cannot be read or written, or lacks the line of the study.
pub fn write(name: &str, page: &str) -> Outcome {
    let file = format!("results/studies/{name}.md");
    fs::write(root().join(&file), page).map_err(|error| format!("{file}: {error}"))?;
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

/// The text with the sum of the studies' counts in the row [`TOGETHER`]; `None` if that row is
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
