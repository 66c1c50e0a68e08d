//! Standard output and error. Colours go to terminals only, and heed `NO_COLOR`.

use anstyle::{AnsiColor, Style};
use std::io::{self, Write};

/// For what is as it should be.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// For what is not.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// For what may not be.
pub(crate) const WORTH_A_LOOK: Style = AnsiColor::Yellow.on_default().bold();
/// For headings.
pub(crate) const HEADING: Style = Style::new().bold();

/// Prints a text for people.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints the one JSON value of a command.
pub(crate) fn print_json(value: &serde_json::Value) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    print_raw(text.as_bytes())
}

/// Prints bytes as they are.
pub(crate) fn print_raw(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Says on standard error what is wrong. There is nobody to tell if even that fails.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{BAD}error{BAD:#}: {text}");
}

/// Says on standard error what the user should know about a result that stands.
pub(crate) fn warn(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{WORTH_A_LOOK}warning{WORTH_A_LOOK:#}: {text}");
}

/// The text in a style.
pub(crate) fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
