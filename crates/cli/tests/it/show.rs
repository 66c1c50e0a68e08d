//! Pages of `fairwave show` and `fairwave compare --page`, and reports, also in a browser.

use crate::common::{ends_with, fairwave, json, scratch, tiny, tiny_run};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const LOSSY: &str = "tests/data/lossy.pcap.gz";

fn here(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path).display().to_string()
}

fn web() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/show/web")
}

/// Makes a run directory.
fn a_run(place: &Path, name: &str) {
    let run = tiny_run(name);
    ends_with(0, place, &run.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn a_page_is_whole_and_says_what_the_run_is() {
    let place = scratch();
    a_run(place.path(), "run");
    let shown = json(place.path(), &["show", "run", "--out", "run.html"]);
    assert_eq!((&shown["page"], &shown["is_opened"]), (&"run.html".into(), &false.into()));
    let scenario = fs::read_to_string(tiny()).expect("a scenario");
    let question = scenario.lines().next().and_then(|line| line.strip_prefix("# "));
    assert_eq!(shown["heading"].as_str(), question);
    let page = fs::read_to_string(place.path().join("run.html")).expect("a page");
    assert!(!page.contains(" src=") && !page.contains("<link"), "it loads nothing");
    assert_eq!(shown["page_bytes"].as_u64(), Some(page.len() as u64));
    let tables = fs::read_dir(place.path().join("run")).expect("a run directory");
    let tables = tables.filter(|entry| {
        let name = entry.as_ref().expect("an entry").file_name();
        name.to_string_lossy().ends_with(".parquet")
    });
    let footers = page.match_indices("id=\"table-").filter(|(at, text)| {
        let number = &page[at + text.len()..];
        number.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('"')
    });
    assert_eq!(footers.count(), tables.count());
    // The columns of the first graph follow the script, so that it is drawn early.
    let place = |text: &str| page.find(text).expect(text);
    let script = place("id=\"table-0\"");
    let columns = ["t_ns", "flow", "goodput_bps", "cwnd_bytes", "rto_ns"];
    let places = columns.map(|name| {
        let of = page.match_indices(&format!("-{name}\">")).find(|(at, _)| *at > script);
        of.expect(name).0
    });
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn runs_in_directories_with_names_of_the_user_are_no_seeds_of_one() {
    let place = scratch();
    a_run(place.path(), "g/queue=20");
    a_run(place.path(), "g/queue=250");
    let shown = json(place.path(), &["show", "g", "--out", "g.html"]);
    assert_eq!(shown["answer"], serde_json::json!(["2 sweeps side by side."]), "{shown}");
    let (scenario, seeds) = (tiny().display().to_string(), "sweep.seeds=2");
    ends_with(0, place.path(), &["sweep", &scenario, "--set", seeds, "--out", "s/seed-1"]);
    let shown = json(place.path(), &["show", "s", "--out", "s.html"]);
    assert_ne!(shown["answer"][0], "2 sweeps side by side.", "{shown}");
}

#[test]
fn a_page_has_each_digit_of_a_seed() {
    let place = scratch();
    let mut run = tiny_run("runs/a");
    run.extend(["--seed", "9007199254740993"].map(str::to_owned));
    ends_with(0, place.path(), &run.iter().map(String::as_str).collect::<Vec<_>>());
    for (of, seeds) in [("runs/a", 1), ("runs", 2)] {
        if seeds > 1 {
            a_run(place.path(), "runs/b");
        }
        ends_with(0, place.path(), &["show", of, "--out", "run.html"]);
        let page = fs::read_to_string(place.path().join("run.html")).expect("a page");
        assert!(page.contains("\"seed\":\"9007199254740993\""), "{of}");
    }
}

#[test]
fn the_page_of_a_trace_loads_nothing() {
    let place = scratch();
    ends_with(0, place.path(), &["trace", &here(LOSSY), "--out", "out"]);
    let page = fs::read_to_string(place.path().join("out/report.html")).expect("a page");
    let drawings = page.matches("<svg ").count();
    assert!(drawings > 0 && page.contains("id=\"figures\""), "drawings and their data");
    assert!(!page.contains(" src=") && !page.contains("<link"), "it is whole in itself");
    assert!(page.len() < 500_000, "{} bytes", page.len());
}

#[test]
fn without_a_place_for_it_the_page_is_opened() {
    let place = scratch();
    a_run(place.path(), "run");
    let browser = place.path().join("browser");
    fs::write(&browser, "#!/bin/sh\ncp \"$1\" opened.html\necho seen\n").expect("a script");
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).expect("it can be executed");
    let show = |browser: &str| {
        let mut show = fairwave(place.path(), &["show", "run", "--json"]);
        show.env("BROWSER", browser).env("TMPDIR", place.path()).env("PATH", "/usr/bin:/bin");
        show.output().expect("the command starts")
    };
    let output = show(&browser.display().to_string());
    assert!(output.status.success(), "{output:?}");
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON alone");
    assert_eq!(shown["is_opened"], true);
    let page = fs::read(shown["page"].as_str().expect("a name")).expect("it stays");
    assert!(page == fs::read(place.path().join("opened.html")).expect("the browser has it"));
}

#[test]
fn what_cannot_be_shown_is_refused_with_a_remedy() {
    let place = scratch();
    fs::create_dir(place.path().join("empty")).expect("a directory");
    fs::write(place.path().join("text.md"), "no capture").expect("a file");
    let refused = |code, args: &[&str]| ends_with(code, place.path(), args).1;
    let none = refused(1, &["show", "empty", "--out", "page.html"]);
    assert!(none.contains("no complete run is there"), "{none}");
    assert!(refused(1, &["show", "gone", "--out", "page.html"]).contains("no such file"));
    refused(2, &["show", "text.md", "--out", "page.html"]);
    a_run(place.path(), "run");
    let directory = refused(2, &["show", "run", "--out", "empty"]);
    assert!(directory.contains("--out names a file"), "{directory}");
    let mut show = fairwave(place.path(), &["show", "run"]);
    show.env("BROWSER", "").env("PATH", "/nowhere").env("TMPDIR", place.path());
    let output = show.output().expect("the command starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("set BROWSER") && error.contains("--out FILE"), "{error}");
}

/// Every page with a pointer, with keys alone, by axe, light and dark, wide and narrow.
#[test]
fn pages_are_usable_in_a_browser() {
    assert!(
        web().join("node_modules/playwright-core").exists(),
        "`cargo xtask test` installs what the tests need; by hand: npm ci --prefix {}",
        web().display()
    );
    let place = scratch();
    let at = place.path();
    a_run(at, "run");
    ends_with(0, at, &["sweep", &tiny().display().to_string(), "--out", "sweep"]);
    let points = fs::read_dir(at.join("sweep")).expect("a sweep");
    let mut points: Vec<String> = points
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .map(|path| path.display().to_string())
        .collect();
    points.sort();
    ends_with(0, at, &["show", "run", "--out", "run.html"]);
    ends_with(0, at, &["show", "sweep", "--out", "sweep.html"]);
    ends_with(0, at, &["show", &here(LOSSY), "--out", "capture.html"]);
    ends_with(0, at, &["compare", &points[0], &points[1], "--page", "comparison.html"]);
    ends_with(0, at, &["reproduce", "ap-buffer", "--no-store", "--out", "report"]);
    ends_with(0, at, &["trace", &here(LOSSY), "--out", "trace"]);
    ends_with(0, at, &["trace", &here(LOSSY), &here(LOSSY), "--out", "between"]);
    let record = here("../tools/fairness/tests/data/iperf3/up.json");
    ends_with(0, at, &["fairness", "show", &record, "--page", "shares.html"]);
    let kinds = ["run", "sweep", "capture", "comparison", "report", "trace", "between", "shares"];
    let page = |kind: &str| match at.join(kind).join("report.html").exists() {
        true => format!("{kind}={kind}/report.html"),
        false => format!("{kind}={kind}.html"),
    };
    let output = Command::new("node")
        .arg(web().join("tests/browser.js"))
        .args(kinds.map(page))
        .current_dir(at)
        .output()
        .expect("node starts; `cargo xtask test` installs it");
    let out = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{out}{error}");
    assert_eq!(out, kinds.map(|kind| format!("{kind}: good\n")).concat());
}
