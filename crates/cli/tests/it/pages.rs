//! Scripts of pages, run in a browser.

use crate::common::{ends_with, scratch};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Presses keys at the first drawing, and records the visible range after each.
const PROBE: &str = r#"<script>
const plot = document.querySelector(".plot");
const box = plot.querySelector("svg").viewBox.baseVal;
const seen = ["+", "ArrowRight", "-", "+", "Escape"].map(key => {
  plot.dispatchEvent(new KeyboardEvent("keydown", { key }));
  return [box.x, box.y, box.width, box.height].map(value => value.toFixed(1)).join(" ");
});
document.body.innerHTML = "<pre>" + seen.join("|") + "</pre>";
</script>"#;

/// The document at `page` after its scripts.
fn in_browser(page: &Path, profile: &Path) -> String {
    let mut chromium = Command::new("chromium");
    chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
    chromium.arg(format!("--user-data-dir={}", profile.display()));
    let output = chromium.arg(format!("file://{}", page.display())).output();
    let output = output.unwrap_or_else(|error| {
        panic!("chromium does not start ({error}); `cargo xtask test` installs it or says how")
    });
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn graphs_of_a_capture_zoom_and_the_page_loads_nothing() {
    let place = scratch();
    let capture: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/lossy.pcap.gz");
    ends_with(0, place.path(), &["trace", &capture.display().to_string(), "--out", "out"]);
    let page = fs::read_to_string(place.path().join("out/report.html")).expect("a page");
    let addresses = page.matches("://").count();
    assert_eq!(addresses, page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count());
    assert!(!page.contains(" src=") && !page.contains("<link"), "it is whole in itself");
    let probe = place.path().join("probe.html");
    fs::write(&probe, page.replace("</body>", &format!("{PROBE}</body>"))).expect("a page");
    let dom = in_browser(&probe, &place.path().join("profile"));
    let (_, seen) = dom.split_once("<pre>").unwrap_or_else(|| panic!("it ran no script: {dom}"));
    let seen: Vec<&str> = seen.split("</pre>").next().unwrap_or_default().split('|').collect();
    // Of 820 by 440: four fifths around the middle, and so on; a tenth of the visible width is
    // 65.6.
    let expected = [
        "82.0 44.0 656.0 352.0",
        "147.6 44.0 656.0 352.0",
        "0.0 0.0 820.0 440.0",
        "82.0 44.0 656.0 352.0",
        "0.0 0.0 820.0 440.0",
    ];
    assert_eq!(seen, expected);
}
