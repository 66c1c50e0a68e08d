//! Verdict of a study on each claim: one word, over the claim's map or, if no grid is
//! declared, over the study's own set-up.

#[cfg(test)]
mod tests;

use crate::claim::Claim;
use crate::evidence::Condition;
use crate::map::file::Declared;
use crate::map::joint::Alone;
use crate::map::{ClaimMap, Decides, Direction, MapSummary, Tally, Word};
use crate::published::Published;
use crate::results::Effort;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The condition of a claim that holds, without a grid.
const ONLY_HERE: &str = "Holds in the study's own set-up; no other was tried.";
/// Reason for which such a claim has one set-up.
const NO_GRID: &str = "No grid is declared for this claim.";
/// Reason for which a claim has one set-up whose map takes too long for the quick form.
const LEFT_OUT: &str = "The quick form leaves its map out; --full runs it.";

/// The maps of a study: those of the exploring run, and those of the confirming one.
#[derive(Clone, Debug)]
pub struct Maps {
    /// Contents of the map's file.
    pub declared: Declared,
    /// Results of the exploring run.
    pub explored: MapSummary,
    /// Results of the confirming run; the quick form has none.
    pub confirmed: Option<MapSummary>,
    /// Totals over the runs of both.
    pub effort: Effort,
}

impl Maps {
    /// The maps that the verdicts are of: those of the confirming run, if there is one.
    pub fn judged(&self) -> &MapSummary {
        self.confirmed.as_ref().unwrap_or(&self.explored)
    }

    /// The maps of each run, in the order in which they were made.
    pub fn runs(&self) -> impl Iterator<Item = &MapSummary> {
        std::iter::once(&self.explored).chain(&self.confirmed)
    }

    /// The map of a claim.
    pub fn of(&self, claim: &str) -> Option<&ClaimMap> {
        self.judged().claims.iter().find(|map| map.id == claim)
    }
}

/// A claim with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClaimVerdict {
    /// Its identifier, such as `ACK-1`.
    pub id: &'static str,
    /// Whether the question is ours, and not a claim of the paper.
    pub ours: bool,
    /// `robust`, `conditional`, `nowhere` or `not judgeable`; `undecided` where the quick form
    /// has too few seeds or seconds, or another word than the published one.
    pub verdict: &'static str,
    /// Verdict that the last full run wrote into `results/studies`; null in a full run.
    pub published: Option<Published>,
    /// The set-ups in which it holds, or the reason for which it cannot be judged, as a sentence;
    /// may be empty.
    pub condition: String,
    /// By weight, the share of admitted and decided set-ups in which it holds; null without such.
    #[schemars(extend("unit" = "1"))]
    pub share: Option<f64>,
    /// Number of set-ups of each kind.
    pub setups: Tally,
    /// Reason for which only the study's own set-up was tried; null where a grid was.
    pub only_setup: Option<String>,
    /// The parameter that separates the set-ups best; null where none does.
    pub decides: Option<Decides>,
    /// The same for the conditions on direction alone; null where none is about magnitude.
    pub direction: Option<Direction>,
    /// Whether it holds in the study's own set-up; null where that is undecided.
    pub holds: Option<bool>,
    /// Reason for which it does not hold there or could not be decided; null where it holds.
    pub reason: Option<String>,
    /// Statement of the claim.
    pub statement: &'static str,
    /// Measurements in the study's own set-up, by the names of the criterion. A name ends in its
    /// unit where it has one.
    pub measured: Map<String, Value>,
    /// Conditions under which it holds, and the meaning of their names.
    pub criterion: String,
    /// Explanation of the outcome in the study's own set-up, in numbers.
    pub note: String,
    /// The day on which axes, weights, anchors and criterion were settled; null where no grid is
    /// declared.
    pub declared: Option<String>,
    /// The day of the run with seeds that no exploring run had; null where there was none.
    pub confirmed: Option<String>,
    /// Verdict of the exploring run; null where the verdict is that run's own.
    pub explored: Option<Explored>,
    /// Conditions of the claim with their values in the study's own set-up.
    #[serde(skip)]
    pub conditions: Vec<Condition>,
}

/// Verdict of an exploring run on a claim.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Explored {
    /// The day of that run.
    pub ran: String,
    /// Its word.
    pub verdict: &'static str,
    /// The parameter that decided then.
    pub decides: Option<Decides>,
    /// Number of set-ups with another outcome then.
    pub differs: usize,
}

impl ClaimVerdict {
    /// The verdict on a claim that was judged in the study's own set-up, and mapped.
    pub fn of(claim: &Claim, maps: Option<&Maps>) -> Self {
        let map = maps.and_then(|maps| Some((maps, maps.of(claim.id)?)));
        match map {
            Some((maps, map)) => Self::mapped(claim, maps, map),
            None => Self::single(claim, maps.map(|maps| &maps.declared)),
        }
    }

    /// The outcome in its own set-up, without a word.
    fn here(claim: &Claim) -> Self {
        let holds = claim.verdict.holds();
        let setups = Tally {
            tried: 1,
            admitted: 1,
            holding: usize::from(holds == Some(true)),
            undecided: usize::from(holds.is_none()),
        };
        Self {
            id: claim.id,
            ours: claim.is_ours,
            verdict: Word::NotJudgeable.text(),
            published: None,
            condition: String::new(),
            share: holds.map(|holds| f64::from(u8::from(holds))),
            setups,
            only_setup: None,
            decides: None,
            direction: None,
            holds,
            reason: claim.verdict.reason().map(str::to_owned),
            statement: claim.statement,
            measured: claim.measured.clone(),
            criterion: claim.criterion.clone(),
            note: claim.note.clone(),
            declared: None,
            confirmed: None,
            explored: None,
            conditions: claim.conditions.clone(),
        }
    }

    /// One set-up that holds is too little for `robust`, unless the study says why there is no
    /// other.
    fn single(claim: &Claim, declared: Option<&Declared>) -> Self {
        let why = declared.and_then(|declared| declared.single(claim.id));
        let has_grid =
            declared.is_some_and(|declared| declared.claim.iter().any(|c| c.id == claim.id));
        let day = why.and(declared).map(|declared| declared.settled(claim.id).to_owned());
        let (word, condition) = match (claim.verdict.holds(), why) {
            _ if has_grid => (Word::Undecided, LEFT_OUT),
            (None, _) => (Word::NotJudgeable, ""),
            (Some(false), _) => (Word::Nowhere, ""),
            (Some(true), Some(_)) => (Word::Robust, ""),
            (Some(true), None) => (Word::Conditional, ONLY_HERE),
        };
        Self {
            verdict: word.text(),
            condition: condition.to_owned(),
            only_setup: Some(why.unwrap_or(if has_grid { LEFT_OUT } else { NO_GRID }).to_owned()),
            declared: day,
            ..Self::here(claim)
        }
    }

    fn mapped(claim: &Claim, maps: &Maps, map: &ClaimMap) -> Self {
        let confirmed = maps.confirmed.as_ref();
        let of_first = || maps.explored.claims.iter().find(|first| first.id == map.id);
        let explored = confirmed.and_then(|_| of_first()).map(|first| Explored {
            ran: maps.explored.ran.clone(),
            verdict: first.verdict,
            decides: first.decides.clone(),
            differs: map.differs(first),
        });
        let too_short = Self::too_short(claim, maps, map);
        Self {
            verdict: too_short.as_ref().map_or(map.verdict, |_| Word::Undecided.text()),
            condition: too_short.unwrap_or_else(|| map.condition.clone()),
            share: map.share,
            setups: map.setups,
            decides: map.decides.clone(),
            direction: map.direction.clone(),
            declared: Some(map.declared.clone()),
            confirmed: confirmed.map(|confirmed| confirmed.ran.clone()),
            explored,
            ..Self::here(claim)
        }
    }

    /// Puts the published verdict beside that of the quick form. A word that differs from it
    /// decides nothing: the full form has more runs, and longer ones.
    #[must_use]
    pub fn beside_published(self, published: Option<Published>) -> Self {
        let differs =
            |one: &Published| self.verdict != Word::Undecided.text() && one.verdict != self.verdict;
        let Some(full) = published.as_ref().filter(|one| differs(one)) else {
            return Self { published, ..self };
        };
        let condition = format!(
            "The quick form's runs give '{}', the full ones of {} gave '{}': the quick ones are \
             too few or too short, or the program has changed since. --full decides.",
            self.verdict, full.ran, full.verdict
        );
        Self { verdict: Word::Undecided.text(), condition, published, ..self }
    }

    /// Reason for which the quick form's map cannot decide a claim: its runs are shorter than
    /// those of the full form, and give another outcome in the study's own set-up than the runs of
    /// that set-up, which have their own length.
    fn too_short(claim: &Claim, maps: &Maps, map: &ClaimMap) -> Option<String> {
        let base = map.points.iter().find(|point| point.base)?;
        let holds = match base.outcome {
            "holds" => true,
            "does not hold" => false,
            _ => return None,
        };
        let differs = claim.verdict.holds().is_some_and(|own| own != holds);
        let is_shorter = maps.judged().quick && maps.declared.is_shorter(claim.id);
        (differs && is_shorter).then(|| {
            let (map, own) = (base.outcome, claim.verdict.word());
            format!(
                "The quick form's map has shorter runs, by which the claim {map} in the study's \
                 own set-up; by the runs of that set-up it {own}."
            )
        })
    }

    /// Whether it fails: a claim of the paper that holds nowhere, or one of ours that does not hold
    /// everywhere.
    pub fn fails(&self) -> bool {
        let Tally { admitted, holding, undecided, .. } = self.setups;
        match self.ours {
            _ if self.verdict == Word::Undecided.text() => false,
            true => holding + undecided < admitted,
            false => self.verdict == Word::Nowhere.text(),
        }
    }

    /// In how many set-ups it holds, in words.
    pub fn counted(&self) -> String {
        match (self.setups.tried, self.holds) {
            (1, Some(true)) => "holds in the only one tried".to_owned(),
            (1, Some(false)) => "does not hold in the only one tried".to_owned(),
            (1, None) => "the only one tried is undecided".to_owned(),
            _ => self.setups.text(self.share),
        }
    }

    /// Returns the verdict of the exploring run, as a sentence; empty where there is none.
    pub fn beside(&self) -> String {
        let Some(Explored { ran, verdict, decides, differs }) = &self.explored else {
            return String::new();
        };
        let key = |decides: &Option<Decides>| {
            decides.as_ref().map(|decides| (decides.key.clone(), decides.threshold.clone()))
        };
        let by = match decides {
            Some(then) if key(decides) != key(&self.decides) => {
                format!(", where it was decided by {} ({})", then.name, then.threshold)
            }
            _ => String::new(),
        };
        let tried = self.setups.tried;
        format!("{verdict} in the exploring run of {ran}{by}; {differs} of {tried} set-ups differ")
    }
}

/// The claims that hold and are not among the `mapped` ones, for the joint sets of these.
pub fn alone(claims: &[Claim], declared: Option<&Declared>, mapped: &[String]) -> Vec<Alone> {
    let is_mapped = |claim: &Claim| mapped.iter().any(|id| id == claim.id);
    let holds = |claim: &&Claim| claim.verdict.holds() == Some(true) && !claim.is_ours;
    let alone = claims.iter().filter(holds).filter(|claim| !is_mapped(claim));
    let of = |claim: &Claim| Alone {
        id: claim.id.to_owned(),
        everywhere: declared.is_some_and(|declared| declared.single(claim.id).is_some()),
    };
    alone.map(of).collect()
}

/// Number of claims that have each word, and the number of questions of ours that hold in all
/// set-ups, of all of them: `1 robust, 2 conditional; ours: 1/2`. Words without claims are left
/// out.
pub fn words(claims: &[ClaimVerdict]) -> String {
    let count = |word: Word| {
        let with = |claim: &&ClaimVerdict| !claim.ours && claim.verdict == word.text();
        (claims.iter().filter(with).count(), word)
    };
    let counts = Word::ALL.map(count).into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> =
        counts.map(|(count, word)| format!("{count} {}", word.text())).collect();
    let ours: Vec<&ClaimVerdict> = claims.iter().filter(|claim| claim.ours).collect();
    // A question whose set-ups are all left out is not judgeable.
    let holds = |Tally { admitted, holding, .. }: Tally| admitted > 0 && holding == admitted;
    let hold = ours.iter().filter(|claim| holds(claim.setups)).count();
    let of_ours = (!ours.is_empty()).then(|| format!("ours: {hold}/{}", ours.len()));
    [counts.join(", "), of_ours.unwrap_or_default()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}
