//! A guest: Debian's kernel with a first process of ours, in QEMU.

use crate::packages;
use std::fs;
use std::path::PathBuf;
use xtask::shell::{command, run_aside};
use xtask::workspace;

/// The script that boots the guest, on this machine.
const BOOT: &str = include_str!("boot.sh");
/// Last line of a successful guest.
const PASSED: &str = "GUEST passed";

/// Modules for simulated radios with WPA2: the dependencies of `mac80211_hwsim`, then that module.
pub(super) const WITH_RADIOS: [&str; 13] = [
    "drivers/virtio/virtio",
    "drivers/virtio/virtio_ring",
    "lib/crypto/libarc4",
    "net/rfkill/rfkill",
    "net/wireless/cfg80211",
    "net/mac80211/mac80211",
    "crypto/ctr",
    "crypto/ccm",
    "crypto/gf128mul",
    "crypto/ghash-generic",
    "crypto/gcm",
    "crypto/cmac",
    "drivers/net/wireless/mac80211_hwsim",
];

/// A guest, and its contents besides Debian's kernel and busybox.
pub(crate) struct Guest {
    /// Its directory in the target directory.
    pub(crate) place: &'static str,
    /// The programs of ours that are in its `/bin`.
    pub(crate) commands: Vec<PathBuf>,
    /// The script that is its first process; its last line is `GUEST passed`.
    pub(crate) init: &'static str,
    /// Files in its root directory.
    pub(crate) files: Vec<(&'static str, String)>,
    /// Programs of this machine that are copied.
    pub(crate) programs: &'static [&'static str],
    /// Debian packages with further programs and their libraries. They are unpacked in the target
    /// directory but not installed.
    pub(crate) packages: &'static [&'static str],
    /// Modules of the kernel, without `.ko`, to be placed in `/modules`.
    pub(crate) modules: Vec<&'static str>,
}

impl Guest {
    /// Boots it. Returns its output.
    pub(crate) fn boot(&self) -> Result<String, String> {
        packages::guest()?;
        let place = workspace::target().join(self.place);
        let failed = |error: std::io::Error| format!("{}: {error}", place.display());
        let files = place.join("files");
        fs::create_dir_all(&files).map_err(failed)?;
        fs::write(place.join("boot.sh"), BOOT).map_err(failed)?;
        fs::write(place.join("guest.sh"), self.init).map_err(failed)?;
        for (name, text) in &self.files {
            fs::write(files.join(name), text).map_err(failed)?;
        }
        let (script, place_name) = (place.join("boot.sh"), place.to_string_lossy());
        let kernel = workspace::target().join("vm");
        let [script, kernel] = [&script, &kernel].map(|path| path.to_string_lossy());
        let mut boot = command("sh", &["-eu", &script, &place_name, &kernel]);
        boot.args(&self.commands);
        boot.env("PROGRAMS", self.programs.join(" ")).env("MODULES", self.modules.join(" "));
        boot.env("PACKAGES", self.packages.join(" "));
        run_aside(boot)?;
        // QEMU's exit code is that of the machine, not of the script in it: its last line decides.
        let printed = fs::read(place.join("said")).map_err(failed)?;
        let printed = String::from_utf8_lossy(&printed).into_owned();
        match printed.lines().any(|line| line.trim_end().ends_with(PASSED)) {
            true => Ok(printed),
            false => Err(format!("the guest did not finish; see {place_name}/said")),
        }
    }
}

/// The beginning of a page with its links as seen from results/guests: those of its source, in
/// benches/src/vm, are a folder deeper.
pub(super) fn relinked(head: &str) -> String {
    head.replace("](../../../", "](../../")
}
