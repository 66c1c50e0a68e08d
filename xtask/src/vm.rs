//! `cargo xtask vm`: the laws of `fairwave cc` in an older kernel: Debian's 6.1, in QEMU without
//! hardware's help. There the verifier judges them, each carries data, and all are unloaded.
//! Others boot a [`Guest`] of their own.

use crate::shell::{Outcome, cargo, command, run_aside};
use crate::{system, workspace};
use std::fs;
use std::path::PathBuf;

mod soc;

/// What runs on this machine, and what in the guest.
const BOOT: &str = include_str!("vm/boot.sh");
const GUEST: &str = include_str!("vm/guest.sh");
/// What the guest's lines for us begin with, and the last of them.
const MARK: &str = "GUEST ";
const PASSED: &str = "GUEST passed";

/// A guest, and what it has beside Debian's kernel and busybox.
pub(crate) struct Guest {
    /// Directory in the target directory.
    pub(crate) place: &'static str,
    /// The program of ours that is in its `/bin`.
    pub(crate) command: PathBuf,
    /// The script that is its first process; its last line is `GUEST passed`.
    pub(crate) init: &'static str,
    /// Files in its root directory.
    pub(crate) files: Vec<(&'static str, String)>,
    /// Programs of this machine.
    pub(crate) programs: &'static [&'static str],
    /// Debian's packages that have more programs, and the libraries of these: they are unpacked
    /// in the target directory and not installed.
    pub(crate) packages: &'static [&'static str],
    /// Modules of the kernel, without `.ko`, which lie in `/modules`.
    pub(crate) modules: &'static [&'static str],
}

impl Guest {
    /// Boots it, and gives what it said.
    pub(crate) fn boot(&self) -> Result<String, String> {
        system::install_guest()?;
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
        let arguments = [script, kernel, self.command.clone()];
        let [script, kernel, ours] = arguments.each_ref().map(|path| path.to_string_lossy());
        let mut boot = command("sh", &["-eu", &script, &place_name, &kernel, &ours]);
        boot.env("PROGRAMS", self.programs.join(" ")).env("MODULES", self.modules.join(" "));
        boot.env("PACKAGES", self.packages.join(" "));
        run_aside(boot)?;
        let said = fs::read(place.join("said")).map_err(failed)?;
        let said = String::from_utf8_lossy(&said).into_owned();
        match said.lines().any(|line| line.trim_end().ends_with(PASSED)) {
            true => Ok(said),
            false => Err(format!("the guest did not come to its end; see {place_name}/said")),
        }
    }
}

/// What runs in the guest.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum Show {
    /// The laws of `fairwave cc`
    Cc,
    /// An access point with WPA2 and three stations over simulated radios
    Soc,
}

/// Boots a guest, and prints what it says.
pub(crate) fn vm(show: Show) -> Outcome {
    match show {
        Show::Cc => laws(),
        Show::Soc => soc::soc(),
    }
}

fn laws() -> Outcome {
    run_aside(cargo(&["build", "-p", "fairwave-cli", crate::shell::WITH_LAWS]))?;
    let guest = Guest {
        place: "vm",
        command: workspace::target().join("debug").join("fairwave"),
        init: GUEST,
        files: Vec::new(),
        programs: &["iperf3"],
        packages: &[],
        modules: &[],
    };
    let said = guest.boot()?;
    // Before its first line the terminal is cleared.
    let lines = said.lines().filter_map(|line| Some(line[line.find(MARK)?..].trim_end()));
    lines.for_each(|line| println!("{line}"));
    Ok(())
}
