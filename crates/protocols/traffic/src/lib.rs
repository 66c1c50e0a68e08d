//! Data that applications send, and its times.
//!
//! A [`Source`] describes datagrams; its [`Emissions`] are an iterator over time and size, drawn
//! from one random stream and from nothing else. A [`Browser`] fetches pages over connections that
//! its host provides: it needs the arrival of each object, and so is a machine. [`Frames`] are the
//! same as emissions, but whole, as a viewer needs them; [`playout`] is that viewer.
//!
//! ```
//! use fairwave_traffic::{Emission, Source};
//! use fairwave_units::{Duration, Seed};
//!
//! let call = Source::Cbr { payload_bytes: 160, interval: Duration::from_millis(20) };
//! let second = call.emissions(Seed(1).stream("call")).nth(1);
//! assert_eq!(second, Some(Emission { at: Duration::from_millis(20), bytes: 160 }));
//! ```

mod draw;
mod frame;
mod frames;
pub mod playout;
mod registry;
mod source;
mod video;
mod web;

pub use draw::{Period, Size};
pub use frame::{Frame, FrameKind};
pub use frames::Frames;
pub use registry::{ALL, Entry};
pub use source::{Emission, Emissions, OnOff, Source, Trace};
pub use video::Video;
pub use web::{Browser, Fetch, Input, Objects, Page, Progress};
