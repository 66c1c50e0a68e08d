//! Where results go.

use crate::args::Common;
use crate::outcome::Failure;
use std::fs;
use std::path::{Path, PathBuf};

/// Directory for results of commands without `--out`.
const HOME: &str = "fairwave-out";

/// The directory for this command: `--out` if it is new or empty (or `--force`), otherwise a new
/// one called after `name`.
pub(crate) fn choose(common: &Common, name: &str) -> Result<PathBuf, Failure> {
    let Some(out) = &common.out else {
        return Ok(fresh(Path::new(HOME), name));
    };
    if out.exists() && !out.is_dir() {
        return Err(Failure::Usage(format!("{}: not a directory", out.display())));
    }
    if !is_vacant(out) && !common.force {
        let path = out.display();
        return Err(Failure::Usage(format!("{path}: not empty; --force writes into it anyway")));
    }
    Ok(out.clone())
}

/// The first vacant one of `name`, `name-2`, `name-3`, ...
fn fresh(home: &Path, name: &str) -> PathBuf {
    let numbered = (2..u32::MAX).map(|n| home.join(format!("{name}-{n}")));
    let mut candidates = std::iter::once(home.join(name)).chain(numbered);
    candidates.find(|path| is_vacant(path)).unwrap_or_else(|| home.join(name))
}

/// Whether nothing is there, or an empty directory.
fn is_vacant(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => !path.exists(),
    }
}
