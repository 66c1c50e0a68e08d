//! The steps of `cargo xtask test`, in the order that finds a mistake soonest.

use crate::changed::{self, Reach};
use crate::compare;
use crate::runner::{self, Tests, tool};
use crate::shared::Shared;
use crate::shell::{Outcome, Steps, WITH_LAWS, cargo, command, root, run, succeeds};
use crate::system;
use crate::workspace;
use serde_json::Value;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

/// Cases for each property test in a slow run; proptest's own default is 256.
const SLOW_PROPERTY_CASES: &str = "10000";
/// Seconds for each fuzz target in a slow run.
const SLOW_FUZZ_S: u32 = 60;
/// The package of the command.
const COMMAND: &str = "fairwave-cli";
/// A sweep of a few short runs, for the comparison of run directories.
const TINY_SCENARIO: &str = "crates/cli/tests/data/tiny.toml";

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
    format(&mut steps)?;
    rules(&mut steps, shared.test(&[]))?;
    if crates.is_empty() {
        return steps.finish();
    }
    tests(&mut steps, extent, &shared, &crates)?;
    if crates.has(COMMAND) {
        runs(&mut steps, extent, &shared)?;
    }
    steps.finish()
}

/// Unit, property and integration tests. If the command has to be built too, this happens during
/// the tests, many of which wait.
fn tests(steps: &mut Steps, extent: &Extent, shared: &Shared, crates: &Selection) -> Outcome {
    let packages = crates.arguments();
    let mut compiled = None;
    steps.step("lints, and tests compile", || {
        compiled = Some(Tests::build(shared, &packages)?);
        Ok(())
    })?;
    let compiled = compiled.expect("the step before has ended well");
    let slow = [("PROPTEST_CASES", SLOW_PROPERTY_CASES)];
    let environment: &[_] = if *extent == Extent::Slow { &slow } else { &[] };
    steps.step("unit, property and integration tests, beside the release build", || {
        let mut release = crates.has(COMMAND).then(|| release_build(true));
        let started = release.as_mut().map(Command::spawn).transpose();
        let outcome = compiled.run(&[], environment);
        let built = started.map_err(|error| format!("cargo build: {error}"))?;
        if let Some(mut built) = built {
            // The step "release build" repeats a failed build, with its messages.
            built.wait().map_err(|error| format!("cargo build: {error}"))?;
        }
        outcome
    })?;
    steps.step("examples in documents", || {
        let mut examples = shared.test(&["--doc", "--quiet"]);
        examples.args(packages);
        run(examples)
    })
}

/// Installs packages of the system, and programs from PyPI.
fn install() -> Outcome {
    system::install()?;
    runner::install()
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
    let mut compiled = None;
    steps.step("lints, and tests compile", || {
        compiled = Some(Tests::build(&shared, &Selection::all().arguments())?);
        Ok(())
    })?;
    let late_ms = timer_lateness_ms();
    println!("a timer of 1 ms is {late_ms:.2} ms late at the 99th percentile");
    if late_ms > LATE_MS {
        println!("SKIPPED: the tests in real time; this machine's timer may be {LATE_MS} ms late");
        return steps.finish();
    }
    let compiled = compiled.expect("the step before has ended well");
    steps.step("tests in real time, one at a time", || {
        compiled.run(&["--profile", "realtime", "--run-ignored", "all"], &[])
    })?;
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
    late.sort_by(f64::total_cmp);
    late[ROUNDS * 99 / 100]
}

/// The build of the command as users have it.
fn release_build(quietly: bool) -> Command {
    let mut build = cargo(&["build", "--release", "-p", COMMAND, WITH_LAWS]);
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
    let studies = studies()?;
    steps.step("studies, quick", || quick_studies(&studies, extent))?;
    if *extent == Extent::Slow {
        steps.step("simulator against theory, in release", || {
            run(cargo(&["test", "--release", "-p", "fairwave-sim", "--test", "it", "validation::"]))
        })?;
        steps.step("rate control against fixed rates, in release", || {
            let grid = ["--test", "it", "--", "--ignored", "rates::slow"];
            run(cargo(&[&["test", "--release", "-p", "fairwave-dot11"][..], &grid].concat()))
        })?;
        steps.step("hundreds of emulations in a row", || {
            let slow = ["--test", "it", "--", "--ignored", "slow_"];
            run(cargo(&[&["test", "-p", "fairwave-netns"][..], &slow].concat()))?;
            run(cargo(&[&["test", "-p", "fairwave-bpf"][..], &slow].concat()))?;
            let loaders = ["--test", "it", "--", "--ignored", "cc::slow"];
            run(cargo(&[&["test", "-p", "fairwave-cli", WITH_LAWS][..], &loaders].concat()))?;
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
            run(cargo(&[&["test", "-p", "fairwave-cli", WITH_LAWS][..], &soak].concat()))
        })?;
        steps.step("packet scripts that take minutes", || {
            let scripts = ["--test", "it", "--", "--ignored", "packets::slow"];
            run(cargo(&[&["test", "-p", "fairwave-cli", WITH_LAWS][..], &scripts].concat()))
        })?;
        steps.step("laws in an older kernel", || crate::vm::vm(crate::vm::Show::Cc))?;
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

/// Format, lints and the repository's rules.
pub(crate) fn tidy() -> Outcome {
    let mut steps = Steps::new();
    steps.step("install what the rules need", runner::install)?;
    format(&mut steps)?;
    rules(&mut steps, cargo(&["test"]))?;
    steps.step("lints", || {
        let all = ["clippy", "--workspace", "--all-targets", WITH_LAWS, "--", "-D", "warnings"];
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
    test.args(["--quiet", "--workspace", WITH_LAWS, "--bin", "xtask"]);
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
                let laws = names.iter().any(|name| name == COMMAND).then(|| WITH_LAWS.to_owned());
                let packages = names.iter().flat_map(|name| ["--package".to_owned(), name.clone()]);
                packages.chain(laws).collect()
            }
            Reach::Nothing | Reach::Everything => {
                vec!["--workspace".to_owned(), WITH_LAWS.to_owned()]
            }
        }
    }
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

/// Rewrites generated files: the schema and the reference page in `docs`, the rest below
/// `target/gen`.
pub(crate) fn generate() -> Outcome {
    run(release_build(false))?;
    for name in SCHEMAS {
        let file = format!("docs/{name}.schema.json");
        save(&mut fairwave("release", &["list", "schema", name]), &file)?;
    }
    save(&mut fairwave("release", &["list", "reference"]), "docs/scenario.md")?;
    for shell in ["bash", "zsh", "fish"] {
        let file = format!("target/gen/fairwave.{shell}");
        save(&mut fairwave("release", &["completions", shell]), &file)?;
    }
    run(fairwave("release", &["man", "--force", "--out", "target/gen/man"]))
}

/// Names of the JSON schemas that `gen` writes. That of `trace` is golden.
const SCHEMAS: [&str; 23] = [
    "scenario",
    "run",
    "emulate",
    "cc",
    "sweep",
    "reproduce",
    "reproduce-beside",
    "reproduce-map",
    "check",
    "compare",
    "dccp",
    "fairness",
    "matrix",
    "packets",
    "plot",
    "probe",
    "proxy",
    "soc",
    "list",
    "explain",
    "store",
    "summary",
    "meta",
];

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

/// `fairwave args...` from `cargo`'s build with this profile.
pub(crate) fn fairwave(profile: &str, args: &[&str]) -> Command {
    command(&workspace::target().join(profile).join("fairwave").to_string_lossy(), args)
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
        sweep(command, jobs, &directory)?;
        directories.push(directory);
    }
    compare::same(&directories[0], &directories[1])?;
    compare::same(&directories[1], &directories[2])
}

fn sweep(mut command: Command, jobs: &str, out: &Path) -> Outcome {
    command.args(["--quiet", "--jobs", jobs, "--out"]).arg(out).args(["sweep", TINY_SCENARIO]);
    run(command)
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

/// Keys that every claim of `reproduce --json` has.
const CLAIM_KEYS: [&str; 14] = [
    "id",
    "verdict",
    "condition",
    "share",
    "setups",
    "decides",
    "holds",
    "reason",
    "only_setup",
    "declared",
    "statement",
    "measured",
    "criterion",
    "note",
];

/// The names of all studies.
pub(crate) fn studies() -> Result<Vec<String>, String> {
    let output = fairwave("release", &["--json", "list", "studies"]).output();
    let output = output.map_err(|error| format!("fairwave list: {error}"))?;
    let list: Vec<Value> = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("list studies --json: {error}"))?;
    let names: Vec<String> =
        list.iter().filter_map(|study| Some(study["name"].as_str()?.to_owned())).collect();
    if names.is_empty() { Err("list studies --json: none".into()) } else { Ok(names) }
}

/// Runs studies in their quick form, two at once: while one waits for its last run, the other uses
/// the idle processors. Prints each study's result when it ends.
fn quick_studies(names: &[String], extent: &Extent) -> Outcome {
    let waiting = Mutex::new(names.iter());
    // The lock is released before the study runs: `next` returns only the name.
    let next = || waiting.lock().expect("nobody panics with it").next();
    let failed = Mutex::new(Vec::new());
    let work = || {
        while let Some(name) = next() {
            let begun = Instant::now();
            let outcome = match extent {
                Extent::Slow => study(name, &["--quick"]),
                Extent::Usual | Extent::Changed(_) => study_once(name),
            };
            let seconds = begun.elapsed().as_secs_f64();
            match outcome {
                Ok(said) => println!("study {name}: {seconds:.1} s\n{said}"),
                Err(why) => {
                    failed.lock().expect("nobody panics with it").push(format!("{name}: {why}"));
                }
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let failed = failed.into_inner().expect("nobody panics with it");
    if failed.is_empty() { Ok(()) } else { Err(format!("studies fail: {}", failed.join("; "))) }
}

/// Runs a study in its quick form, unless this very binary has passed it here. The same binary
/// gives the same result, as the step "same bytes" and the tests of determinism check.
fn study_once(name: &str) -> Result<String, String> {
    let stamp = workspace::target().join(format!("study-{name}.passed"));
    let binary = workspace::target().join("release").join("fairwave");
    let bytes = fs::read(&binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let identity = format!("{:016x}", hasher.finish());
    if fs::read_to_string(&stamp).is_ok_and(|passed| passed == identity) {
        return Ok(format!("passed before with the same binary ({})", stamp.display()));
    }
    let said = study(name, &["--quick"])?;
    fs::write(&stamp, identity).map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(said)
}

/// Runs a study as a script would: JSON on standard output, verdict in the exit code. Returns a
/// text with the verdicts.
fn study(name: &str, options: &[&str]) -> Result<String, String> {
    let out = workspace::target().join(format!("study-{name}"));
    let out = out.to_string_lossy();
    // Runs without the kernel's sockets are stored for the next time, apart from the user's own
    // store.
    let store = workspace::target().join("study-store");
    let store = store.to_string_lossy();
    let common = ["--json", "--force", "--out", &out, "reproduce", name, "--store", &store];
    let common = [&common[..], &["--strict"]].concat();
    let output = fairwave("release", &[&common, options].concat()).output();
    let output = output.map_err(|error| format!("fairwave reproduce: {error}"))?;
    let summary: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
        format!("reproduce --json: {error}: {}", String::from_utf8_lossy(&output.stderr))
    })?;
    validate("reproduce", &summary)?;
    let (one_fails, said) = verdicts(&summary)?;
    let expected = if one_fails { 3 } else { 0 };
    match output.status.code() {
        Some(code) if code == expected => Ok(said),
        code => Err(format!("reproduce --strict ended with {code:?}, not {expected}")),
    }
}

/// Validates a command's output against its schema in `docs`, as another program would.
fn validate(name: &str, value: &Value) -> Outcome {
    let file = root().join(format!("docs/{name}.schema.json"));
    let text = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let schema: Value =
        serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let cases = serde_json::json!([{ "name": name, "schema": schema, "value": value }]);
    let python = system::python("jsonschema").ok_or("no Python has jsonschema")?;
    let mut python = command(python, &["-c", VALIDATOR]);
    let started = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| format!("python: {error}"))?;
    let mut input = child.stdin.take().ok_or("python: no input")?;
    input.write_all(cases.to_string().as_bytes()).map_err(|error| format!("python: {error}"))?;
    drop(input);
    let output = child.wait_with_output().map_err(|error| format!("python: {error}"))?;
    match output.status.success() && output.stdout.is_empty() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stdout).into_owned()),
    }
}

/// Script that validates JSON values against their schemas, and prints the errors.
const VALIDATOR: &str = include_str!("../../crates/cli/tests/it/schemas.py");

/// Checks that the page in `results/studies` is the one that full runs of [`study`] give.
fn same_page(name: &str) -> Outcome {
    let runs = workspace::target().join(format!("study-{name}"));
    let runs = runs.to_string_lossy();
    let args = ["--out", &runs, "--force", "reproduce", name, "--full", "--from", &runs];
    let output = fairwave("release", &[&args[..], &["--markdown"]].concat()).output();
    let output = output.map_err(|error| format!("fairwave reproduce: {error}"))?;
    let file = root().join(format!("results/studies/{name}.md"));
    let kept = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    match output.status.success() && without_days(&output.stdout) == without_days(&kept) {
        true => Ok(()),
        false => Err(format!("{} is not what `reproduce --markdown` prints", file.display())),
    }
}

/// A page without the dates of its maps, which depend on the day of the run.
fn without_days(page: &[u8]) -> String {
    let text = String::from_utf8_lossy(page);
    let is_day = |part: &str| {
        let of_shape = |(at, byte): (usize, u8)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        };
        part.len() == 10 && part.bytes().enumerate().all(of_shape)
    };
    let ends = |c: char| !(c.is_ascii_digit() || c == '-');
    text.split_inclusive(ends)
        .map(|part| {
            let day = part.trim_end_matches(ends);
            if is_day(day) { part.replacen(day, "DAY", 1) } else { part.to_owned() }
        })
        .collect()
}

/// Whether a claim fails, and a line with each claim's verdict; or an error for missing keys.
fn verdicts(summary: &Value) -> Result<(bool, String), String> {
    let claims = summary["claims"].as_array().filter(|claims| !claims.is_empty());
    let mut one_fails = false;
    let mut said = String::new();
    for claim in claims.ok_or("reproduce --json: no claims")? {
        if let Some(key) = CLAIM_KEYS.iter().find(|key| claim.get(key).is_none()) {
            return Err(format!("reproduce --json: a claim without {key:?}: {claim}"));
        }
        let count = |kind: &str| claim["setups"][kind].as_u64();
        let counts = (count("tried"), count("admitted"), count("holding"), count("undecided"));
        let (Some(tried), Some(admitted), Some(holding), Some(undecided)) = counts else {
            return Err(format!("reproduce --json: set-ups are not counted: {claim}"));
        };
        let verdict = claim["verdict"].as_str().unwrap_or_default();
        let is_sound = match verdict {
            "robust" => holding > 0,
            "conditional" => holding > 0 && holding <= admitted,
            "nowhere" => holding == 0 && admitted > undecided,
            "not judgeable" => admitted == undecided,
            _ => false,
        };
        if !is_sound || admitted > tried {
            return Err(format!("reproduce --json: no verdict: {claim}"));
        }
        one_fails |= match claim["ours"].as_bool() {
            Some(true) => holding + undecided < admitted,
            _ => verdict == "nowhere",
        };
        let condition = claim["condition"].as_str().unwrap_or_default();
        said += &format!("{}: {verdict} ({holding} of {tried}) {condition}\n", claim["id"]);
    }
    summary["joint"].as_array().ok_or("reproduce --json: no joint sets")?;
    for key in ["wall_s", "simulated_s"] {
        summary[key].as_f64().ok_or(format!("reproduce --json: no number {key:?}"))?;
    }
    said += &format!("{} s, {} CPU s", summary["wall_s"], summary["cpu_s"]);
    Ok((one_fails, said))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A paper's claim with this verdict: of two set-ups `holding` hold and `undecided` are
    /// undecided.
    fn summary(verdict: &str, holding: u64, undecided: u64) -> Value {
        let setups = json!({ "tried": 3, "admitted": 2, "holding": holding,
                             "undecided": undecided });
        let claim = json!({ "id": "A-1", "ours": false, "verdict": verdict, "condition": "",
                            "share": null, "setups": setups, "decides": null, "holds": null,
                            "reason": null, "only_setup": null, "declared": null,
                            "statement": "", "measured": {}, "criterion": "", "note": "" });
        json!({ "claims": [claim], "joint": [], "wall_s": 1.0, "simulated_s": 2.0 })
    }

    fn fails(summary: &Value) -> Result<bool, String> {
        verdicts(summary).map(|(one_fails, _)| one_fails)
    }

    #[test]
    fn verdicts_are_read_and_gaps_are_named() {
        assert_eq!(fails(&summary("robust", 2, 0)), Ok(false));
        let conditional = summary("conditional", 1, 0);
        assert_eq!(fails(&conditional), Ok(false));
        assert_eq!(fails(&summary("nowhere", 0, 1)), Ok(true));
        assert_eq!(fails(&summary("not judgeable", 0, 2)), Ok(false));
        for (verdict, holding, undecided) in
            [("robust", 0, 0), ("nowhere", 1, 0), ("not judgeable", 0, 1), ("holds", 2, 0)]
        {
            assert!(verdicts(&summary(verdict, holding, undecided)).is_err(), "{verdict}");
        }
        assert!(verdicts(&json!({ "claims": [] })).is_err());
        let mut ours = conditional.clone();
        ours["claims"][0]["ours"] = json!(true);
        assert_eq!(fails(&ours), Ok(true), "a question of ours must hold everywhere");
        let mut gap = conditional;
        gap["claims"][0].as_object_mut().unwrap().remove("note");
        assert!(verdicts(&gap).is_err_and(|why| why.contains("note")));
    }

    #[test]
    fn pages_differ_by_more_than_days() {
        let page = |day: &str, count: u32| format!("Run of {day}: {count} runs of 2026-1-1.");
        let (first, second) = (page("2026-11-25", 3), page("2026-12-01", 3));
        assert_eq!(without_days(first.as_bytes()), without_days(second.as_bytes()));
        assert_eq!(without_days(first.as_bytes()), "Run of DAY: 3 runs of 2026-1-1.");
        assert_ne!(without_days(first.as_bytes()), without_days(page("2026-11-25", 4).as_bytes()));
    }
}
