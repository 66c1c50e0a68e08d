//! A verdict and its figures in plain words, for the terminal.

use crate::evidence::Condition;
use crate::map::Tally;
use crate::verdict::ClaimVerdict;
use fairwave_lab::schema;
use fairwave_units::several;

/// Ends of a 95 % confidence interval, by the end of a quantity's name.
const ENDS: [(&str, &str); 2] = [("_low", "lower end of "), ("_high", "upper end of ")];
/// Figures that a verdict shows: those that decide it, not all that was measured.
const MAX_FIGURES: usize = 2;

impl ClaimVerdict {
    /// Returns the verdict as the end of a sentence about the claim, without a full stop: "holds
    /// in 4 of 6 set-ups: where attempts is at least 4".
    pub fn in_words(&self) -> String {
        let Tally { tried, admitted, holding, undecided } = self.setups;
        match (tried, self.holds) {
            (1, Some(true)) => return "holds in the one set-up tried".to_owned(),
            (1, Some(false)) => return "does not hold in the one set-up tried".to_owned(),
            (1, None) => return "not decided in the one set-up tried".to_owned(),
            _ => {}
        }
        let set_ups = several(admitted, "set-up");
        match holding {
            _ if admitted == 0 => "not decided: no set-up fits the paper".to_owned(),
            0 if undecided == admitted => format!("not decided in any of {set_ups}"),
            0 => format!("does not hold in any of {set_ups}"),
            _ if holding == admitted => format!("holds in all {set_ups}"),
            _ => {
                let decides = self.decides.as_ref();
                let place = decides.map(|d| format!(": where {} is {}", d.name, d.threshold));
                format!("holds in {holding} of {set_ups}{}", place.unwrap_or_default())
            }
        }
    }

    /// Returns the figures that decide the claim in the study's own set-up, at most two: those
    /// that fail it if any does. Empty where nothing was measured.
    pub fn figures(&self) -> Vec<String> {
        let failed = self.conditions.iter().filter(|c| c.is_met() == Some(false));
        let failed: Vec<&Condition> = failed.collect();
        let shown = if failed.is_empty() { self.conditions.iter().collect() } else { failed };
        shown.into_iter().filter_map(figure).take(MAX_FIGURES).collect()
    }
}

/// "count off 0.494 (asked: < 0.1)"; `None` for what was not measured.
fn figure(condition: &Condition) -> Option<String> {
    let value = condition.value().ok()?;
    let (name, unit) = named(condition.name());
    let bound = condition.bound().text();
    Some(format!("{name} {}{unit} (asked: {bound})", three_digits(value)))
}

/// The name of a quantity in words, and its unit behind a space.
fn named(key: &str) -> (String, String) {
    let end = ENDS.iter().find_map(|(end, word)| Some((key.strip_suffix(end)?, *word)));
    let (key, end) = end.unwrap_or((key, ""));
    let (key, unit) = match schema::symbol(key) {
        Some((key, symbol)) => (key, format!(" {symbol}")),
        None => (key, String::new()),
    };
    (format!("{end}{}", key.replace('_', " ")), unit)
}

/// A number with three significant digits, and without zeros behind its last one.
fn three_digits(value: f64) -> String {
    let scientific = format!("{value:.2e}");
    let exponent = scientific.rsplit_once('e').and_then(|(_, digits)| digits.parse::<i32>().ok());
    let decimals = usize::try_from(2 - exponent.unwrap_or(0)).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{Claim, Criterion};
    use crate::evidence::Evidence;

    fn judged(value: f64) -> ClaimVerdict {
        let mut evidence = Evidence::default();
        let worst = evidence.number("delay_ms_low", value);
        let (fine, other) = (evidence.number("jain", 0.987_65), evidence.number("share", 1.0));
        let criterion = Criterion { id: "A-1", statement: "s", meaning: "m" };
        let tested = evidence.tested([worst.below(20.0), fine.above(0.9), other.above(0.0)]);
        ClaimVerdict::of(&Claim::judge(criterion, tested, String::new()), None)
    }

    #[test]
    fn one_set_up_is_called_one_set_up() {
        assert_eq!(judged(3.0).in_words(), "holds in the one set-up tried");
        assert_eq!(judged(30.0).in_words(), "does not hold in the one set-up tried");
    }

    #[test]
    fn several_set_ups_are_counted() {
        let of = |holding, undecided, admitted| {
            let setups = Tally { tried: 6, admitted, holding, undecided };
            ClaimVerdict { setups, ..judged(3.0) }.in_words()
        };
        assert_eq!(of(6, 0, 6), "holds in all 6 set-ups");
        assert_eq!(of(4, 0, 6), "holds in 4 of 6 set-ups");
        assert_eq!(of(0, 1, 6), "does not hold in any of 6 set-ups");
        assert_eq!(of(0, 6, 6), "not decided in any of 6 set-ups");
        assert_eq!(of(0, 0, 0), "not decided: no set-up fits the paper");
    }

    #[test]
    fn figures_are_those_that_decide_with_units_and_three_digits() {
        let low = "lower end of delay";
        assert_eq!(judged(23.456).figures(), [format!("{low} 23.5 ms (asked: < 20)")]);
        let holds = [format!("{low} 3 ms (asked: < 20)"), "jain 0.988 (asked: > 0.9)".to_owned()];
        assert_eq!(judged(3.0).figures(), holds);
    }

    #[test]
    fn numbers_have_three_digits() {
        let numbers = [0.0, 1.0, 0.012_345, 0.5, 12.345, 123.456, 98_765.4, -3.456];
        let texts = ["0", "1", "0.0123", "0.5", "12.3", "123", "98765", "-3.46"];
        assert_eq!(numbers.map(three_digits), texts);
    }
}
