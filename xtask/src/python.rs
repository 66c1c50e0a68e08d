//! The Python package: format, types, and tests with the build of the suite.

use crate::shared::Shared;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::shell::{Outcome, WITH_KERNEL_CC, command, root, run, run_aside};
use xtask::workspace;

/// The package's folder.
const PACKAGE: &str = "crates/python";
/// Folder of the notebooks.
const NOTEBOOKS: &str = "docs/notebooks";
/// Ray, which only the slow suite installs.
const RAY: &str = "ray==2.60.0";

/// Checks format, rules and types of the package, and runs its tests; with `ray` those of sweeps on
/// Ray, too.
pub(crate) fn check(shared: &Shared, ray: bool) -> Outcome {
    install(ray)?;
    // All of the workspace, so that nothing is compiled again with other features.
    run(shared.build(&["--workspace", WITH_KERNEL_CC, "--lib"]))?;
    let site = place().join("site");
    assemble(&shared.library("_fairwave"), &site)?;
    run(program("ruff", &["check", "--quiet", "--no-cache", PACKAGE, NOTEBOOKS]))?;
    run(program("ruff", &["format", "--check", "--quiet", "--no-cache", PACKAGE, NOTEBOOKS]))?;
    run(program("mypy", &["--no-error-summary", "--cache-dir", "/dev/null"]))?;
    let mut tests = program("python", &["-B", "-m", "pytest", "--quiet", "-p", "no:cacheprovider"]);
    tests.env("PYTHONPATH", &site).env("FAIRWAVE", shared.program("fairwave"));
    // For DuckDB's program.
    let programs = place().join("bin").display().to_string();
    let path = std::env::var_os("PATH").unwrap_or_default();
    tests.env("PATH", format!("{programs}:{}", path.to_string_lossy()));
    run(tests)
}

/// Largest permitted size of the wheel in bytes.
const WHEEL_BYTES: u64 = 22_000_000;
/// A first result by the module and by the command.
const FIRST: &str = "import subprocess, sys, fairwave as fw; \
                     run = fw.run(sys.argv[1], seed=1, set={'tcp.congestion_control': 'reno'}); \
                     print(run.flows); \
                     subprocess.run([fw.command(), 'list', 'studies'], check=True)";

/// Builds the wheel, installs it into an environment with nothing else, and uses it.
pub(crate) fn wheel() -> Outcome {
    install(false)?;
    let (wheels, clean) = (place().join("wheels"), place().join("clean"));
    for old in [&wheels, &clean] {
        if old.exists() {
            fs::remove_dir_all(old).map_err(|error| format!("{}: {error}", old.display()))?;
        }
    }
    let to = wheels.to_string_lossy();
    run(program(
        "python",
        &["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", &to, "."],
    ))?;
    let mut made = fs::read_dir(&wheels).map_err(|error| format!("{to}: {error}"))?;
    let wheel = made.next().and_then(Result::ok).ok_or("pip made no wheel")?.path();
    let size = wheel.metadata().map_err(|error| format!("{}: {error}", wheel.display()))?.len();
    println!("{}: {size} bytes", wheel.display());
    if size > WHEEL_BYTES {
        return Err(format!("the wheel has more than {WHEEL_BYTES} bytes"));
    }
    run_aside(command("python3", &["-m", "venv", &clean.to_string_lossy()]))?;
    let python = clean.join("bin/python").display().to_string();
    run(command(&python, &["-m", "pip", "install", "--quiet", &wheel.to_string_lossy()]))?;
    let scenario = root().join("crates/cli/tests/data/tiny.toml").display().to_string();
    run(command(&python, &["-I", "-c", FIRST, &scenario]))
}

/// The virtual environment of the tests.
fn place() -> PathBuf {
    workspace::target().join("python")
}

fn program(name: &str, args: &[&str]) -> Command {
    command(&place().join("bin").join(name).to_string_lossy(), args)
}

/// Installs what the tests need, unless the same is there.
fn install(ray: bool) -> Outcome {
    let list = root().join(PACKAGE).join("tests/requirements.txt");
    let wanted =
        fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let wanted = if ray { format!("{wanted}{RAY}\n") } else { wanted };
    let installed = place().join("installed.txt");
    if fs::read_to_string(&installed).is_ok_and(|before| before == wanted) {
        return Ok(());
    }
    run_aside(command("python3", &["-m", "venv", &place().to_string_lossy()]))?;
    let list = place().join("wanted.txt");
    fs::write(&list, &wanted).map_err(|error| format!("{}: {error}", list.display()))?;
    let pip = ["-m", "pip", "install", "--quiet", "--requirement", &list.to_string_lossy()];
    run_aside(program("python", &pip))?;
    fs::write(&installed, wanted).map_err(|error| format!("{}: {error}", installed.display()))
}

/// The package as a wheel would install it, in a folder of its own.
fn assemble(library: &Path, place: &Path) -> Outcome {
    let at = |path: &Path, error| format!("{}: {error}", path.display());
    let package = place.join("fairwave");
    fs::create_dir_all(&package).map_err(|error| at(&package, error))?;
    let sources = root().join(PACKAGE).join("fairwave");
    for entry in fs::read_dir(&sources).map_err(|error| at(&sources, error))? {
        let file = entry.map_err(|error| at(&sources, error))?.path();
        if let (true, Some(name)) = (file.is_file(), file.file_name()) {
            fs::copy(&file, package.join(name)).map_err(|error| at(&file, error))?;
        }
    }
    let module = package.join("_fairwave.abi3.so");
    fs::copy(library, &module).map(drop).map_err(|error| at(library, error))
}
