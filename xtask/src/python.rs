//! The Python package: format, types, and tests with the build of the suite.

use crate::guide;
use crate::package::{TINY, empty, sweep_and_show};
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
/// Lists of what the tests need; the second with Ray and S3, which only the slow suite installs.
const NEEDED: [&str; 2] = ["tests/requirements.txt", "tests/requirements-slow.txt"];

/// Checks format, rules and types of the package, and runs its tests; in the `slow` suite those of
/// Ray and S3, too.
pub(crate) fn check(shared: &Shared, slow: bool) -> Outcome {
    install(slow)?;
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
const WHEEL_BYTES: u64 = 15_000_000;
/// Option of pip for a wheel that is to be published: as small as deflate makes it.
const COMPRESSED: [&str; 2] = ["--config-settings", "build-args=--compression-level 9"];
/// A first result by the module and by the command.
const FIRST: &str = "import subprocess, sys, fairwave as fw; \
                     run = fw.run(sys.argv[1], seed=1, set={'tcp.congestion_control': 'reno'}); \
                     print(run.flows); \
                     subprocess.run([fw.command(), 'list', 'studies'], check=True)";

/// A task that kills access points, whose keepers have to take their changes back.
const KILLED: [&str; 2] = ["crates/cli/tests/it/soc.py", "killed"];

/// Builds the wheel from the source distribution, installs it into an environment with nothing
/// else, and uses it. A `guided` one is compiled twice, the second time by what the first counted.
pub(crate) fn wheel(guided: bool) -> Outcome {
    install(false)?;
    let [sources, wheels, clean] = ["sources", "wheels", "clean"].map(|name| place().join(name));
    let to = empty(&sources)?.display().to_string();
    let maker = maker()?;
    run_aside(program("python", &["-m", "pip", "install", "--quiet", &maker]))?;
    run(program("maturin", &["sdist", "--out", &to]))?;
    let archive = only(&sources)?.to_string_lossy().into_owned();
    // With the time of now: cargo takes files that are older than its last build for unchanged.
    run(command("tar", &["--extract", "--touch", "--file", &archive, "--directory", &to]))?;
    let unpacked = archive.trim_end_matches(".tar.gz");
    let mut flags = String::new();
    if guided {
        let place = empty(&workspace::target().join("package/guide"))?;
        let counts = place.join("counts");
        let wheel = compile(unpacked, &place.join("wheels"), &guide::counting(&counts))?;
        let programs = install_alone(&wheel, &place.join("clean"))?;
        flags = guide::guided(&programs.join("fairwave"), &counts, &place)?;
    }
    compile(unpacked, &wheels, &flags)?;
    let programs = install_alone(&small(&wheels)?, &clean)?;
    let [python, fairwave] =
        ["python", "fairwave"].map(|name| programs.join(name).display().to_string());
    let scenario = root().join(TINY).display().to_string();
    run(command(&python, &["-I", "-c", FIRST, &scenario]))?;
    sweep_and_show(&fairwave, &clean)?;
    // The command's keeper is the script of this environment, started again.
    let alone = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let [file, task] = KILLED;
    run(command("unshare", &[&alone[..], &["python3", "-B", file, &fairwave, task]].concat()))
}

/// Compiles the wheel from unpacked sources with these flags of rustc.
fn compile(sources: &str, wheels: &Path, flags: &str) -> Result<PathBuf, String> {
    let to = empty(wheels)?.display().to_string();
    let pip = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", &to];
    let mut build = program("python", &[&pip[..], &COMPRESSED, &[sources]].concat());
    build.env("CARGO_TARGET_DIR", workspace::target());
    if !flags.is_empty() {
        build.env("RUSTFLAGS", flags);
    }
    run(build)?;
    only(wheels)
}

/// Installs a wheel into an environment with nothing else, whose programs' folder it returns.
fn install_alone(wheel: &Path, environment: &Path) -> Result<PathBuf, String> {
    let at = empty(environment)?.display().to_string();
    run_aside(command("python3", &["-m", "venv", &at]))?;
    let programs = environment.join("bin");
    let python = programs.join("python").display().to_string();
    run(command(&python, &["-m", "pip", "install", "--quiet", &wheel.to_string_lossy()]))?;
    Ok(programs)
}

/// The only wheel in a directory, which is small enough to be published.
pub(crate) fn small(wheels: &Path) -> Result<PathBuf, String> {
    let wheel = only(wheels)?;
    let size = wheel.metadata().map_err(|error| format!("{}: {error}", wheel.display()))?.len();
    println!("{}: {size} bytes", wheel.display());
    if size > WHEEL_BYTES {
        return Err(format!("the wheel has more than {WHEEL_BYTES} bytes"));
    }
    Ok(wheel)
}

/// The program that makes wheels, with its version, as in pyproject.toml.
pub(crate) fn maker() -> Result<String, String> {
    let file = root().join("pyproject.toml");
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let required =
        text.lines().find_map(|line| line.strip_prefix("requires = [\"")?.strip_suffix("\"]"));
    required.map(str::to_owned).ok_or_else(|| "pyproject.toml requires nothing".to_owned())
}

/// The only file in a directory.
fn only(directory: &Path) -> Result<PathBuf, String> {
    let at = |error| format!("{}: {error}", directory.display());
    let mut files = fs::read_dir(directory).map_err(at)?.filter_map(Result::ok);
    match (files.next(), files.next()) {
        (Some(file), None) => Ok(file.path()),
        _ => Err(format!("{} has not one file", directory.display())),
    }
}

/// The virtual environment of the tests.
pub(crate) fn place() -> PathBuf {
    workspace::target().join("python")
}

pub(crate) fn program(name: &str, args: &[&str]) -> Command {
    command(&place().join("bin").join(name).to_string_lossy(), args)
}

/// Installs what the tests need, unless the same is there.
pub(crate) fn install(slow: bool) -> Outcome {
    let mut wanted = String::new();
    for list in &NEEDED[..if slow { 2 } else { 1 }] {
        let list = root().join(PACKAGE).join(list);
        wanted +=
            &fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    }
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
