//! This process's command line, and the program that starts the command again.

use crate::outcome::Failure;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Words and program of this process. They are a fact of the process, as its environment is: a
/// command inside Python's interpreter cannot find them by the operating system.
static OWN: OnceLock<Own> = OnceLock::new();

#[derive(Debug)]
struct Own {
    words: Vec<OsString>,
    program: Option<PathBuf>,
}

/// Records the command line and the program, once in a process.
pub(crate) fn set(words: &[OsString], program: Option<PathBuf>) {
    #[cfg(target_os = "linux")]
    if let Some(program) = &program {
        fairwave_netns::set_own_program(program);
    }
    let _ = OWN.set(Own { words: words.to_vec(), program });
}

/// The words behind the program's name.
#[cfg(target_os = "linux")]
pub(crate) fn words() -> impl Iterator<Item = String> {
    let words = OWN.get().into_iter().flat_map(|own| own.words.iter().skip(1));
    words.map(|word| word.to_string_lossy().into_owned())
}

/// The path of this program, which starts itself again as a proxy.
pub(crate) fn program() -> Result<PathBuf, Failure> {
    match OWN.get().and_then(|own| own.program.clone()) {
        Some(program) => Ok(program),
        None => std::env::current_exe().map_err(Failure::run),
    }
}
