//! The tutorials' commands print the outputs shown on the pages. Tables that a page leaves out are
//! counted there, as `... (12 lines)`. `bless` rewrites the tables on the pages.

use crate::common::{json, scratch};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = "docs/tutorials/home-network.md";
const FIGURE: &str = "docs/tutorials/home-network.svg";
const SCENARIO: &str = "scenarios/home.toml";
/// Tutorials for newcomers, each of which continues the one before in the same directory.
const FIRST: [&str; 4] = [
    "docs/tutorials/first-scenario.md",
    "docs/tutorials/read-a-run.md",
    "docs/tutorials/judge-a-claim.md",
    "docs/tutorials/analyse-a-capture.md",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Output of a command of the page, run by a shell as a reader would.
fn printed(directory: &Path, command: &str) -> String {
    let line = command.replacen("fairwave", "\"$FAIRWAVE\"", 1);
    let output = Command::new("sh")
        .args(["-c", &line])
        .current_dir(directory)
        .env("FAIRWAVE", env!("CARGO_BIN_EXE_fairwave"))
        .output()
        .expect("a shell starts");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}

/// Beginning of a line that replaces tables on the page.
const LEFT_OUT: &str = "... (";

/// An output in the form of the page: with the tables whose first lines the page has, and a line
/// with the number of lines in place of the others.
fn shortened(shown: &str, printed: &str) -> String {
    let tables: Vec<&str> = printed.trim_end().split("\n\n").collect();
    if tables.len() == 1 {
        return printed.to_owned();
    }
    let titles = shown.trim_end().split("\n\n").filter_map(|table| table.lines().next());
    let (mut kept, mut next) = (Vec::new(), 0);
    for title in titles.filter(|title| !title.starts_with(LEFT_OUT)) {
        let is_it = |table: &&str| table.lines().next() == Some(title);
        let skipped = tables[next..].iter().position(is_it);
        let at = next + skipped.unwrap_or_else(|| panic!("no {title:?} in\n{printed}"));
        kept.extend(left_out(&tables[next..at]));
        kept.push(tables[at].to_owned());
        next = at + 1;
    }
    kept.extend(left_out(&tables[next..]));
    kept.join("\n\n") + "\n"
}

/// The line that replaces these tables.
fn left_out(tables: &[&str]) -> Option<String> {
    let lines: usize = tables.iter().map(|table| table.lines().count()).sum();
    let blank = tables.len().checked_sub(1)?;
    Some(format!("{LEFT_OUT}{} lines)", lines + blank))
}

/// The page with its commands' present output.
fn anew(page: &str, directory: &Path) -> String {
    let mut parts = page.split("```\n");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str("```\n");
        match part.strip_prefix("$ ").and_then(|block| block.split_once('\n')) {
            Some((command, shown)) => {
                let output = shortened(shown, &printed(directory, command));
                text.push_str(&format!("$ {command}\n{output}"));
            }
            None => text.push_str(part),
        }
    }
    text
}

/// A directory with the scenario, like that of the project.
fn project() -> tempfile::TempDir {
    let place = scratch();
    fs::create_dir(place.path().join("scenarios")).expect("a directory");
    fs::copy(root().join(SCENARIO), place.path().join(SCENARIO)).expect("the scenario is copied");
    place
}

/// The page's statement: shaping helps the call, and neither of the other two does.
fn the_words_are_true(directory: &Path) {
    let mean = |variant: &str, figure: &str| {
        let second = format!("out/home/variant={variant}");
        let sides = ["compare", "out/home/variant=as_delivered", &second];
        let found = json(directory, &[&sides[..], &["--metric", figure]].concat());
        let mean = |side: &str| found["comparisons"][0][side]["mean"].as_f64().expect("a mean");
        (mean("first"), mean("second"))
    };
    for call in ["call-up", "call-down"] {
        let (as_delivered, shaped) = mean("shaped", &format!("flow.{call}.delay_p99_ms"));
        assert!(as_delivered > 75.0 && shaped < 25.0, "{call}: {as_delivered} and {shaped} ms");
        for other in ["80_MHz", "mac80211"] {
            let (_, other_ms) = mean(other, &format!("flow.{call}.delay_p99_ms"));
            assert!(other_ms > 0.8 * as_delivered, "{call}, {other}: {other_ms} ms");
        }
        let (_, delay_ms) = mean("shaped", &format!("flow.{call}.delay_mean_ms"));
        assert!((11.5..12.5).contains(&delay_ms), "{call}: {delay_ms} ms");
    }
    let (before, after) = mean("shaped", "flow.upload.goodput_mbps");
    assert!((1.4..1.6).contains(&(before - after)), "the upload pays: {before} to {after}");
    let (before, after) = mean("shaped", "flow.download.goodput_mbps");
    assert!((16.0..17.0).contains(&(after - before)), "the download gains: {before} to {after}");
    let wider = ["compare", "out/home/variant=as_delivered", "out/home/variant=80_MHz"];
    let wider = json(directory, &wider);
    let rows = wider["comparisons"].as_array().expect("a list");
    let differ = |part: &str| {
        let of_it = rows.iter().filter(|one| one["metric"].to_string().contains(part));
        of_it.filter_map(|one| one["difference"]["p_holm"].as_f64()).any(|p| p < 0.05)
    };
    assert!(!differ("flow.call-"), "a wider channel changes nothing for the call");
}

fn read(page: &str) -> String {
    fs::read_to_string(root().join(page)).expect(page)
}

/// Runs a page's commands in a directory, and compares their outputs with those on the page.
fn compare(page: &str, directory: &Path) {
    let text = read(page);
    let now = anew(&text, directory);
    for (shown, now) in text.lines().zip(now.lines()) {
        assert_eq!(shown, now, "{page}: `cargo xtask golden` writes outputs; then read the words");
    }
    assert!(text == now, "{page}");
}

/// Writes the scenario that the first tutorial lets its reader type.
fn type_scenario(directory: &Path) {
    let page = read(FIRST[0]);
    let (_, rest) = page.split_once("```toml\n").expect("the page has a scenario");
    let (scenario, _) = rest.split_once("```").expect("it ends");
    fs::write(directory.join("cell.toml"), scenario).expect("a file");
}

#[test]
fn the_first_tutorials_print_what_they_show() {
    let place = scratch();
    type_scenario(place.path());
    FIRST.iter().for_each(|page| compare(page, place.path()));
    for made in ["first.html", "queue.svg", "claim.html", "traced/report.html"] {
        assert!(place.path().join(made).exists(), "{made}");
    }
    let sides = ["250_packets", "__discipline___fq-codel__"];
    let [first, second] = sides.map(|queue| format!("out/queues/queue={queue}"));
    let found = json(place.path(), &["compare", &first, &second]);
    let difference = |figure: &str| {
        let rows = found["comparisons"].as_array().expect("a list");
        let row = rows.iter().find(|row| row["metric"] == figure).expect(figure);
        assert!(row["difference"]["p_holm"].as_f64().is_some_and(|p| p < 0.05), "{row}");
        let mean = |side: &str| row[side]["mean"].as_f64().expect("a mean");
        mean("second") / mean("first")
    };
    assert!((0.92..0.94).contains(&difference("flow.down.goodput_mbps")), "it pays 7 %");
    assert!(difference("flow.down.delay_mean_ms") < 0.2, "packets wait less");
}

#[test]
fn the_tutorials_commands_print_what_it_shows() {
    assert_eq!(read(PAGE).matches("\n$ fairwave ").count(), 5, "from question to figure");
    let place = project();
    compare(PAGE, place.path());
    let drawn = fs::read_to_string(place.path().join("out/call.svg")).expect("a figure");
    let kept = fs::read_to_string(root().join(FIGURE)).unwrap_or_default();
    assert!(drawn == kept, "{FIGURE}: `cargo xtask golden` writes it");
    the_words_are_true(place.path());
}

#[test]
fn what_is_left_out_is_said_and_counted() {
    let printed = "A\n1\n\nB\n2\n\nC\n3\n";
    for shown in ["A\n0\n\n... (9 lines)\n\nC\n", "A\n\nC\n"] {
        assert_eq!(shortened(shown, printed), "A\n1\n\n... (2 lines)\n\nC\n3\n");
    }
    assert_eq!(shortened("B\n", printed), "... (2 lines)\n\nB\n2\n\n... (2 lines)\n");
    assert_eq!(shortened("... (9 lines)\n\nC\n", printed), "... (5 lines)\n\nC\n3\n");
    let refused = std::panic::catch_unwind(|| shortened("D\n", printed));
    assert!(refused.is_err(), "a table that is gone is found");
}

#[test]
#[ignore = "rewrites the tutorials' outputs and the figure"]
fn bless() {
    let first = scratch();
    type_scenario(first.path());
    for page in FIRST {
        fs::write(root().join(page), anew(&read(page), first.path())).expect("the page is written");
    }
    let place = project();
    fs::write(root().join(PAGE), anew(&read(PAGE), place.path())).expect("the page is written");
    fs::copy(place.path().join("out/call.svg"), root().join(FIGURE)).expect("a figure");
}
