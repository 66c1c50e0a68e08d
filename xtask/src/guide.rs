//! Optimisation by counts of an earlier build (rustc book, "Profile-guided Optimization").

use crate::package::empty;
use std::path::Path;
use xtask::shell::{command, root, run, run_aside};

/// Scenarios whose branches are counted: the frames of `cargo xtask bench-ns3`, and each protocol.
const SCENARIOS: [&str; 11] = [
    "benches/ns3/saturation.toml",
    "benches/ns3/uploads.toml",
    "benches/ns3/he-downloads.toml",
    "scenarios/ack-loss.toml",
    "scenarios/aggregation.toml",
    "scenarios/call-over-handover.toml",
    "scenarios/fading.toml",
    "scenarios/handover.toml",
    "scenarios/shake.toml",
    "scenarios/soc.toml",
    "scenarios/web-beside-download.toml",
];

/// Flags of rustc for a build that counts its branches into a directory.
pub(crate) fn counting(counts: &Path) -> String {
    format!("-Cprofile-generate={}", counts.display())
}

/// Runs scenarios with a counting build of the command, and returns the flags of rustc that use the
/// counts, which are merged in `place`.
pub(crate) fn guided(fairwave: &Path, counts: &Path, place: &Path) -> Result<String, String> {
    // Procedural macros, compiled with the same flags, counted while they compiled the rest.
    empty(counts)?;
    for (number, scenario) in SCENARIOS.iter().enumerate() {
        let mut sweep = command(&fairwave.to_string_lossy(), &["--quiet", "--out"]);
        sweep.arg(place.join(format!("runs/{number}"))).arg("sweep").arg(root().join(scenario));
        run(sweep)?;
    }
    let merged = place.join("counts.profdata").display().to_string();
    run_aside(command("rustup", &["component", "add", "llvm-tools"]))?;
    let merge = ["merge", "--output", &merged, &counts.to_string_lossy()];
    run(command(&tool("llvm-profdata")?, &merge))?;
    Ok(format!("-Cprofile-use={merged}"))
}

/// Path of a program of rustup's component `llvm-tools`, whose version is that of rustc's LLVM.
fn tool(name: &str) -> Result<String, String> {
    let [sysroot, host] = [["--print", "sysroot"], ["--print", "host-tuple"]].map(|question| {
        let told = command("rustc", &question).output().map_err(|error| error.to_string())?;
        String::from_utf8(told.stdout).map_err(|error| error.to_string())
    });
    Ok(format!("{}/lib/rustlib/{}/bin/{name}", sysroot?.trim(), host?.trim()))
}
