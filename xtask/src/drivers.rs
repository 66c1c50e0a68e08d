//! Names of the drivers in `benches`, which `cargo xtask` starts without being linked with them.

use crate::shell::root;
use std::ffi::OsString;
use std::process::Command;

/// Package of the drivers.
const PACKAGE: &str = "fairwave-benches";

/// Every driver. The list is written here once more so that a wrong name is an error at once, and
/// not after the drivers were compiled; a test of the drivers compares it with theirs.
pub const NAMES: [&str; 24] = [
    "agent",
    "agree",
    "bench-compare",
    "bench-dccp",
    "bench-emulate",
    "bench-forwarding",
    "bench-ns3",
    "bench-proxy",
    "bench-shake",
    "bench-soc",
    "bench-studies",
    "bench-trace",
    "bench-video",
    "budget",
    "captures",
    "cases",
    "compare-minstrel",
    "compare-ns3",
    "lost-acks",
    "ns3-minstrel",
    "pages",
    "probe-links",
    "same",
    "vm",
];

/// The command that compiles the drivers if necessary, and runs the one that the first word names.
///
/// # Errors
/// If no driver has this name.
pub fn command(words: &[OsString]) -> Result<Command, String> {
    let name = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
    if !NAMES.contains(&&*name) {
        return Err(format!("no task {name:?}: `cargo xtask --help` lists them"));
    }
    // Not in the workspace's root, since arguments may be paths from the present directory.
    let mut driver = Command::new("cargo");
    driver.args(["run", "--quiet", "--package", PACKAGE, "--manifest-path"]);
    driver.arg(root().join("Cargo.toml")).arg("--").args(words);
    Ok(driver)
}
