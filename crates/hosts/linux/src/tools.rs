//! The programs nft and ip.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// The program nft.
pub fn nft() -> Command {
    tool("nft")
}

/// Loads rules of nftables in the network namespace of the calling thread.
///
/// # Errors
///
/// The output of nft, or the error of its start.
pub fn load(rules: &str) -> io::Result<()> {
    run_tool(nft().args(["-f", "-"]), rules)
}

/// Runs a program; the error is its output.
pub(crate) fn run_tool(command: &mut Command, input: &str) -> io::Result<()> {
    let mut child =
        command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| {
            let program = command.get_program().to_string_lossy();
            let remedy = "the packages nftables and iproute2 are needed";
            io::Error::new(error.kind(), format!("{program}: {error}; {remedy}"))
        })?;
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(input.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// The program ip.
pub fn ip() -> Command {
    tool("ip")
}

/// A program for administrators, wherever distributions keep it.
fn tool(name: &str) -> Command {
    let places = ["/usr/sbin", "/sbin", "/usr/bin", "/bin", "/usr/local/sbin"];
    let mut places = places.iter().map(|place| Path::new(place).join(name));
    let found = places.find(|place| place.exists());
    let mut tool = Command::new(found.unwrap_or_else(|| name.into()));
    tool.stdin(Stdio::null()).stdout(Stdio::null());
    tool
}

/// Deletes a table of nftables, if it is there: it may never have been made, or somebody may have
/// flushed the rules.
///
/// # Errors
/// The output of nft, or the error of its start.
pub(crate) fn delete_table(family: &str, name: &str) -> io::Result<()> {
    // Both in one transaction: the first has no effect on a table that is there, and without it
    // the second would fail where there is none.
    load(&format!("add table {family} {name}\ndelete table {family} {name}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_not_deleted_is_an_error() {
        assert!(delete_table("inet", "no name").is_err());
    }
}
