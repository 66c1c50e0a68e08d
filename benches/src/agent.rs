//! `cargo xtask agent`: `fairwave-agent` for routers, static, for each processor of a list.
//!
//! All targets are built in the same way. Rust's library is compiled from source, optimised for
//! size. Zig, which contains musl for every target, links. Both come from package registries and
//! are installed in the target directory.

use std::fs;
use std::path::{Path, PathBuf};
use xtask::shell::{Outcome, cargo, command, note, run_aside, succeeds};
use xtask::workspace;

/// Targets, and the emulators that run their programs on this machine.
const TARGETS: [(&str, &str); 4] = [
    ("x86_64-unknown-linux-musl", ""),
    ("aarch64-unknown-linux-musl", "qemu-aarch64-static"),
    ("armv7-unknown-linux-musleabihf", "qemu-arm-static"),
    ("mipsel-unknown-linux-musl", "qemu-mipsel-static"),
];
/// Maximum size of the program, which has to fit into a router's flash memory, in bytes.
const MAX: u64 = 2 << 20;
/// Packages that pip installs.
const TOOLS: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.0"];

/// Builds the program for every target, or only for those named.
pub(crate) fn agent(named: &[String]) -> Outcome {
    let all = TARGETS.iter().filter(|(target, _)| {
        named.is_empty() || named.iter().any(|name| target.starts_with(name.as_str()))
    });
    let all: Vec<_> = all.collect();
    if all.is_empty() {
        let names = TARGETS.map(|(target, _)| target).join(", ");
        return Err(format!("none of {} begins one of {names}", named.join(", ")));
    }
    println!("| target | bytes | it runs here |\n|---|---:|---|");
    for (target, emulator) in all {
        let program = build(target)?;
        let bytes = fs::metadata(&program).map_err(|error| format!("{program:?}: {error}"))?.len();
        println!("| {target} | {bytes} | {} |", runs(&program, emulator)?);
        if bytes > MAX {
            return Err(format!("{} has {bytes} bytes, more than {MAX}", program.display()));
        }
    }
    Ok(())
}

/// Builds the program for one target. Returns its path.
pub(crate) fn build(target: &str) -> Result<PathBuf, String> {
    let tools = tools()?;
    if !succeeds(command("rustup", &["component", "add", "rust-src"])) {
        return Err("the source of Rust's library is needed: rustup component add rust-src".into());
    }
    let package = ["-p", "fairwave-soc-tool", "--bin", "fairwave-agent", "--profile", "agent"];
    let library = ["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=optimize_for_size"];
    let mut building = cargo(&["zigbuild", "--target", target]);
    building.args(package).args(library);
    // For `cargo zigbuild`, and the Python that has Zig.
    let path = std::env::var("PATH").unwrap_or_default();
    building.env("PATH", format!("{}:{path}", tools.display()));
    // Compiling the library is an unstable feature of cargo.
    building.env("RUSTC_BOOTSTRAP", "1");
    let flags = "-C link-self-contained=no -C target-feature=+crt-static -Z location-detail=none";
    building.env("RUSTFLAGS", flags);
    run_aside(building)?;
    Ok(workspace::target().join(target).join("agent/fairwave-agent"))
}

/// The directory of the programs that pip installed.
fn tools() -> Result<PathBuf, String> {
    let place = workspace::target().join("agent-tools");
    let programs = place.join("bin");
    let wanted = TOOLS.join(" ");
    let mark = place.join("installed");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(programs);
    }
    let place_name = place.to_string_lossy();
    run_aside(command("python3", &["-m", "venv", &place_name]))?;
    let pip = programs.join("pip");
    run_aside(command(&pip.to_string_lossy(), &[&["install", "--quiet"], &TOOLS[..]].concat()))?;
    fs::write(&mark, wanted).map_err(|error| format!("{}: {error}", mark.display()))?;
    Ok(programs)
}

/// Checks that the program derives a station's key on this machine, in an emulator of its processor
/// if necessary.
fn runs(program: &Path, emulator: &str) -> Result<&'static str, String> {
    let program_name = program.to_string_lossy();
    let is_native = emulator.is_empty();
    if !is_native && !succeeds(command(emulator, &["--version"])) {
        note(&format!("{emulator} is in Debian's package qemu-user-static"));
        return Ok("not tried, its emulator is missing");
    }
    let key = workspace::target().join("agent-tools/key");
    let zeros = format!("{}=\n", "A".repeat(43));
    fs::write(&key, zeros).map_err(|error| format!("{}: {error}", key.display()))?;
    let words = ["key", "--station", "02:00:00:00:00:07", "--key", &key.to_string_lossy()];
    let mut started = match is_native {
        true => command(&program_name, &words),
        false => command(emulator, &[&[&*program_name], &words[..]].concat()),
    };
    let output = started.output().map_err(|error| format!("{program_name}: {error}"))?;
    match output.status.success() && output.stdout.starts_with(b"station ") {
        true => Ok("yes"),
        false => Err(format!("{program_name}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}
