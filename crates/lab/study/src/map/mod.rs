//! Maps of claims: the set-ups, of those that a paper leaves open, in which a claim holds, and the
//! parameter that decides.
//!
//! A paper's claim is judged in one set-up by a [`crate::Claim`]. A map judges it in every set-up
//! of a declared grid over the parameters that the paper does not state. Set-ups that contradict an
//! *anchor*, a fact that the paper states about its set-up, are left out. The rest gives the
//! [`Word`], the [`Tree`] with the parameter that decides, and, over all claims of a paper, the
//! largest sets of claims that one set-up satisfies ([`joint`]).

mod decide;
mod earlier;
mod evaluations;
mod figure;
pub mod file;
mod grid;
pub mod joint;
mod judge;
mod mapped;
pub mod markdown;
mod order;
mod outcome;
pub mod page;
mod panels;
mod request;
mod run;
mod summary;
pub mod terminal;
#[cfg(test)]
mod tests;
mod together;

use crate::definition::{Error, Study};
use crate::results::Results;
use file::{Declared, Known};
use std::collections::BTreeMap;

pub use decide::{OneWay, Split, Tree, one_way};
pub use earlier::{CONFIRMED, EXPLORED, Earlier, EarlierVerdict, is_of_map};
pub use grid::{Axis, Grid, SetUp};
pub use judge::{Judged, Tally, Word};
pub use mapped::{Mapped, Visit};
pub use outcome::Outcome;
pub use request::MapRequest;
pub use run::{Explored, explore};
pub use summary::{ClaimMap, Decides, Direction, MapSummary, PointOfMap, to_json};

/// The map of a study; `None` where none is declared.
///
/// # Errors
/// A fault in its file.
pub fn of(study: &dyn Study) -> Result<Option<Declared>, Error> {
    let Some(source) = study.map() else { return Ok(None) };
    // The names do not depend on the runs.
    let nothing = Results::default();
    let experiments: Vec<&str> = study.experiments().iter().map(|e| e.name).collect();
    let names = study.claims(&nothing)?.into_iter().map(|claim| {
        let conditions = claim.conditions.iter();
        (claim.id, conditions.map(|condition| condition.name().to_owned()).collect())
    });
    let claims: BTreeMap<&'static str, Vec<String>> = names.collect();
    let quantities: Vec<&str> = study.quantities(&nothing).iter().map(|(name, _)| *name).collect();
    let known = Known { experiments: &experiments, claims: &claims, quantities: &quantities };
    Ok(Some(Declared::parse(source, known)?))
}
