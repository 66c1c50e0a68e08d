//! `fairwave cc target`: target rates of connections with TCP-AV.

use crate::outcome::failure;
use crate::report::{self, CcTarget};
use fairwave_bpf::{Owner, Store, Target, clear_target, set_target, targets};
use fairwave_console::{Console, Failure};
use fairwave_units::BitRate;
use serde_json::json;
use std::net::IpAddr;

/// The requested target.
pub(crate) struct Wanted {
    /// The rate to reach; `None` to set none.
    pub(crate) rate: Option<BitRate>,
    /// Whether windows do not grow beyond the size that the target needs.
    pub(crate) cap: bool,
    /// Whether a loss never lowers a window further than Reno would.
    pub(crate) floor: bool,
}

/// Sets or removes a target if requested, then lists the targets.
pub(crate) fn run(
    console: &dyn Console,
    store: &Store,
    whose: Option<&str>,
    wanted: &Wanted,
    remove: bool,
) -> Result<(), Failure> {
    if let Some(whose) = whose {
        let who = who(whose).map_err(Failure::Usage)?;
        match wanted.rate {
            Some(BitRate(0)) => {
                let text = "--rate 0: a target is above zero; --remove takes one away";
                return Err(Failure::Usage(text.to_owned()));
            }
            Some(rate) => {
                let target = Target { rate, cap: wanted.cap, floor: wanted.floor };
                set_target(store, &who, target).map_err(failure)?;
            }
            None if remove => {
                if !clear_target(store, &who).map_err(failure)? {
                    return Err(Failure::Run(format!("{who} has no target")));
                }
            }
            None => return Err(Failure::Usage("give --rate RATE or --remove".to_owned())),
        }
    }
    show(console, store)
}

fn show(console: &dyn Console, store: &Store) -> Result<(), Failure> {
    let shown = |(who, target): &(Owner, Target)| CcTarget {
        whose: spelling(who),
        rate_bps: target.rate.0,
        cap: target.cap,
        floor_at_reno: target.floor,
    };
    let found: Vec<CcTarget> = targets(store).map_err(failure)?.iter().map(shown).collect();
    console.show(&json!(found), &report::targets(&found))
}

/// The text that [`who`] parses to this value.
fn spelling(who: &Owner) -> String {
    match who {
        Owner::Socket(cookie) => format!("socket:{cookie}"),
        Owner::Destination(address, bits) => format!("{address}/{bits}"),
        Owner::Cgroup(path) => path.display().to_string(),
        Owner::CgroupId(id) => format!("cgroup:{id}"),
    }
}

/// Parses the owner of a target: `socket:COOKIE`, `cgroup:NUMBER`, a directory, or an address with
/// or without a prefix length.
fn who(text: &str) -> Result<Owner, String> {
    let number = |digits: &str| digits.parse().map_err(|_| format!("{text}: expected a number"));
    if let Some(cookie) = text.strip_prefix("socket:") {
        return Ok(Owner::Socket(number(cookie)?));
    }
    if let Some(id) = text.strip_prefix("cgroup:") {
        return Ok(Owner::CgroupId(number(id)?));
    }
    if text.starts_with('/') {
        return Ok(Owner::Cgroup(text.into()));
    }
    let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
    let expected =
        || format!("{text}: expected an address, ADDRESS/BITS, a cgroup's path, or socket:COOKIE");
    let address: IpAddr = address.parse().map_err(|_| expected())?;
    let max = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Ok(max), |bits| bits.parse().map_err(|_| expected()))?;
    if bits > max {
        return Err(format!("{text}: such an address has {max} bits"));
    }
    Ok(Owner::Destination(address, bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_parsed_as_it_is_shown() {
        for text in ["socket:17", "cgroup:4", "/sys/fs/cgroup/a", "10.0.0.0/8", "2001:db8::/32"] {
            assert_eq!(spelling(&who(text).unwrap()), text);
        }
        assert_eq!(who("10.0.0.1"), who("10.0.0.1/32"));
        for wrong in ["10.0.0.0/33", "server", "socket:x", "::1/129", "10.0.0.0/-1"] {
            assert!(who(wrong).unwrap_err().contains(wrong));
        }
    }
}
