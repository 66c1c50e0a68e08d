//! A verdict and its figures in plain words, for the terminal and the page.

use crate::evidence::Condition;
use crate::map::{Tally, Word};
use crate::verdict::ClaimVerdict;
use fairwave_lab::schema;
use fairwave_units::several;
use std::fmt;

/// Ends of a 95 % confidence interval, by the end of a quantity's name.
const ENDS: [(&str, &str); 2] = [("_low", "lower end of "), ("_high", "upper end of ")];
/// Beginning of a verdict of the quick form that further seeds or seconds could change.
const QUICK_UNDECIDED: &str = "undecided in the quick form";
/// Maximum number of figures of a verdict. They are the ones that decide it.
const MAX_FIGURES: usize = 2;

/// Outcome of a claim over all set-ups that were tried, for a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It holds in each of them.
    Holds,
    /// It holds in some of them.
    HoldsInPart,
    /// It holds in none of them.
    Fails,
    /// No set-up decides it.
    Open,
}

/// A measured number that decides a claim, as it is printed: "count off 0.494 (asked: < 0.1)".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFigure {
    /// Name of the quantity in words.
    pub name: String,
    /// Three significant digits and the unit.
    pub value: String,
    /// Bound that the criterion asks for, such as `< 0.1`.
    pub bound: String,
}

impl fmt::Display for KeyFigure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} (asked: {})", self.name, self.value, self.bound)
    }
}

impl ClaimVerdict {
    /// Returns the outcome over all set-ups.
    pub fn standing(&self) -> Standing {
        match self.verdict {
            word if word == Word::Nowhere.text() => Standing::Fails,
            word if word == Word::NotJudgeable.text() => Standing::Open,
            word if word == Word::Undecided.text() => Standing::Open,
            _ if self.setups.holding < self.setups.admitted => Standing::HoldsInPart,
            _ => Standing::Holds,
        }
    }

    /// Returns the verdict as the end of a sentence about the claim, without a full stop: "holds
    /// in 4 of 6 set-ups: where attempts is at least 4".
    pub fn in_words(&self) -> String {
        let Tally { tried, admitted, holding, undecided } = self.setups;
        let is_undecided = self.verdict == Word::Undecided.text();
        let one = match self.holds {
            Some(true) => "holds in the one set-up tried",
            Some(false) => "does not hold in the one set-up tried",
            None => "not decided in the one set-up tried",
        };
        match (tried, is_undecided) {
            (1, true) => return format!("{QUICK_UNDECIDED}: {one}"),
            (1, false) => return one.to_owned(),
            _ => {}
        }
        let set_ups = several(admitted, "set-up");
        if is_undecided && admitted > 0 {
            let found = match (holding, undecided) {
                (0, 0) => format!("none of {set_ups} holds"),
                _ if undecided == admitted => format!("none of {set_ups} is decided"),
                (_, 0) => format!("{holding} of {set_ups} hold"),
                _ => format!("{holding} of {set_ups} hold, {undecided} are not decided"),
            };
            return format!("{QUICK_UNDECIDED}: {found}");
        }
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

    /// Returns the set-up in which [`Self::figures`] were measured, and the outcome there: "own
    /// set-up, holds".
    pub fn own_set_up(&self) -> &'static str {
        match self.holds {
            _ if self.setups.tried == 1 => "measured",
            Some(true) => "own set-up, holds",
            Some(false) => "own set-up, does not hold",
            None => "own set-up, not decided",
        }
    }

    /// Returns the figures that decide the claim in the study's own set-up, at most two. If some of
    /// them fail it, only these. Empty if nothing was measured.
    pub fn figures(&self) -> Vec<KeyFigure> {
        let failed = self.conditions.iter().filter(|c| c.is_met() == Some(false));
        let failed: Vec<&Condition> = failed.collect();
        let shown = if failed.is_empty() { self.conditions.iter().collect() } else { failed };
        shown.into_iter().filter_map(figure).take(MAX_FIGURES).collect()
    }

    /// Returns the reason for which the claim is undecided in the study's own set-up, with the
    /// names of quantities in words. `None` where it is decided.
    pub fn gap(&self) -> Option<String> {
        let reason = self.reason.clone().filter(|_| self.holds.is_none())?;
        let mut keys: Vec<&str> = Vec::new();
        for key in self.conditions.iter().map(Condition::name) {
            keys.push(key);
            keys.extend(ENDS.iter().filter_map(|(end, _)| key.strip_suffix(end)));
        }
        // A reason names the end of an interval or its base. The end goes first, as it begins
        // with the base.
        keys.sort_by_key(|key| std::cmp::Reverse(key.len()));
        Some(keys.iter().fold(reason, |reason, key| reason.replace(key, &named(key).0)))
    }
}

/// The figure of a condition; `None` if it was not measured.
fn figure(condition: &Condition) -> Option<KeyFigure> {
    let value = condition.value().ok()?;
    let (name, unit) = named(condition.name());
    let value = format!("{}{unit}", three_digits(value));
    Some(KeyFigure { name, value, bound: condition.bound().text() })
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
        let texts = |value| judged(value).figures().iter().map(KeyFigure::to_string).collect();
        let fails: Vec<String> = texts(23.456);
        assert_eq!(fails, [format!("{low} 23.5 ms (asked: < 20)")]);
        let holds: Vec<String> = texts(3.0);
        assert_eq!(
            holds,
            [format!("{low} 3 ms (asked: < 20)"), "jain 0.988 (asked: > 0.9)".to_owned()]
        );
    }

    #[test]
    fn an_undecided_claim_names_quantities_in_words() {
        assert_eq!(judged(3.0).gap(), None);
        let none = judged(f64::NAN);
        assert_eq!(none.gap().as_deref(), Some("lower end of delay is not a finite number"));
        assert_eq!((none.standing(), judged(3.0).standing()), (Standing::Open, Standing::Holds));
    }

    #[test]
    fn numbers_have_three_digits() {
        let numbers = [0.0, 1.0, 0.012_345, 0.5, 12.345, 123.456, 98_765.4, -3.456];
        let texts = ["0", "1", "0.0123", "0.5", "12.3", "123", "98765", "-3.46"];
        assert_eq!(numbers.map(three_digits), texts);
    }
}
