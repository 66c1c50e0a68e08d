//! Output of commands, for all tools: the trait [`Console`] of standard output and standard error,
//! live tables (feature `live-table`), metrics over HTTP (feature `metrics`), and figures for other
//! programs of the same user (feature `live`).
//! The feature `peer` has the options and keys that commands with two ends share, the feature
//! `shares` limits for their clients.
//!
//! A tool prints by a [`Console`] alone, which its command implements: results to standard output,
//! all else to standard error. The crate itself knows no terminal.
//!
//! ```
//! use fairwave_console::{Console, Failure};
//! use std::sync::{Arc, Mutex, atomic::AtomicBool};
//!
//! /// Keeps what a tool prints, for a test.
//! #[derive(Default)]
//! struct Kept(Mutex<String>);
//!
//! impl Console for Kept {
//!     fn is_json(&self) -> bool {
//!         true
//!     }
//!     fn is_quiet(&self) -> bool {
//!         false
//!     }
//!     fn print(&self, text: &str) -> Result<(), Failure> {
//!         self.0.lock().expect("no panic").push_str(text);
//!         Ok(())
//!     }
//!     fn print_raw(&self, bytes: &[u8]) -> Result<(), Failure> {
//!         self.print(&String::from_utf8_lossy(bytes))
//!     }
//!     fn note(&self, _: &str) {}
//!     fn warn(&self, _: &str) {}
//!     fn complain(&self, _: &str) {}
//!     fn stop(&self) -> Result<Arc<AtomicBool>, Failure> {
//!         Ok(Arc::default())
//!     }
//! }
//!
//! let console = Kept::default();
//! console.show(&serde_json::json!({ "mbps": 54 }), "54 Mbps\n").expect("it is kept");
//! assert_eq!(*console.0.lock().expect("no panic"), "{\n  \"mbps\": 54\n}\n");
//! ```

mod console;
mod listening;
#[cfg(all(feature = "live", target_os = "linux"))]
pub mod live;
#[cfg(feature = "live-table")]
pub mod live_table;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(all(feature = "peer", target_os = "linux"))]
pub mod peer;
#[cfg(feature = "shares")]
pub mod shares;

pub use console::{Console, Failure};
pub use listening::Listening;
