//! The command of the keeper, and prefixes of addresses.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;

/// The hidden subcommand of the door that calls [`keeper::main`](crate::keeper::main).
pub const COMMAND: &str = "keep-namespaces";

/// The command that runs [`keeper::main`](crate::keeper::main): an executable and the arguments
/// that lead there.
#[derive(Debug, Clone)]
pub struct KeeperCommand {
    /// The executable.
    pub program: PathBuf,
    /// Arguments that make it call [`keeper::main`](crate::keeper::main).
    pub arguments: Vec<OsString>,
}

impl Default for KeeperCommand {
    /// This very executable with the hidden subcommand [`COMMAND`].
    fn default() -> Self {
        Self { program: PathBuf::from("/proc/self/exe"), arguments: vec![OsString::from(COMMAND)] }
    }
}

/// An address and the length of its prefix in bits: `10.0.0.1/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// The address.
    pub address: IpAddr,
    /// Bits of the prefix: at most 32 for IPv4, 128 for IPv6.
    pub length: u8,
}

impl Prefix {
    /// An address with the length of its prefix.
    pub fn new(address: impl Into<IpAddr>, length: u8) -> Self {
        Self { address: address.into(), length }
    }
}
