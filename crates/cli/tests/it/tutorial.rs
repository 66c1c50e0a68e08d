//! The tutorial's commands print what the page shows. Lines that it leaves out are counted there,
//! as `... (12 lines)`, so that the page can be written anew by `bless`.

use crate::common::{json, scratch};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = "docs/tutorials/home-network.md";
const FIGURE: &str = "docs/tutorials/home-network.svg";
const SCENARIO: &str = "scenarios/home.toml";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A line that stands for this many.
fn left_out(line: &str) -> Option<usize> {
    line.strip_prefix("... (")?.strip_suffix(" lines)")?.parse().ok()
}

/// What a command of the page prints, run by a shell as a reader would.
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

/// An output as the page shows it: the lines in the places of those that `shown` has.
fn shortened(shown: &str, printed: &str) -> String {
    let mut lines = printed.lines();
    let mut text = String::new();
    for line in shown.lines() {
        let kept = match left_out(line) {
            Some(count) => {
                lines.by_ref().take(count).for_each(drop);
                Some(line)
            }
            None => lines.next(),
        };
        text.push_str(kept.unwrap_or_default());
        text.push('\n');
    }
    let rest = lines.count();
    assert_eq!(rest, 0, "the page ends {rest} lines before the output:\n{printed}");
    text
}

/// The page with what its commands print now.
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

/// A place with the scenario, as the directory of the project has it.
fn project() -> tempfile::TempDir {
    let place = scratch();
    fs::create_dir(place.path().join("scenarios")).expect("a directory");
    fs::copy(root().join(SCENARIO), place.path().join(SCENARIO)).expect("the scenario is copied");
    place
}

/// What the page says in words: shaping helps the call, and neither of the others does.
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
    assert!(after < before, "shaping costs the upload a part of its rate");
    let (before, after) = mean("shaped", "flow.download.goodput_mbps");
    assert!(after > before, "the download gains");
    let wider = ["compare", "out/home/variant=as_delivered", "out/home/variant=80_MHz"];
    let wider = json(directory, &wider);
    let p = wider["comparisons"].as_array().expect("a list").iter();
    let least = p.filter_map(|one| one["difference"]["p_holm"].as_f64()).fold(1.0, f64::min);
    assert!(least >= 0.05, "a wider channel differs in nothing: p = {least}");
}

#[test]
fn the_tutorials_commands_print_what_it_shows() {
    let page = fs::read_to_string(root().join(PAGE)).expect(PAGE);
    assert_eq!(page.matches("\n$ fairwave ").count(), 5, "from question to figure");
    let place = project();
    let now = anew(&page, place.path());
    for (shown, now) in page.lines().zip(now.lines()) {
        assert_eq!(shown, now, "{PAGE}: `cargo xtask golden` writes outputs; then read the words");
    }
    assert!(page == now, "{PAGE}");
    let drawn = fs::read_to_string(place.path().join("out/call.svg")).expect("a figure");
    let kept = fs::read_to_string(root().join(FIGURE)).unwrap_or_default();
    assert!(drawn == kept, "{FIGURE}: `cargo xtask golden` writes it");
    the_words_are_true(place.path());
}

#[test]
fn lines_that_are_left_out_are_counted() {
    assert_eq!(shortened("a\n... (2 lines)\nd\n", "1\n2\n3\n4\n"), "1\n... (2 lines)\n4\n");
    let cut = std::panic::catch_unwind(|| shortened("a\n", "1\n2\n"));
    assert!(cut.is_err(), "an output that goes on is found");
}

#[test]
#[ignore = "rewrites the tutorial's outputs and its figure"]
fn bless() {
    let page = fs::read_to_string(root().join(PAGE)).expect(PAGE);
    let place = project();
    fs::write(root().join(PAGE), anew(&page, place.path())).expect("the page is written");
    fs::copy(place.path().join("out/call.svg"), root().join(FIGURE)).expect("a figure");
}
