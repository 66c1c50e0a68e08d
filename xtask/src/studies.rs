//! Studies as the suite runs them: in their quick form, and their pages by the full form.

use serde_json::Value;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;
use xtask::shell::{Outcome, command, root};
use xtask::system;
use xtask::workspace::{self, fairwave};

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

/// Maximum size of the report of a study in its quick form, in bytes.
const MAX_QUICK_PAGE: u64 = 500_000;

/// Runs studies in their quick form, two at once: while one waits for its last run, the other uses
/// the idle processors. Prints each study's result when it ends.
pub(crate) fn quick_studies(names: &[String], is_slow: bool) -> Outcome {
    let waiting = Mutex::new(names.iter());
    // The lock is released before the study runs: `next` returns only the name.
    let next = || waiting.lock().expect("no thread panics with it").next();
    let failed = Mutex::new(Vec::new());
    let work = || {
        while let Some(name) = next() {
            let begun = Instant::now();
            let outcome = match is_slow {
                true => study(name, &["--quick"]),
                false => study_once(name),
            };
            let seconds = begun.elapsed().as_secs_f64();
            match outcome {
                Ok(printed) => println!("study {name}: {seconds:.1} s\n{printed}"),
                Err(why) => {
                    failed.lock().expect("no thread panics with it").push(format!("{name}: {why}"));
                }
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let failed = failed.into_inner().expect("no thread panics with it");
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
    let printed = study(name, &["--quick"])?;
    fs::write(&stamp, identity).map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(printed)
}

/// Runs a study as a script would: JSON on standard output, verdict in the exit code. Returns a
/// text with the verdicts.
pub(crate) fn study(name: &str, options: &[&str]) -> Result<String, String> {
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
    let (one_fails, printed) = verdicts(&summary)?;
    all_drawn(&summary)?;
    let page = fs::metadata(Path::new(&*out).join("report.html"));
    let bytes = page.map_err(|error| format!("report.html: {error}"))?.len();
    if bytes > MAX_QUICK_PAGE && options.contains(&"--quick") {
        return Err(format!("report.html has {bytes} bytes, more than {MAX_QUICK_PAGE}"));
    }
    let expected = if one_fails { 3 } else { 0 };
    match output.status.code() {
        Some(code) if code == expected => Ok(printed),
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
pub(crate) fn same_page(name: &str) -> Outcome {
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

/// Checks that the study lists the figures of its paper, and draws those that it says it draws.
fn all_drawn(summary: &Value) -> Outcome {
    let originals = summary["originals"].as_array().filter(|originals| !originals.is_empty());
    let originals = originals.ok_or("reproduce --json: no figures of the paper")?;
    let missing = originals.iter().filter(|original| original["outcome"] == "not drawn");
    let missing: Vec<&str> = missing.filter_map(|original| original["name"].as_str()).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(format!("reproduce --json: not drawn: {}", missing.join(", "))),
    }
}

/// Whether a claim fails, and a line with each claim's verdict; or an error for missing keys.
fn verdicts(summary: &Value) -> Result<(bool, String), String> {
    let claims = summary["claims"].as_array().filter(|claims| !claims.is_empty());
    let mut one_fails = false;
    let mut printed = String::new();
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
            "undecided" => true,
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
        printed += &format!("{}: {verdict} ({holding} of {tried}) {condition}\n", claim["id"]);
    }
    summary["joint"].as_array().ok_or("reproduce --json: no joint sets")?;
    for key in ["wall_s", "simulated_s"] {
        summary[key].as_f64().ok_or(format!("reproduce --json: no number {key:?}"))?;
    }
    printed += &format!("{} s, {} CPU s", summary["wall_s"], summary["cpu_s"]);
    Ok((one_fails, printed))
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
