//! The workspace by `cargo metadata`: its crates, their directories and dependencies.

use crate::shell::{cargo, command, root};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A crate of the workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its name in cargo.
    pub name: String,
    /// Its directory, from the workspace's root.
    pub directory: String,
    /// Crates of the workspace that its build links.
    pub links: BTreeSet<String>,
    /// Further crates of the workspace that only its tests link.
    pub tests_link: BTreeSet<String>,
}

/// `fairwave args...` from `cargo`'s build with this profile.
pub fn fairwave(profile: &str, args: &[&str]) -> Command {
    command(&target().join(profile).join("fairwave").to_string_lossy(), args)
}

/// Returns the path of a tool from PyPI in its own Python environment below cargo's target
/// directory.
pub fn tool(name: &str) -> PathBuf {
    target().join("tools/bin").join(name)
}

/// Cargo's target directory, by the environment and cargo's configuration.
pub fn target() -> PathBuf {
    let stated = metadata().ok().and_then(|value| Some(value["target_directory"].as_str()?.into()));
    stated.unwrap_or_else(|| root().join("target"))
}

/// Every crate of the workspace.
pub fn members() -> Result<Vec<Member>, String> {
    let metadata = metadata()?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let name = |value: &Value| Some(value["name"].as_str()?.to_owned());
    let names: BTreeSet<String> = packages.iter().filter_map(name).collect();
    Ok(packages.iter().filter_map(|package| member(package, &names)).collect())
}

fn member(package: &Value, names: &BTreeSet<String>) -> Option<Member> {
    let manifest = Path::new(package["manifest_path"].as_str()?).parent()?;
    let directory = manifest.strip_prefix(root()).ok()?.to_str()?.to_owned();
    let of_kind = |is_dev: bool| -> BTreeSet<String> {
        let all = package["dependencies"].as_array().into_iter().flatten();
        let of_kind = all.filter(|dependency| (dependency["kind"] == "dev") == is_dev);
        let named = of_kind.filter_map(|dependency| dependency["name"].as_str());
        named.filter(|name| names.contains(*name)).map(str::to_owned).collect()
    };
    let name = package["name"].as_str()?.to_owned();
    Some(Member { name, directory, links: of_kind(false), tests_link: of_kind(true) })
}

fn metadata() -> Result<Value, String> {
    let output = cargo(&["metadata", "--no-deps", "--format-version", "1"]).output();
    let output = output.map_err(|error| format!("cargo metadata: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}
