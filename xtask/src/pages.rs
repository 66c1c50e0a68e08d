//! Pages of the studies, written by the full runs that they describe, and README's table of them.

use crate::shell::{Outcome, cargo, root, run};
use crate::studies::studies;
use crate::workspace;
use crate::workspace::fairwave;
use clap::Args;
use std::fs;
use std::process::Stdio;
use std::time::Instant;

/// Beginning of a page's line with the numbers of verdicts.
pub(crate) const COUNTED: &str = "Verdicts: ";

/// Options of `cargo xtask pages`.
#[derive(Args)]
pub(crate) struct Options {
    /// Studies; all if none is named.
    studies: Vec<String>,
}

/// Runs studies in full, writes their pages, and counts their verdicts in README.
pub(crate) fn pages(options: &Options) -> Outcome {
    run(cargo(&["build", "--release", "-p", "fairwave-cli"]))?;
    let names = if options.studies.is_empty() { studies()? } else { options.studies.clone() };
    for name in &names {
        let begun = Instant::now();
        page(name)?;
        println!("{name}: {:.0} s", begun.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Writes the page of one study. The line in README is updated at once, so that both agree after an
/// interruption.
fn page(name: &str) -> Outcome {
    let out = workspace::target().join("pages").join(name);
    let out = out.to_string_lossy();
    let args = ["--out", &out, "--force", "reproduce", name, "--full", "--markdown"];
    let made = fairwave("release", &args).stderr(Stdio::inherit()).output();
    let made = made.map_err(|error| format!("fairwave reproduce: {error}"))?;
    if !made.status.success() {
        return Err(format!("fairwave reproduce {name} ended with {}", made.status));
    }
    write(name, &String::from_utf8_lossy(&made.stdout))
}

/// Writes the output of a full run as the page of its study.
pub(crate) fn write(name: &str, page: &str) -> Outcome {
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
pub(crate) fn counted(page: &str) -> Option<&str> {
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
pub(crate) fn with_total(readme: &str) -> Option<String> {
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
