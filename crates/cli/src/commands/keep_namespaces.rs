//! `fairwave keep-namespaces`: the init process of an emulation's namespaces.

use crate::args::Common;
use crate::outcome::Failure;
use clap::Args;
use std::ffi::OsString;

/// Init process of an emulation's namespaces, which starts the emulation
#[derive(Args, Debug)]
pub(crate) struct KeepNamespaces {
    /// Further tasks, and the command for each
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    task: Vec<OsString>,
}

/// Keeps namespaces until their last process ends; this process then ends with its exit code.
pub(super) fn run(_: &Common, args: &KeepNamespaces) -> Result<(), Failure> {
    Err(Failure::Ended(fairwave_soc_tool::keep(&args.task)))
}
