//! The loop of the Strength of Connection on Linux: stations that report it in frames of their
//! own, and an access point that shares its interface by it.
//!
//! [`station::run`] and [`access_point::run`] drive the machines of `fairwave_soc` by the monotonic
//! clock, over a packet socket, and over one of UDP for stations behind a router. What a radio
//! tells comes in by the traits of [`source`]: [`StationRadio`] and [`AccessPointRadio`] ask
//! Linux's. `fairwave_netns::Shaper` is where weights go.
#![cfg(target_os = "linux")]

pub mod access_point;
mod error;
pub mod key;
pub mod pairing;
mod path;
mod radio;
pub mod source;
pub mod station;
pub mod status;
mod wait;

pub use error::Error;
pub use path::Listener;
pub use radio::{AccessPointRadio, StationRadio};
