//! Changes outside of the namespaces, and their undo.

use crate::forwarding::Forwarding;
use crate::netlink::Netlink;
pub use crate::place::Place;
use crate::plan::KeeperCommand;
use crate::replace::Saved;
use crate::tools::{delete_table, ip};
use rustix::io::Errno;
use std::io;
use std::process::{Command, Stdio};

/// One change to take back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undo {
    /// End a use of an interface that forwards, which others may still use.
    Forwarding(Forwarding),
    /// Delete an interface that was made.
    Link(String),
    /// Delete a table of nftables that was made, of the family `ip`, `ip6` or `inet`.
    Table {
        /// `ip`, `ip6` or `inet`.
        family: String,
        /// Name of the table.
        name: String,
    },
    /// Delete a rule that has packets with a mark look up their way in a table of the same number,
    /// and the routes of that table; the family is `-4` or `-6`, as ip(8) has it.
    Lookup {
        /// `-4` or `-6`.
        family: String,
        /// Mark of the packets, and number of the table.
        mark: u32,
    },
    /// Delete the root qdisc that was made at an interface.
    Qdisc(Place),
    /// The same, and put the one back that was there.
    Replaced {
        /// The interface.
        at: Place,
        /// The qdisc to restore.
        root: Saved,
    },
    /// Take our filter away that leads frames leaving an interface elsewhere.
    Egress(Place),
    /// Run this very program, behind the keeper's own subcommand, with these words; there is one
    /// for each key. Without words, nothing is to be done for the key any more.
    Program {
        /// Name of the task; a later one of the same name replaces it.
        key: String,
        /// Arguments of the program; none cancels the task.
        words: Vec<String>,
    },
}

/// Between the words of a line to the keeper.
const SEPARATOR: char = '\t';

impl Undo {
    /// A line for the keeper.
    pub fn line(&self) -> String {
        match self {
            Self::Forwarding(Forwarding { family, at, setting, user }) => {
                format!("forwarding\t{family}\t{}\t{setting}\t{user}\n", at.words())
            }
            Self::Link(name) => format!("link\t{name}\n"),
            Self::Table { family, name } => format!("table\t{family}\t{name}\n"),
            Self::Lookup { family, mark } => format!("lookup\t{family}\t{mark}\n"),
            Self::Program { key, words } => {
                let words: String = words.iter().map(|word| format!("\t{word}")).collect();
                format!("program\t{key}{words}\n")
            }
            Self::Qdisc(at) => format!("qdisc\t{}\n", at.words()),
            Self::Egress(at) => format!("egress\t{}\n", at.words()),
            Self::Replaced { at, root } => {
                format!("replaced\t{}\t{}\n", at.words(), root.words().join("\t"))
            }
        }
    }

    /// Reads a line without its end.
    pub fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(SEPARATOR).collect();
        match words[..] {
            ["forwarding", family @ ("ip" | "ip6"), interface, index, setting, user] => {
                let [family, setting, user] = [family, setting, user].map(str::to_owned);
                let at = Place::parse(interface, index)?;
                Some(Self::Forwarding(Forwarding { family, at, setting, user }))
            }
            ["link", name] => Some(Self::Link(name.to_owned())),
            ["table", family @ ("ip" | "ip6" | "inet"), name] => {
                Some(Self::Table { family: family.to_owned(), name: name.to_owned() })
            }
            ["lookup", family @ ("-4" | "-6"), mark] => {
                Some(Self::Lookup { family: family.to_owned(), mark: mark.parse().ok()? })
            }
            ["replaced", interface, index, kind, major, options] => Some(Self::Replaced {
                at: Place::parse(interface, index)?,
                root: Saved::parse([kind, major, options])?,
            }),
            ["program", key, ref words @ ..] => Some(Self::Program {
                key: key.to_owned(),
                words: words.iter().map(|word| (*word).to_owned()).collect(),
            }),
            ["qdisc", interface, index] => Some(Self::Qdisc(Place::parse(interface, index)?)),
            ["egress", interface, index] => Some(Self::Egress(Place::parse(interface, index)?)),
            _ => None,
        }
    }

    /// Takes the change back. An object that is gone already is no error.
    pub fn run(&self) -> io::Result<()> {
        match self {
            Self::Forwarding(forwarding) => forwarding.end(),
            Self::Link(name) => delete_link(name),
            Self::Table { family, name } => delete_table(family, name),
            Self::Lookup { family, mark } => delete_lookup(family, *mark),
            Self::Program { words, .. } => run_program(words),
            Self::Qdisc(at) => ignore_missing(Netlink::open()?.delete_ours(at.index)),
            Self::Egress(at) => ignore_missing(Netlink::open()?.free_egress(at.index)),
            Self::Replaced { at, root } => ignore_missing(root.restore(at.index)),
        }
    }
}

fn run_program(words: &[String]) -> io::Result<()> {
    let own = KeeperCommand::default();
    let mut program = Command::new(&own.program);
    program.args(&own.arguments).args(words).stdin(Stdio::null()).stdout(Stdio::null());
    let status = program.status()?;
    let failed = || io::Error::other(format!("it ended with {status}"));
    if status.success() { Ok(()) } else { Err(failed()) }
}

fn delete_link(name: &str) -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let deleted = netlink.index(name).and_then(|index| netlink.delete(index));
    ignore_missing(deleted)
}

/// An interface that is not there any more is no error.
fn ignore_missing(deleted: io::Result<()>) -> io::Result<()> {
    deleted.or_else(|error| {
        let gone = Errno::from_io_error(&error) == Some(Errno::NODEV);
        if gone { Ok(()) } else { Err(error) }
    })
}

fn delete_lookup(family: &str, mark: u32) -> io::Result<()> {
    let mark = mark.to_string();
    let rule = ["rule", "delete", "fwmark", &mark, "lookup", &mark];
    let routes = ["route", "flush", "table", &mark];
    // A rule or a route that is not there any more is no error.
    for words in [&rule[..], &routes[..]] {
        ip().arg(family).args(words).stderr(Stdio::null()).status()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keeper_reads_what_the_emulator_writes() {
        let at = || Place { interface: "wlan0".to_owned(), index: 7 };
        let all = [
            Undo::Forwarding(Forwarding {
                family: "ip6".to_owned(),
                at: at(),
                setting: "/proc/sys/net/b".to_owned(),
                user: "fw12u0".to_owned(),
            }),
            Undo::Link("fw12u0".to_owned()),
            Undo::Table { family: "ip6".to_owned(), name: "fairwave_12".to_owned() },
            Undo::Lookup { family: "-6".to_owned(), mark: 1 << 30 },
            Undo::Qdisc(at()),
            Undo::Egress(at()),
            Undo::Program { key: "02".to_owned(), words: vec!["a".to_owned(), "b".to_owned()] },
            Undo::Program { key: "02".to_owned(), words: Vec::new() },
            Undo::Replaced {
                at: at(),
                root: Saved { kind: "tbf".to_owned(), major: 7, options: vec![1, 2, 255] },
            },
            Undo::Replaced {
                at: at(),
                root: Saved { kind: "pfifo_fast".to_owned(), major: 1, options: Vec::new() },
            },
        ];
        for undo in all {
            assert_eq!(Undo::parse(undo.line().trim_end_matches('\n')), Some(undo));
        }
        assert_eq!(Undo::parse("format\t/dev/sda"), None);
        assert_eq!(Undo::parse("replaced\twlan0\t7\ttbf\t7\tzz"), None);
        assert_eq!(Undo::parse("qdisc\twlan0\tx"), None);
    }
}
