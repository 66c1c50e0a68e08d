//! Inputs of a flow's keys beside the flow itself.

use crate::own::OwnAlgorithms;
use crate::value::Table;
use std::path::PathBuf;

/// Surroundings of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowContext {
    /// Directory in which files named by the flow are sought.
    pub(crate) base: PathBuf,
    /// The table `[tcp]` of defaults.
    pub(crate) tcp: Table,
    /// Algorithms from outside.
    pub(crate) own: OwnAlgorithms,
}
