//! `fairwave packets`: packet scripts against our endpoint and against the kernel's TCP.

use crate::args::Common;
use crate::outcome::Failure;
use crate::output;
use clap::{Args, ValueEnum};
use fairwave_packets::{Against, Script, Side, play};
use serde_json::json;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  fairwave packets crates/protocols/tcp/tests/conformance
  fairwave packets my.pkt --against kernel
  fairwave packets crates/protocols/tcp/tests/conformance --against kernel --slow --json

Scripts are explained in docs/packets.md. Exit code 1: a script differs and does not say so.";

/// Play packet scripts against our TCP, in virtual time and on a TUN device, and the kernel's
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Packets {
    /// The scripts, or directories with files *.pkt
    #[arg(required = true, value_name = "SCRIPT")]
    scripts: Vec<PathBuf>,
    /// TCP implementation to play the scripts against; may be repeated [default: all three]
    #[arg(long, value_name = "SIDE")]
    against: Vec<Named>,
    /// Include scripts that take more than 1.5 s of real time
    #[arg(long)]
    slow: bool,
    /// Number of attempts with a script that differs in real time
    #[arg(long, value_name = "N", default_value = "3")]
    tries: NonZeroU32,
    /// Print the table of differences between Linux and the scripts as Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

/// TCP implementations that packet scripts are played against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Named {
    /// Our endpoint in virtual time
    Simulator,
    /// Our endpoint behind a TUN device, in real time
    Endpoint,
    /// The TCP of the kernel that runs, in real time
    Kernel,
}

impl Named {
    const fn side(self) -> Side {
        match self {
            Self::Simulator => Side::Simulator,
            Self::Endpoint => Side::Real(Against::Endpoint),
            Self::Kernel => Side::Real(Against::Kernel),
        }
    }
}

/// Plays every script against every requested side, each once.
pub(super) fn run(common: &Common, args: &Packets) -> Result<(), Failure> {
    let scripts = read(&args.scripts)?;
    let is_wanted = |named: &&Named| args.against.is_empty() || args.against.contains(named);
    let wanted = Named::value_variants().iter().filter(is_wanted);
    let sides: Vec<Side> = wanted.map(|named| named.side()).collect();
    if sides.iter().any(|side| *side != Side::Simulator) {
        fairwave_netns::support().map_err(Failure::run)?;
        // The kernel only lets a process with one thread enter a new user namespace.
        fairwave_netns::become_root_inside().map_err(Failure::run)?;
    }
    let played = play(&scripts, sides, args.slow, args.tries.get()).map_err(Failure::Run)?;
    let shown = if common.json {
        output::print_json(&json!(played.output()))
    } else {
        output::print(&if args.markdown { played.markdown() } else { played.text() })
    };
    Failure::unless_closed(shown)?;
    match played.counts() {
        (_, 0) => Ok(()),
        (all, count) => Err(Failure::Run(format!("{count} of {all} scripts differ"))),
    }
}

/// The scripts of files, and of the `.pkt` files of directories.
fn read(paths: &[PathBuf]) -> Result<Vec<Script>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => files.extend(in_directory(path)?),
            false => files.push(path.clone()),
        }
    }
    if files.is_empty() {
        return Err(Failure::Usage("there is no file *.pkt".to_owned()));
    }
    let script = |file: &PathBuf| {
        let shown = file.display();
        let text = fs::read_to_string(file).map_err(|e| Failure::Run(format!("{shown}: {e}")))?;
        let name = file.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        Script::read(&name, &text).map_err(Failure::Usage)
    };
    files.iter().map(script).collect()
}

fn in_directory(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let fault = |error| Failure::Run(format!("{}: {error}", path.display()));
    let entries = fs::read_dir(path).map_err(fault)?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "pkt"));
    files.sort();
    Ok(files)
}
