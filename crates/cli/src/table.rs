//! Tables for the terminal.

pub(crate) use fairwave_text::{Table, mbps, millis, seconds};
