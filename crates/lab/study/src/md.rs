//! Tables and plain text in Markdown.

use std::fmt::Write as _;

/// A table; its cells are Markdown.
pub(crate) fn table(header: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut table = line(header);
    let _ = writeln!(table, "|{}", "---|".repeat(header.len()));
    table.extend(rows.map(|row| line(&row)));
    table
}

/// Plain text as Markdown. Characters that would begin an emphasis, a tag or a cell are escaped.
pub(crate) fn text(plain: &str) -> String {
    let mut escaped = String::with_capacity(plain.len());
    for character in plain.chars() {
        if matches!(character, '*' | '|' | '<' | '[' | '`' | '\\') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stands_for_itself() {
        assert_eq!(text("|ln x| of *_low < 1"), "\\|ln x\\| of \\*_low \\< 1");
    }
}
