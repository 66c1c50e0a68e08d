//! Directories for results: `--out`, or new ones.

use crate::args::Common;
use crate::outcome::Failure;
pub(crate) use fairwave_lab::place::Place;
use fairwave_lab::place::{Error, is_vacant};
use fairwave_lab::results;
use std::path::Path;

/// Directory for results of commands without `--out`.
const HOME: &str = "fairwave-out";

/// Permitted contents of a directory for results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// None, unless `--force` is given.
    Nothing,
    /// Results of an interrupted command that continues.
    Results,
}

/// The directory for this command: `--out` if it is new or empty (or `--force`), otherwise a new
/// one whose name is derived from `name`.
pub(crate) fn choose(common: &Common, name: &str) -> Result<Place, Failure> {
    choose_with(common, name, Before::Nothing)
}

/// The same for an `--out` that may have the contents given by `before`.
pub(crate) fn choose_with(common: &Common, name: &str, before: Before) -> Result<Place, Failure> {
    let Some(out) = &common.out else {
        return match before {
            Before::Nothing => fresh(Path::new(HOME), name),
            Before::Results => Err(Failure::Usage(
                "--resume continues the runs in a directory: name it by --out".to_owned(),
            )),
        };
    };
    if out.exists() && !out.is_dir() {
        return Err(Failure::Usage(format!("{}: not a directory", out.display())));
    }
    let place = Place::claim(out).map_err(|error| match error {
        Error::Taken(_) => Failure::Usage(error.to_string()),
        Error::Io { .. } => Failure::run(error),
    })?;
    if before == Before::Nothing && !common.force && !is_vacant(out) {
        let path = out.display();
        return Err(Failure::Usage(format!("{path}: not empty; --force writes into it anyway")));
    }
    results::remove_unfinished(out).map_err(Failure::run)?;
    Ok(place)
}

/// The first vacant one of `name`, `name-2`, `name-3`, ...
fn fresh(home: &Path, name: &str) -> Result<Place, Failure> {
    let numbered = (2..u32::MAX).map(|n| home.join(format!("{name}-{n}")));
    for path in std::iter::once(home.join(name)).chain(numbered) {
        if !is_vacant(&path) {
            continue;
        }
        // Another process may have begun to fill the directory since it was found vacant.
        match Place::claim(&path) {
            Ok(place) if is_vacant(&path) => return Ok(place),
            Ok(_) | Err(Error::Taken(_)) => {}
            Err(error) => return Err(Failure::run(error)),
        }
    }
    Err(Failure::Run(format!("{}: every name like {name:?} is taken", home.display())))
}
