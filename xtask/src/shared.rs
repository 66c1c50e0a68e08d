//! Build of the suite's tests: with the same dependencies as the release build, and with lints in
//! the same pass as the compilation.
//!
//! `[profile.bench]` uses the directory of `[profile.release]` and inherits from it, so cargo
//! compiles only once whatever the two have in common. Here dependencies keep the settings of the
//! release build. The crates of the workspace get those of `[profile.dev]`: few optimisations, and
//! assertions. `clippy-driver` compiles these crates, as in `cargo clippy`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use xtask::shell::{cargo, command, root};
use xtask::workspace::{self, tool};

/// The profile that shares its directory with the release build.
const PROFILE: &str = "bench";

/// Directories and configuration of the suite's build.
pub(crate) struct Shared {
    /// Configuration file that defines `[profile.bench]`.
    config: PathBuf,
    /// Directory for finished programs. It differs from that of the release build, whose programs
    /// have the same names.
    target: PathBuf,
    /// Directory for everything else, shared with the release build.
    build: PathBuf,
}

impl Shared {
    /// Writes the profile for the present crates of the workspace.
    pub(crate) fn new() -> Result<Self, String> {
        let build = workspace::target();
        let target = build.join("suite");
        let config = target.join("profile.toml");
        let manifest = root().join("Cargo.toml");
        let manifest = fs::read_to_string(&manifest)
            .map_err(|error| format!("{}: {error}", manifest.display()))?;
        let names: Vec<String> =
            workspace::members()?.into_iter().map(|member| member.name).collect();
        let reported = |error| format!("{}: {error}", config.display());
        fs::create_dir_all(&target).map_err(reported)?;
        fs::write(&config, profile(&manifest, &names)?).map_err(reported)?;
        Ok(Self { config, target, build })
    }

    /// `cargo test --profile bench args...`, which denies warnings of compiler and lints.
    pub(crate) fn test(&self, args: &[&str]) -> Command {
        let mut test = cargo(&["test", "--profile", PROFILE, "--config"]);
        test.arg(&self.config).args(args);
        self.surround(&mut test);
        test
    }

    /// `cargo build args...` of the same profile.
    pub(crate) fn build(&self, args: &[&str]) -> Command {
        let mut build = cargo(&["build", "--quiet", "--profile", PROFILE, "--config"]);
        build.arg(&self.config).args(args);
        self.surround(&mut build);
        build
    }

    /// `cargo nextest VERB` with the build of [`Shared::test`].
    pub(crate) fn nextest(&self, verb: &str) -> Command {
        let mut nextest = command(&tool("cargo-nextest").to_string_lossy(), &["nextest", verb]);
        nextest.args(["--cargo-profile", PROFILE, "--config"]).arg(&self.config);
        self.surround(&mut nextest);
        nextest
    }

    /// Sets the environment of a build of the suite: directories, and `clippy-driver` as the
    /// compiler.
    fn surround(&self, command: &mut Command) {
        command.env("CARGO_TARGET_DIR", &self.target).env("CARGO_BUILD_BUILD_DIR", &self.build);
        // The same variables that `cargo clippy -- -D warnings` sets.
        command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
        command.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    }

    /// Path of the dynamic library of this name, built with assertions.
    pub(crate) fn library(&self, name: &str) -> PathBuf {
        self.target.join("release").join(format!("lib{name}.so"))
    }

    /// Path of the program of this name, built with assertions.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.target.join("release").join(name)
    }
}

/// The profile, with the settings of the manifest's `[profile.dev]` for each crate of the
/// workspace.
fn profile(manifest: &str, members: &[String]) -> Result<String, String> {
    let base =
        level(manifest, "[profile.dev]").ok_or("Cargo.toml: [profile.dev] states no opt-level")?;
    let section = |name: &String| {
        let own = level(manifest, &format!("[profile.dev.package.{name}]")).unwrap_or(base);
        format!(
            "[profile.{PROFILE}.package.{name}]\nopt-level = {own}\ncodegen-units = 16\n\
             debug-assertions = true\noverflow-checks = true\n"
        )
    };
    Ok(members.iter().map(section).collect::<Vec<_>>().join("\n"))
}

/// The optimisation level in the section with this header.
fn level<'a>(manifest: &'a str, header: &str) -> Option<&'a str> {
    let mut lines = manifest.lines().skip_while(|line| *line != header).skip(1);
    let section = lines.by_ref().take_while(|line| !line.starts_with('['));
    section.filter_map(|line| line.strip_prefix("opt-level = ")).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_built_as_the_profile_for_developers_has_them() {
        let manifest = "[profile.dev]\nopt-level = 1\n\n[profile.dev.package.cli]\n\
                        opt-level = 0\n\n[profile.release.package.sim]\nopt-level = 3\n";
        let made = profile(manifest, &["cli".into(), "sim".into()]).unwrap();
        assert!(made.contains("[profile.bench.package.cli]\nopt-level = 0\n"), "{made}");
        assert!(made.contains("[profile.bench.package.sim]\nopt-level = 1\n"), "{made}");
        assert_eq!(made.matches("debug-assertions = true").count(), 2);
        assert!(profile("[profile.dev]\ndebug = false\n", &["sim".into()]).is_err());
    }
}
