//! `cargo xtask vm`: the laws of `fairwave cc` in an older kernel: Debian's 6.1, in QEMU without
//! hardware's help. There the verifier judges them, each carries data, and all are unloaded.

use crate::shell::{Outcome, cargo, command, run, run_aside};
use crate::{system, workspace};
use std::fs;

/// What runs on this machine, and what in the guest.
const BOOT: &str = include_str!("vm/boot.sh");
const GUEST: &str = include_str!("vm/guest.sh");
/// What the guest's lines for us begin with, and the last of them.
const MARK: &str = "GUEST ";
const PASSED: &str = "GUEST passed";

/// Boots the guest, and prints what it says.
pub(crate) fn vm() -> Outcome {
    system::install_guest()?;
    run_aside(cargo(&["build", "-p", "fairwave-cli", crate::shell::WITH_LAWS]))?;
    let place = workspace::target().join("vm");
    let failed = |error: std::io::Error| format!("{}: {error}", place.display());
    fs::create_dir_all(&place).map_err(failed)?;
    fs::write(place.join("boot.sh"), BOOT).map_err(failed)?;
    fs::write(place.join("guest.sh"), GUEST).map_err(failed)?;
    let fairwave = workspace::target().join("debug").join("fairwave");
    let (script, place_name) = (place.join("boot.sh"), place.to_string_lossy());
    run(command(
        "sh",
        &["-eu", &script.to_string_lossy(), &place_name, &fairwave.to_string_lossy()],
    ))?;
    let said = fs::read(place.join("said")).map_err(failed)?;
    let said = String::from_utf8_lossy(&said);
    // Before its first line the terminal is cleared.
    let lines = said.lines().filter_map(|line| Some(line[line.find(MARK)?..].trim_end()));
    let lines: Vec<&str> = lines.collect();
    lines.iter().for_each(|line| println!("{line}"));
    match lines.last() == Some(&PASSED) {
        true => Ok(()),
        false => Err(format!("the guest did not come to its end; see {place_name}/said")),
    }
}
