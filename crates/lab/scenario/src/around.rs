//! What the keys of a flow depend on beside the flow.

use crate::value::Table;
use std::path::PathBuf;

/// What there is beside a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Around {
    /// Where files that it names are sought.
    pub(crate) base: PathBuf,
    /// The table `[tcp]` of defaults.
    pub(crate) tcp: Table,
}
