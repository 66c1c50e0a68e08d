//! Tables and plain text in Markdown.

use std::fmt::Write as _;

/// Returns a table. Its cells are already Markdown.
pub(crate) fn table(header: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut table = line(header);
    let _ = writeln!(table, "|{}", "---|".repeat(header.len()));
    table.extend(rows.map(|row| line(&row)));
    table
}

/// Converts plain text to Markdown: escapes characters that begin emphasis, a tag, a link, code or
/// a cell.
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
