//! What was changed outside of the namespaces, and how to restore it.

use crate::netlink::Netlink;
use rustix::io::Errno;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// One change to take back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Undo {
    /// Write the value back that a setting had.
    Setting { path: String, value: String },
    /// Delete an interface that was made.
    Link(String),
    /// Delete a table of nftables that was made, of the family `ip` or `ip6`.
    Table { family: String, name: String },
}

/// Between the words of a line to the keeper.
const SEPARATOR: char = '\t';

impl Undo {
    /// A line for the keeper.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Setting { path, value } => format!("setting\t{path}\t{value}\n"),
            Self::Link(name) => format!("link\t{name}\n"),
            Self::Table { family, name } => format!("table\t{family}\t{name}\n"),
        }
    }

    /// Reads a line without its end.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(SEPARATOR).collect();
        match words[..] {
            ["setting", path, value] => {
                Some(Self::Setting { path: path.to_owned(), value: value.to_owned() })
            }
            ["link", name] => Some(Self::Link(name.to_owned())),
            ["table", family @ ("ip" | "ip6"), name] => {
                Some(Self::Table { family: family.to_owned(), name: name.to_owned() })
            }
            _ => None,
        }
    }

    /// Takes the change back. What is gone already is no error.
    pub(crate) fn run(&self) -> io::Result<()> {
        match self {
            Self::Setting { path, .. } if !Path::new(path).exists() => Ok(()),
            Self::Setting { path, value } => fs::write(path, value),
            Self::Link(name) => delete_link(name),
            Self::Table { family, name } => delete_table(family, name),
        }
    }
}

fn delete_link(name: &str) -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let deleted = netlink.index(name).and_then(|index| netlink.delete(index));
    deleted.or_else(|error| {
        let gone = Errno::from_io_error(&error) == Some(Errno::NODEV);
        if gone { Ok(()) } else { Err(error) }
    })
}

fn delete_table(family: &str, name: &str) -> io::Result<()> {
    // An error is a table that is not there: it was never made, or somebody flushed the rules.
    nft().args(["delete", "table", family, name]).stderr(Stdio::null()).status().map(drop)
}

/// The program nft, wherever distributions keep it.
pub(crate) fn nft() -> Command {
    let places = ["/usr/sbin/nft", "/sbin/nft", "/usr/bin/nft", "/usr/local/sbin/nft"];
    let found = places.into_iter().find(|place| Path::new(place).exists());
    let mut nft = Command::new(found.unwrap_or("nft"));
    nft.stdin(Stdio::null()).stdout(Stdio::null());
    nft
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keeper_reads_what_the_emulator_writes() {
        let all = [
            Undo::Setting { path: "/proc/sys/net/a".to_owned(), value: "4096 1 2".to_owned() },
            Undo::Link("fw12u0".to_owned()),
            Undo::Table { family: "ip6".to_owned(), name: "fairwave_12".to_owned() },
        ];
        for undo in all {
            assert_eq!(Undo::parse(undo.line().trim_end()), Some(undo));
        }
        assert_eq!(Undo::parse("format\t/dev/sda"), None);
    }
}
