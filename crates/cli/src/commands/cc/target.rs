//! `fairwave cc target`: target rates of connections with TCP-AV.

use crate::args::Common;
use crate::outcome::Failure;
use crate::output;
use crate::printed_cc::CcTarget;
use crate::table::{Table, mbps};
use fairwave_bpf::{Store, Target, Who, clear_target, set_target, targets};
use fairwave_units::BitRate;
use serde_json::json;
use std::net::IpAddr;

/// The requested target.
pub(crate) struct Asked {
    pub(crate) rate: Option<BitRate>,
    pub(crate) cap: bool,
    pub(crate) floor: bool,
}

/// Sets or removes a target if requested, then lists the targets.
pub(crate) fn run(
    common: &Common,
    store: &Store,
    whose: Option<&str>,
    asked: &Asked,
    remove: bool,
) -> Result<(), Failure> {
    if let Some(whose) = whose {
        let who = who(whose).map_err(Failure::Usage)?;
        match asked.rate {
            Some(BitRate(0)) => {
                let what = "--rate 0: a target is above zero; --remove takes one away";
                return Err(Failure::Usage(what.to_owned()));
            }
            Some(rate) => {
                set_target(store, &who, Target { rate, cap: asked.cap, floor: asked.floor })?;
            }
            None if remove => {
                if !clear_target(store, &who)? {
                    return Err(Failure::Run(format!("{who} has no target")));
                }
            }
            None => return Err(Failure::Usage("give --rate RATE or --remove".to_owned())),
        }
    }
    show(common, store)
}

fn show(common: &Common, store: &Store) -> Result<(), Failure> {
    let shown = |(who, target): &(Who, Target)| CcTarget {
        whose: spelling(who),
        rate_bps: target.rate.0,
        cap: target.cap,
        floor_at_reno: target.floor,
    };
    let found: Vec<CcTarget> = targets(store)?.iter().map(shown).collect();
    if common.json {
        return Ok(output::print_json(&json!(found))?);
    }
    if found.is_empty() {
        return Ok(output::print("no targets: fw_tcp_av is Reno\n")?);
    }
    let mut table = Table::new("Targets", &["whose", "Mbps", "cap", "floor at Reno"]);
    let word = |is: bool| if is { "yes" } else { "no" }.to_owned();
    for one in &found {
        let (cap, floor) = (word(one.cap), word(one.floor_at_reno));
        table.row(vec![one.whose.clone(), mbps(one.rate_bps), cap, floor]);
    }
    Ok(output::print(&table.render())?)
}

/// The text that [`who`] parses to this value.
fn spelling(who: &Who) -> String {
    match who {
        Who::Socket(cookie) => format!("socket:{cookie}"),
        Who::Destination(address, bits) => format!("{address}/{bits}"),
        Who::Cgroup(path) => path.display().to_string(),
        Who::CgroupId(id) => format!("cgroup:{id}"),
    }
}

/// Parses the owner of a target: `socket:COOKIE`, `cgroup:NUMBER`, a directory, or an address with
/// or without a prefix length.
fn who(text: &str) -> Result<Who, String> {
    let number = |digits: &str| digits.parse().map_err(|_| format!("{text}: expected a number"));
    if let Some(cookie) = text.strip_prefix("socket:") {
        return Ok(Who::Socket(number(cookie)?));
    }
    if let Some(id) = text.strip_prefix("cgroup:") {
        return Ok(Who::CgroupId(number(id)?));
    }
    if text.starts_with('/') {
        return Ok(Who::Cgroup(text.into()));
    }
    let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
    let expected =
        || format!("{text}: expected an address, ADDRESS/BITS, a cgroup's path, or socket:COOKIE");
    let address: IpAddr = address.parse().map_err(|_| expected())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Ok(most), |bits| bits.parse().map_err(|_| expected()))?;
    if bits > most {
        return Err(format!("{text}: such an address has {most} bits"));
    }
    Ok(Who::Destination(address, bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_a_target_is_is_read_as_it_is_shown() {
        for text in ["socket:17", "cgroup:4", "/sys/fs/cgroup/a", "10.0.0.0/8", "2001:db8::/32"] {
            assert_eq!(spelling(&who(text).unwrap()), text);
        }
        assert_eq!(who("10.0.0.1"), who("10.0.0.1/32"));
        for wrong in ["10.0.0.0/33", "server", "socket:x", "::1/129", "10.0.0.0/-1"] {
            assert!(who(wrong).unwrap_err().contains(wrong));
        }
    }
}
