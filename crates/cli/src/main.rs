//! The `fairwave` command: parses arguments, prints results and sets the exit code. The work is
//! done by `fairwave-lab`.

mod args;
mod clock;
mod commands;
mod outcome;
mod output;
mod place;
mod printed;
mod printed_store;
mod progress;
mod show;
#[cfg(target_os = "linux")]
mod show_agreement;
#[cfg(target_os = "linux")]
mod show_emulation;
mod show_probe;
mod stop;
mod store;
mod table;
#[cfg(target_os = "linux")]
mod terminal;
mod traced;

use args::Command;
use outcome::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let (cli, command) = args::read(std::env::args_os()).unwrap_or_else(|error| error.exit());
    #[cfg(target_os = "linux")]
    if let Command::KeepNamespaces { task } = &cli.command {
        return fairwave_soc_tool::keep(task);
    }
    if let Some(option) = cli.common.idle_option(&command) {
        return Failure::Usage(format!("--{option} has no effect on this command")).report();
    }
    match dispatch(&cli.common, cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn dispatch(common: &args::Common, command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(run) => commands::run::run(common, &run),
        #[cfg(target_os = "linux")]
        Command::Emulate(emulate) => commands::emulate::run(common, &emulate),
        #[cfg(all(target_os = "linux", feature = "kernel-laws"))]
        Command::Cc(cc) => commands::cc::run(common, &cc),
        #[cfg(target_os = "linux")]
        Command::Matrix(matrix) => commands::matrix::run(common, &matrix),
        #[cfg(target_os = "linux")]
        Command::KeepNamespaces { .. } => unreachable!("`main` has done it"),
        Command::Sweep { scenario, csv, resume } => {
            commands::sweep::run(common, &scenario, csv, resume)
        }
        #[cfg(target_os = "linux")]
        Command::Reproduce(reproduce) if reproduce.host == args::Host::Emulate => {
            commands::reproduce_real::run(common, &reproduce)
        }
        Command::Reproduce(reproduce) => commands::reproduce::run(common, &reproduce),
        Command::Store(store) => commands::store::run(common, &store),
        Command::Plot(plot) => commands::plot::run(common, &plot),
        Command::Compare(compare) => commands::compare::run(common, &compare),
        Command::Check { files } => commands::check::run(common, &files),
        #[cfg(target_os = "linux")]
        Command::Packets(packets) => commands::packets::run(common, &packets),
        #[cfg(target_os = "linux")]
        Command::Probe(probe) => commands::probe::run(common, &probe),
        #[cfg(target_os = "linux")]
        Command::Dccp(dccp) => commands::dccp::run(common, &dccp),
        #[cfg(target_os = "linux")]
        Command::Fairness(fairness) => commands::fairness::run(common, &fairness),
        #[cfg(target_os = "linux")]
        Command::Proxy(proxy) => commands::proxy::run(common, &proxy),
        #[cfg(target_os = "linux")]
        Command::Soc(soc) => commands::soc::run(common, &soc),
        Command::Trace(trace) => commands::trace::run(common, &trace),
        Command::Explain { key } => commands::explain::run(common, key.as_deref()),
        Command::List { what, of } => commands::list::run(common, what, of),
        Command::Completions { shell } => commands::manual::completions(shell),
        Command::Man => commands::manual::man(common),
    }
}
