//! Styles of text on a terminal.

use anstyle::{AnsiColor, Style};

/// Style of good results.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Style of bad results and errors.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// Style of doubtful results and warnings.
pub const WORTH_A_LOOK: Style = AnsiColor::Yellow.on_default().bold();
/// Style of headings.
pub const HEADING: Style = Style::new().bold();

/// The text in a style.
pub fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Replaces control characters by blanks, so that a terminal only shows the text. Names and lines
/// of files come from others and may contain escape sequences.
pub fn printable(text: &str) -> String {
    text.replace(|c: char| c.is_control() && c != '\n', " ")
}
