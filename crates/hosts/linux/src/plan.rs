//! The command of the keeper, and prefixes of addresses.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The hidden subcommand of the door that calls [`keeper::main`](crate::keeper::main).
pub const COMMAND: &str = "keep-namespaces";

/// The program that a process names which has no executable of its own.
static OWN_PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Names the program that starts this one again, where `/proc/self/exe` is an interpreter. The
/// first call in a process decides.
pub fn set_own_program(program: &Path) {
    let _ = OWN_PROGRAM.set(program.to_owned());
}

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
    /// This program, as [`set_own_program`] named it, with the hidden subcommand [`COMMAND`].
    fn default() -> Self {
        let program = OWN_PROGRAM.get().map_or(Path::new("/proc/self/exe"), PathBuf::as_path);
        Self { program: program.to_owned(), arguments: vec![OsString::from(COMMAND)] }
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
