//! `fairwave web`: the laboratory's page from a server on this machine.
//!
//! The page is that of the site; its runs are made here, with native speed, and their directories
//! are kept. The crate is no server for other machines: it listens on the loopback interface alone.
//! Its address has a random token: another user of this machine, and a page of another site in the
//! same browser, does not know it. `guard` decides which requests are answered, `answers` answers
//! them, `runs` bounds what runs cost, `live` collects the figures of tools that run on this
//! machine.
//!
//! # The driver's contract
//!
//! [`command::run`] serves until the flag of `fairwave_console::Console::stop` is set. Once it
//! listens, it prints the address and calls its caller's function with it, which may open a
//! browser. It serves while that function runs, and ends if it fails. It makes its own tokio
//! runtime, so that it must not be called within one. At the end it waits neither for that function
//! nor for runs in progress, whose directories stay incomplete.
//!
//! ```
//! use fairwave_console::{Console, Failure};
//! use fairwave_web::command::{Web, run};
//! use std::sync::atomic::{AtomicBool, Ordering};
//! use std::sync::{Arc, Mutex};
//!
//! /// Keeps what the server prints, and ends it by a flag.
//! #[derive(Default)]
//! struct Kept {
//!     text: Mutex<String>,
//!     stop: Arc<AtomicBool>,
//! }
//!
//! impl Console for Kept {
//!     fn print(&self, text: &str) -> Result<(), Failure> {
//!         self.text.lock().expect("no panic").push_str(text);
//!         Ok(())
//!     }
//!     fn stop(&self) -> Result<Arc<AtomicBool>, Failure> {
//!         Ok(Arc::clone(&self.stop))
//!     }
//! #     fn is_json(&self) -> bool {
//! #         false
//! #     }
//! #     fn is_quiet(&self) -> bool {
//! #         true
//! #     }
//! #     fn print_raw(&self, bytes: &[u8]) -> Result<(), Failure> {
//! #         self.print(&String::from_utf8_lossy(bytes))
//! #     }
//! #     fn note(&self, _: &str) {}
//! #     fn warn(&self, _: &str) {}
//! #     fn complain(&self, _: &str) {}
//! }
//!
//! # let place = tempfile::tempdir()?;
//! # let dir = place.path().join("runs");
//! let console = Kept::default();
//! let web = Web { port: 0, dir, no_open: false, page: None, module: None };
//! let stop = Arc::clone(&console.stop);
//! let browser = move |address: &str| {
//!     assert!(address.starts_with("http://127.0.0.1:"));
//!     stop.store(true, Ordering::Relaxed);
//!     Ok(())
//! };
//! assert!(run(&console, &web, browser).is_ok());
//! assert!(console.text.lock().expect("no panic").starts_with("http://127.0.0.1:"));
//! # Ok::<(), std::io::Error>(())
//! ```
#![cfg(target_os = "linux")]

mod answers;
pub mod command;
mod guard;
mod live;
mod processes;
mod runs;
mod serve;
