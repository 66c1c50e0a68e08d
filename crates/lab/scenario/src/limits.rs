//! Limits of a scenario's size.

use fairwave_units::Duration;

pub(crate) const NANOSECOND: Duration = Duration::from_nanos(1);
pub(crate) const MICROSECOND: Duration = Duration::from_micros(1);
pub(crate) const MILLISECOND: Duration = Duration::from_millis(1);
pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);
pub(crate) const DAY: Duration = Duration::from_secs(86_400);
pub(crate) const GIB: u32 = 1 << 30;

/// Stations or hosts of a group.
pub(crate) const MAX_STATIONS: u32 = 1000;
/// Nodes of a scenario: a full group, and its peers.
pub(crate) const MAX_NODES: usize = 1100;
/// Flows of a scenario, each pattern's counted.
pub(crate) const MAX_FLOWS: usize = 5000;
/// Links of a scenario, each pattern's counted.
pub(crate) const MAX_LINKS: usize = 5000;
/// Cells, links, and tables of any other kind.
pub(crate) const MAX_TABLES: usize = 1000;
/// Bytes of memory that the queues of a run may come to take.
pub(crate) const MAX_QUEUE_BYTES: u64 = 32 << 30;
/// Samples in the time series of one flow.
pub(crate) const MAX_SAMPLES: u64 = 1_000_000;
/// Maximum number of jobs of a plan.
pub const MAX_JOBS: usize = 100_000;
/// Maximum number of parts of a dotted key. No key has as many; tables within tables without end
/// would exhaust the stack.
pub(crate) const MAX_PARTS: usize = 16;
