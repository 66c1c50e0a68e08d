//! Keys and values that are nested deeper than the TOML reader follows. It names no place for a
//! dotted key, and its words speak of its own recursion.

use crate::diagnostic::{Refusal, Span};
use crate::limits::MAX_PARTS;

/// Maximum number of lists and tables within each other that the TOML reader follows.
pub const MAX_NESTED: usize = 80;

/// The error and its place, if the reader's message `said` is about its limit of nesting.
pub(crate) fn too_deep(text: &str, printed: &str, place: Option<Span>) -> Option<(Span, Refusal)> {
    if !printed.contains("recurs") {
        return None;
    }
    if let Some(span) = place {
        let refusal = Refusal::new(format!("more than {MAX_NESTED} lists or tables nested"));
        return Some((span, refusal.help("no key takes a value of this depth")));
    }
    let (span, parts) = longest_key(text)?;
    let refusal = Refusal::new(format!("a dotted key of {parts} parts"));
    Some((span, refusal.help(format!("no key has more than {MAX_PARTS}"))))
}

/// The first dotted key that the reader does not follow, and how many parts it has. Texts and
/// comments are stepped over. A number such as `1.5` counts as a key of two parts, which is far
/// from the limit.
fn longest_key(text: &str) -> Option<(Span, usize)> {
    let (mut at, mut dotted) = (0, Dotted::default());
    while let Some(next) = text[at..].chars().next() {
        let len = match next {
            '#' => text[at..].find('\n').unwrap_or(text.len() - at),
            '"' | '\'' => quoted(&text[at..], next),
            _ => next.len_utf8(),
        };
        match next {
            '.' => dotted.awaits_part = true,
            ' ' | '\t' => {}
            _ if next.is_ascii_alphanumeric() || "_-\"'".contains(next) => {
                dotted.part(at, at + len);
            }
            _ => {
                if dotted.parts >= MAX_NESTED {
                    break;
                }
                dotted = Dotted::default();
            }
        }
        at += len;
    }
    (dotted.parts >= MAX_NESTED).then_some((dotted.start..dotted.end, dotted.parts))
}

/// The part of a dotted key read so far.
#[derive(Default)]
struct Dotted {
    start: usize,
    end: usize,
    parts: usize,
    /// A dot was the last that was read.
    awaits_part: bool,
}

impl Dotted {
    /// Takes the text from `start` to `end`: more of a part, or the next one after a dot.
    fn part(&mut self, start: usize, end: usize) {
        if self.parts == 0 {
            self.start = start;
        }
        if self.parts == 0 || self.awaits_part {
            self.parts += 1;
        }
        (self.end, self.awaits_part) = (end, false);
    }
}

/// Length in bytes of the quoted text that `text` begins with.
fn quoted(text: &str, quote: char) -> usize {
    let [long, empty] = [3, 2].map(|times| quote.to_string().repeat(times));
    let mark = match text {
        _ if text.starts_with(&long) => long,
        _ if text.starts_with(&empty) => return 2,
        _ => quote.to_string(),
    };
    let mut at = mark.len();
    while let Some(next) = text[at..].chars().next() {
        if text[at..].starts_with(&mark) {
            return at + mark.len();
        }
        let escaped =
            if quote == '"' && next == '\\' { text[at + 1..].chars().next() } else { None };
        at += next.len_utf8() + escaped.map_or(0, char::len_utf8);
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_deep_key_is_found_behind_texts_and_comments() {
        let deep = ["a"; 90].join(".");
        let dots = "x.".repeat(100);
        let before = format!(
            "s = \"{dots}\\\"{dots}\" # {dots}\nl = '{dots}'\nm = \"\"\"\n{dots}\"\"\"\ne = \"\"\n"
        );
        let text = format!("{before}[sweep]\n{deep} = [1.5]\n");
        let start = before.len() + "[sweep]\n".len();
        assert_eq!(longest_key(&text), Some((start..start + deep.len(), 90)));
        assert_eq!(longest_key(&before), None);
    }

    #[test]
    fn parts_may_be_quoted_and_stand_apart() {
        let deep = ["\"a.b\"", "'c'"].repeat(50).join(" . ");
        assert_eq!(longest_key(&deep), Some((0..deep.len(), 100)));
        assert_eq!(longest_key(&["a b"; 60].join(" ")), None);
    }
}
