//! Packages from npm for the tests of pages and of the npm package.

use std::fs;
use xtask::shell::{Outcome, command, root, run_aside};

/// Directory of the pages' sources.
pub(crate) const WEB: &str = "crates/lab/show/web";
/// Directory of the npm package's sources.
pub(crate) const PACKAGE: &str = "crates/wasm/npm";

/// Installs what the lock file in a directory pins, unless that is there.
///
/// # Errors
/// If npm fails.
pub(crate) fn install(directory: &str) -> Outcome {
    let place = root().join(directory);
    let (lock, installed) = (place.join("package-lock.json"), place.join("node_modules/installed"));
    let wanted = fs::read(&lock).map_err(|error| format!("{}: {error}", lock.display()))?;
    if fs::read(&installed).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    let options = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", directory];
    run_aside(command("npm", &options))?;
    fs::write(&installed, wanted).map_err(|error| format!("{}: {error}", installed.display()))
}
