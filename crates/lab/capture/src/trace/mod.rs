//! Trace analysis from a file to results: `fairwave trace`.
//!
//! The analysis itself is `fairwave_trace::analysis`. This module passes captures to it, and
//! selects, sorts and formats its results. Memory does not grow with a capture: the worst
//! [`KEPT_MAX`] connections are kept, and the first [`EVENTS_MAX`] events of each.

mod air;
mod between;
mod collect;
mod events;
mod limit;
mod named;
pub mod out;
mod request;
mod select;
mod summary;
pub mod terminal;
mod untimed;
mod vantage;
mod way;
pub mod words;

pub use air::AirSummary;
pub use between::{
    COMPARISON_SCHEMA, ComparisonSummary, CountBetween, FileSummary, ShiftSummary, WayBetween,
    compare,
};
pub use collect::{Collector, KEPT_MAX};
pub use events::{EVENTS_MAX, Event, Events};
pub use limit::Limit;
pub use named::{ContentSummary, TunnelSummary};
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
use fairwave_trace::analysis::{Analyzer, Config, Points, RadioPair, Totals};
use untimed::Times;

/// Number of packets between two reports of progress.
const REPORT_EVERY: u64 = 1 << 16;

/// Totals of a capture's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Totals of the analysis.
    pub totals: Totals,
    /// Packets without a time, which count at times between those of their neighbours.
    pub untimed: u64,
    /// Use of the air by transmitter and receiver.
    pub radio: Vec<RadioPair>,
    /// 802.11 frames of further pairs.
    pub radio_left_out: u64,
}

/// Reads a capture to its end and analyses it. `report` receives the share that is done.
///
/// # Errors
/// If it is not a capture. Later damage is no error: [`Capture::facts`] reports it.
pub fn analyse(
    capture: &mut Capture,
    config: Config,
    to: &mut impl Points,
    report: &mut dyn FnMut(f64),
) -> Result<Counts, Error> {
    let mut analyzer = Analyzer::new(config);
    let mut times = Times::default();
    while let Some(packet) = capture.next_packet()? {
        let number = packet.number;
        times.push(&packet, &mut analyzer, to);
        if number % REPORT_EVERY == 0
            && let Some(share) = capture.progress()
        {
            report(share);
        }
    }
    times.release(None, &mut analyzer, to);
    let (radio, radio_left_out) = (analyzer.radio().to_vec(), analyzer.radio_left_out());
    let totals = analyzer.finish(to);
    Ok(Counts { totals, untimed: times.untimed, radio, radio_left_out })
}

/// JSON schema of the output of `fairwave trace --json`, for one capture or two.
pub fn schema() -> schemars::Schema {
    /// Output of `fairwave trace --json`, for one capture or two.
    #[derive(schemars::JsonSchema)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "a type of which only the schema is wanted")]
    enum TraceOutput {
        /// Output for one capture.
        One(Box<TraceSummary>),
        /// Output for two captures, at two places of the same traffic.
        Two(Box<ComparisonSummary>),
    }
    fairwave_lab::schema::of::<TraceOutput>()
}

#[cfg(test)]
mod tests;
