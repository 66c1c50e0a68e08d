//! Packages for the tests of the page that `fairwave show` writes, from npm.

use std::fs;
use xtask::shell::{Outcome, command, root, run_aside};

/// Directory of the page's sources.
const WEB: &str = "crates/lab/show/web";

/// Installs what the lock file pins, unless that is there.
///
/// # Errors
/// If npm fails.
pub(crate) fn install() -> Outcome {
    let web = root().join(WEB);
    let (lock, installed) = (web.join("package-lock.json"), web.join("node_modules/installed"));
    let wanted = fs::read(&lock).map_err(|error| format!("{}: {error}", lock.display()))?;
    if fs::read(&installed).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    let options = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", WEB];
    run_aside(command("npm", &options))?;
    fs::write(&installed, wanted).map_err(|error| format!("{}: {error}", installed.display()))
}
