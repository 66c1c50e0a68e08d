//! How the suite builds tests: with the very dependencies of the release build, and with lints in
//! the pass that compiles.
//!
//! `[profile.bench]` lies in the directory of `[profile.release]` and inherits it, so whatever the
//! two make alike cargo compiles once. Here it keeps what the release build says of dependencies,
//! and takes what `[profile.dev]` says of the crates of the workspace: few optimisations, and
//! assertions. `clippy-driver` compiles these crates, as `cargo clippy` has it do.

use crate::runner::tool;
use crate::shell::{cargo, command, root};
use crate::workspace;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The profile whose directory the release build has, too.
const PROFILE: &str = "bench";

/// Where and how the suite builds.
pub(crate) struct Shared {
    /// What `[profile.bench]` is here.
    config: PathBuf,
    /// Where finished programs go: another place than those of the release build, which have the
    /// same names.
    target: PathBuf,
    /// Where everything else goes: the place of the release build.
    build: PathBuf,
}

impl Shared {
    /// Writes the profile for crates of the workspace as they are now.
    pub(crate) fn new() -> Result<Self, String> {
        let build = workspace::target();
        let target = build.join("suite");
        let config = target.join("profile.toml");
        let manifest = root().join("Cargo.toml");
        let manifest = fs::read_to_string(&manifest)
            .map_err(|error| format!("{}: {error}", manifest.display()))?;
        let names: Vec<String> =
            workspace::members()?.into_iter().map(|member| member.name).collect();
        let told = |error| format!("{}: {error}", config.display());
        fs::create_dir_all(&target).map_err(told)?;
        fs::write(&config, profile(&manifest, &names)?).map_err(told)?;
        Ok(Self { config, target, build })
    }

    /// `cargo test --profile bench args...`, which denies warnings of compiler and lints.
    pub(crate) fn test(&self, args: &[&str]) -> Command {
        let mut test = cargo(&["test", "--profile", PROFILE, "--config"]);
        test.arg(&self.config).args(args);
        self.surround(&mut test);
        test
    }

    /// `cargo nextest VERB` with the build of [`Shared::test`].
    pub(crate) fn nextest(&self, verb: &str) -> Command {
        let mut nextest = command(&tool("cargo-nextest").to_string_lossy(), &["nextest", verb]);
        nextest.args(["--cargo-profile", PROFILE, "--config"]).arg(&self.config);
        self.surround(&mut nextest);
        nextest
    }

    /// Sets what builds as the suite builds: places, and `clippy-driver` as the compiler.
    fn surround(&self, command: &mut Command) {
        command.env("CARGO_TARGET_DIR", &self.target).env("CARGO_BUILD_BUILD_DIR", &self.build);
        // As `cargo clippy -- -D warnings` calls it.
        command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
        command.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    }

    /// Where the program of this name is, built with assertions.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.target.join("release").join(name)
    }
}

/// The profile: each crate of the workspace as the manifest's `[profile.dev]` has it.
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

/// What the section of this header states as its level of optimisation.
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
