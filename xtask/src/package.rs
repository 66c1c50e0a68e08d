//! Packages: the Debian package of the command, its static executable, and the crates as crates.io
//! would have them.

use crate::runner::keep;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::shell::{Outcome, cargo, command, run, run_aside};
use xtask::system::{self, Need, Sign};
use xtask::workspace::{self, tool};

/// The version of cargo-deb, which crates.io has as source alone.
const CARGO_DEB: &str = "3.8.0";
/// Shells with a completion script, and the names of the scripts where packages install them.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "fairwave"), ("zsh", "_fairwave"), ("fish", "fairwave.fish")];
/// Folders of crates that may be published: libraries with no tool and no laboratory in them.
const LIBRARIES: [&str; 3] = ["crates/base/", "crates/protocols/", "crates/hosts/sim"];

/// Makes the Debian package from a release build, unpacks it into an empty directory, and makes a
/// sweep and its page with the command in it.
pub(crate) fn deb() -> Outcome {
    if !tool("cargo-deb").is_file() {
        let tools = workspace::target().join("tools").display().to_string();
        let version = ["install", "cargo-deb", "--locked", "--quiet", "--version", CARGO_DEB];
        run_aside(cargo(&[&version[..], &["--root", &tools]].concat()))?;
    }
    let place = empty(&workspace::target().join("package/deb"))?;
    let built = workspace::target().join("release/fairwave").display().to_string();
    let man = place.join("man").display().to_string();
    run(command(&built, &["man", "--quiet", "--out", &man]))?;
    let completions = empty(&place.join("completions"))?;
    for (shell, name) in COMPLETIONS {
        keep(command(&built, &["completions", shell]), &completions.join(name))?;
    }
    let made = place.join("fairwave.deb").display().to_string();
    let deb = ["--no-build", "--no-strip", "--package", "fairwave-cli", "--output", &made];
    run(command(&tool("cargo-deb").to_string_lossy(), &deb))?;
    let unpacked = empty(&place.join("root"))?;
    run(command("dpkg-deb", &["--extract", &made, &unpacked.to_string_lossy()]))?;
    for file in [
        "share/man/man1/fairwave.1.gz",
        "share/bash-completion/completions/fairwave",
        "share/fairwave/scenarios/rate-anomaly.toml",
    ] {
        let file = unpacked.join("usr").join(file);
        if !file.is_file() {
            return Err(format!("the package has no {}", file.display()));
        }
    }
    let installed = unpacked.join("usr/bin/fairwave").display().to_string();
    sweep_and_show(&installed, &place)
}

/// Makes a sweep by an installed command, and the page of it: a build without npm has no pages,
/// and no package may be such a build.
pub(crate) fn sweep_and_show(installed: &str, place: &Path) -> Outcome {
    let runs = place.join("runs");
    sweep(command(installed, &[]), "2", &runs)?;
    let mut show = command(installed, &["show", "--quiet", "--out"]);
    show.arg(place.join("page.html")).arg(&runs);
    run(show)
}

/// Scenario of [`sweep`].
pub(crate) const TINY: &str = "crates/cli/tests/data/tiny.toml";

/// Target of the static executable.
const STATIC: &str = "x86_64-unknown-linux-musl";
/// Compiler of the parts in C for that target.
const MUSL: Need = Need {
    sign: Sign::Program("musl-gcc"),
    package: "musl-tools",
    why: "compiles cryptography for the static executable",
};

/// Recipe of the image that has the static executable alone.
const IMAGE: &str = "packaging/oci/Containerfile";
/// User and group without rights.
const NOBODY: &str = "--userspec=65534:65534";

/// Builds the static executable in target/package/static, without the loader of the kernel's
/// programs, which needs shared libraries. A sweep and the page of a capture are made with it where
/// there are no other files than those of the image.
pub(crate) fn static_executable() -> Outcome {
    system::ensure(&[MUSL])?;
    run_aside(command("rustup", &["target", "add", STATIC]))?;
    run(cargo(&["build", "--release", "--package", "fairwave-cli", "--target", STATIC]))?;
    let place = empty(&workspace::target().join("package/static"))?;
    let root = empty(&place.join("root"))?;
    let built = workspace::target().join(STATIC).join("release/fairwave");
    copy(&built, &place.join("fairwave"))?;
    let temporary = empty(&place.join("empty/tmp"))?;
    fs::set_permissions(&temporary, fs::Permissions::from_mode(0o1777))
        .map_err(|error| format!("{}: {error}", temporary.display()))?;
    image(&place, &root)?;
    copy(Path::new(TINY), &root.join("tiny.toml"))?;
    let inside = |options: &[&str], line: &str| {
        let mut chroot = command("chroot", options);
        chroot.arg(&root).args(line.split(' '));
        run(chroot)
    };
    inside(&[], "/fairwave sweep /tiny.toml --out /runs")?;
    let reno = "--set tcp.congestion_control=reno --seed 1";
    inside(&[], &format!("/fairwave run /tiny.toml {reno} --tap server --out /tapped"))?;
    // The image may be run as any user.
    inside(&[NOBODY], "/fairwave show /tapped/capture-server.pcapng --out /tmp/page.html")
}

/// Copies into `root` the files that the image has, from the directory `place` that it is built in.
fn image(place: &Path, root: &Path) -> Outcome {
    let recipe = fs::read_to_string(IMAGE).map_err(|error| format!("{IMAGE}: {error}"))?;
    for line in recipe.lines().filter_map(|line| line.strip_prefix("COPY ")) {
        let (from, to) = line.split_once(' ').ok_or_else(|| format!("{IMAGE}: COPY {line}"))?;
        let mut copy = command("cp", &["--archive", "--no-target-directory"]);
        copy.arg(place.join(from)).arg(root.join(to.trim_start_matches('/')));
        run(copy)?;
    }
    Ok(())
}

/// Copies a file.
fn copy(from: &Path, to: &Path) -> Outcome {
    let copied = fs::copy(from, to).map_err(|error| format!("{}: {error}", from.display()));
    copied.map(drop)
}

/// Packages the crates that may be published, and compiles each from its package.
pub(crate) fn crates() -> Outcome {
    let members = workspace::members()?;
    let is_library = |directory: &str| LIBRARIES.iter().any(|prefix| directory.starts_with(prefix));
    let chosen = members.iter().filter(|member| is_library(&member.directory));
    let names = chosen.flat_map(|member| ["--package", &member.name]);
    let target = workspace::target().join("package/crates").display().to_string();
    let mut package = cargo(&["package", "--quiet", "--target-dir", &target]);
    package.args(names);
    run(package)
}

/// A sweep of a few short runs by a build of the command.
///
/// # Errors
/// If it fails.
pub(crate) fn sweep(mut command: Command, jobs: &str, out: &Path) -> Outcome {
    command.args(["--quiet", "--jobs", jobs, "--out"]).arg(out).args(["sweep", TINY]);
    run(command)
}

/// The directory, made anew.
///
/// # Errors
/// If it cannot be removed or made.
pub(crate) fn empty(place: &Path) -> Result<PathBuf, String> {
    let at = |error| format!("{}: {error}", place.display());
    if place.exists() {
        fs::remove_dir_all(place).map_err(at)?;
    }
    fs::create_dir_all(place).map_err(at)?;
    Ok(place.to_path_buf())
}
