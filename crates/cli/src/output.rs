//! Standard output and error. Colours are used on terminals only, and respect `NO_COLOR`.

pub(crate) use fairwave_text::quoted;
use fairwave_text::{BAD, WORTH_A_LOOK, printable};
use std::io::{self, Write};

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

/// Prints a JSON object whose list `key` is produced one element at a time, so that it need not be
/// in memory as a whole.
pub(crate) fn print_json_with<E: From<io::Error>>(
    object: &serde_json::Value,
    key: &str,
    mut next: impl FnMut() -> Option<Result<serde_json::Value, E>>,
) -> Result<(), E> {
    let text = serde_json::to_string_pretty(object).map_err(io::Error::from)?;
    // The object is printed with an empty list, which is the place for the elements.
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

/// Prints an error to standard error. An error in doing so is ignored.
pub(crate) fn complain(text: &str) {
    let text = printable(text);
    let _ = writeln!(anstream::stderr().lock(), "{BAD}error{BAD:#}: {text}");
}

/// Prints a warning about a valid result to standard error.
pub(crate) fn warn(text: &str) {
    let text = printable(text);
    let _ = writeln!(anstream::stderr().lock(), "{WORTH_A_LOOK}warning{WORTH_A_LOOK:#}: {text}");
}

/// Prints a note on the progress of the command to standard error.
pub(crate) fn note(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{}", printable(text));
}
