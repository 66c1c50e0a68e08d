//! The paths in a Rust file, read as text.

use super::Source;

/// A path of a file.
#[derive(Debug, PartialEq)]
pub(super) struct Named {
    /// Its names, from `crate`, `self`, `super` or any other first name on.
    pub(super) path: Vec<String>,
    /// Whether it is re-exported, so that other modules also find it here.
    pub(super) is_exported: bool,
}

/// Every path of the file's product code: one for each imported name, and any path in its code that
/// begins with `crate`, `super` or a module of the file.
pub(super) fn names(source: &Source) -> Vec<Named> {
    let mut found = Vec::new();
    let code = product(source);
    let declared = code.lines().filter_map(|line| line.rsplit_once("mod ")?.1.strip_suffix(';'));
    let starts: Vec<String> =
        ["crate", "super"].into_iter().chain(declared).map(|name| format!("{name}::")).collect();
    let mut rest = code.as_str();
    while let Some((before, tree, after)) = next_import(rest) {
        in_code(before, &starts, &mut found);
        let visibility = before.trim_end().rsplit(['\n', ';', '}']).next().unwrap_or_default();
        expand(tree, &[], visibility.trim_start().starts_with("pub"), &mut found);
        rest = after;
    }
    in_code(rest, &starts, &mut found);
    found
}

/// The code without comments, one-line attributes and tests. Literals stay: none contains a path.
fn product(source: &Source) -> String {
    let lines = source.product_lines().into_iter().map(|(_, line)| line.trim());
    let code = lines.map(|line| line.split("//").next().unwrap_or_default());
    code.filter(|line| !line.starts_with("#[")).collect::<Vec<_>>().join("\n")
}

/// The code before the next `use`, the tree of the `use`, and the code behind it.
fn next_import(code: &str) -> Option<(&str, &str, &str)> {
    let word = code.match_indices("use ").find(|(at, _)| {
        let before = code[..*at].rsplit('\n').next().unwrap_or_default();
        before.is_empty() || before.trim_end().ends_with(')') || before.trim() == "pub"
    });
    let (before, after) = (&code[..word?.0], &code[word?.0 + "use ".len()..]);
    let (tree, behind) = after.split_once(';')?;
    Some((before, tree, behind))
}

/// One path for each name of an import.
fn expand(tree: &str, base: &[String], is_exported: bool, found: &mut Vec<Named>) {
    let tree = tree.trim();
    let (path, group) = match tree.split_once('{') {
        Some((path, group)) => (path, Some(group.trim_end().trim_end_matches('}'))),
        None => (tree, None),
    };
    let names = path.split(" as ").next().unwrap_or_default().split("::").map(str::trim);
    let names = names.filter(|name| !name.is_empty()).map(str::to_owned);
    let path: Vec<String> = base.iter().cloned().chain(names).collect();
    match group {
        Some(group) => parts(group).into_iter().for_each(|one| {
            expand(one, &path, is_exported, found);
        }),
        None if tree.is_empty() => {}
        None => {
            let is_self = path.len() > 1 && path.last().is_some_and(|name| name == "self");
            let path = if is_self { path[..path.len() - 1].to_vec() } else { path };
            found.push(Named { path, is_exported });
        }
    }
}

/// The members of a group, split at the commas of its own level.
fn parts(group: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let at_commas = |c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    };
    group.split(at_commas).collect()
}

/// Paths in code that begin with one of `starts`.
fn in_code(code: &str, starts: &[String], found: &mut Vec<Named>) {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    for start in starts {
        for (at, _) in code.match_indices(start.as_str()) {
            let before = &code[..at];
            // Skip matches in the middle of a path, and visibilities.
            let is_part = before.ends_with(is_name) || before.ends_with("::");
            if is_part || before.ends_with("pub(in ") {
                continue;
            }
            let end = code[at..].find(|c: char| !is_name(c) && c != ':').unwrap_or(code.len() - at);
            let path = code[at..at + end].split("::").filter(|name| !name.is_empty());
            found.push(Named { path: path.map(str::to_owned).collect(), is_exported: false });
        }
    }
}

#[test]
fn imports_are_taken_apart_and_code_is_searched() {
    let text = "//! use crate::not;\npub(crate) use a::{b::B, c as d};\nuse super::{\n    e,\n    \
                f::{self, G},\n};\nmod m;\n\
                fn h() { crate::i::j(super::k::L, m::n()) } // crate::no\n";
    let found = names(&Source::new("crates/a/src/lib.rs", text));
    let shown: Vec<String> = found
        .iter()
        .map(|name| format!("{}{}", name.path.join("::"), if name.is_exported { "!" } else { "" }))
        .collect();
    let imported = ["a::b::B!", "a::c!", "super::e", "super::f", "super::f::G"];
    let expected = [&imported[..], &["crate::i::j", "super::k::L", "m::n"]].concat();
    assert_eq!(shown, expected);
}
