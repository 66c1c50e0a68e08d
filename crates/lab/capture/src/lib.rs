//! Captures from files: reading, analysis, and reports.
//!
//! ```no_run
//! use fairwave_capture::trace::{Request, Selection};
//!
//! let (file, selection) = ("capture.pcapng".as_ref(), Selection::default());
//! let explorer = fairwave_lab::plot::Explorer::default();
//! let request = Request { file, selection: &selection, interval: None, out: None, explorer };
//! let found = request.analyse(&mut |_| ())?;
//! println!("{}", found.answer.join(" "));
//! # Ok::<(), fairwave_capture::trace::RequestError>(())
//! ```

pub mod file;
pub mod text;
pub mod trace;
