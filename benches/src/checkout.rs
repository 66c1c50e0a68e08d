//! Other commits, checked out and built below cargo's target directory.

use std::path::PathBuf;
use xtask::shell::{cargo, command, run_aside};
use xtask::workspace;

/// A commit that is checked out in target/same, which stays for the next time.
pub(crate) struct Checkout {
    /// Its working tree.
    pub(crate) tree: PathBuf,
    /// Directory of its builds.
    pub(crate) build: PathBuf,
}

impl Checkout {
    /// Checks the commit out. An earlier checkout is replaced.
    pub(crate) fn of(commit: &str) -> Result<Self, String> {
        let place = workspace::target().join("same");
        let tree = place.join("tree");
        let path = tree.to_string_lossy();
        // Git changes the files that differ and no others, so that cargo builds little anew. In a
        // directory without a `.git` of its own, git would check out this tree instead.
        if tree.join(".git").exists() {
            let checkout = ["-C", &path, "checkout", "--quiet", "--detach", commit];
            run_aside(command("git", &checkout))?;
        } else {
            let add = ["worktree", "add", "--force", "--detach", &path, commit];
            run_aside(command("git", &add))?;
        }
        // Not the build directory of this tree, for which cargo would take its crates: they have
        // the same names.
        Ok(Self { build: place.join("build"), tree })
    }

    /// Runs `cargo args...` in it.
    pub(crate) fn cargo(&self, args: &[&str]) -> Result<(), String> {
        let mut building = cargo(args);
        building.current_dir(&self.tree).env("CARGO_TARGET_DIR", &self.build);
        run_aside(building)
    }
}
