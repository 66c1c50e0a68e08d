//! The objects in `objects/` are those that the sources in `bpf/` give. Where clang has the version
//! that made them, byte for byte; with another, they have the same programs and maps.

use libbpf_rs::{ObjectBuilder, OpenObject};
use std::fs;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Which clang made the objects.
const VERSION: &str = "objects/clang-version";

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What clang calls itself, or `None` where there is none.
fn clang() -> Option<String> {
    let output = Command::new("clang").arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).lines().next()?.to_owned())
}

/// Names of the programs' sources, without endings.
fn names() -> Vec<String> {
    let entries = fs::read_dir(here().join("bpf")).expect("the sources are there");
    let name =
        |entry: fs::DirEntry| Some(entry.file_name().to_str()?.strip_suffix(".bpf.c")?.to_owned());
    let mut names: Vec<String> = entries.filter_map(|entry| name(entry.ok()?)).collect();
    names.sort_unstable();
    assert!(names.len() >= 7, "{names:?}");
    names
}

/// Compiles one source. BTF stays, other debugging information goes.
fn build(name: &str, into: &Path) -> PathBuf {
    let (sources, object) = (here().join("bpf"), into.join(format!("{name}.o")));
    let mut compile = Command::new("clang");
    compile.args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Wextra", "-Werror"]);
    compile.args(["-Wno-unused-parameter", "-Wno-missing-field-initializers"]);
    // Objects shall be the same wherever the project lies.
    compile.arg(format!("-fdebug-prefix-map={}=.", sources.display()));
    compile.arg("-c").arg(format!("{name}.bpf.c")).arg("-o").arg(&object).current_dir(&sources);
    assert!(compile.status().expect("clang starts").success(), "{name} compiles");
    let stripped = Command::new("llvm-strip").arg("-g").arg(&object).status();
    assert!(stripped.expect("llvm-strip starts").success(), "{name} is stripped");
    object
}

fn open(path: &Path) -> OpenObject {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // Without a name libbpf calls an object, and maps of its data, by the address of the bytes.
    let mut builder = ObjectBuilder::default();
    builder.name("algorithm").expect("a name").open_memory(&bytes).expect("libbpf reads it")
}

/// Programs with their sections, and maps with their sizes.
fn content(object: &OpenObject) -> Vec<String> {
    let text = |name: &std::ffi::OsStr| name.to_string_lossy().into_owned();
    let programs =
        object.progs().map(|it| format!("{} in {}", text(it.name()), text(it.section())));
    let maps = object.maps().map(|map| {
        let sizes = (map.key_size(), map.value_size(), map.max_entries());
        format!("{} {:?} {sizes:?}", text(map.name()), map.map_type())
    });
    programs.chain(maps).collect()
}

#[test]
fn shipped_objects_are_those_of_the_sources() {
    let Some(version) = clang() else {
        let _ = writeln!(stderr(), "SKIPPED: a comparison of objects, as there is no clang");
        return;
    };
    let place = tempfile::tempdir().expect("a directory");
    let made_by = fs::read_to_string(here().join(VERSION)).expect(VERSION);
    for name in names() {
        let (built, shipped) =
            (build(&name, place.path()), here().join(format!("objects/{name}.o")));
        let remedy = "`cargo xtask golden` builds objects/ anew";
        assert_eq!(content(&open(&built)), content(&open(&shipped)), "{name}: {remedy}");
        if made_by.trim() == version {
            let same = fs::read(&built).expect("built") == fs::read(&shipped).expect("shipped");
            assert!(same, "{name}: the source has changed; {remedy}");
        }
    }
}

#[test]
#[ignore = "rewrites the objects"]
fn bless() {
    let version = clang().expect("clang builds the objects: install the package clang");
    for name in names() {
        build(&name, &here().join("objects"));
    }
    fs::write(here().join(VERSION), version + "\n").expect(VERSION);
}
