//! Keeping the kernel's own DCCP silent while this program speaks DCCP over raw sockets.
//!
//! A kernel with DCCP (Linux up to 6.15) gets a copy of each packet, knows no such connection and
//! answers with a Reset (RFC 4340 section 8.3.1), which would end it. A table of nftables drops
//! Resets that leave this host without our mark. The keeper removes the table when this process
//! ends, however it does. A kernel without DCCP is silent while a raw socket is open.

use crate::keeper::Keeper;
use crate::tools::load;
use crate::undo::Undo;
use crate::{Error, KeeperCommand};
use std::fs;

/// Mark of packets of all processes of this program, "FWDC": one must not drop another's Resets.
const MARK: u32 = u32::from_be_bytes(*b"FWDC");

/// The kernel sends no Reset as long as this lives.
#[derive(Debug)]
pub struct Silence {
    _keeper: Keeper,
}

impl Silence {
    /// Mark for packets that no table drops.
    pub const MARK: u32 = MARK;

    /// Whether the kernel has sockets of DCCP at present.
    pub fn is_needed() -> bool {
        let known = fs::read_to_string("/proc/net/protocols").unwrap_or_default();
        known.lines().any(|line| line.starts_with("DCCP"))
    }

    /// Adds the table; packets with `mark`, which the user may choose, or [`Silence::MARK`] pass.
    ///
    /// # Errors
    /// Without privileges (CAP_NET_ADMIN), or without the program nft. Nothing is left then.
    pub fn start(keeper: &KeeperCommand, mark: u32) -> Result<Self, Error> {
        let mut keeper = Keeper::start_without_programs(keeper)?;
        let name = format!("fairwave_dccp_{}", std::process::id());
        keeper.note(Undo::Table { family: "inet".to_owned(), name: name.clone() })?;
        load(&rules(&name, mark)).map_err(Error::at("rules of nftables"))?;
        Ok(Self { _keeper: keeper })
    }
}

/// The table of nftables.
fn rules(name: &str, mark: u32) -> String {
    format!(
        "table inet {name} {{\n  chain leaving {{\n    \
         type filter hook output priority filter; policy accept;\n    \
         meta l4proto dccp meta mark != {{ {MARK}, {mark} }} dccp type reset drop\n  }}\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resets_with_one_of_two_marks_pass() {
        let text = rules("t", 7);
        assert!(text.contains("meta mark != { 1180124227, 7 } dccp type reset drop\n"), "{text}");
    }
}
