//! Columns of a sweep's axes, whose values are texts.

/// Whether the axis `key` has a column of its own in tables of runs. An axis over seeds has none:
/// each run has its seed there.
pub fn has_column(key: &str) -> bool {
    key != "seed"
}

/// Type of the values of an axis, the narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AxisKind {
    /// Whole numbers.
    Integer,
    /// Numbers.
    Number,
    /// Anything else, such as `54 Mbps`.
    Text,
}

impl AxisKind {
    /// The narrowest type that all of `values` have.
    pub fn of<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let kind = |value: &str| match value.parse::<f64>() {
            _ if value.parse::<i64>().is_ok() => Self::Integer,
            Ok(number) if number.is_finite() => Self::Number,
            _ => Self::Text,
        };
        values.map(kind).max().unwrap_or(Self::Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_type_is_chosen() {
        let of = |values: &[&'static str]| AxisKind::of(values.iter().copied());
        assert_eq!(of(&["4", "-16"]), AxisKind::Integer);
        assert_eq!(of(&["4", "0.5"]), AxisKind::Number);
        assert_eq!(of(&["4", "54 Mbps"]), AxisKind::Text);
        assert_eq!(of(&["inf"]), AxisKind::Text);
    }
}
