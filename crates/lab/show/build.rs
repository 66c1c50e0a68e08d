//! Makes the script and the style sheet of the page from `web`: npm fetches what
//! `web/package-lock.json` pins, and esbuild joins it with our modules.
//!
//! Without npm the crate is built all the same, with an empty script, so that the other commands
//! need Rust alone. [`fairwave_show::Page`] then refuses, and names the remedy. The build script
//! runs again with each build until the page is made.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files that npm reads.
const MANIFESTS: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];
/// Lines of a program's error that a warning repeats.
const ERROR_LINES: usize = 3;
/// Packages in the page, whose licences it has to contain.
const PACKAGES: [&str; 2] = ["hyparquet", "uplot"];

fn main() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
    #[expect(clippy::disallowed_methods, reason = "cargo passes the place of output this way")]
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("cargo names a directory"));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=web/src");
    for name in MANIFESTS {
        println!("cargo::rerun-if-changed=web/{name}");
    }
    if let Err(error) = make(&web, &out) {
        println!("cargo::warning=`fairwave show` is left out of this build: {error}");
        println!("cargo::rerun-if-changed=web/no-such-file");
        for name in ["page.js", "page.css"] {
            fs::write(out.join(name), "").expect("the place of output can be written");
        }
    }
}

/// Writes `page.js` and `page.css` into `out`.
fn make(web: &Path, out: &Path) -> Result<(), String> {
    let place = out.join("web");
    let failed = |error: std::io::Error| format!("{}: {error}", place.display());
    fetch(web, &place)?;
    let sources = place.join("src");
    fs::create_dir_all(&sources).map_err(failed)?;
    for entry in fs::read_dir(web.join("src")).map_err(failed)? {
        let file = entry.map_err(failed)?;
        fs::copy(file.path(), sources.join(file.file_name())).map_err(failed)?;
    }
    let mut licences = String::from("/*!\n");
    for name in PACKAGES {
        let text = fs::read_to_string(place.join("node_modules").join(name).join("LICENSE"));
        licences += &format!("{name}: {}\n", text.map_err(failed)?.trim());
    }
    licences += "*/\n";
    for (source, bundle) in [("src/main.js", "page.js"), ("src/page.css", "page.css")] {
        let esbuild = "node_modules/esbuild/bin/esbuild";
        let options =
            ["--bundle", "--minify", "--charset=utf8", "--target=es2022", "--format=iife"];
        let made = output(Command::new("node").arg(esbuild).arg(source).args(options), &place)?;
        let head = if bundle == "page.js" { licences.as_str() } else { "" };
        fs::write(out.join(bundle), head.to_owned() + &made).map_err(failed)?;
    }
    Ok(())
}

/// Installs the pinned packages in `place`, unless they are there.
fn fetch(web: &Path, place: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", place.display());
    fs::create_dir_all(place).map_err(failed)?;
    let same = |name: &&str| fs::read(web.join(name)).ok() == fs::read(place.join(name)).ok();
    if place.join("node_modules/esbuild").exists() && MANIFESTS.iter().all(same) {
        return Ok(());
    }
    for name in MANIFESTS {
        fs::copy(web.join(name), place.join(name)).map_err(failed)?;
    }
    let options = ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"];
    output(Command::new("npm").args(options), place).map(|_| ())
}

/// The standard output of a program.
fn output(command: &mut Command, place: &Path) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.current_dir(place).output().map_err(|error| format!("{name}: {error}"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    let error = error.lines().take(ERROR_LINES).collect::<Vec<_>>().join("; ");
    match output.status.success() {
        true => String::from_utf8(output.stdout).map_err(|error| format!("{name}: {error}")),
        false => Err(format!("{name} ended with {}: {error}", output.status)),
    }
}
