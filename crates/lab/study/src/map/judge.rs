//! Verdict on a claim over a grid.

use super::decide::Tree;
use super::grid::{Grid, SetUp};
use super::outcome::Outcome;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// From this share of the admitted set-ups on a claim is robust.
const ROBUST: f64 = 0.8;
/// The condition of a claim that holds in the only set-up that was asked for.
const ONLY_ONE: &str = "Holds in this set-up; no other was tried.";

/// The condition of a claim of whose set-ups only one could be decided.
const ONLY_DECIDED: &str = "Holds in the only set-up that could be decided.";

/// Verdict of a map on a claim, as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// It holds in at least 80 % of the admitted set-ups.
    Robust,
    /// It holds in some of them: the condition says in which.
    Conditional,
    /// It holds in none that was tried.
    Nowhere,
    /// It could not be decided in any admitted set-up.
    NotJudgeable,
    /// The quick form cannot decide it: undecided set-ups could give another word.
    Undecided,
}

impl Word {
    /// As it is printed: `robust`, `conditional`, `nowhere`, `not judgeable` or `undecided`.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Robust => "robust",
            Self::Conditional => "conditional",
            Self::Nowhere => "nowhere",
            Self::NotJudgeable => "not judgeable",
            Self::Undecided => "undecided",
        }
    }

    /// Every word, the strongest first.
    pub const ALL: [Self; 5] =
        [Self::Robust, Self::Conditional, Self::Nowhere, Self::NotJudgeable, Self::Undecided];

    /// Its meaning, as a sentence.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Robust => {
                "The claim holds in at least 80 % of the set-ups that the paper leaves open and \
                 that were admitted."
            }
            Self::Conditional => {
                "The claim holds in some of these set-ups: the condition says in which."
            }
            Self::Nowhere => "The claim holds in none of these set-ups that was tried.",
            Self::NotJudgeable => "The claim could not be decided in any admitted set-up.",
            Self::Undecided => {
                "The quick form cannot decide the claim: set-ups that it leaves out could change \
                 the verdict. `--full` runs them."
            }
        }
    }

    /// The word of this share, by weight, of `decided` set-ups, in `holding` of which it holds.
    fn of(share: f64, holding: usize, decided: usize) -> Self {
        match () {
            // A single set-up is too little to call a claim robust.
            () if share >= ROBUST && decided > 1 => Self::Robust,
            () if holding > 0 => Self::Conditional,
            () => Self::Nowhere,
        }
    }
}

/// Number of set-ups of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tally {
    /// Set-ups of the grid.
    pub tried: usize,
    /// Set-ups that contradict no anchor.
    pub admitted: usize,
    /// Admitted ones in which the claim holds.
    pub holding: usize,
    /// Admitted ones in which it could not be decided; the share does not count them.
    pub undecided: usize,
}

impl Tally {
    /// Admitted set-ups in which the claim holds or does not.
    pub const fn decided(&self) -> usize {
        self.admitted - self.undecided
    }

    /// Number of set-ups of each kind, in words. `share` is by weight.
    pub fn text(&self, share: Option<f64>) -> String {
        let (Self { tried, admitted, holding, undecided }, decided) = (*self, self.decided());
        let share = share.map_or(String::new(), |share| format!(" ({:.0} %)", 100.0 * share));
        let mut text = format!("holds in {holding} of {decided}{share}");
        for (count, what) in [(undecided, "undecided"), (tried - admitted, "left out")] {
            if count > 0 {
                text.push_str(&format!(", {count} {what}"));
            }
        }
        text
    }
}

/// A claim over a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Outcome in each set-up, in the order of [`Grid::set_ups`].
    pub outcomes: Vec<(SetUp, Outcome)>,
    /// Number of set-ups of each kind.
    pub tally: Tally,
    /// By weight, the share of admitted and decided set-ups in which the claim holds; `None` if
    /// there are none.
    pub share: Option<f64>,
    /// The word for that.
    pub word: Word,
    /// Parameters that decide.
    pub tree: Tree,
}

impl Judged {
    /// Judges a claim by its outcomes.
    pub fn of(grid: &Grid, outcomes: Vec<(SetUp, Outcome)>) -> Self {
        let count = |kind: fn(&Outcome) -> bool| outcomes.iter().filter(|(_, o)| kind(o)).count();
        let tally = Tally {
            tried: outcomes.len(),
            admitted: count(|outcome| !matches!(outcome, Outcome::LeftOut(_))),
            holding: count(|outcome| *outcome == Outcome::Holds),
            undecided: count(|outcome| *outcome == Outcome::Undecided),
        };
        let weight = |wanted: &[Outcome]| -> f64 {
            let of = outcomes.iter().filter(|(_, outcome)| wanted.contains(outcome));
            // A sum of nothing is -0.0, which would be shown so.
            of.map(|(set_up, _)| grid.weight(set_up)).fold(0.0, |sum, weight| sum + weight)
        };
        let decided = weight(&[Outcome::Holds, Outcome::Fails]);
        let share = (decided > 0.0).then(|| weight(&[Outcome::Holds]) / decided);
        let open = weight(&[Outcome::Undecided]);
        // The quick form has no further seeds for an undecided set-up, as the full form has. Its
        // word is one that these set-ups cannot change, whether they hold or not.
        let bound = |holds: bool| {
            let more = if holds { (open, tally.undecided) } else { (0.0, 0) };
            let share = (weight(&[Outcome::Holds]) + more.0) / (decided + open);
            Word::of(share, tally.holding + more.1, tally.admitted)
        };
        let word = match share {
            _ if grid.is_star && tally.admitted == 0 => Word::Undecided,
            _ if grid.is_star && bound(true) != bound(false) => Word::Undecided,
            None => Word::NotJudgeable,
            Some(share) => Word::of(share, tally.holding, tally.decided()),
        };
        let tree = Tree::grow(grid, &outcomes);
        Self { outcomes, tally, share, word, tree }
    }

    /// The set-ups in which a conditional claim holds, or the reason for which one cannot be
    /// judged, as a sentence; empty for other words, and if no parameter separates the set-ups.
    pub fn condition(&self, grid: &Grid) -> String {
        match self.word {
            Word::Conditional if self.tally.tried == 1 => ONLY_ONE.to_owned(),
            Word::Conditional if self.tally.decided() == 1 => ONLY_DECIDED.to_owned(),
            Word::Conditional => self.tree.sentence(grid),
            Word::NotJudgeable => self.why_not(),
            Word::Undecided if self.tally.decided() == 0 => self.why_not(),
            Word::Undecided => format!(
                "The quick form leaves {} of {} set-ups undecided, which could change the word.",
                self.tally.undecided, self.tally.admitted
            ),
            Word::Robust | Word::Nowhere => String::new(),
        }
    }

    /// Reason for which there is no verdict.
    fn why_not(&self) -> String {
        let Tally { tried, admitted, .. } = self.tally;
        let left_out = self.outcomes.iter().filter_map(|(_, outcome)| match outcome {
            Outcome::LeftOut(anchor) => Some(anchor.as_str()),
            _ => None,
        });
        let anchors: Vec<&str> = left_out.collect::<BTreeSet<_>>().into_iter().collect();
        match admitted {
            0 => format!("Left out: all {tried} set-ups contradict {}.", anchors.join(" or ")),
            1 => "Undecided in the only admitted set-up.".to_owned(),
            _ => format!("Undecided in each of {admitted} admitted set-ups."),
        }
    }
}
