//! Reports on connections and relays: JSON, words, comma-separated values, a page.

mod output;
mod page;
mod relayed;
mod words;

pub use output::{
    ConnectionOutput, CookiesOutput, DccpOutput, HandoverOutput, KnownOutput, LeftOutOutput,
    SampleOutput,
};
pub(crate) use output::{LiveConnection, LiveOutput, Watched, mbps};
pub(crate) use page::page;
pub use relayed::{CountOutput, LostOutput, RateLine, RelayOutput};
pub(crate) use relayed::{rate_words, relay_words};
pub(crate) use words::{COLUMNS, line, row, summary};
