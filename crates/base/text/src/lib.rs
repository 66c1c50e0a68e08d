//! Text for a terminal, for the reports of all crates: styles, tables, and names from untrusted
//! input. Nothing here prints.
//!
//! ```
//! use fairwave_text::{Table, mbps};
//!
//! let mut table = Table::new("Flows", &["flow", "Mbps"]);
//! table.row(vec!["up".to_owned(), mbps(9_500_000)]);
//! assert!(table.render().contains("9.500"));
//! ```

mod table;

pub use table::{Table, mbps, millis, seconds};

use anstyle::{AnsiColor, Style};

/// Style of good results.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Style of bad results and errors.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// Style of doubtful results and warnings.
pub const WORTH_A_LOOK: Style = AnsiColor::Yellow.on_default().bold();
/// Style of headings.
pub const HEADING: Style = Style::new().bold();

/// Maximum width of wrapped text, in columns.
const COLUMNS: usize = 100;

/// Returns the text in a style.
pub fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Wraps a text into lines of at most 100 columns, each of which begins with `indent`.
pub fn wrapped(text: &str, indent: &str) -> String {
    let options = textwrap::Options::new(COLUMNS).initial_indent(indent).subsequent_indent(indent);
    textwrap::fill(text, options) + "\n"
}

/// Replaces control characters except newlines by blanks. Names and lines of files are untrusted:
/// they may contain escape sequences for the terminal.
pub fn printable(text: &str) -> String {
    text.replace(|c: char| c.is_control() && c != '\n', " ")
}

/// Returns an argument, quoted for a shell if necessary.
pub fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "=._-+/:@%,".contains(c);
    match argument.chars().all(is_plain) {
        true => argument.to_owned(),
        false => format!("'{}'", argument.replace('\'', "'\\''")),
    }
}
