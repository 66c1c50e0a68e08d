//! The Strength of Connection control loop on Linux: stations report it in frames, and an access
//! point shares its interface by it.
//!
//! [`station::run`] and [`access_point::run`] drive the state machines of `fairwave_soc` by the
//! monotonic clock, over a packet socket, and over a UDP socket for stations behind a router.
//! Observations of radios arrive by the traits of [`source`]; [`StationRadio`] and
//! [`AccessPointRadio`] implement them for Linux's radios. Weights go to `fairwave_linux::Shaper`,
//! to a driver that schedules [`airtime`], or to a user-space scheduler (`plane`, with the feature
//! `user-space`).
//!
//! Filters, policies and the message format are not here but in `fairwave_soc` and
//! `fairwave_wire`. [`key`] has the keys of reports: a station's own key is derived from the
//! network's and its address, so that the access point knows it too.
//!
//! ```
//! use fairwave_soc_tool::key::{Secret, line_of_station};
//! use fairwave_wire::ethernet::Mac;
//!
//! let network = Secret::parse("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "net.key")?;
//! let station: Mac = "02:00:00:00:00:01".parse().expect("an address");
//! let line = line_of_station(&network.network("net.key")?, station);
//! let own = Secret::parse(&line, "station.key")?;
//! assert!(matches!(own, Secret::Station(_)));
//! assert!(own.network("station.key").is_err(), "a station cannot make keys of others");
//! # Ok::<(), fairwave_soc_tool::Error>(())
//! ```
#![cfg(target_os = "linux")]

pub mod access_point;
mod actuator;
pub mod airtime;
mod airtime_effect;
pub mod command;
mod effect;
mod error;
pub mod key;
pub mod pairing;
mod path;
mod piggyback;
#[cfg(feature = "user-space")]
pub mod plane;
mod radio;
mod report;
pub mod source;
pub mod station;
pub mod status;
mod wait;

pub use actuator::ActuatorPlan;
pub use error::Error;
pub use path::Listener;
pub use radio::{AccessPointRadio, StationRadio};

/// Runs the hidden subcommand of the keeper ([`fairwave_linux::keeper`]), which keeps the state
/// that it was given, or restores it. Returns the exit code.
pub fn keep(words: &[std::ffi::OsString]) -> u8 {
    let text: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    match text.split_first() {
        Some((first, rest)) if first == airtime::RESTORE => match airtime::restore(rest) {
            Ok(()) => 0,
            // The keeper reports itself which state it could not restore.
            Err(_) => 1,
        },
        _ => fairwave_linux::keeper::main(words),
    }
}
