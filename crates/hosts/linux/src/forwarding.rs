//! Forwarding of one interface, which several processes may switch on at the same time.
//!
//! A table of nftables belongs to the interface while forwarding is on for Fairwave. Its set has
//! the interfaces that packets may be forwarded to, one for each use. The last use to end switches
//! forwarding off and deletes the table. The set is in the kernel, so that no process has to
//! survive the others. A use that was killed together with its keeper leaves its name in the set,
//! but not its interface, and therefore does not count. If another program has meanwhile switched
//! forwarding on for all interfaces, as Docker does, it stays on.

use crate::Error;
use crate::netlink::Netlink;
use crate::place::Place;
use crate::tools::{delete_table, load, nft};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Name of the set in the table.
const SET: &str = "uses";
/// Name of a second set, without elements, which the table has if forwarding was on for all
/// interfaces, but for this one, when the first use began.
const ALL: &str = "all_others";

/// A use of an interface that forwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forwarding {
    /// `ip` or `ip6`, as nftables calls the family.
    pub family: String,
    /// The interface, which may be renamed meanwhile.
    pub at: Place,
    /// Path of its setting below `/proc/sys`, by its name at the change.
    pub setting: String,
    /// Interface that packets may be forwarded to. It exists as long as the use lasts.
    pub user: String,
}

/// Excludes other processes in the same network namespace. The kernel releases the lock when its
/// holder ends. A file elsewhere would not be the same one in each mount namespace.
fn lock() -> io::Result<File> {
    let namespace = File::open("/proc/thread-self/ns/net")?;
    flock(&namespace, FlockOperation::LockExclusive)?;
    Ok(namespace)
}

impl Forwarding {
    /// Lets the interface forward to [`Forwarding::user`], after `record` has recorded the undo. It
    /// changes nothing if `forwards` is true and Fairwave did not switch it on.
    ///
    /// # Errors
    ///
    /// Without privileges, without the program nft, and if the undo cannot be recorded.
    pub fn begin(
        &self,
        forwards: impl FnOnce() -> bool,
        record: impl FnOnce(&Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let _lock = lock().map_err(Error::at("network namespace"))?;
        let is_shared = self.users().is_some();
        if !is_shared && forwards() {
            return Ok(());
        }
        let rules = if is_shared { self.element("add") } else { self.new_table() };
        let step = format!("nft for forwarding at {}", self.at.interface);
        record(self)?;
        load(&rules).map_err(Error::at(step))?;
        fs::write(&self.setting, "1").map_err(Error::at(self.setting.clone()))
    }

    /// Ends the use. The last one switches forwarding off.
    pub(crate) fn end(&self) -> io::Result<()> {
        let _lock = lock()?;
        // The use may not have begun, or another program may have flushed the rules.
        let _ = load(&self.element("delete"));
        let exists = |name: &String| Netlink::open().is_ok_and(|link| link.index(name).is_ok());
        let is_other = |name: &String| *name != self.user;
        let others = self.users().unwrap_or_default();
        if others.iter().filter(|name| is_other(name)).any(exists) {
            return Ok(());
        }
        // Forwarding ends before the rule that restricts it.
        let is_wanted = self.all_forward() && self.set(ALL).is_none();
        if let Some(setting) = self.present_setting()?
            && setting.exists()
            && !is_wanted
        {
            fs::write(setting, "0")?;
        }
        delete_table(&self.family, &self.table())
    }

    /// Name of the table.
    fn table(&self) -> String {
        format!("fairwave_forward_{}", self.at.index)
    }

    /// Path of the setting by the interface's present name; `None` if the interface is gone.
    fn present_setting(&self) -> io::Result<Option<PathBuf>> {
        let name = Netlink::open()?.name(self.at.index)?;
        let setting = Path::new(&self.setting);
        let parts = setting.parent().and_then(Path::parent).zip(setting.file_name());
        Ok(name.zip(parts).map(|(name, (folder, file))| folder.join(name).join(file)))
    }

    /// Whether forwarding is on for all interfaces, whatever this one's own setting is.
    fn all_forward(&self) -> bool {
        let setting = Path::new(&self.setting);
        let all = setting.parent().and_then(Path::parent).zip(setting.file_name());
        let read = all.map(|(folder, name)| fs::read_to_string(folder.join("all").join(name)));
        read.is_some_and(|text| text.is_ok_and(|text| text.trim() != "0"))
    }

    fn new_table(&self) -> String {
        let Self { family, at: Place { index, .. }, user, .. } = self;
        let all = if self.all_forward() {
            format!("set {ALL} {{ type ifname; }}")
        } else {
            String::new()
        };
        format!(
            "table {family} {} {{
                set {SET} {{
                    type ifname
                    elements = {{ \"{user}\" }}
                }}
                {all}
                chain through {{
                    type filter hook forward priority 0;
                    iif {index} oifname != @{SET} drop
                }}
            }}\n",
            self.table()
        )
    }

    fn element(&self, verb: &str) -> String {
        format!("{verb} element {} {} {SET} {{ \"{}\" }}\n", self.family, self.table(), self.user)
    }

    /// Interfaces that packets may be forwarded to; `None` without a table.
    fn users(&self) -> Option<Vec<String>> {
        self.set(SET)
    }

    /// Members of a set; `None` without it.
    fn set(&self, name: &str) -> Option<Vec<String>> {
        let mut list = nft();
        list.args(["list", "set", &self.family, &self.table(), name]);
        let output = list.stdout(Stdio::piped()).stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| quoted(&String::from_utf8_lossy(&output.stdout)))
    }
}

/// The words in double quotes.
fn quoted(text: &str) -> Vec<String> {
    text.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_in_a_set_are_read() {
        let listed = "table ip t {\n\tset uses {\n\t\ttype ifname\n\
                      \t\telements = { \"fw12u0\",\n\t\t\t     \"fw7u1\" }\n\t}\n}\n";
        assert_eq!(quoted(listed), ["fw12u0", "fw7u1"]);
        assert_eq!(quoted("table ip t {\n\tset uses {\n\t\ttype ifname\n\t}\n}\n"), [""; 0]);
    }

    #[test]
    fn a_table_has_a_name_that_nft_reads() {
        let forwarding = Forwarding {
            family: "ip".to_owned(),
            at: Place { interface: "wlan0.7".to_owned(), index: 7 },
            setting: String::new(),
            user: "fw1u0".to_owned(),
        };
        assert_eq!(forwarding.table(), "fairwave_forward_7");
        let rules = forwarding.new_table();
        assert!(rules.contains("iif 7 oifname != @uses drop"), "{rules}");
        assert!(rules.contains("elements = { \"fw1u0\" }"), "{rules}");
    }
}
