//! Records of measurements: `benches/runs/DATE-NAME.md`.

use crate::machine::words;
use std::fs;
use xtask::shell::{Outcome, note, root};

/// Adds a measurement to the record of the day, which begins with `title`. Earlier measurements of
/// the same day stay, for comparison.
pub(crate) fn add(name: &str, title: &str, text: &str) -> Outcome {
    let [date, time] = ["+%F", "+%H:%M"].map(|form| words("date", &[form]));
    append(&date?, name, title, &format!("\n## At {}\n\n{text}", time?))
}

/// Appends a section with its own heading to the record of a day, which begins with `title`.
pub(crate) fn append(date: &str, name: &str, title: &str, section: &str) -> Outcome {
    let file = root().join("benches/runs").join(format!("{date}-{name}.md"));
    let before = fs::read_to_string(&file).unwrap_or_else(|_| format!("# {date}, {title}\n"));
    let text = before + section;
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    note(&format!("appended to {}", file.display()));
    Ok(())
}
