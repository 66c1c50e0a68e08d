//! Configuration of an access point.

use crate::table::TableConfig;
use fairwave_units::{Dbm, Duration};
use fairwave_wire::seal::Key;
use fairwave_wire::soc::Session;

/// The noise level for a radio that does not report it: thermal noise of 20 MHz (-101 dBm) and a
/// noise figure of 6 dB.
pub const NOISE: Dbm = Dbm(-95.0);

/// Configuration of an access point.
#[derive(Clone, Debug)]
pub struct ApConfig {
    /// Treatment of reports, and of missing ones.
    pub table: TableConfig,
    /// The network's key. Each station's own follows from it
    /// ([`station_secret`](super::station_secret)).
    pub key: Key,
    /// Session that reports are sealed for, together with their station's key: random, and another
    /// one at each start, so that no report of an earlier start or another access point is
    /// accepted.
    pub session: Session,
    /// By how much a weight must change before it is set, as a share of a full weight. A change to
    /// or from 0 always counts.
    pub step: f64,
    /// Minimum time between two changes of one station's weights.
    pub pace: Duration,
    /// Time for which the access point's own view of a station counts after its last update.
    pub view_lasts: Duration,
    /// The noise level for a radio that does not report it.
    pub noise: Dbm,
    /// Minimum mean time between attempts of unknown stations, all of them together. Each attempt
    /// costs the derivation of a key.
    pub strangers_pace: Duration,
    /// Time between two answers to one station; in a crowd of more than 100 longer, up to 2 s.
    pub answer_every: Duration,
    /// Secret for tokens of stations behind routers: random, and another one at each start. Without
    /// it, datagrams are refused.
    pub tokens: Option<Key>,
}

impl ApConfig {
    /// Fairwave's choices, and the paper's where it has values.
    pub fn new(table: TableConfig, key: Key, session: Session) -> Self {
        Self {
            table,
            key,
            session,
            step: 0.01,
            pace: Duration::from_millis(100),
            view_lasts: Duration::from_secs(5),
            noise: NOISE,
            strangers_pace: Duration::from_millis(1),
            answer_every: Duration::from_secs(1),
            tokens: None,
        }
    }
}
