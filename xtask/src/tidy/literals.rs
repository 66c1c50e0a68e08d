//! The string literals in a Rust file, read as text.

use super::Source;

/// String literals of the file's product code, each with the line at which it begins.
pub(super) fn literals(source: &Source) -> Vec<(usize, String)> {
    let lines: Vec<&str> = source.product_lines().into_iter().map(|(_, line)| line).collect();
    // A quote as a character begins no literal.
    let code = lines.join("\n").replace("'\"'", "' '").replace("'\\\"'", "' '");
    let mut found = Vec::new();
    let (mut rest, mut line) = (code.as_str(), 1);
    while let Some(at) = rest.find('"').into_iter().chain(rest.find("//")).min() {
        let (before, here) = rest.split_at(at);
        line += before.matches('\n').count();
        if here.starts_with("//") {
            rest = here.find('\n').map_or("", |end| &here[end..]);
            continue;
        }
        let inside = &here[1..];
        let end = if before.ends_with("r#") { inside.find("\"#") } else { closing(inside) };
        let (text, after) = inside.split_at(end.unwrap_or(inside.len()));
        found.push((line, text.to_owned()));
        line += text.matches('\n').count();
        rest = after.strip_prefix('"').unwrap_or(after);
    }
    found
}

/// Place of the quote that closes a literal.
fn closing(inside: &str) -> Option<usize> {
    let mut is_escaped = false;
    inside.find(|c: char| {
        let closes = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        closes
    })
}

#[test]
fn literals_are_found_between_quotes_comments_and_characters() {
    let text = "let a = \"one \\\"two\\\"\"; // not \"this\nlet b = '\"';\n\
                let c = r#\"three \"four\"\"#;\nlet d = \"http://a\\\\\";\n\
                \"five\n six\" \"seven\"\n\
                #[cfg(test)]\nmod tests {\n\"eight\"\n}\n";
    let found = literals(&Source::new("crates/a/src/lib.rs", text));
    let found: Vec<(usize, &str)> = found.iter().map(|(at, text)| (*at, text.as_str())).collect();
    let expected = [
        (1, "one \\\"two\\\""),
        (3, "three \"four\""),
        (4, "http://a\\\\"),
        (5, "five\n six"),
        (6, "seven"),
    ];
    assert_eq!(found, expected);
}
