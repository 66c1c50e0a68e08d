//! Known names that are most like one that does not exist.

/// Number of names that an error lists.
const LISTED: usize = 5;

/// The known names that are most like `wanted`, five at most, as a part of an error message.
pub(crate) fn listed<'n>(wanted: &str, known: impl Iterator<Item = &'n str>) -> String {
    let mut names: Vec<&str> = known.collect();
    let all = names.len();
    names.sort_by(|a, b| likeness(wanted, b).total_cmp(&likeness(wanted, a)));
    names.truncate(LISTED);
    let (which, names) =
        (if all > LISTED { "the nearest are" } else { "known are" }, names.join(", "));
    format!("{which}: {names}")
}

/// Dice's coefficient over pairs of letters, which a longer name lowers less than an edit distance
/// would; one more where one name contains the other.
fn likeness(wanted: &str, name: &str) -> f64 {
    let is_part = name.contains(wanted) || wanted.contains(name);
    f64::from(u8::from(is_part)) + strsim::sorensen_dice(wanted, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_names_are_listed_with_the_nearest_first() {
        let names = [
            "flow.down.delay_p99_ms",
            "flow.up.delay_mean_ms",
            "flow.up.delay_p99_ms",
            "flow.up.goodput_mbps",
            "flow.up.retransmissions",
            "goodput_mbps",
            "jain",
        ];
        let of = |wanted| listed(wanted, names.into_iter());
        let near = of("delay_p99_ms");
        assert!(near.starts_with("the nearest are: flow.up.delay_p99_ms, flow.down."), "{near}");
        assert_eq!(near.matches(", ").count(), 4);
        assert!(of("goodput").starts_with("the nearest are: goodput_mbps, flow.up.goodput_mbps"));
        assert!(of("flow.up.gooput_mbps").starts_with("the nearest are: flow.up.goodput_mbps"));
        assert_eq!(listed("x", ["a", "b"].into_iter()), "known are: a, b");
    }
}
