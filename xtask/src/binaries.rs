//! Test binaries: cargo builds them, and they run here, several at once, where cargo runs one after
//! the other and leaves a processor idle while one test of a binary takes long or waits.

use crate::shared::is_benchmarks;
use crate::shell::{Outcome, command, shown};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

/// A binary with tests.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Binary {
    /// What cargo calls it, behind the name of its crate's directory.
    name: String,
    /// Where its tests expect to be: the directory of its crate.
    directory: PathBuf,
    /// The file.
    file: PathBuf,
}

/// Binaries whose tests wait in real time, for emulations or for other programs.
const WAITING: [&str; 2] = ["cli it", "netns it"];

/// Builds the tests that this `cargo test --no-run` names, and lists their binaries.
pub(crate) fn build(mut build: Command) -> Result<Vec<Binary>, String> {
    build.arg("--message-format=json-render-diagnostics");
    build.stdin(Stdio::null()).stderr(Stdio::inherit());
    println!("$ {}", shown(&build));
    let output = build.output().map_err(|error| format!("cargo test: {error}"))?;
    if !output.status.success() {
        return Err(format!("the tests do not compile: {}", output.status));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let mut binaries: Vec<Binary> = messages.lines().filter_map(binary).collect();
    // Those that wait first, which leave processors to others, then the largest: they tend to run
    // longest, and nothing should be left alone at the end.
    binaries.sort_by_key(|binary| {
        let bytes = fs::metadata(&binary.file).map_or(0, |file| file.len());
        let waits = WAITING.contains(&binary.name.as_str());
        (std::cmp::Reverse((waits, bytes)), binary.name.clone())
    });
    Ok(binaries)
}

/// The binary that one of cargo's messages announces.
fn binary(message: &str) -> Option<Binary> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_test = message["profile"]["test"].as_bool()?;
    let file = is_test.then_some(message["executable"].as_str()?)?;
    let manifest = PathBuf::from(message["manifest_path"].as_str()?);
    let directory = manifest.parent().filter(|directory| !is_benchmarks(directory))?.to_path_buf();
    let of = directory.file_name()?.to_str()?;
    let name = format!("{of} {}", message["target"]["name"].as_str()?);
    Some(Binary { name, directory, file: file.into() })
}

/// A binary of which tests failed.
#[derive(Debug)]
pub(crate) struct Failed {
    binary: Binary,
    /// Their names; none where it did not say.
    tests: Vec<String>,
}

/// Runs them, as many at once as the machine has processors; all of them, also behind a failure.
pub(crate) fn run(binaries: Vec<Binary>, environment: &[(&str, &str)]) -> Vec<Failed> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let waiting = Mutex::new(binaries.into_iter());
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(binary) = next(&waiting) {
                    if let Err(tests) = passes(&binary, &[], environment) {
                        let failure = Failed { binary, tests };
                        failed.lock().expect("nobody panics with it").push(failure);
                    }
                }
            });
        }
    });
    failed.into_inner().expect("nobody panics with it")
}

/// Runs failed tests once more, each alone, if their binary is one that waits in real time: beside
/// builds and other tests a machine of two processors may miss what they measure. All others, and
/// those that fail again, fail.
pub(crate) fn once_more(failed: Vec<Failed>, environment: &[(&str, &str)]) -> Outcome {
    let mut still = Vec::new();
    for Failed { binary, tests } in failed {
        let waits = WAITING.contains(&binary.name.as_str()) && !tests.is_empty();
        let alone = |test: &String| passes(&binary, &["--exact", test], environment).is_ok();
        if waits && tests.iter().all(alone) {
            println!("{}: passed alone, not beside others: {}", binary.name, tests.join(", "));
        } else {
            still.push(binary.name);
        }
    }
    if still.is_empty() { Ok(()) } else { Err(format!("tests fail in {}", still.join(", "))) }
}

fn next(waiting: &Mutex<std::vec::IntoIter<Binary>>) -> Option<Binary> {
    waiting.lock().expect("nobody panics with it").next()
}

/// Runs one, and prints how it ended: a line, and all that it said if it failed. An error holds the
/// names of the tests that did.
fn passes(
    binary: &Binary,
    which: &[&str],
    environment: &[(&str, &str)],
) -> Result<(), Vec<String>> {
    let begun = Instant::now();
    let mut run = command(&binary.file.to_string_lossy(), &["--quiet"]);
    run.args(which).current_dir(&binary.directory).env("CARGO_MANIFEST_DIR", &binary.directory);
    run.envs(environment.iter().copied()).stdin(Stdio::null());
    let ended = run.output();
    let seconds = begun.elapsed().as_secs_f64();
    match ended {
        Ok(output) if output.status.success() => {
            println!("{seconds:>7.1} s  {}: {}", binary.name, result(&output));
            Ok(())
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            let complained = String::from_utf8_lossy(&output.stderr);
            println!("{}: {}\n{said}{complained}", binary.name, output.status);
            Err(names_of_failed(&said))
        }
        Err(error) => {
            println!("{}: {} could not start: {error}", binary.name, binary.file.display());
            Err(Vec::new())
        }
    }
}

/// The tests that failed, as their binary lists them at its end, indented below `failures:`.
fn names_of_failed(said: &str) -> Vec<String> {
    let (_, list) = said.rsplit_once("\nfailures:\n").unwrap_or_default();
    let names = list.lines().map_while(|line| line.strip_prefix("    "));
    names.map(str::to_owned).collect()
}

/// The last line on standard output that says how many tests passed.
fn result(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stdout);
    let line = said.lines().rev().find(|line| line.starts_with("test result:"));
    line.unwrap_or("no line \"test result\"").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_binary_is_found_among_messages_of_cargo() {
        let test = r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/tcp/Cargo.toml",
            "target":{"name":"it"},"profile":{"test":true},"executable":"/w/target/it-1"}"#;
        let expected = Binary {
            name: "tcp it".into(),
            directory: "/w/crates/tcp".into(),
            file: "/w/target/it-1".into(),
        };
        assert_eq!(binary(test), Some(expected));
        assert_eq!(binary(&test.replace("true", "false")), None);
        assert_eq!(binary(&test.replace("\"/w/target/it-1\"", "null")), None);
        assert_eq!(binary(&test.replace("crates/tcp", "benches")), None, "nothing to test there");
        assert_eq!(binary(r#"{"reason":"build-finished","success":true}"#), None);
    }

    #[test]
    fn those_that_fail_are_named() {
        let program = |name: &str| Binary {
            name: name.into(),
            directory: std::env::temp_dir(),
            file: PathBuf::from("/bin").join(name),
        };
        let all = ["false", "true", "no-such-program"].map(program);
        let why = once_more(run(all.into(), &[]), &[]).unwrap_err();
        assert!(why.contains("false") && why.contains("no-such-program"), "{why}");
        assert!(!why.contains("true"), "{why}");
        assert!(run(vec![program("true")], &[]).is_empty());
    }

    #[test]
    fn a_test_in_real_time_has_a_second_chance_alone() {
        let failed = |name: &str, program: &str, tests: &[&str]| Failed {
            binary: Binary {
                name: name.into(),
                directory: std::env::temp_dir(),
                file: PathBuf::from("/bin").join(program),
            },
            tests: tests.iter().map(|test| (*test).to_owned()).collect(),
        };
        let ends = |one: Failed| once_more(vec![one], &[]).is_ok();
        assert!(ends(failed(WAITING[0], "true", &["a::test"])));
        assert!(!ends(failed(WAITING[0], "false", &["a::test"])), "it fails again");
        assert!(!ends(failed(WAITING[0], "true", &[])), "nobody knows which test failed");
        assert!(!ends(failed("tcp it", "true", &["a::test"])), "it does not wait in real time");
    }

    #[test]
    fn failed_tests_are_read_from_the_end_of_what_a_binary_says() {
        let said = "running 3 tests\n\nfailures:\n\n---- a::one stdout ----\n    no name\n\n\
                    failures:\n    a::one\n    b::two\n\ntest result: FAILED. 1 passed\n";
        assert_eq!(names_of_failed(said), ["a::one", "b::two"]);
        assert_eq!(names_of_failed("killed"), [""; 0]);
    }
}
