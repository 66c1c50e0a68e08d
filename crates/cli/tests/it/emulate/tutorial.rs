//! The commands of the tutorials, run as printed there.

use super::machine_can;
use crate::common::{scratch, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const PAGE: &str = "docs/tutorials/emulate.md";
const CAMERA: &str = "docs/tutorials/stream-camera.md";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The commands of [`PAGE`] that write into `out/NAME`, and their output by the page.
fn block(name: &str) -> (String, String) {
    block_of(&fs::read_to_string(root().join(PAGE)).expect(PAGE), name)
}

fn block_of(page: &str, name: &str) -> (String, String) {
    let mut blocks = page.split("```\n").skip(1).step_by(2);
    let writes = |block: &&str| block.contains(&format!("--out out/{name}"));
    let commands = blocks.find(writes).unwrap_or_else(|| panic!("no block for {name}:\n{page}"));
    (commands.to_owned(), blocks.next().unwrap_or_default().to_owned())
}

/// Runs commands as a reader would, in a directory with the scenarios. Returns their output.
fn printed(commands: &str) -> (TempDir, String) {
    printed_in(scratch(), commands)
}

fn printed_in(place: TempDir, commands: &str) -> (TempDir, String) {
    let scenarios = root().join("scenarios").canonicalize().expect("they are there");
    std::os::unix::fs::symlink(scenarios, place.path().join("scenarios")).expect("a link");
    let binary = Path::new(env!("CARGO_BIN_EXE_fairwave")).parent().expect("it has a directory");
    let script = format!("PATH=\"$FAIRWAVE_HERE:$PATH\"\n{commands}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).env("FAIRWAVE_HERE", binary).current_dir(&place);
    let output = shell.output().expect("a shell starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{commands}\n{said}\n{why}");
    (place, said)
}

/// Lines that consist of one number, as they occur in the page's outputs.
fn counts(text: &str) -> Vec<u32> {
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Counts in a block's output. There are as many as on the page, each at least a quarter of the
/// page's, which leaves room for a loaded machine. None exceeds the page's maximum: the clip has as
/// many frames, and the tone as many packets.
fn counted(name: &str) -> Vec<u32> {
    let (commands, shown) = block(name);
    let (_place, said) = printed(&commands);
    let (shown, counts) = (counts(&shown), counts(&said));
    let maximum = *shown.iter().max().expect("the page shows some");
    assert_eq!(counts.len(), shown.len(), "{said}");
    let suits = |(count, shown): (&u32, &u32)| (shown / 4..=maximum).contains(count);
    assert!(counts.iter().zip(&shown).all(suits), "{counts:?}, {shown:?} on the page\n{said}");
    counts
}

#[test]
fn the_page_is_fetched_as_the_tutorial_says() {
    if !machine_can() {
        return;
    }
    let (commands, shown) = block("web");
    let (place, said) = printed(&commands);
    let figures = |line: &str| {
        let (size, time) = line.split_once(" B in ")?;
        Some((size.to_owned(), time.strip_suffix(" s")?.parse::<f64>().ok()?))
    };
    let [of_page, of_run] = [&shown, &said].map(|text| figures(text.lines().last()?));
    let (shown, (size, seconds)) = (of_page.expect("a line"), of_run.expect("a line"));
    assert_eq!(size, shown.0, "the page has arrived whole");
    // Limited by the wire to the server: 20 Mbps, and its delay.
    assert!(seconds > 0.12, "{seconds} s");
    assert!(place.path().join("out/web/summary.json").exists());
}

/// The picture stands still in the gap of 2 s and runs again after it. A busy machine may add time
/// to this freeze, and others.
#[test]
fn a_camera_roams_as_its_tutorial_says() {
    if !machine_can() {
        return;
    }
    if !Command::new("ffmpeg").arg("-version").output().is_ok_and(|it| it.status.success()) {
        skip("no ffmpeg");
        return;
    }
    let page = fs::read_to_string(root().join(CAMERA)).expect(CAMERA);
    let (_, scenario) = page.split_once("```toml\n").expect("the page has a scenario");
    let (scenario, rest) = scenario.split_once("```\n").expect("it ends");
    let (commands, shown) = block_of(rest, "roam");
    let place = scratch();
    fs::write(place.path().join("roam.toml"), scenario).expect("a file");
    let (_place, said) = printed_in(place, &commands);
    for text in [&shown, &said] {
        let [lost, back] = ["lost", "back"].map(|word| text.find(&format!("to the peer {word}")));
        assert!(lost.is_some() && lost < back, "{text}");
        let lengths = text.lines().filter_map(|line| line.split_once("freeze_duration: "));
        let longest = lengths.filter_map(|(_, s)| s.parse().ok()).fold(0.0, f64::max);
        assert!(longest > 1.8, "{longest} s\n{text}");
    }
}

/// Runs the blocks with ffmpeg, which take half a minute.
pub(super) fn video_and_call() {
    let frames = counted("video");
    assert!(frames[0] > frames[1], "errors cost frames: {frames:?}");
    assert_eq!(counted("call").len(), 2, "both sides hear");
}
