//! System packages that tests and comparisons need. They are installed if a single command does it;
//! otherwise the command is printed.

use crate::shell::{Outcome, command, note, run_aside, succeeds};
use std::path::Path;

/// Signs that a package is installed.
pub enum Sign {
    /// A program that starts.
    Program(&'static str),
    /// A file that exists.
    File(&'static str),
    /// A module that one of the Pythons of this system can import.
    Python(&'static str),
}

/// A Debian package that a task needs.
pub struct Need {
    /// Evidence that it is installed.
    pub sign: Sign,
    /// Its name.
    pub package: &'static str,
    /// Its purpose: a verb and an object.
    pub why: &'static str,
}

/// Packages for the tests.
const TESTS: [Need; 20] = [
    Need {
        sign: Sign::Program("tshark"),
        package: "tshark",
        why: "dissects the captures that runs write",
    },
    Need {
        sign: Sign::Program("chromium"),
        package: "chromium",
        why: "draws the reports that studies write",
    },
    Need {
        sign: Sign::Program("node"),
        package: "nodejs",
        why: "bundles and tests the page of fairwave show",
    },
    Need { sign: Sign::Program("npm"), package: "npm", why: "fetches what that page is made of" },
    Need {
        sign: Sign::Program("tcpdump"),
        package: "tcpdump",
        why: "captures the real traffic that trace analysis is tested with",
    },
    Need {
        sign: Sign::File("/usr/sbin/ip"),
        package: "iproute2",
        why: "makes that traffic's network",
    },
    Need {
        sign: Sign::Program("nft"),
        package: "nftables",
        why: "loses packets in it, and translates addresses of an emulator's uplink",
    },
    Need {
        sign: Sign::File("/usr/bin/busybox"),
        package: "busybox-static",
        why: "pings in an emulator's namespaces",
    },
    Need {
        sign: Sign::Program("unshare"),
        package: "util-linux",
        why: "makes namespaces of the tests' own around them",
    },
    Need {
        sign: Sign::Program("script"),
        package: "bsdutils",
        why: "makes a terminal for a shell in a namespace",
    },
    Need { sign: Sign::Program("iperf3"), package: "iperf3", why: "sends through an emulator" },
    Need { sign: Sign::Program("curl"), package: "curl", why: "downloads through it" },
    Need { sign: Sign::Program("python3"), package: "python3", why: "sends and receives in it" },
    Need { sign: Sign::Program("zstd"), package: "zstd", why: "packs captures" },
    Need {
        sign: Sign::Program("systemd-analyze"),
        package: "systemd",
        why: "reads the units in packaging/systemd",
    },
    Need {
        sign: Sign::File("/usr/include/libelf.h"),
        package: "libelf-dev",
        why: "reads objects with the kernel's programs",
    },
    Need { sign: Sign::File("/usr/include/zlib.h"), package: "zlib1g-dev", why: "unpacks them" },
    Need { sign: Sign::Program("clang"), package: "clang", why: "builds them, for a comparison" },
    Need { sign: Sign::Program("llvm-strip"), package: "llvm", why: "strips them" },
    Need {
        sign: Sign::Python("jsonschema"),
        package: "python3-jsonschema",
        why: "validates scenario files by their schema",
    },
];

/// The installing command on Debian and its derivatives.
const APT: &str = "sudo apt-get install -y --no-install-recommends";

/// Installs the packages for the tests if necessary.
///
/// # Errors
/// As [`ensure`].
pub fn install() -> Outcome {
    ensure(&TESTS)
}

/// Installs the packages that are missing.
///
/// # Errors
/// With the command to type, if this is not Debian or the user is not root; or if `apt-get` fails.
pub fn ensure(needs: &[Need]) -> Outcome {
    missing(needs, by_hand)
}

/// Installs packages whose contents the task needs in Debian's version, so that no other system's
/// command is offered.
///
/// # Errors
/// As [`ensure`].
pub fn ensure_debian(needs: &[Need]) -> Outcome {
    missing(needs, |packages| format!("on Debian, {APT} {}", packages.join(" ")))
}

fn missing(needs: &[Need], by_hand: impl Fn(&[&str]) -> String) -> Outcome {
    let missing: Vec<&Need> = needs.iter().filter(|need| !need.sign.shows()).collect();
    if missing.is_empty() {
        note("nothing to install");
        return Ok(());
    }
    for need in &missing {
        note(&format!("missing: {} ({})", need.package, need.why));
    }
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    if !(Path::new("/etc/debian_version").exists() && is_root()) {
        return Err(format!("install them, then try again: {}", by_hand(&packages)));
    }
    run_aside(apt(&["update", "-q"]))?;
    let install = ["install", "-q", "-y", "--no-install-recommends"];
    run_aside(apt(&[&install, packages.as_slice()].concat()))
}

/// The exact command for a manual installation.
fn by_hand(packages: &[&str]) -> String {
    let packages = packages.join(" ");
    let managers: [(&str, &str); 4] = [
        ("apt-get", APT),
        ("dnf", "sudo dnf install -y"),
        ("pacman", "sudo pacman -S --needed"),
        ("brew", "brew install"),
    ];
    let found = managers.iter().find(|(program, _)| Sign::Program(program).shows());
    let install = found.map_or(APT, |(_, line)| line);
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

impl Sign {
    fn shows(&self) -> bool {
        match self {
            // Started, not only found: a program whose library is missing is of no use.
            Self::Program(program) => succeeds(command(program, &["--version"])),
            Self::File(path) => Path::new(path).exists(),
            Self::Python(module) => python(module).is_some(),
        }
    }
}

/// A Python that can import the module: the first one found, or that of the system.
pub fn python(module: &str) -> Option<&'static str> {
    let import = format!("import {module}");
    let can_import = |python: &&str| succeeds(command(python, &["-c", &import]));
    ["python3", "/usr/bin/python3"].into_iter().find(can_import)
}

fn is_root() -> bool {
    let id = command("id", &["-u"]).output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_shows_or_does_not() {
        assert!(Sign::File(env!("CARGO_MANIFEST_DIR")).shows());
        assert!(!Sign::File("/nowhere/wifi-module.h").shows());
        assert!(Sign::Program("cargo").shows());
        assert!(!Sign::Program("no-such-program").shows());
        assert!(Sign::Python("json").shows());
        assert!(!Sign::Python("no_such_module").shows());
    }
}
