//! A qdisc of another program, taken away for a while.
//!
//! The kernel reports a qdisc's settings in the form in which it takes them, nearly
//! ([`requested`]). That is tried for the present one before anything is changed: at a separate
//! interface, a qdisc is made of the report, and the report on that one has to be the same.
//! Classes, filters and further qdiscs below it would be lost, and are found in the same way.

use crate::Error;
use crate::dump::{CLASS, FILTER, QDISC, Report, dump};
use crate::kernel::unshare;
use crate::netlink::Netlink;
use crate::requested::requested;
use crate::tc::{self, OPTIONS};
use netlink_packet_core::{DefaultNla, NLM_F_DUMP};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use rustix::thread::UnshareFlags;
use std::fmt;
use std::io;

/// Kinds that report waiting flows as classes, though none was made.
const OF_FLOWS: [&str; 4] = ["cake", "fq_codel", "fq_pie", "sfq"];

/// A root qdisc, as it is to be made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    pub(crate) kind: String,
    /// Upper half of its handle; 0 for one that the kernel has put there by itself.
    pub(crate) major: u16,
    /// Its options as the kernel reports them.
    pub(crate) options: Vec<u8>,
}

/// A root qdisc and how much there is below it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tree {
    root: Saved,
    classes: usize,
    filters: usize,
    /// Qdiscs below it that have handles of their own.
    below: usize,
}

impl Tree {
    const fn alone(root: Saved) -> Self {
        Self { root, classes: 0, filters: 0, below: 0 }
    }
}

impl fmt::Display for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:x}:", self.kind, self.major)
    }
}

impl Saved {
    /// A request to make it at an interface.
    fn request(&self, index: u32) -> TcMessage {
        let handle = TcHandle { major: self.major, minor: 0 };
        let mut message = tc::message(index, handle, TcHandle::ROOT);
        let options = DefaultNla::new(OPTIONS, requested(&self.kind, &self.options));
        message.attributes = vec![TcAttribute::Kind(self.kind.clone())];
        if !self.options.is_empty() {
            message.attributes.push(TcAttribute::Other(options));
        }
        message
    }

    /// Words of a line from which [`Saved::parse`] reads it.
    pub(crate) fn words(&self) -> [String; 3] {
        let octets = self.options.iter().map(|byte| format!("{byte:02x}")).collect();
        [self.kind.clone(), self.major.to_string(), octets]
    }

    /// `None` for words that no qdisc has.
    pub(crate) fn parse(words: [&str; 3]) -> Option<Self> {
        let [kind, major, octets] = words;
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let major = major.parse().ok().filter(|major| *major > 0)?;
        if kind.is_empty() || !kind.chars().all(is_name) || !octets.is_ascii() {
            return None;
        }
        let pair = |at: usize| u8::from_str_radix(octets.get(at..at + 2)?, 16).ok();
        let options: Option<Vec<u8>> = (0..octets.len()).step_by(2).map(pair).collect();
        Some(Self { kind: kind.to_owned(), major, options: options? })
    }

    /// Puts it back, where ours is still there or nothing that anybody set is.
    pub(crate) fn restore(&self, index: u32) -> io::Result<()> {
        let mut netlink = Netlink::open()?;
        netlink.delete_ours(index)?;
        match netlink.root_qdisc(index)? {
            Some(root) if !root.is_default() => Ok(()),
            _ => netlink.add_qdisc(self.request(index)),
        }
    }
}

/// Returns the qdisc that was set at an interface; `None` where the kernel's default is.
pub(crate) fn saved(netlink: &mut Netlink, index: u32) -> io::Result<Option<Saved>> {
    let tree = tree(netlink, index)?;
    Ok(tree.map(|tree| tree.root).filter(|root| root.major != 0))
}

/// Whether the root qdisc of an interface could be put back, and else why not.
///
/// # Errors
/// If the kernel does not answer.
pub(crate) fn obstacle(netlink: &mut Netlink, index: u32) -> io::Result<Option<String>> {
    let Some(wanted) = tree(netlink, index)? else { return Ok(None) };
    let again = wanted.clone();
    let tried = std::thread::spawn(move || -> io::Result<Option<Tree>> {
        unshare(UnshareFlags::NEWNET)?;
        let mut netlink = Netlink::open()?;
        let index = netlink.index("lo")?;
        netlink.add_qdisc(again.root.request(index))?;
        tree(&mut netlink, index)
    });
    Ok(match tried.join() {
        Ok(Ok(Some(made))) => difference(&wanted, &made),
        Ok(Ok(None)) => Some("the kernel does not list a copy of it".to_owned()),
        // What stands below it says more than the kernel's number.
        Ok(Err(error)) => difference(&wanted, &Tree::alone(wanted.root.clone())).or_else(|| {
            Some(format!("it cannot be recreated from the kernel's description: {error}"))
        }),
        Err(_) => Some("the trial did not end".to_owned()),
    })
}

/// Parts that would be lost.
fn difference(wanted: &Tree, made: &Tree) -> Option<String> {
    let lost = [
        (wanted.classes > made.classes, "classes"),
        (wanted.filters > made.filters, "filters"),
        (wanted.below > made.below, "qdiscs below it"),
        (wanted.root != made.root, "settings"),
    ];
    let lost: Vec<&str> = lost.iter().filter(|(is, _)| *is).map(|(_, what)| *what).collect();
    (!lost.is_empty()).then(|| format!("its {} would be lost", lost.join(", its ")))
}

/// The root qdisc of an interface with the parts below it.
fn tree(netlink: &mut Netlink, index: u32) -> io::Result<Option<Tree>> {
    let question = |parent: TcHandle| tc::message(index, TcHandle::UNSPEC, parent);
    let any = || question(TcHandle::UNSPEC);
    let at_interface = |all: Vec<Report>| -> Vec<Report> {
        all.into_iter().filter(|one| one.index == index).collect()
    };
    netlink.post(RouteNetlinkMessage::GetQueueDiscipline(any()), NLM_F_DUMP)?;
    let qdiscs = at_interface(dump(netlink, QDISC)?);
    let is_root = |one: &&Report| one.parent == u32::from(TcHandle::ROOT);
    let Some(root) = qdiscs.iter().find(is_root) else { return Ok(None) };
    // Ingress and clsact stay where they are.
    let apart = u32::from(TcHandle::INGRESS);
    let is_below = |one: &&Report| !is_root(one) && one.parent != apart && one.handle != 0;
    let below = qdiscs.iter().filter(is_below).count();
    netlink.post(RouteNetlinkMessage::GetTrafficClass(any()), NLM_F_DUMP)?;
    let classes = at_interface(dump(netlink, CLASS)?).len();
    let parent = TcHandle::from(root.handle);
    netlink.post(RouteNetlinkMessage::GetTrafficFilter(question(parent)), NLM_F_DUMP)?;
    let filters = at_interface(dump(netlink, FILTER)?).len();
    let (kind, options) = (root.kind.clone(), root.options.clone());
    let classes = if OF_FLOWS.contains(&kind.as_str()) { 0 } else { classes };
    let root = Saved { kind, major: (root.handle >> 16) as u16, options };
    Ok(Some(Tree { root, classes, filters, below }))
}

/// Error where another program's qdisc is in the way.
pub(crate) fn refused(interface: &str, root: &Saved, obstacle: Option<&str>) -> Error {
    Error::Plan(foreign_qdisc(interface, &root.to_string(), obstacle))
}

/// Returns a message: another program's qdisc stays at the root of an interface, since it could not
/// be put back or, without an obstacle, since `--replace` is not given. Names the remedies.
pub fn foreign_qdisc(interface: &str, qdisc: &str, obstacle: Option<&str>) -> String {
    let what = format!("interface `{interface}` has the qdisc {qdisc} of another program");
    let room = format!("`tc qdisc delete dev {interface} root` would make room");
    match obstacle {
        None => format!(
            "{what}: it is left alone; --replace would take it away, and put it back afterwards; \
             {room}"
        ),
        Some(why) => format!("{what}: it cannot be put back afterwards, since {why}; {room}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keeper_reads_a_qdisc_as_it_was_saved() {
        let saved =
            Saved { kind: "fq_codel".to_owned(), major: 0x8001, options: vec![0, 0xff, 0x1a] };
        let words = saved.words();
        assert_eq!(Saved::parse([&words[0], &words[1], &words[2]]), Some(saved));
        for damaged in [
            ["", "1", ""],
            ["tbf;", "1", ""],
            ["tbf", "0", ""],
            ["tbf", "x", ""],
            ["tbf", "1", "abc"],
            ["tbf", "1", "zz"],
        ] {
            assert_eq!(Saved::parse(damaged), None, "{damaged:?}");
        }
    }

    #[test]
    fn what_would_be_lost_is_named() {
        let root = Saved { kind: "htb".to_owned(), major: 1, options: Vec::new() };
        let made = Tree::alone(root);
        assert_eq!(difference(&made, &made), None);
        let wanted = Tree { classes: 2, below: 1, ..made.clone() };
        let why = difference(&wanted, &made);
        assert_eq!(why.as_deref(), Some("its classes, its qdiscs below it would be lost"));
    }
}
