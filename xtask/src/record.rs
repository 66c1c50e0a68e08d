//! Records of measurements: `benches/runs/DATE-NAME.md`.

use crate::ns3::words;
use crate::shell::{Outcome, note, root};
use std::fs;

/// Adds a measurement to the record of the day, which begins with `title`. Earlier measurements of
/// the same day stay, for comparison.
pub(crate) fn add(name: &str, title: &str, text: &str) -> Outcome {
    let date = words("date", &["+%F"])?;
    let file = root().join("benches/runs").join(format!("{date}-{name}.md"));
    let before = fs::read_to_string(&file).unwrap_or_else(|_| format!("# {date}, {title}\n"));
    let text = format!("{before}\n## At {}\n\n{text}", words("date", &["+%H:%M"])?);
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    note(&format!("wrote {}", file.display()));
    Ok(())
}
