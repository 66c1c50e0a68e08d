//! Studies: a paper's experiments as plans, its claims as criteria over measurements.
//!
//! In one set-up a verdict follows from measured values by a written criterion ([`Claim::judge`]).
//! It has three values ([`Verdict`]): a missing measurement is no finding. Over the set-ups that a
//! paper leaves open it is one word ([`ClaimVerdict`]).
//!
//! A criterion is judged from evidence:
//!
//! ```
//! use fairwave_study::{Claim, Criterion, Evidence};
//!
//! let mut evidence = Evidence::default();
//! let jain = evidence.number("jain", 0.98);
//! let tested = evidence.tested([jain.above(0.95)]);
//! let fair = Criterion { id: "F-1", statement: "Shares are even.", meaning: "Jain above 0.95" };
//! let claim = Claim::judge(fair, tested, String::new());
//! assert_eq!(claim.verdict.word(), "holds");
//! ```

pub mod beside;
mod cache;
mod claim;
mod compared;
mod definition;
mod evidence;
mod experiment;
mod findings;
mod incomplete;
mod json;
pub mod made;
pub mod map;
pub mod markdown;
mod md;
pub mod measure;
mod originals;
mod page;
mod plain;
mod published;
pub mod report;
mod reproduction;
mod results;
mod simulate;
pub mod terminal;
mod values;
mod verdict;

pub use cache::RunCache;
pub use claim::{Claim, Criterion, Verdict};
pub use compared::OriginalSummary;
pub use definition::{Error, Study, evaluate};
pub use evidence::{Bound, Condition, Evidence, Gap, Interval, Quantity, Reading, Tested};
pub use experiment::Experiment;
pub use findings::{Cost, Exhibit, Findings, ResultTable};
pub use incomplete::Incomplete;
pub use json::{ClaimSummary, StudySummary, to_json};
pub use originals::{Counterpart, Original};
pub use plain::{KeyFigure, Standing};
pub use published::Published;
pub use reproduction::Reproduction;
pub use results::{Effort, Results};
pub use simulate::{Planned, read_back, simulate, simulate_plans};
pub use verdict::{ClaimVerdict, Explored, Maps, alone, words};
