//! Texts from untrusted sources.

/// Escapes control characters in an untrusted text, such as the name of a file, for a terminal:
/// they could move the cursor or overwrite other lines.
pub fn visible(text: &str) -> String {
    let spelt = |c: char| match c.is_control() {
        true => c.escape_default().collect(),
        false => c.to_string(),
    };
    text.chars().map(spelt).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_move_the_cursor() {
        assert_eq!(
            visible("caf\u{e9}\u{1b}[2J\r.pcap\u{9b}"),
            "caf\u{e9}\\u{1b}[2J\\r.pcap\\u{9b}"
        );
    }
}
