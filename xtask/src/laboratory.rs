//! The laboratory in the browser: the WebAssembly module, the page that contains it, and tests of
//! both.

use crate::web::{self, PACKAGE, WEB};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use xtask::shell::{Outcome, cargo, command, root, run, run_aside};
use xtask::workspace::{fairwave, target};

/// Target of the compiler.
const TARGET: &str = "wasm32-unknown-unknown";
/// Profile of the module.
const PROFILE: &str = "wasm";
/// Files of the npm package in its directory.
const FILES: [&str; 6] =
    ["package.json", "index.js", "index.d.ts", "arrow.js", "arrow.d.ts", "README.md"];
/// Packages that it needs, or that its tests and examples do.
const NEEDED: [&str; 5] = ["apache-arrow", "hyparquet", "@types", "@observablehq", "d3"];
/// Tests and examples of the package.
const TESTS: [&str; 5] =
    ["test.mjs", "types.mts", "tsconfig.json", "examples/index.html", "examples/stations.js"];
/// Script of the widget for Jupyter.
const WIDGET: &str = "crates/python/examples/widget.js";
/// Files of the npm package that the page has as well.
const SHARED: [&str; 4] = ["lab/module.js", "lab/points.js", "parquet.js", "breathe.js"];
/// Maximum size of the module in gzip, in bytes.
const MAX_PACKED: u64 = 3_000_000;

/// Builds the command and the module, writes the page into the site, and the npm package.
pub(crate) fn build() -> Outcome {
    install()?;
    run(cargo(&["build", "--release", "-p", "fairwave-cli"]))?;
    module()?;
    page()?;
    npm()
}

/// Installs the standard library of the target, unless it is there. rustup installs the targets of
/// `rust-toolchain.toml` by itself, unless its automatic installation is disabled.
///
/// # Errors
/// If rustup is not there or fails.
pub(crate) fn install() -> Outcome {
    let print = ["--print", "target-libdir", "--target", TARGET];
    let output = command("rustc", &print).output().map_err(|error| format!("rustc: {error}"))?;
    let place = String::from_utf8_lossy(&output.stdout);
    if Path::new(place.trim()).is_dir() {
        return Ok(());
    }
    run_aside(command("rustup", &["target", "add", TARGET]))
}

/// Compiles the module.
pub(crate) fn module() -> Outcome {
    run(module_build(false))
}

/// The build of the module.
pub(crate) fn module_build(quietly: bool) -> Command {
    let mut build = cargo(&["build", "--locked", "--profile", PROFILE, "--target", TARGET]);
    build.args(["-p", "fairwave-wasm"]);
    if quietly {
        build.arg("--quiet").stdout(Stdio::null()).stderr(Stdio::null());
    }
    build
}

/// Writes `lab/index.html` of the site, and the module beside it.
pub(crate) fn page() -> Outcome {
    let place = place();
    fs::create_dir_all(&place).map_err(named(&place))?;
    let (made, page) = (made(), place.join("index.html"));
    let mut write = fairwave("release", &["web", "--page"]);
    write.arg(&page).arg("--module").arg(&made);
    run(write)?;
    keep(&made, &place.join("fairwave.wasm"))?;
    println!("wrote {}", page.display());
    println!("{}: {} bytes in gzip", page.display(), packed_bytes(&page)?);
    bounded(&made)
}

/// Compares runs of the module with those of the command, in Node.
pub(crate) fn same() -> Outcome {
    let mut node = command("node", &["crates/wasm/tests/same.js"]);
    node.arg(made()).arg(target().join("release/fairwave"));
    run(node)
}

/// Uses the page in Chromium, from the file system and from a static server, and the examples of
/// other notebooks.
pub(crate) fn browser() -> Outcome {
    web::install(WEB)?;
    let mut node = command("node", &["crates/lab/show/web/tests/laboratory.js"]);
    node.arg(place().join("index.html"));
    run(node)?;
    let mut node = command("node", &["crates/lab/show/web/tests/examples.js"]);
    node.arg(target().join("npm")).arg(root().join(WIDGET));
    run(node)
}

/// Puts the npm package together in `target/npm`, uses it in Node as another program would, and
/// checks its types.
pub(crate) fn npm() -> Outcome {
    web::install(PACKAGE)?;
    let (source, programs) = (root().join(PACKAGE), target().join("npm"));
    let modules = programs.join("node_modules");
    let package = modules.join("fairwave");
    fs::create_dir_all(&package).map_err(named(&package))?;
    for name in FILES {
        keep(&source.join(name), &package.join(name))?;
    }
    for name in SHARED {
        let file = root().join(WEB).join("src").join(name);
        let own = Path::new(name).file_name().expect("it names a file");
        keep(&file, &package.join(own))?;
    }
    keep(&made(), &package.join("fairwave.wasm"))?;
    for name in NEEDED {
        let link = modules.join(name);
        // An earlier one may lead to another checkout, or nowhere.
        if link.is_symlink() {
            fs::remove_file(&link).map_err(named(&link))?;
        }
        let installed = source.join("node_modules").join(name);
        std::os::unix::fs::symlink(installed, &link).map_err(named(&link))?;
    }
    let examples = programs.join("examples");
    fs::create_dir_all(&examples).map_err(named(&examples))?;
    for name in TESTS {
        keep(&source.join(name), &programs.join(name))?;
    }
    let mut checked = command("node", &[]);
    checked.arg(source.join("node_modules/typescript/bin/tsc")).arg("--project").arg(&programs);
    run(checked)?;
    let mut node = command("node", &[]);
    node.arg(programs.join("test.mjs"));
    run(node)
}

fn keep(from: &Path, to: &Path) -> Outcome {
    fs::copy(from, to).map(drop).map_err(named(from))
}

fn named(path: &Path) -> impl FnOnce(std::io::Error) -> String + '_ {
    move |error| format!("{}: {error}", path.display())
}

/// Refuses a module that is too large for a page.
fn bounded(module: &Path) -> Outcome {
    let packed = packed_bytes(module)?;
    println!("{}: {packed} bytes in gzip", module.display());
    if packed > MAX_PACKED {
        return Err(format!("the module has more than {MAX_PACKED} bytes in gzip"));
    }
    Ok(())
}

/// Size of a file in gzip, in bytes.
fn packed_bytes(file: &Path) -> Result<u64, String> {
    let mut gzip = command("gzip", &["-9", "--stdout"]);
    gzip.arg(file);
    let output = gzip.output().map_err(|error| format!("gzip: {error}"))?;
    match output.stdout.len() {
        0 => Err(format!("gzip: {}", String::from_utf8_lossy(&output.stderr))),
        bytes => Ok(bytes as u64),
    }
}

fn made() -> PathBuf {
    target().join(TARGET).join(PROFILE).join("fairwave_wasm.wasm")
}

fn place() -> PathBuf {
    target().join("site/lab")
}
