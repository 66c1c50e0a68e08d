//! The laboratory in the browser: the WebAssembly module, the page that contains it, and tests of
//! both.

use crate::web;
use std::fs;
use std::path::{Path, PathBuf};
use xtask::shell::{Outcome, cargo, command, run};
use xtask::workspace::{fairwave, target};

/// Target of the compiler.
const TARGET: &str = "wasm32-unknown-unknown";
/// Profile of the module.
const PROFILE: &str = "wasm";
/// Maximum size of the module in gzip, in bytes.
const MAX_PACKED: u64 = 3_000_000;

/// Builds the command and the module, and writes the page into the site.
pub(crate) fn build() -> Outcome {
    run(cargo(&["build", "--release", "-p", "fairwave-cli"]))?;
    module()?;
    page()
}

/// Compiles the module.
pub(crate) fn module() -> Outcome {
    let arguments = ["build", "--locked", "--profile", PROFILE, "--target", TARGET];
    let mut build = cargo(&arguments);
    build.args(["-p", "fairwave-wasm"]);
    run(build)
}

/// Writes `lab/index.html` of the site, and the module beside it.
pub(crate) fn page() -> Outcome {
    let place = place();
    fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let (made, page) = (made(), place.join("index.html"));
    let mut write = fairwave("release", &["web", "--page"]);
    write.arg(&page).arg("--module").arg(&made);
    run(write)?;
    let copy = place.join("fairwave.wasm");
    fs::copy(&made, &copy).map_err(|error| format!("{}: {error}", copy.display()))?;
    println!("wrote {}", page.display());
    bounded(&made)
}

/// Compares runs of the module with those of the command, in Node.
pub(crate) fn same() -> Outcome {
    let mut node = command("node", &["crates/wasm/tests/same.js"]);
    node.arg(made()).arg(target().join("release/fairwave"));
    run(node)
}

/// Uses the page in Chromium, from the file system.
pub(crate) fn browser() -> Outcome {
    web::install()?;
    let mut node = command("node", &["crates/lab/show/web/tests/laboratory.js"]);
    node.arg(place().join("index.html"));
    run(node)
}

/// Refuses a module that is too large for a page.
fn bounded(module: &Path) -> Outcome {
    let mut gzip = command("gzip", &["-9", "--stdout"]);
    gzip.arg(module);
    let output = gzip.output().map_err(|error| format!("gzip: {error}"))?;
    let packed = output.stdout.len() as u64;
    println!("{}: {packed} bytes in gzip", module.display());
    if packed == 0 || packed > MAX_PACKED {
        return Err(format!("the module has more than {MAX_PACKED} bytes in gzip, or none"));
    }
    Ok(())
}

fn made() -> PathBuf {
    target().join(TARGET).join(PROFILE).join("fairwave_wasm.wasm")
}

fn place() -> PathBuf {
    target().join("site/lab")
}
