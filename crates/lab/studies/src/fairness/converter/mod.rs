//! Effect of an Ethernet converter on the packets of one sender: section 5 of the paper.
//!
//! As the paper does, captures at the terminal and at the wired host are laid side by side.
//! Beside each run through a converter stands one of a station that has the radio itself.

mod claims;
pub(super) mod experiments;
mod figures;
mod passages;
mod shown;

use fairwave_study::{Error, Findings, Results};
use shown::Shown;

/// Judges and draws, from captures and summaries.
pub(super) fn findings(results: &Results) -> Result<Findings, Error> {
    let shown = Shown::read(results)?;
    Ok(Findings {
        claims: claims::all(&shown),
        exhibits: figures::exhibits(&shown),
        tables: figures::tables(&shown),
        explanations: claims::explanations(&shown),
    })
}

#[cfg(test)]
mod tests;
