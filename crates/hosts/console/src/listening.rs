//! The first line of JSON of a command that serves.

use crate::{Console, Failure};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use std::net::SocketAddr;

/// The line that a command prints with `--json` once it listens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Listening {
    /// The command that listens, such as `probe serve`.
    pub command: String,
    /// The first address at which it listens; null if it takes frames of an interface only.
    pub address: Option<String>,
    /// The port at this address; null without an address.
    pub port: Option<u16>,
    /// All addresses at which it listens, each with its port.
    pub addresses: Vec<String>,
    /// Interfaces whose frames or connections it takes.
    pub interfaces: Vec<String>,
    /// The new pairing code for the other end; null if the user gave a secret, or none is needed.
    pub pairing: Option<String>,
}

impl Listening {
    /// A command that listens at these addresses.
    pub fn at(command: &str, addresses: &[SocketAddr]) -> Self {
        let first = addresses.first();
        Self {
            command: command.to_owned(),
            address: first.map(|address| address.ip().to_string()),
            port: first.map(SocketAddr::port),
            addresses: addresses.iter().map(SocketAddr::to_string).collect(),
            ..Self::default()
        }
    }

    /// Prints the line if JSON is requested. Results may follow it on standard output.
    ///
    /// # Errors
    /// If standard output is closed or cannot be written.
    pub fn print(&self, console: &dyn Console) -> Result<(), Failure> {
        if console.is_json() { console.print_json_line(&json!(self)) } else { Ok(()) }
    }
}
