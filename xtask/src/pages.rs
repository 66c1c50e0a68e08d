//! The pages of studies, written by the full runs that they are about, and README's table of them.

use crate::shell::{Outcome, cargo, root, run};
use crate::suite::{fairwave, studies};
use crate::workspace;
use clap::Args;
use std::fs;
use std::process::Stdio;
use std::time::Instant;

/// The line of a page on which the program counted its verdicts.
pub(crate) const COUNTED: &str = "Verdicts: ";

/// What `cargo xtask pages` is asked for.
#[derive(Args)]
pub(crate) struct Options {
    /// Studies; all of them without one.
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

/// The page of one study. The line in README follows at once, so that an interruption leaves both
/// alike.
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

/// Writes what a full run printed as the page of its study.
pub(crate) fn write(name: &str, page: &str) -> Outcome {
    let file = format!("docs/studies/{name}.md");
    fs::write(root().join(&file), page).map_err(|error| format!("{file}: {error}"))?;
    let counted = counted(page).ok_or_else(|| format!("{file}: no line {COUNTED:?}"))?;
    let readme = root().join("README.md");
    let text = fs::read_to_string(&readme).map_err(|error| format!("README.md: {error}"))?;
    let text = with_counts(&text, &file, counted).ok_or(format!("README.md has no line of {file}"));
    fs::write(&readme, text?).map_err(|error| format!("README.md: {error}"))?;
    println!("{name}: {counted}");
    Ok(())
}

/// What a page says of its verdicts: `1 robust, 3 conditional; ours: 1/2`.
pub(crate) fn counted(page: &str) -> Option<&str> {
    let line = page.lines().find_map(|line| line.strip_prefix(COUNTED))?;
    Some(line.trim_end_matches('.'))
}

/// The text with these counts in the last cell of the row that links to `file`; `None` without such
/// a row.
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
}
