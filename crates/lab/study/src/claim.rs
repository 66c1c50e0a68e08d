//! A claim and how it is judged.

use crate::evidence::{Condition, Tested};
use serde_json::{Map, Value, json};

/// Verdict on a claim.
///
/// A claim asks for all of its conditions, which gives three cases:
///
/// - It *does not hold* if one condition was measured and is not met. A missing value cannot
///   change that.
/// - It *holds* if every condition was measured and is met.
/// - Otherwise it is *undecided*: nothing that was measured contradicts it, but at least one
///   condition has no value, because a run is missing, or because one seed has no confidence
///   interval. A claim without conditions is undecided, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All conditions are met.
    Holds,
    /// Some condition is not met: the unmet ones, in words.
    DoesNotHold(String),
    /// It could not be decided: the reason, in words.
    Undecided(String),
}

impl Verdict {
    /// The verdict by these conditions.
    pub fn of(conditions: &[Condition]) -> Self {
        let failed = |condition: &&Condition| condition.is_met() == Some(false);
        let unmet: Vec<String> = conditions.iter().filter(failed).map(unmet).collect();
        if !unmet.is_empty() {
            return Self::DoesNotHold(unmet.join("; "));
        }
        let mut gaps: Vec<&str> =
            conditions.iter().filter_map(|condition| condition.value().err()).collect();
        gaps.dedup();
        match (conditions, gaps.as_slice()) {
            ([], _) => Self::Undecided("nothing is asked of what was measured".to_owned()),
            (_, []) => Self::Holds,
            (_, gaps) => Self::Undecided(gaps.join("; ")),
        }
    }

    /// The verdict after few seeds, whose intervals are wide: undecided instead of failed if every
    /// unmet condition uses the end of an interval.
    pub fn of_few_seeds(conditions: &[Condition], seeds: u64) -> Self {
        let by_chance = |c: &Condition| c.is_met() != Some(false) || c.has_ends();
        match Self::of(conditions) {
            Self::DoesNotHold(why) if conditions.iter().all(by_chance) => {
                Self::Undecided(format!("{why}; {seeds} seeds leave the interval wide"))
            }
            verdict => verdict,
        }
    }

    /// In words: `holds`, `does not hold` or `undecided`.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold(_) => "does not hold",
            Self::Undecided(_) => "undecided",
        }
    }

    /// Whether it holds; `None` if undecided.
    pub const fn holds(&self) -> Option<bool> {
        match self {
            Self::Holds => Some(true),
            Self::DoesNotHold(_) => Some(false),
            Self::Undecided(_) => None,
        }
    }

    /// Reason for which it does not hold or could not be decided; `None` if it holds.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Holds => None,
            Self::DoesNotHold(reason) | Self::Undecided(reason) => Some(reason),
        }
    }
}

/// A condition that is not met, with the number that fails it.
fn unmet(condition: &Condition) -> String {
    let value = condition.value().unwrap_or(f64::NAN);
    format!("{} is {value}, not {}", condition.name(), condition.bound().text())
}

/// A claim as it is stated, and the meaning of the names in its criterion.
#[derive(Clone, Copy, Debug)]
pub struct Criterion<'a> {
    /// Its identifier, such as `ACK-1`.
    pub id: &'static str,
    /// Statement of the claim.
    pub statement: &'static str,
    /// Meaning of the names of the measured quantities.
    pub meaning: &'a str,
}

/// A claim with its verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its identifier, such as `ACK-1`.
    pub id: &'static str,
    /// Statement of the claim.
    pub statement: &'static str,
    /// Whether the question is ours, and not a claim of the paper.
    pub is_ours: bool,
    /// Conditions under which it holds, generated from those that were applied, and the meaning of
    /// their names.
    pub criterion: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Conditions that it was judged by.
    pub conditions: Vec<Condition>,
    /// Measurements.
    pub measured: Map<String, Value>,
    /// Explanation of the outcome, in numbers.
    pub note: String,
}

impl Claim {
    /// Judges a claim of the paper by measurements.
    pub fn judge(criterion: Criterion<'_>, tested: Tested, note: String) -> Self {
        let Criterion { id, statement, meaning } = criterion;
        let Tested { measured, conditions } = tested;
        let texts: Vec<String> = conditions.iter().map(Condition::text).collect();
        Self {
            id,
            statement,
            is_ours: false,
            criterion: format!("{}. {meaning}", texts.join(" and ")),
            verdict: Verdict::of(&conditions),
            conditions,
            measured,
            note,
        }
    }

    /// Judges a claim by `tested`. Results under other circumstances, which have a name, are
    /// written beside it and do not affect the verdict. `circumstances` describes both
    /// in words.
    pub fn judge_beside(
        criterion: Criterion<'_>,
        mut tested: Tested,
        name: &str,
        other: Tested,
        circumstances: &str,
        note: String,
    ) -> Self {
        let beside = other.measured.into_iter();
        tested.measured.extend(beside.map(|(key, value)| (format!("{name}_{key}"), value)));
        let holds = Verdict::of(&other.conditions).holds();
        tested.measured.insert(format!("{name}_holds"), json!(holds));
        let meaning = format!("{}. {circumstances}", criterion.meaning);
        Self::judge(Criterion { meaning: &meaning, ..criterion }, tested, note)
    }

    /// Makes the claim a question of ours.
    #[must_use]
    pub fn ours(self) -> Self {
        Self { is_ours: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{Evidence, Reading};
    use fairwave_lab::stats::{Estimate, Proportion};

    const CRITERION: Criterion<'_> = Criterion { id: "A-1", statement: "s", meaning: "m" };

    fn judged(a: Option<f64>, b: Option<f64>) -> Claim {
        let mut evidence = Evidence::default();
        let (a, b) = (evidence.number("a", a), evidence.number("b", b));
        Claim::judge(CRITERION, evidence.tested([a.above(1.0), b.below(2.0)]), String::new())
    }

    #[test]
    fn all_conditions_must_be_measured_and_met() {
        let claim = judged(Some(1.5), Some(1.5));
        assert_eq!(
            (claim.verdict, claim.criterion.as_str()),
            (Verdict::Holds, "a > 1 and b < 2. m")
        );
    }

    #[test]
    fn what_is_missing_cannot_save_a_claim_nor_fail_it() {
        let failed = judged(Some(0.5), None);
        assert_eq!(failed.verdict, Verdict::DoesNotHold("a is 0.5, not > 1".into()));
        let open = judged(Some(1.5), None);
        assert_eq!(open.verdict, Verdict::Undecided("no run gives b".into()));
    }

    #[test]
    fn few_seeds_fail_no_claim_by_an_interval_alone() {
        let verdict = |a: f64, low: Reading| {
            let mut evidence = Evidence::default();
            let (a, low) = (evidence.number("a", a), evidence.number("b_least", low));
            Verdict::of_few_seeds(&evidence.tested([a.above(1.0), low.above(0.0)]).conditions, 3)
        };
        // Means 2, s = 1: the interval is 2 +- 2.48; that of twice the values reaches lower.
        let wide = [1.0, 2.0, 3.0];
        let estimates = [wide, wide.map(|x| 2.0 * x)].map(|values| Estimate::of(&values));
        let low = Reading::extreme(estimates.map(Reading::low), f64::min);
        let open = "b_least is -0.968275, not > 0; 3 seeds leave the interval wide";
        assert_eq!(verdict(2.0, low), Verdict::Undecided(open.into()));
        assert_eq!(verdict(2.0, 1.0.into()), Verdict::Holds);
        assert_eq!(verdict(2.0, (-1.0).into()).holds(), Some(false), "a mean fails it");
        assert_eq!(verdict(0.0, low).holds(), Some(false), "a mean fails it, too");
    }

    #[test]
    fn a_difference_of_interval_ends_is_one_whatever_its_name_is() {
        let mut evidence = Evidence::default();
        let apart = evidence.number("apart", Reading::of_ends(-0.1)).above(0.0);
        assert_eq!(Verdict::of_few_seeds(&[apart], 3).holds(), None);
        let named = evidence.number("tide_low", -0.1).above(0.0);
        assert_eq!(Verdict::of_few_seeds(&[named], 3).holds(), Some(false));
        let ends = evidence.share("unfair", Proportion::of(1, 3));
        assert_eq!(Verdict::of_few_seeds(&[ends.low.above(0.5)], 3).holds(), None);
        assert_eq!(Verdict::of_few_seeds(&[ends.mean.above(0.5)], 3).holds(), Some(false));
    }

    #[test]
    fn a_claim_without_conditions_is_undecided() {
        assert_eq!(Verdict::of(&[]).holds(), None);
    }

    #[test]
    fn other_circumstances_stand_beside_the_verdict() {
        let case = |value: f64| {
            let mut evidence = Evidence::default();
            let x = evidence.number("x", value);
            evidence.tested([x.above(1.0)])
        };
        let claim = Claim::judge_beside(CRITERION, case(2.0), "arq", case(0.0), "c", String::new());
        assert_eq!(claim.verdict, Verdict::Holds);
        assert_eq!(
            (&claim.measured["arq_x"], &claim.measured["arq_holds"]),
            (&json!(0.0), &json!(false))
        );
        assert_eq!(claim.criterion, "x > 1. m. c");
    }
}
