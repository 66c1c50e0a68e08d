//! Rules about size: maximum lengths of files and functions.

use super::{Finding, Source, demand, over_sources};

/// Maximum number of lines in a file without its tests.
const FILE_LINES: usize = 600;
/// Maximum number of lines in a function.
const FUNCTION_LINES: usize = 70;
/// Functions that may be longer: path, name, and reason.
const LONG_FUNCTIONS: [(&str, &str, &str); 0] = [];

fn long_files(source: &Source) -> Vec<Finding> {
    let lines = source.product_lines().len();
    if lines <= FILE_LINES {
        return Vec::new();
    }
    vec![source.finding(FILE_LINES + 1, format!("{lines} lines without tests"))]
}

fn long_functions(source: &Source) -> Vec<Finding> {
    let lines = source.product_lines();
    let mut findings = Vec::new();
    for (index, (at, line)) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let length = function_length(&lines[index..]);
        let allowed = LONG_FUNCTIONS.iter().any(|(path, f, _)| *path == source.path && *f == name);
        if length > FUNCTION_LINES && !allowed {
            findings.push(source.finding(*at, format!("`{name}` has {length} lines")));
        }
    }
    findings
}

/// The function's name, if the line begins a function.
pub(super) fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let qualifier = |word: &str| {
        matches!(word, "const" | "async" | "extern" | "\"C\"") || word.starts_with("pub")
    };
    let name = after.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (before.split_whitespace().all(qualifier) && !name.is_empty()).then_some(name)
}

/// Number of lines of the function that begins in the first one, as formatted by rustfmt: up to the
/// brace, or the end of a bodiless signature, at the same indentation.
fn function_length(lines: &[(usize, &str)]) -> usize {
    let first = lines[0].1;
    if first.ends_with('}') || first.ends_with(';') {
        return 1;
    }
    let indent = &first[..first.len() - first.trim_start().len()];
    let ends = |line: &str| {
        line.strip_prefix(indent)
            .is_some_and(|rest| rest == "}" || (rest.starts_with(')') && rest.ends_with(';')))
    };
    lines.iter().position(|(_, line)| ends(line)).map_or(lines.len(), |last| last + 1)
}

#[test]
fn files_can_be_read_in_a_sitting() {
    demand(
        "no file has more than 600 lines without its tests",
        "look for the second room in it and give that a module",
        &over_sources(long_files),
    );
}

#[test]
fn a_file_can_be_too_long() {
    let text = "// line\n".repeat(FILE_LINES + 1);
    assert_eq!(long_files(&Source::new("crates/a/src/b.rs", &text)).len(), 1);
    assert_eq!(long_files(&Source::new("crates/a/src/b/tests.rs", &text)), []);
}

#[test]
fn functions_fit_a_screen() {
    demand(
        "no function has more than 70 lines",
        "name its parts; a flat dispatch goes on the list in xtask/src/tidy/size.rs, with a reason",
        &over_sources(long_functions),
    );
}

#[test]
fn a_function_can_be_too_long() {
    let body = "        x();\n".repeat(FUNCTION_LINES);
    let text = format!(
        "    fn brief() {{}}\n    pub(crate) fn long(\n        x: u8,\n    ) {{\n{body}    }}\n"
    );
    let findings = long_functions(&Source::new("crates/a/src/b.rs", &text));
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].line, 2);
    assert!(findings[0].what.contains("`long` has 74 lines"), "{}", findings[0]);
}

#[test]
fn a_signature_ends_without_a_body() {
    let lines = [(1, "    fn declared("), (2, "        x: u8,"), (3, "    );"), (4, "    fn b();")];
    assert_eq!(function_length(&lines), 3);
    assert_eq!(function_name("    pub const fn a<T>(x: T)"), Some("a"));
    assert_eq!(function_name("// the fn keyword"), None);
    assert_eq!(function_name("    let f: fn (u8) = g;"), None);
}

#[test]
fn every_exemption_has_a_reason() {
    for (path, function, reason) in LONG_FUNCTIONS {
        assert!(reason.len() > 10, "{path}: `{function}` is exempt without a reason");
    }
}
