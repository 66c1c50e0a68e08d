//! `cargo xtask vm`: the algorithms of `fairwave cc` in an older kernel: Debian's 6.1, in QEMU
//! without hardware virtualisation. Its verifier checks them, each carries data, and all are
//! unloaded. Other tasks boot their own [`Guest`].

mod dccp;
mod guest;
mod measure;
mod shake;
mod soc;

pub(crate) use guest::Guest;
use xtask::shell::{Outcome, cargo, run_aside};
use xtask::workspace;

/// The guest's script.
const GUEST: &str = include_str!("vm/guest.sh");
/// Beginning of the guest's lines with results.
const MARK: &str = "GUEST ";

/// Programs for the guest.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum Show {
    /// The algorithms of `fairwave cc`
    Cc,
    /// Our DCCP and the kernel's, with each other
    Dccp,
    /// An access point with WPA2 and three stations over simulated radios
    Soc,
    /// `fairwave fairness` and `fairwave probe` over such radios, with a clock that steps
    Measure,
    /// `fairwave shake` over such a radio and a wired link, through suspends and roams
    Shake,
}

/// Boots a guest, and prints its results.
pub(crate) fn vm(show: Show) -> Outcome {
    match show {
        Show::Cc => algorithms(),
        Show::Dccp => dccp::dccp(),
        Show::Soc => soc::soc(),
        Show::Measure => measure::measure(),
        Show::Shake => shake::shake(),
    }
}

fn algorithms() -> Outcome {
    run_aside(cargo(&["build", "-p", "fairwave-cli", xtask::shell::WITH_KERNEL_CC]))?;
    let guest = Guest {
        place: "vm",
        commands: vec![workspace::target().join("debug/fairwave")],
        init: GUEST,
        files: Vec::new(),
        programs: &["iperf3"],
        packages: &[],
        modules: Vec::new(),
    };
    let printed = guest.boot()?;
    // The terminal is cleared before the first line, so the mark may be preceded by escape codes.
    let lines = printed.lines().filter_map(|line| Some(line[line.find(MARK)?..].trim_end()));
    lines.for_each(|line| println!("{line}"));
    Ok(())
}
