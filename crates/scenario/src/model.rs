//! The keys of a scenario file with everything decided: what [`super::Scenario`] is made of.
//!
//! One field is one key of the same name; the doc comment of a field is its documentation in
//! the JSON schema, and names its default.

use super::cell::Cell;
use super::flow::Flow;
use super::link::Link;
use super::node::Node;
use super::record::Record;
use fairwave_units::Duration;
use schemars::JsonSchema;
use serde::Serialize;

/// A scenario with every default resolved: what is simulated, apart from the sweep around it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Scenario {
    /// One line for people. Default: empty.
    pub title: String,
    /// Simulated time, 1 ms to 24 h. Default: "60 s".
    #[schemars(with = "String")]
    pub duration: Duration,
    /// Statistics count from here on; less than the duration. Default: "0 s".
    #[schemars(with = "String")]
    pub warm_up: Duration,
    /// Master seed of every random stream, below 2^63. Default: 1.
    pub seed: u64,
    /// What is recorded.
    pub record: Record,
    /// Radio cells: a table `[cell]`, or several `[[cell]]` with names.
    pub cell: Vec<Cell>,
    /// Nodes and groups of them.
    pub node: Vec<Node>,
    /// Wired links, and groups of them.
    pub link: Vec<Link>,
    /// Flows, and groups of flows.
    pub flow: Vec<Flow>,
}
