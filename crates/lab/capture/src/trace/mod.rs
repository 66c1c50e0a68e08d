//! Trace analysis from a file to results: `fairwave trace`.
//!
//! The analysis is `fairwave_trace::analysis`; here captures are fed to it, and what it finds is
//! chosen, put into order and given a form that lasts. Memory does not grow with a capture: of
//! connections the worst [`KEPT_MAX`] are kept, of what happened on one the first
//! [`EVENTS_MAX`] events.

mod between;
mod collect;
mod events;
mod limit;
pub mod out;
mod request;
mod select;
mod summary;
pub mod terminal;
mod vantage;
mod way;
pub mod words;

pub use between::{
    COMPARISON_SCHEMA, ComparisonSummary, CountBetween, FileSummary, ShiftSummary, WayBetween,
    compare,
};
pub use collect::{Collector, KEPT_MAX};
pub use events::{EVENTS_MAX, Event, Events};
pub use limit::Limit;
pub use request::{Request, RequestError};
pub use select::{Selection, StreamName};
pub use summary::{
    BrokenSummary, CaptureSummary, Connection, Ends, FrameCounts, PacketCounts, SCHEMA,
    SCHEMA_VERSION, TraceSummary, UdpStream,
};
pub use vantage::Vantage;
pub use way::{NumbersSummary, SpellsSummary, TcpWaySummary, UdpWaySummary};

use crate::file::{Capture, Error};
use events::letter;
use fairwave_trace::analysis::{Analyzer, Captured, Config, Points, Totals};

/// Number of packets between two reports of progress.
const REPORT_EVERY: u64 = 1 << 16;

/// What became of a capture's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// What the analysis made of them.
    pub totals: Totals,
    /// Packets that were left out, their time being unknown.
    pub untimed: u64,
}

/// Reads a capture to its end and analyses it. `report` hears what share of it is done.
///
/// # Errors
/// When it is no capture. Damage further on is no error: [`Capture::facts`] tells of it.
pub fn analyse(
    capture: &mut Capture,
    config: Config,
    to: &mut impl Points,
    report: &mut dyn FnMut(f64),
) -> Result<Counts, Error> {
    let mut analyzer = Analyzer::new(config);
    let mut untimed = 0;
    while let Some(packet) = capture.next_packet()? {
        let number = packet.number;
        match packet.at {
            Some(at) => {
                let (link, bytes) = (packet.link_type, packet.data);
                let original_len = packet.original_len;
                analyzer.push(Captured { at, link, bytes, original_len }, to);
            }
            None => untimed += 1,
        }
        if number % REPORT_EVERY == 0
            && let Some(share) = capture.progress()
        {
            report(share);
        }
    }
    Ok(Counts { totals: analyzer.finish(to), untimed })
}

/// The JSON schema of what `fairwave trace --json` prints: of one capture, or of two.
pub fn schema() -> schemars::Schema {
    /// What `fairwave trace --json` prints: of one capture, or of two.
    #[derive(schemars::JsonSchema)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "a type of which only the schema is wanted")]
    enum TraceOutput {
        One(TraceSummary),
        Two(ComparisonSummary),
    }
    fairwave_lab::schema::of::<TraceOutput>()
}

#[cfg(test)]
mod tests;
