//! Targets of connections with TCP-AV: by socket, destination and cgroup.
//!
//! A socket's own target is preferred, then that of the longest matching prefix of its destination,
//! then that of the nearest cgroup. A change takes effect on existing connections at their next
//! ACK.

use crate::object::refused;
use crate::registered::registered;
use crate::{Error, Store, find, kernel, unpinned};
use fairwave_units::BitRate;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The algorithm that has targets.
const AIMING: &str = "fw_tcp_av";
const GENERATION: &str = "fw_generation";
/// `CGROUP2_SUPER_MAGIC` of linux/magic.h.
const CGROUP2_MAGIC: u64 = 0x6367_7270;

/// Owner of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The socket with this `SO_COOKIE`; `ss -e` shows it as `sk:`.
    Socket(u64),
    /// Connections to addresses with these first bits.
    Destination(IpAddr, u8),
    /// Sockets of the processes in this cgroup, and those below it.
    Cgroup(PathBuf),
    /// A cgroup by its id, as targets are read back.
    CgroupId(u64),
}

/// A target rate and its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Target rate of acknowledged payload.
    pub rate: BitRate,
    /// Whether growth stops above the window that the target needs.
    pub cap: bool,
    /// Whether a loss never lowers the window below Reno's half.
    pub floor: bool,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(cookie) => write!(f, "socket {cookie}"),
            Self::Destination(address, bits) => write!(f, "destination {address}/{bits}"),
            Self::Cgroup(path) => write!(f, "cgroup {}", path.display()),
            Self::CgroupId(id) => write!(f, "cgroup {id}"),
        }
    }
}

impl Owner {
    /// The map with targets of this kind, and the key in it.
    fn entry(&self) -> Result<(&'static str, Vec<u8>), Error> {
        Ok(match self {
            Self::Socket(cookie) => ("fw_by_socket", cookie.to_ne_bytes().to_vec()),
            Self::Destination(address, bits) => ("fw_by_dest", destination(*address, *bits)),
            Self::CgroupId(id) => ("fw_by_cgroup", id.to_ne_bytes().to_vec()),
            Self::Cgroup(path) => {
                let id = std::fs::metadata(path).map_err(Error::file(path))?.ino();
                if !kernel::is_on(path, CGROUP2_MAGIC) {
                    return Err(Error::NotCgroup { path: path.clone() });
                }
                ("fw_by_cgroup", id.to_ne_bytes().to_vec())
            }
        })
    }
}

/// Layout of `struct fw_destination`: IPv4 is mapped to IPv6, and the bits after the prefix are
/// zero.
fn destination(address: IpAddr, bits: u8) -> Vec<u8> {
    let (address, bits) = match address {
        IpAddr::V4(address) => (address.to_ipv6_mapped(), 96 + u32::from(bits)),
        IpAddr::V6(address) => (address, u32::from(bits)),
    };
    let bits = bits.min(128);
    let prefix = u128::from(address) & u128::MAX.checked_shl(128 - bits).unwrap_or(0);
    [bits.to_ne_bytes().as_slice(), &prefix.to_be_bytes()].concat()
}

/// Sets a target.
///
/// # Errors
/// Without privileges, or if TCP-AV is not loaded.
pub fn set_target(store: &Store, who: &Owner, target: Target) -> Result<(), Error> {
    let (map, key) = open(store, who)?;
    map.update(&key, &value(target), MapFlags::ANY).map_err(refused(who))?;
    report(store)
}

/// Layout of `struct fw_target`.
fn value(target: Target) -> Vec<u8> {
    let mut value = target.rate.0.to_ne_bytes().to_vec();
    value.extend(u32::from(target.cap).to_ne_bytes());
    value.extend(u32::from(target.floor).to_ne_bytes());
    value
}

/// Removes a target. Returns whether there was one.
///
/// # Errors
/// Without privileges, or if TCP-AV is not loaded.
pub fn clear_target(store: &Store, who: &Owner) -> Result<bool, Error> {
    let (map, key) = open(store, who)?;
    // A look-up in a trie returns the longest prefix that matches, so that only a deletion shows
    // whether this prefix exists.
    let removed = map.delete(&key).is_ok();
    report(store)?;
    Ok(removed)
}

/// Targets of sockets, set through maps that stay open. After they were opened, this needs no
/// privileges on Linux 6.0 or later.
#[derive(Debug)]
pub struct Aims {
    by_socket: MapHandle,
    generation: MapHandle,
}

impl Aims {
    /// Name of the algorithm.
    pub const ALGORITHM: &str = AIMING;

    /// Whether the algorithm is loaded.
    pub fn are_loaded(store: &Store) -> bool {
        map(store, GENERATION).is_ok()
    }

    /// Opens the maps of the algorithm.
    ///
    /// # Errors
    /// Without privileges, or if TCP-AV is not loaded.
    pub fn open(store: &Store) -> Result<Self, Error> {
        kernel::demand_root("setting a target")?;
        Ok(Self { by_socket: map(store, "fw_by_socket")?, generation: map(store, GENERATION)? })
    }

    /// Sets the target of the socket with this `SO_COOKIE`, or removes it.
    ///
    /// # Errors
    /// If the kernel refuses the change.
    pub fn set(&self, cookie: u64, target: Option<Target>) -> Result<(), Error> {
        let who = Owner::Socket(cookie);
        let (_, key) = who.entry()?;
        match target {
            Some(target) => {
                self.by_socket
                    .update(&key, &value(target), MapFlags::ANY)
                    .map_err(refused(&who))?;
            }
            // Removing a target that does not exist is no error.
            None => drop(self.by_socket.delete(&key)),
        }
        advance(&self.generation)
    }
}

/// All targets.
///
/// # Errors
/// Without privileges, or if TCP-AV is not loaded.
pub fn targets(store: &Store) -> Result<Vec<(Owner, Target)>, Error> {
    kernel::demand_root("looking at targets")?;
    let mut found = Vec::new();
    for name in ["fw_by_socket", "fw_by_dest", "fw_by_cgroup"] {
        let map = map(store, name)?;
        for key in map.keys() {
            let Ok(Some(value)) = map.lookup(&key, MapFlags::ANY) else { continue };
            found.extend(who(name, &key).zip(target(&value)));
        }
    }
    Ok(found)
}

/// Opens a map of TCP-AV. Its names occur in no other algorithm, so that the map is found without
/// its pin too.
fn map(store: &Store, name: &str) -> Result<MapHandle, Error> {
    match store.map(find(AIMING)?, name) {
        Err(Error::NotLoaded { name: algorithm }) => {
            let is_registered = registered()?.iter().any(|known| known == algorithm);
            let found = is_registered.then(|| unpinned::map(name)).flatten();
            found.ok_or(Error::NotLoaded { name: algorithm })
        }
        found => found,
    }
}

fn open(store: &Store, who: &Owner) -> Result<(MapHandle, Vec<u8>), Error> {
    kernel::demand_root("setting a target")?;
    let (name, key) = who.entry()?;
    Ok((map(store, name)?, key))
}

/// Makes all connections look up their targets again.
fn report(store: &Store) -> Result<(), Error> {
    advance(&map(store, GENERATION)?)
}

fn advance(map: &MapHandle) -> Result<(), Error> {
    let key = 0_u32.to_ne_bytes();
    let before = map.lookup(&key, MapFlags::ANY).map_err(refused(GENERATION))?;
    let before = before.and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes);
    let next = before.wrapping_add(1).to_ne_bytes();
    map.update(&key, &next, MapFlags::ANY).map_err(refused(GENERATION))
}

fn who(map: &str, key: &[u8]) -> Option<Owner> {
    if map == "fw_by_dest" {
        let bits = u32::from_ne_bytes(key.get(..4)?.try_into().ok()?);
        let address: [u8; 16] = key.get(4..20)?.try_into().ok()?;
        let address = Ipv6Addr::from(address);
        return Some(match address.to_ipv4_mapped() {
            Some(mapped) if bits >= 96 => Owner::Destination(mapped.into(), (bits - 96) as u8),
            _ => Owner::Destination(address.into(), bits as u8),
        });
    }
    let number = u64::from_ne_bytes(key.try_into().ok()?);
    Some(if map == "fw_by_socket" { Owner::Socket(number) } else { Owner::CgroupId(number) })
}

fn target(value: &[u8]) -> Option<Target> {
    let flag = |at: usize| Some(u32::from_ne_bytes(value.get(at..at + 4)?.try_into().ok()?) != 0);
    Some(Target {
        rate: BitRate(u64::from_ne_bytes(value.get(..8)?.try_into().ok()?)),
        cap: flag(8)?,
        floor: flag(12)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_are_read_back_as_they_were_written() {
        for (address, bits) in [("10.1.0.0", 16), ("192.0.2.7", 32), ("2001:db8::", 32), ("::", 0)]
        {
            let given = Owner::Destination(address.parse().unwrap(), bits);
            let (map, key) = given.entry().unwrap();
            assert_eq!(who(map, &key), Some(given));
        }
    }

    #[test]
    fn destinations_of_one_prefix_are_one() {
        for (address, prefix, bits) in [("192.0.2.7", "192.0.2.0", 24), ("2001:db8::7", "::", 0)] {
            let [given, kept] = [address, prefix].map(|text| text.parse().unwrap());
            let key = destination(given, bits);
            assert_eq!(who("fw_by_dest", &key), Some(Owner::Destination(kept, bits)));
        }
    }

    #[test]
    fn what_is_no_cgroup_has_no_target() {
        let error = Owner::Cgroup("/".into()).entry().unwrap_err();
        assert!(error.to_string().starts_with("/: not a cgroup"), "{error}");
    }
}
