//! Reports on access points and their stations: words, metrics, a live table.

#[cfg(feature = "reports")]
mod prometheus;
#[cfg(feature = "reports")]
mod watch;
mod words;

#[cfg(feature = "reports")]
pub(crate) use prometheus::serve;
#[cfg(feature = "reports")]
pub(crate) use watch::watch;
pub(crate) use words::words;
