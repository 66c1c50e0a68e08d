//! Makes `FAIRWAVE_SIMULATES`, which identifies a version of the simulating code: a hash over the
//! sources that a run depends on. A version never takes results of another one for its own.
//!
//! Nothing but the content of files and their places in the repository goes in: the same sources
//! give the same hash on any machine, in any directory and in any build profile.

use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The crates whose dependencies are the simulator: the engine, and the reader of scenario files.
const ROOTS: [&str; 2] = ["sim", "scenario"];
/// Sources of this crate that make a summary or a series.
const OWN: [&str; 5] = ["src/run.rs", "src/run", "src/results", "src/stats.rs", "src/stats"];
/// Versions of other people's crates.
const LOCK: &str = "Cargo.lock";

fn main() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let identity = match own.ancestors().nth(3).filter(|root| is_repository(root)) {
        Some(root) => of_sources(root, own),
        None => {
            println!("cargo:rerun-if-changed=build.rs");
            Sha256::digest(concat!("version ", env!("CARGO_PKG_VERSION"))).to_vec()
        }
    };
    let hex: String = identity.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo:rustc-env=FAIRWAVE_SIMULATES={hex}");
}

/// Whether the sources of the simulator lie beside, as they do unless this crate is packed alone.
fn is_repository(root: &Path) -> bool {
    ROOTS.iter().all(|name| directory(root, name).is_some()) && root.join(LOCK).is_file()
}

/// The directory `crates/FLOOR/NAME` of the crate `fairwave-NAME`. Two floors may have directories
/// of one name, so the manifest decides.
fn directory(root: &Path, name: &str) -> Option<PathBuf> {
    let line = format!("name = \"fairwave-{name}\"");
    let floors = fs::read_dir(root.join("crates")).ok()?;
    let mut crates = floors.flatten().map(|floor| floor.path().join(name));
    crates.find(|path| {
        let manifest = fs::read_to_string(path.join("Cargo.toml"));
        manifest.is_ok_and(|text| text.lines().any(|found| found == line))
    })
}

fn of_sources(root: &Path, own: &Path) -> Vec<u8> {
    let mut files = BTreeSet::new();
    let mut watched = vec![root.join(LOCK)];
    for directory in crates(root).iter().filter_map(|name| directory(root, name)) {
        watched.extend([directory.join("src"), directory.join("Cargo.toml")]);
    }
    watched.extend(OWN.map(|part| own.join(part)));
    watched.push(own.join("build.rs"));
    for path in &watched {
        println!("cargo:rerun-if-changed={}", path.display());
        collect(path, &mut files);
    }
    let mut hasher = Sha256::new();
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        let text = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        // With lengths in front, no two lists of files give the same bytes.
        for part in [name.as_bytes(), &text] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    hasher.finalize().to_vec()
}

/// The names of [`ROOTS`] and of every crate of the repository that they depend on.
fn crates(root: &Path) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    let mut next: Vec<String> = ROOTS.map(str::to_owned).to_vec();
    while let Some(name) = next.pop() {
        let Some(directory) = directory(root, &name) else { continue };
        let Ok(text) = fs::read_to_string(directory.join("Cargo.toml")) else { continue };
        if known.insert(name) {
            next.extend(dependencies(&text));
        }
    }
    known
}

/// Names under `[dependencies]` in a manifest of Fairwave's crates, without their prefix.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut is_inside = false;
    let mut names = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            is_inside = line == "[dependencies]";
        } else if let (true, Some(rest)) = (is_inside, line.strip_prefix("fairwave-")) {
            names.extend(rest.split(['.', ' ', '=']).next().map(str::to_owned));
        }
    }
    names
}

/// The files at and below a place, without tests in files of their own: they change no result.
fn collect(path: &Path, files: &mut BTreeSet<PathBuf>) {
    if path.is_file() {
        files.insert(path.to_owned());
        return;
    }
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_test = name == "tests" || name == "tests.rs" || name.ends_with("_tests.rs");
        if !is_test && !name.starts_with('.') {
            collect(&entry.path(), files);
        }
    }
}
