//! One TCP connection as a sans-IO state machine. Under construction.

mod config;

pub use config::{Config, DelayedAck};
