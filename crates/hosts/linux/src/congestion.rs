//! Congestion control algorithms that the kernel offers to this process.

use rustix::net::sockopt::set_tcp_congestion;
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::thread::{CapabilitySet, capabilities};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;

/// Maximum length of an algorithm's name: the kernel would truncate a longer one.
const LONGEST_NAME: usize = 15;

/// Selects the congestion control algorithm of a TCP socket.
///
/// # Errors
/// If the kernel refuses it; [`ErrorKind::NotFound`] if it has none of this name.
pub fn set(socket: &impl AsFd, name: &str) -> io::Result<()> {
    if name.is_empty() || name.len() > LONGEST_NAME {
        return Err(ErrorKind::NotFound.into());
    }
    Ok(set_tcp_congestion(socket, name)?)
}

/// Whether the kernel offers the algorithm to this process.
pub fn is_available(name: &str) -> bool {
    [AddressFamily::INET, AddressFamily::INET6]
        .into_iter()
        .filter_map(|family| socket(family, SocketType::STREAM, None).ok())
        .any(|socket| set(&socket, name).is_ok())
}

/// Names of the algorithms that this process may choose, or a note that they are unknown. Linux
/// gives processes without CAP_NET_ADMIN only those in `tcp_allowed_congestion_control`.
pub fn names() -> String {
    let own = capabilities(None);
    let is_admin = own.is_ok_and(|own| own.effective.contains(CapabilitySet::NET_ADMIN));
    let which = if is_admin { "available" } else { "allowed" };
    let file = format!("/proc/sys/net/ipv4/tcp_{which}_congestion_control");
    let text = fs::read_to_string(file).unwrap_or_else(|_| "(not known)".to_owned());
    text.split_whitespace().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kernel has Reno, and allows it to all.
    #[test]
    fn names_are_not_cut() {
        assert!(is_available("reno") && names().contains("reno"), "{}", names());
        assert!(["", "nobodys", "reno-but-sixteen"].iter().all(|name| !is_available(name)));
    }
}
