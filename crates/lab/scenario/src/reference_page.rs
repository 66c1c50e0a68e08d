//! The reference page of scenario files, in Markdown. Keys that several tables share are described
//! in the first of them; the others link to it.

use crate::reference::{KeyHelp, TableHelp, tables};
use std::fmt::Write;

/// Minimum number of shared keys that a link to an earlier table replaces.
const MIN_SHARED: usize = 2;

/// The reference page of scenario files, in Markdown.
pub fn reference() -> String {
    let text = "# Keys of scenario files\n\n\
        Every key with its meaning, range and default, if any; keys that several tables share are \
        described once. This page is made from the code by `cargo xtask gen`; `fairwave explain \
        KEY` prints the same for one key.\n";
    let tables = tables();
    let mut page = Page { text: text.to_owned(), described: Vec::new() };
    let groups: Vec<&[TableHelp]> = tables.chunk_by(|one, next| one.key == next.key).collect();
    for (place, group) in groups.iter().enumerate() {
        match groups[..place].iter().find(|earlier| are_alike(earlier, group)) {
            Some(earlier) => page.same_keys(&group[0], &earlier[0]),
            None => group.iter().for_each(|table| page.table(table)),
        }
    }
    page.text
}

/// Whether two keys with all their variants have the same keys, and at least one.
fn are_alike(one: &[TableHelp], other: &[TableHelp]) -> bool {
    let has_keys = one.iter().any(|table| !table.keys.is_empty());
    let alike = |(one, other): (&TableHelp, &TableHelp)| {
        one.conditions == other.conditions
            && one.keys.len() == other.keys.len()
            && one.keys.iter().zip(&other.keys).all(|(one, other)| is_same(one, other))
    };
    has_keys && one.len() == other.len() && one.iter().zip(other).all(alike)
}

/// Whether two keys have the same name in their tables and the same description.
fn is_same(one: &KeyHelp, other: &KeyHelp) -> bool {
    name(one) == name(other) && one.about == other.about && one.words == other.words
}

/// The name of a key in its table.
fn name(key: &KeyHelp) -> &str {
    key.key.rsplit('.').next().unwrap_or_default()
}

struct Page<'a> {
    text: String,
    /// Tables so far, with the keys that are described there.
    described: Vec<(&'a TableHelp, Vec<&'a KeyHelp>)>,
}

impl<'a> Page<'a> {
    /// Appends a section that refers to the keys of `earlier`.
    fn same_keys(&mut self, table: &TableHelp, earlier: &TableHelp) {
        let (title, link) = (title(table), link(earlier));
        let is_same = table.about == earlier.about;
        let about = if is_same { String::new() } else { format!("{}\n\n", table.about) };
        // Writing to a string cannot fail.
        let _ = write!(self.text, "\n## {title}\n\n{about}Keys as in {link}.\n");
    }

    /// Appends the section of `table`.
    fn table(&mut self, table: &'a TableHelp) {
        let _ = write!(self.text, "\n## {}\n\n{}\n", title(table), table.about);
        let mut own: Vec<&KeyHelp> = table.keys.iter().collect();
        let mut shared = Vec::new();
        while let Some((earlier, keys)) = self.most_shared(&own) {
            own.retain(|key| !keys.contains(key));
            let names: Vec<&str> = keys.into_iter().map(name).collect();
            shared.push(format!("- `{}`: as in {}.", names.join("`, `"), link(earlier)));
        }
        let lines: Vec<String> = own.iter().map(|key| line(key)).chain(shared).collect();
        if !lines.is_empty() {
            let _ = write!(self.text, "\n{}\n", lines.join("\n"));
        }
        self.described.push((table, own));
    }

    /// The earlier table that describes most of `keys`, and which; `None` if none has enough.
    fn most_shared<'k>(&self, keys: &[&'k KeyHelp]) -> Option<(&'a TableHelp, Vec<&'k KeyHelp>)> {
        let shared = self.described.iter().map(|(table, described)| {
            let is_there = |key: &&KeyHelp| described.iter().any(|there| is_same(key, there));
            (*table, keys.iter().copied().filter(is_there).collect::<Vec<_>>())
        });
        // `max_by_key` returns the last of equals; readers meet the first before.
        let most = shared.rev().max_by_key(|(_, keys)| keys.len())?;
        (most.1.len() >= MIN_SHARED).then_some(most)
    }
}

/// The line that describes `key`.
fn line(key: &KeyHelp) -> String {
    let words = match key.words.as_slice() {
        [] => String::new(),
        words => format!(" One of `{}`.", words.join("`, `")),
    };
    let about = key.about.strip_suffix(" Default: none.").unwrap_or(&key.about);
    format!("- `{}`: {about}{words}", name(key))
}

/// The heading of `table`.
fn title(table: &TableHelp) -> String {
    let name = match table.key.as_str() {
        "" => "Top level".to_owned(),
        key @ ("cell" | "node" | "link" | "flow") => format!("`[[{key}]]`"),
        key => format!("`{key}`"),
    };
    match table.conditions.as_slice() {
        [] => name,
        conditions => format!("{name} with `{}`", conditions.join("`, `")),
    }
}

/// A link to the section of `table`.
fn link(table: &TableHelp) -> String {
    let title = title(table);
    format!("[{}](#{})", title.replace("[[", "").replace("]]", ""), anchor(&title))
}

/// The anchor that GitHub gives to the heading `title`.
fn anchor(title: &str) -> String {
    let letters = title.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ if letter.is_alphanumeric() => Some(letter.to_ascii_lowercase()),
        _ => None,
    });
    letters.collect()
}

#[cfg(test)]
mod tests {
    use super::{anchor, reference};
    use crate::reference::tables;
    use std::collections::BTreeSet;

    #[test]
    fn each_link_has_its_heading() {
        let page = reference();
        let headings: BTreeSet<String> =
            page.lines().filter_map(|line| line.strip_prefix("## ")).map(anchor).collect();
        let links: BTreeSet<&str> =
            page.split("](#").skip(1).filter_map(|rest| rest.split(')').next()).collect();
        assert!(!links.is_empty());
        for link in links {
            assert!(headings.contains(link), "no heading for #{link}");
        }
    }

    #[test]
    fn each_description_is_on_the_page() {
        let page = reference();
        for key in tables().iter().flat_map(|table| &table.keys) {
            assert!(!key.about.is_empty(), "{} has no description", key.key);
            assert!(page.contains(&super::line(key)), "{} is not described", key.key);
        }
    }
}
