//! What `cargo xtask test` runs, in the order that finds a mistake soonest.

use crate::compare;
use crate::shell::{Outcome, Steps, cargo, command, root, run, succeeds};
use crate::system;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Cases for each property test in a slow run; proptest's own default is 256.
const SLOW_PROPERTY_CASES: &str = "10000";
/// Seconds for each fuzz target in a slow run.
const SLOW_FUZZ_S: u32 = 60;
/// A sweep of a few short runs, for the comparison of run directories.
const TINY_SCENARIO: &str = "crates/cli/tests/data/tiny.toml";

/// Everything. Stops at the first failure.
pub(crate) fn test(slow: bool) -> Outcome {
    let mut steps = Steps::new();
    steps.step("install what the tests need", system::install)?;
    checks(&mut steps)?;
    steps.step("unit, property and integration tests", || {
        let mut tests = cargo(&["test", "--workspace"]);
        if slow {
            tests.env("PROPTEST_CASES", SLOW_PROPERTY_CASES);
        }
        run(tests)
    })?;
    steps.step("release build", || run(cargo(&["build", "--release", "-p", "fairwave-cli"])))?;
    steps.step("simulator against theory, in release", || {
        run(cargo(&["test", "--release", "-p", "fairwave-sim", "--test", "it", "validation::"]))
    })?;
    steps.step("same bytes: debug and release, one worker and two", determinism)?;
    steps.step("every scenario is valid", check_scenarios)?;
    let studies = studies()?;
    for name in &studies {
        steps.step(&format!("study {name}, quick"), || study(name, &["--quick"]))?;
    }
    if slow {
        steps.step("fuzz", || fuzz(SLOW_FUZZ_S))?;
        for name in &studies {
            steps.step(&format!("study {name}, full"), || study(name, &[]))?;
        }
    }
    steps.finish()
}

/// Format, lints and the rules of the house.
pub(crate) fn tidy() -> Outcome {
    let mut steps = Steps::new();
    checks(&mut steps)?;
    steps.finish()
}

fn checks(steps: &mut Steps) -> Outcome {
    steps.step("format", || run(cargo(&["fmt", "--all", "--check"])))?;
    steps.step("rules of the house", || run(cargo(&["test", "--quiet", "-p", "xtask"])))?;
    steps.step("lints", || {
        run(cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
    })
}

/// Fuzzes every target for so many seconds.
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
        // Without a nightly compiler, the stable one is told to accept the sanitizer's flag.
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

/// Rewrites what is made from code: the schema into `docs`, the rest below `target/gen`.
pub(crate) fn generate() -> Outcome {
    run(cargo(&["build", "--release", "-p", "fairwave-cli"]))?;
    save(&mut fairwave("release", &["list", "schema"]), "docs/scenario.schema.json")?;
    for shell in ["bash", "zsh", "fish"] {
        let file = format!("target/gen/fairwave.{shell}");
        save(&mut fairwave("release", &["completions", shell]), &file)?;
    }
    run(fairwave("release", &["man", "--force", "--out", "target/gen/man"]))
}

/// Runs a command and keeps what it prints.
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

/// `fairwave args...` as `cargo` built it.
pub(crate) fn fairwave(profile: &str, args: &[&str]) -> Command {
    command(&target().join(profile).join("fairwave").to_string_lossy(), args)
}

/// Where cargo builds, as the environment and cargo's configuration have it.
pub(crate) fn target() -> PathBuf {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]).output();
    let parsed =
        metadata.ok().and_then(|output| serde_json::from_slice::<Value>(&output.stdout).ok());
    let stated = parsed.and_then(|value| Some(value["target_directory"].as_str()?.to_owned()));
    stated.map_or_else(|| root().join("target"), PathBuf::from)
}

/// One sweep by two builds and by one and two workers: three run directories, all the same.
fn determinism() -> Outcome {
    run(cargo(&["build", "-p", "fairwave-cli"]))?;
    let out = target().join("determinism");
    if out.exists() {
        fs::remove_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    }
    let runs = [("debug", "1"), ("release", "1"), ("release", "2")];
    let mut directories = Vec::new();
    for (profile, jobs) in runs {
        let directory = out.join(format!("{profile}-{jobs}"));
        sweep(profile, jobs, &directory)?;
        directories.push(directory);
    }
    compare::same(&directories[0], &directories[1])?;
    compare::same(&directories[1], &directories[2])
}

fn sweep(profile: &str, jobs: &str, out: &Path) -> Outcome {
    let out = out.to_string_lossy();
    let args = ["--quiet", "--jobs", jobs, "--out", &out, "sweep", TINY_SCENARIO];
    run(fairwave(profile, &args))
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

/// What every claim of `reproduce --json` has.
const CLAIM_KEYS: [&str; 6] = ["id", "holds", "statement", "measured", "criterion", "note"];

/// The names of the studies that there are.
fn studies() -> Result<Vec<String>, String> {
    let output = fairwave("release", &["--json", "list", "studies"]).output();
    let output = output.map_err(|error| format!("fairwave list: {error}"))?;
    let list: Vec<Value> = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("list studies --json: {error}"))?;
    let names: Vec<String> =
        list.iter().filter_map(|study| Some(study["name"].as_str()?.to_owned())).collect();
    if names.is_empty() { Err("list studies --json: none".into()) } else { Ok(names) }
}

/// Runs a study as a script would: JSON on standard output, verdict in the exit code.
fn study(name: &str, options: &[&str]) -> Outcome {
    let out = target().join(format!("study-{name}"));
    let out = out.to_string_lossy();
    let common = ["--json", "--force", "--out", &out, "reproduce", name, "--strict"];
    let output = fairwave("release", &[&common, options].concat()).output();
    let output = output.map_err(|error| format!("fairwave reproduce: {error}"))?;
    let summary: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
        format!("reproduce --json: {error}: {}", String::from_utf8_lossy(&output.stderr))
    })?;
    let all_hold = verdicts(&summary)?;
    let expected = if all_hold { 0 } else { 3 };
    match output.status.code() {
        Some(code) if code == expected => Ok(()),
        code => Err(format!("reproduce --strict ended with {code:?}, not {expected}")),
    }
}

/// Prints each claim's verdict; says whether all hold, or what is missing.
fn verdicts(summary: &Value) -> Result<bool, String> {
    let claims = summary["claims"].as_array().filter(|claims| !claims.is_empty());
    let mut all_hold = true;
    for claim in claims.ok_or("reproduce --json: no claims")? {
        if let Some(key) = CLAIM_KEYS.iter().find(|key| claim.get(key).is_none()) {
            return Err(format!("reproduce --json: a claim without {key:?}: {claim}"));
        }
        let holds = claim["holds"].as_bool().ok_or("reproduce --json: a verdict is no boolean")?;
        println!("{}: {}", claim["id"], if holds { "holds" } else { "does not hold" });
        all_hold &= holds;
    }
    for key in ["wall_s", "simulated_s"] {
        summary[key].as_f64().ok_or(format!("reproduce --json: no number {key:?}"))?;
    }
    println!("{} s, {} frames per CPU s", summary["wall_s"], summary["frames_per_cpu_s"]);
    Ok(all_hold)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn summary(holds: &Value) -> Value {
        let claim = json!({ "id": "A-1", "holds": holds, "statement": "", "measured": {},
                            "criterion": "", "note": "" });
        json!({ "claims": [claim], "wall_s": 1.0, "simulated_s": 2.0 })
    }

    #[test]
    fn verdicts_are_read_and_gaps_are_named() {
        assert_eq!(verdicts(&summary(&json!(true))), Ok(true));
        assert_eq!(verdicts(&summary(&json!(false))), Ok(false));
        assert!(verdicts(&summary(&json!("yes"))).is_err());
        assert!(verdicts(&json!({ "claims": [] })).is_err());
        let mut gap = summary(&json!(true));
        gap["claims"][0].as_object_mut().unwrap().remove("note");
        assert!(verdicts(&gap).is_err_and(|why| why.contains("note")));
    }
}
