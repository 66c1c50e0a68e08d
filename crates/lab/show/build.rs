//! Makes the scripts and the style sheets of the pages from `web`: npm fetches what
//! `web/package-lock.json` pins, and esbuild joins it with our modules.
//!
//! Without npm the crate is built all the same, with an empty script, so that the other commands
//! need Rust alone. [`fairwave_show::Page`] then refuses, and names the remedy. The build script
//! runs again with each build until the page is made.
//!
//! The page of the laboratory also has the scenarios of the catalogue, those of the tours, and the
//! verdicts of the studies: their files are listed in `catalogue.rs`.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files that npm reads.
const MANIFESTS: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];
/// Lines of a program's error that a warning repeats.
const ERROR_LINES: usize = 3;
/// Sources of bundles, and their names.
const BUNDLES: [(&str, &str); 8] = [
    ("src/main.js", "page.js"),
    ("src/page.css", "page.css"),
    ("src/figures/main.js", "figures.js"),
    ("src/figures/figures.css", "figures.css"),
    ("src/lab/main.js", "lab.js"),
    ("src/lab/worker.js", "worker.js"),
    ("src/lab/lab.css", "lab.css"),
    ("src/live/main.js", "live.js"),
];
/// Directory of the files that name the scenarios of the tours.
const PAPERS: &str = "crates/lab/show/web/src/lab/papers";
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("a repository");
    let listed = catalogue(root).expect("scenarios and results lie beside the crates");
    fs::write(out.join("catalogue.rs"), listed).expect("the place of output can be written");
    if let Err(error) = make(&web, &out) {
        println!("cargo::warning=`fairwave show` is left out of this build: {error}");
        println!("cargo::rerun-if-changed=web/no-such-file");
        for (_, name) in BUNDLES {
            fs::write(out.join(name), "").expect("the place of output can be written");
        }
    }
}

/// Writes `page.js` and `page.css` into `out`.
fn make(web: &Path, out: &Path) -> Result<(), String> {
    let place = out.join("web");
    let failed = |error: std::io::Error| format!("{}: {error}", place.display());
    fetch(web, &place)?;
    copy(&web.join("src"), &place.join("src")).map_err(failed)?;
    let mut licences = String::from("/*!\n");
    for name in PACKAGES {
        let text = fs::read_to_string(place.join("node_modules").join(name).join("LICENSE"));
        licences += &format!("{name}: {}\n", text.map_err(failed)?.trim());
    }
    licences += "*/\n";
    for (source, bundle) in BUNDLES {
        let esbuild = "node_modules/esbuild/bin/esbuild";
        let options =
            ["--bundle", "--minify", "--charset=utf8", "--target=es2022", "--format=iife"];
        let made = output(Command::new("node").arg(esbuild).arg(source).args(options), &place)?;
        let head = if source.ends_with("main.js") { licences.as_str() } else { "" };
        fs::write(out.join(bundle), head.to_owned() + &made).map_err(failed)?;
    }
    Ok(())
}

/// Copies the files of a directory and those below it.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (file, target) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type()?.is_dir() {
            true => copy(&file, &target)?,
            false => fs::copy(file, target).map(drop)?,
        }
    }
    Ok(())
}

/// Lists of names and contents, in Rust: the catalogue, the tours' scenarios, and the pages of the
/// studies.
fn catalogue(root: &Path) -> std::io::Result<String> {
    let lists = [
        ("SCENARIOS", files_in(root, "scenarios", "toml")?),
        ("TOURS", toured(root)?),
        ("STUDIES", files_in(root, "results/studies", "md")?),
    ];
    println!("cargo::rerun-if-changed={}", root.join("scenarios").display());
    println!("cargo::rerun-if-changed={}", root.join("results/studies").display());
    let mut text = String::new();
    for (list, names) in lists {
        let _ = writeln!(text, "pub(super) const {list}: &[(&str, &str)] = &[");
        for name in names {
            let path = root.join(&name);
            let content = match list {
                "STUDIES" => format!("{:?}", claims(&fs::read_to_string(path)?)),
                _ => format!("include_str!({path:?})"),
            };
            let _ = writeln!(text, "    ({name:?}, {content}),");
        }
        text += "];\n";
    }
    Ok(text)
}

/// Paths from the root of the scenarios that the tours name, sorted.
fn toured(root: &Path) -> std::io::Result<Vec<String>> {
    let mut names = BTreeSet::new();
    for paper in files_in(root, PAPERS, "js")? {
        let text = fs::read_to_string(root.join(paper))?;
        let quoted = text.split('"').filter(|word| word.starts_with("studies/"));
        names.extend(quoted.map(str::to_owned));
    }
    Ok(names.into_iter().collect())
}

/// The section `Claims` of a study's page: the rest of it is long, and no part of the tours.
fn claims(page: &str) -> String {
    let lines = page.lines().skip_while(|line| *line != "## Claims");
    let section = lines.enumerate().take_while(|(at, line)| *at == 0 || !line.starts_with("## "));
    section.map(|(_, line)| format!("{line}\n")).collect()
}

/// Paths from the root of the files with this ending in a directory, sorted.
fn files_in(root: &Path, directory: &str, ending: &str) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join(directory))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(&format!(".{ending}")) {
            names.push(format!("{directory}/{name}"));
        }
    }
    names.sort();
    Ok(names)
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
