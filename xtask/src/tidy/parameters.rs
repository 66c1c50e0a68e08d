//! The rule about parameters: a function takes values with names, not tuples that it takes apart.

use super::size::function_name;
use super::{Finding, Source, demand, over_sources};

/// Maximum number of lines of a signature.
const SIGNATURE_LINES: usize = 40;

fn tuple_parameters(source: &Source) -> Vec<Finding> {
    // Fuzz targets are tests.
    if source.path.starts_with("fuzz/") {
        return Vec::new();
    }
    let lines = source.product_lines();
    let mut findings = Vec::new();
    for (index, (at, line)) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        // From the name on, since a visibility has brackets, too. A line break separates words.
        let from_name = lines[index..].iter().take(SIGNATURE_LINES);
        let signature = from_name.flat_map(|(_, line)| line.chars().chain([' ']));
        let before = line.find("fn ").unwrap_or(0);
        if takes_tuple(signature.skip(before)) {
            findings.push(source.finding(*at, format!("`{name}` takes a tuple apart")));
        }
    }
    findings
}

/// Whether the first list of parameters in `signature` has a tuple pattern.
fn takes_tuple(signature: impl Iterator<Item = char>) -> bool {
    let (mut brackets, mut angles, mut last) = (0, 0, ' ');
    // Whether a parameter begins here.
    let mut begins = false;
    let mut signature = signature.peekable();
    while let Some(c) = signature.next() {
        match c {
            // `()` has no parts.
            '(' if begins && signature.peek() != Some(&')') => return true,
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            '<' => angles += 1,
            '>' if last != '-' => angles -= 1,
            _ => {}
        }
        // Generic parameters may have lists of their own: `F: Fn(u8)`.
        if angles == 0 && brackets == 0 && c == ')' {
            return false;
        }
        let is_outermost = angles == 0 && brackets == 1;
        let continues = begins && (c == '&' || c.is_whitespace());
        begins = is_outermost && (matches!(c, '(' | ',') || continues);
        last = c;
    }
    false
}

#[test]
fn parameters_have_names() {
    demand(
        "no function has a tuple pattern as a parameter",
        "pass its parts as arguments, or as a struct where they belong together",
        &over_sources(tuple_parameters),
    );
}

#[test]
fn a_tuple_pattern_is_found() {
    let lines_of = |text: &str| {
        let findings = tuple_parameters(&Source::new("crates/a/src/b.rs", text));
        findings.into_iter().map(|finding| finding.line).collect::<Vec<_>>()
    };
    let text = "fn a((x, y): (u8, u8)) {}\n\
        pub(crate) fn b<F: Fn(u8, (u8, u8)) -> u8>(\n    &self,\n    &(x, y): &(u8, u8),\n) {}\n\
        fn c<T: Into<(u8, u8)>>(pair: (T, T), map: Map<u8, (u8, u8)>, f: fn((u8, u8))) {}\n\
        fn d((): (), [x, y]: [u8; 2], Point(z): Point) -> (u8, (u8, u8)) {\n}\n\
        #[cfg(test)]\nmod tests {\n    fn f((x, y): (u8, u8)) {}\n}\n";
    assert_eq!(lines_of(text), [1, 2]);
}
