//! Options of `fairwave packets`.

use clap::{Args, ValueEnum};
use fairwave_packets::Against;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Examples at the end of the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  fairwave packets crates/protocols/tcp/tests/conformance
  fairwave packets my.pkt --against kernel
  fairwave packets crates/protocols/tcp/tests/conformance --against kernel --slow --json

Scripts are explained in docs/packets.md. Exit code 1: a script differs and does not say so.";

/// Options of `fairwave packets`.
#[derive(Args, Debug)]
pub(crate) struct Packets {
    /// The scripts, or directories with files *.pkt
    #[arg(required = true, value_name = "SCRIPT")]
    pub(crate) scripts: Vec<PathBuf>,
    /// TCP implementation to play the scripts against; may be repeated [default: all three]
    #[arg(long, value_name = "SIDE")]
    pub(crate) against: Vec<Side>,
    /// Include scripts that take more than 1.5 s of real time
    #[arg(long)]
    pub(crate) slow: bool,
    /// Number of attempts with a script that differs in real time
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) tries: NonZeroU32,
    /// Print the table of differences between Linux and the scripts as Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
}

impl Packets {
    /// The TCP implementations to play against, each once.
    pub(crate) fn sides(&self) -> Vec<Side> {
        let all = [Side::Simulator, Side::Endpoint, Side::Kernel];
        let wanted = |side: &Side| self.against.is_empty() || self.against.contains(side);
        all.into_iter().filter(wanted).collect()
    }
}

/// TCP implementations that packet scripts are played against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Side {
    /// Our endpoint in virtual time
    Simulator,
    /// Our endpoint behind a TUN device, in real time
    Endpoint,
    /// The TCP of the kernel that runs, in real time
    Kernel,
}

impl Side {
    /// The name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Simulator => "simulator",
            Self::Endpoint => "endpoint",
            Self::Kernel => "kernel",
        }
    }

    /// The real-time counterpart of this side; `None` for the simulator.
    pub(crate) const fn real(self) -> Option<Against> {
        match self {
            Self::Simulator => None,
            Self::Endpoint => Some(Against::Endpoint),
            Self::Kernel => Some(Against::Kernel),
        }
    }
}
