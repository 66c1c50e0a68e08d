//! `cargo xtask vm`: the laws of `fairwave cc` in an older kernel: Debian's 6.1, in QEMU without
//! hardware's help. There the verifier judges them, each carries data, and all are unloaded.
//! Others boot a [`Guest`] of their own.

mod dccp;
mod guest;
mod measure;
mod soc;

use crate::shell::{Outcome, cargo, run_aside};
use crate::workspace;
pub(crate) use guest::Guest;

/// What runs in the guest.
const GUEST: &str = include_str!("vm/guest.sh");
/// What the guest's lines for us begin with.
const MARK: &str = "GUEST ";

/// What runs in the guest.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum Show {
    /// The laws of `fairwave cc`
    Cc,
    /// Our DCCP and the kernel's, with each other
    Dccp,
    /// An access point with WPA2 and three stations over simulated radios
    Soc,
    /// `fairwave fairness` and `fairwave probe` over such radios, with a clock that steps
    Measure,
}

/// Boots a guest, and prints what it says.
pub(crate) fn vm(show: Show) -> Outcome {
    match show {
        Show::Cc => laws(),
        Show::Dccp => dccp::dccp(),
        Show::Soc => soc::soc(),
        Show::Measure => measure::measure(),
    }
}

fn laws() -> Outcome {
    run_aside(cargo(&["build", "-p", "fairwave-cli", crate::shell::WITH_LAWS]))?;
    let guest = Guest {
        place: "vm",
        commands: vec![workspace::target().join("debug/fairwave")],
        init: GUEST,
        files: Vec::new(),
        programs: &["iperf3"],
        packages: &[],
        modules: Vec::new(),
    };
    let said = guest.boot()?;
    // Before its first line the terminal is cleared.
    let lines = said.lines().filter_map(|line| Some(line[line.find(MARK)?..].trim_end()));
    lines.for_each(|line| println!("{line}"));
    Ok(())
}
