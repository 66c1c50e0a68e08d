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

/// An argument as a shell takes it.
pub(crate) fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "=._-+/:@%".contains(c);
    match argument.chars().all(is_plain) {
        true => argument.to_owned(),
        false => format!("'{}'", argument.replace('\'', "'\\''")),
    }
}

/// Prints the one JSON value of a command.
pub(crate) fn print_json(value: &serde_json::Value) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    print_raw(text.as_bytes())
}

/// Prints a JSON object of which the list `key` is made one by one, so that it need not be in
/// memory as a whole.
pub(crate) fn print_json_with<E: From<io::Error>>(
    object: &serde_json::Value,
    key: &str,
    mut next: impl FnMut() -> Option<Result<serde_json::Value, E>>,
) -> Result<(), E> {
    let text = serde_json::to_string_pretty(object).map_err(io::Error::from)?;
    let mark = format!("\n  \"{key}\": [");
    let (head, tail) = text.split_once(&format!("{mark}]")).unwrap_or((&text, ""));
    let mut out = io::BufWriter::new(io::stdout().lock());
    write!(out, "{head}{mark}")?;
    let mut is_first = true;
    while let Some(value) = next() {
        let value = serde_json::to_string_pretty(&value?).map_err(io::Error::from)?;
        let separator = if is_first { "" } else { "," };
        write!(out, "{separator}\n    {}", value.replace('\n', "\n    "))?;
        is_first = false;
    }
    writeln!(out, "{}]{tail}", if is_first { "" } else { "\n  " })?;
    Ok(out.flush()?)
}

/// Prints bytes as they are.
pub(crate) fn print_raw(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// A text that a terminal only shows: what would command it is a blank. Names and lines of files
/// come from others.
pub(crate) fn printable(text: &str) -> String {
    text.replace(|c: char| c.is_control() && c != '\n', " ")
}

/// Says on standard error what is wrong. There is nobody to tell if even that fails.
pub(crate) fn complain(text: &str) {
    let text = printable(text);
    let _ = writeln!(anstream::stderr().lock(), "{BAD}error{BAD:#}: {text}");
}

/// Says on standard error what the user should know about a result that stands.
pub(crate) fn warn(text: &str) {
    let text = printable(text);
    let _ = writeln!(anstream::stderr().lock(), "{WORTH_A_LOOK}warning{WORTH_A_LOOK:#}: {text}");
}

/// Says on standard error what the user may want to know meanwhile.
pub(crate) fn note(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{}", printable(text));
}

/// The text in a style.
pub(crate) fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
