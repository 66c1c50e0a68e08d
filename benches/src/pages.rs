//! `cargo xtask pages`: full runs of studies, and the pages that describe them.

use clap::Args;
use std::process::Stdio;
use std::time::Instant;
use xtask::pages::{studies, write};
use xtask::shell::{Outcome, cargo, run};
use xtask::workspace::{self, fairwave};

/// Options of `cargo xtask pages`.
#[derive(Args)]
pub(crate) struct Options {
    /// Studies; all if none is named.
    studies: Vec<String>,
}

/// Runs studies in full, writes their pages, and counts their verdicts in README.
pub(crate) fn pages(options: &Options) -> Outcome {
    run(cargo(&["build", "--release", "-p", "fairwave-cli"]))?;
    let names = if options.studies.is_empty() { studies()? } else { options.studies.clone() };
    for name in &names {
        let begun = Instant::now();
        page(name)?;
        println!("{name}: {:.0} s", begun.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Writes the page of one study. The line in README is updated at once, so that both agree after an
/// interruption.
fn page(name: &str) -> Outcome {
    let out = workspace::target().join("pages").join(name);
    let out = out.to_string_lossy();
    let args = ["--out", &out, "--force", "reproduce", name, "--full", "--markdown"];
    let made = fairwave("release", &args).stderr(Stdio::inherit()).output();
    let made = made.map_err(|error| format!("fairwave reproduce: {error}"))?;
    if !made.status.success() {
        return Err(format!("fairwave reproduce {name} ended with {}", made.status));
    }
    write(name, &String::from_utf8_lossy(&made.stdout))
}
