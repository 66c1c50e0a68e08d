//! Giving privileges up once they are not needed any more.

use crate::Error;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, set_capabilities, set_keep_capabilities, set_no_new_privs,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use std::fs;
use std::io;
use std::os::fd::AsFd;

/// Privileges that may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// Sockets with addresses that are not this machine's, and raw ones (CAP_NET_RAW).
    NetRaw,
}

/// User and group `nobody` of all distributions.
const NOBODY: u32 = 65_534;

/// Number of the user of the process at the other end of a connection of Unix sockets; for a
/// listener, of the one that began to listen.
///
/// # Errors
/// If the socket is not connected.
pub fn peer_user(socket: &impl AsFd) -> io::Result<u32> {
    Ok(getsockopt(socket, PeerCredentials)?.uid())
}

/// Whether figures of a user's tools are believed: those of root, and of this process's user.
pub fn is_trusted(user: u32) -> bool {
    user == 0 || user == geteuid().as_raw()
}

/// Makes root the user `nobody` with the capabilities `kept` alone, for this thread and its later
/// ones; another user, and root of a user namespace without that user, loses the capabilities
/// beside `kept`. Privileges cannot be regained afterwards, by programs that are set-user-ID
/// neither.
///
/// # Errors
///
/// If threads run already, which would keep theirs, or the kernel refuses a step.
pub fn become_ordinary_user(kept: &[Capability]) -> Result<(), Error> {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    if !status.lines().any(|line| line == "Threads:\t1") {
        return Err(Error::Plan("privileges are to be given up before threads start".to_owned()));
    }
    let mut keep = CapabilitySet::empty();
    for Capability::NetRaw in kept {
        keep |= CapabilitySet::NET_RAW;
    }
    let user_map = fs::read_to_string("/proc/thread-self/uid_map").unwrap_or_default();
    let step = Error::at("giving privileges up");
    let given_up = (|| {
        if geteuid().is_root() && maps(&user_map, NOBODY) {
            set_keep_capabilities(true)?;
            let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
            set_thread_groups(&[])?;
            set_thread_res_gid(Some(group), Some(group), Some(group))?;
            set_thread_res_uid(Some(user), Some(user), Some(user))?;
        }
        let has = rustix::thread::capabilities(None)?;
        let keep = keep & has.permitted;
        let sets = CapabilitySets {
            effective: keep,
            permitted: keep,
            inheritable: CapabilitySet::empty(),
        };
        // Sandboxes that give a service no capabilities refuse `capset` as well.
        if has != sets {
            set_capabilities(None, sets)?;
        }
        set_no_new_privs(true)
    })();
    given_up.map_err(step)
}

/// Whether a user exists in a user namespace with this map (user_namespaces(7)).
fn maps(map: &str, user: u32) -> bool {
    let has = |line: &str| {
        let mut words = line.split_whitespace().map(|word| word.parse::<u64>().ok());
        let (first, length) = (words.next()??, words.nth(1)??);
        Some((first..first + length).contains(&user.into()))
    };
    map.lines().any(|line| has(line) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_namespace_may_lack_a_user() {
        assert!(maps("         0          0 4294967295\n", NOBODY));
        assert!(!maps("         0       1000          1\n", NOBODY));
        assert!(maps("0 1000 1\n65534 100000 1\n", NOBODY));
        assert!(!maps("", NOBODY));
    }
}
