//! System packages that tests need: installed where that is one command, named elsewhere.

use crate::shell::{Outcome, command, run, succeeds};
use std::path::Path;

/// A program that tests call, and the Debian package that holds it.
struct Need {
    program: &'static str,
    package: &'static str,
    why: &'static str,
}

/// Everything needed.
const NEEDS: [Need; 2] = [
    Need { program: "tshark", package: "tshark", why: "dissects the captures that runs write" },
    Need { program: "chromium", package: "chromium", why: "draws the reports that studies write" },
];

/// Makes sure that all of it is there.
pub(crate) fn install() -> Outcome {
    let missing: Vec<&Need> = NEEDS.iter().filter(|need| !present(need.program)).collect();
    if missing.is_empty() {
        println!("nothing to install");
        return Ok(());
    }
    for need in &missing {
        println!("missing: {} ({})", need.program, need.why);
    }
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    if !(Path::new("/etc/debian_version").exists() && is_root()) {
        return Err(format!("install them, then try again: {}", by_hand(&packages)));
    }
    run(apt(&["update", "-q"]))?;
    run(apt(&[&["install", "-q", "-y", "--no-install-recommends"], packages.as_slice()].concat()))
}

/// The exact command for somebody who installs by hand.
fn by_hand(packages: &[&str]) -> String {
    let packages = packages.join(" ");
    let managers: [(&str, &str); 4] = [
        ("apt-get", "sudo apt-get install -y --no-install-recommends"),
        ("dnf", "sudo dnf install -y"),
        ("pacman", "sudo pacman -S --needed"),
        ("brew", "brew install"),
    ];
    let found = managers.iter().find(|(program, _)| present(program));
    let install = found.map_or("sudo apt-get install -y --no-install-recommends", |(_, line)| line);
    let other = match install.split(' ').nth(1) {
        Some("dnf" | "pacman") => packages.replace("tshark", "wireshark-cli"),
        Some("install") => packages.replace("tshark", "wireshark"),
        _ => packages,
    };
    format!("{install} {other}")
}

fn apt(args: &[&str]) -> std::process::Command {
    let mut apt = command("apt-get", args);
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    apt
}

/// Whether the program is on the path and starts.
fn present(program: &str) -> bool {
    succeeds(command(program, &["--version"]))
}

fn is_root() -> bool {
    let id = command("id", &["-u"]).output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
