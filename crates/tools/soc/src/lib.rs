//! The loop of the Strength of Connection on Linux: stations that report it in frames of their
//! own, and an access point that shares its interface by it.
//!
//! [`station::run`] and [`access_point::run`] drive the machines of `fairwave_soc` by the monotonic
//! clock, over a packet socket, and over one of UDP for stations behind a router. The
//! radio's reports arrive by the traits of [`source`]: [`StationRadio`] and [`AccessPointRadio`]
//! ask Linux's. Weights go to `fairwave_linux::Shaper`, to a driver that schedules [`airtime`], or
//! to a scheduler of our own (`plane`, with the feature `user-space`).
#![cfg(target_os = "linux")]

pub mod access_point;
mod actuator;
pub mod airtime;
pub mod command;
mod error;
pub mod key;
pub mod pairing;
mod path;
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

/// Runs the hidden subcommand of the keeper ([`fairwave_linux::keeper`]): it keeps, or restores the
/// state that a keeper was given.
pub fn keep(words: &[std::ffi::OsString]) -> std::process::ExitCode {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    match words.split_first() {
        Some((first, rest)) if first == airtime::RESTORE => match airtime::restore(rest) {
            Ok(()) => std::process::ExitCode::SUCCESS,
            // The keeper says what it could not restore.
            Err(_) => std::process::ExitCode::FAILURE,
        },
        _ => fairwave_linux::keeper::main(),
    }
}
