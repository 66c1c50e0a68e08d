//! `fairwave cc` in a build without it: the way to a build with it.

use crate::args::Common;
use crate::outcome::Failure;
use clap::Args;
use std::ffi::OsString;

const MISSING: &str = if cfg!(target_os = "linux") {
    "this build is without `fairwave cc`, whose loader needs libelf and zlib; on Debian and Ubuntu \
     `sudo apt-get install libelf-dev zlib1g-dev make`, then build with `--features kernel-cc`, as \
     in `cargo install --locked --path crates/cli --features kernel-cc`"
} else {
    "`fairwave cc` loads congestion controls into a Linux kernel: it needs Linux"
};

/// Congestion controls in this machine's kernel: this build is without them
#[derive(Args, Debug)]
#[command(after_help = MISSING)]
pub(crate) struct Cc {
    /// Arguments of the command, which are not read
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<OsString>,
}

/// Reports the missing feature and the commands that build it.
pub(super) fn run(_: &Common, cc: &Cc) -> Result<(), Failure> {
    let _ = &cc.arguments;
    Err(Failure::Usage(MISSING.to_owned()))
}
