//! The wheel and the static executable for aarch64: compiled here, tried under QEMU.

use crate::package::{TINY, empty, sweep};
use crate::python::{self, program};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::compare;
use xtask::shell::{Outcome, command, root, run, run_aside};
use xtask::system::{self, Need, Sign};
use xtask::workspace::{self, fairwave};

/// Compiler and linker for other processors, from PyPI.
const TOOLS: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.1"];
/// Emulator that runs the executable and the module.
const QEMU: &str = "qemu-aarch64-static";
const EMULATOR: Need =
    Need { sign: Sign::Program(QEMU), package: "qemu-user-static", why: "runs what is compiled" };
/// Target of the executable.
const STATIC: &str = "aarch64-unknown-linux-musl";
/// Target of the wheel.
const GNU: &str = "aarch64-unknown-linux-gnu";
/// A first result by the module in an unpacked wheel, written to a directory.
const FIRST: &str = "import sys; sys.path.insert(0, sys.argv[1]); import fairwave as fw; \
                     run = fw.run(sys.argv[2], seed=1, set={'tcp.congestion_control': 'reno'}); \
                     print(run.flows); run.save(sys.argv[3])";

/// Builds both in target/package/aarch64, and compares their results with those of this machine's
/// processor: the same bytes, but for the line that names the processor.
pub(crate) fn packages() -> Outcome {
    system::ensure(&[EMULATOR])?;
    python::install(false)?;
    let maker = python::maker()?;
    run_aside(program(
        "python",
        &[&["-m", "pip", "install", "--quiet", &maker], &TOOLS[..]].concat(),
    ))?;
    run_aside(command("rustup", &["target", "add", STATIC, GNU]))?;
    let place = workspace::target().join("package/aarch64");
    executable(&empty(&place.join("static"))?)?;
    wheel(&place)
}

/// The command, without the loader of the kernel's programs, which needs shared libraries.
fn executable(place: &Path) -> Outcome {
    let build = ["zigbuild", "--release", "--package", "fairwave-cli", "--target", STATIC];
    run(with_tools(program("cargo-zigbuild", &build)))?;
    let built = workspace::target().join(STATIC).join("release/fairwave");
    let here = place.join("here");
    sweep(fairwave("release", &[]), "1", &here)?;
    let there = place.join("aarch64");
    sweep(command(QEMU, &[&*built.to_string_lossy()]), "1", &there)?;
    same(&here, &there)?;
    let copied = fs::copy(&built, place.join("fairwave"));
    copied.map(drop).map_err(|error| format!("{}: {error}", built.display()))
}

/// The wheel, with the Python of Debian for that processor.
fn wheel(place: &Path) -> Outcome {
    let [wheels, unpacked] = ["wheels", "unpacked"].map(|name| place.join(name));
    empty(&wheels)?;
    let (to, out) = (unpacked.display().to_string(), wheels.display().to_string());
    let build = ["build", "--target", GNU, "--zig", "--compression-level", "9", "--out", &out];
    run(with_tools(program("maturin", &build)))?;
    let wheel = python::small(&wheels)?.display().to_string();
    empty(&unpacked)?;
    run(command("python3", &["-m", "zipfile", "--extract", &wheel, &to]))?;
    let debian = debian(&place.join("debian"))?;
    let interpreter = debian.join("usr/bin/python3").display().to_string();
    let scenario = root().join(TINY).display().to_string();
    let [here, there] = ["here", "aarch64"].map(|name| place.join("runs").join(name));
    empty(&place.join("runs"))?;
    let there_to = there.display().to_string();
    let arguments = ["-L", &debian.to_string_lossy(), &interpreter, "-I", "-c", FIRST, &to];
    run(command(QEMU, &[&arguments[..], &[&scenario, &there_to]].concat()))?;
    let reno = ["--seed", "1", "--set", "tcp.congestion_control=reno"];
    let mut native = fairwave("release", &["--quiet", "run", &scenario]);
    native.args(reno).arg("--out").arg(&here);
    run(native)?;
    same(&here, &there)
}

/// Fails if the directories' files differ in another line than that of the processor.
fn same(here: &Path, there: &Path) -> Outcome {
    let view = |bytes: &[u8]| {
        let names = |line: &&[u8]| line.trim_ascii_start().starts_with(b"\"architecture\":");
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| !names(line));
        lines.collect::<Vec<_>>().concat()
    };
    let compared = compare::compare(here, there, [&view, &view])?;
    let first = compared.differences.first();
    println!("{} files are the same", compared.files);
    first.map_or(Ok(()), |difference| Err(format!("{}: {difference}", there.display())))
}

/// Debian's Python for aarch64 and the libraries that it needs, unpacked into a directory. They are
/// not installed, and apt's own lists stay as they are.
fn debian(place: &Path) -> Result<PathBuf, String> {
    let [lists, cache, unpacked] = ["lists", "cache", "root"].map(|name| place.join(name));
    for folder in [&lists, &cache] {
        empty(folder)?;
    }
    empty(&unpacked)?;
    let status = place.join("status");
    fs::write(&status, "").map_err(|error| format!("{}: {error}", status.display()))?;
    let options = [
        format!("Dir::State::lists={}", lists.display()),
        format!("Dir::State::status={}", status.display()),
        format!("Dir::Cache={}", cache.display()),
        "APT::Architecture=arm64".to_owned(),
        "APT::Architectures=arm64".to_owned(),
        "APT::Sandbox::User=root".to_owned(),
    ];
    let apt = |words: &[&str]| {
        let mut apt = command("apt-get", &["-q"]);
        apt.args(options.iter().flat_map(|option| ["-o", option])).args(words);
        run_aside(apt)
    };
    apt(&["update"])?;
    apt(&["install", "--yes", "--no-install-recommends", "--download-only", "python3"])?;
    let archives = cache.join("archives");
    let at = |error| format!("{}: {error}", archives.display());
    for file in fs::read_dir(&archives).map_err(at)? {
        let file = file.map_err(at)?.path();
        if file.extension().is_some_and(|extension| extension == "deb") {
            let (from, to) = (file.to_string_lossy(), unpacked.to_string_lossy());
            run_aside(command("dpkg-deb", &["--extract", &from, &to]))?;
        }
    }
    Ok(unpacked)
}

/// Puts the tools first in `PATH`, where a build looks for Zig.
fn with_tools(mut build: Command) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let tools = python::place().join("bin");
    build.env("PATH", format!("{}:{}", tools.display(), path.to_string_lossy()));
    build.env("CARGO_TARGET_DIR", workspace::target());
    build
}
