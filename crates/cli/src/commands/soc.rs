//! `fairwave soc`: stations that report their SoC, and an access point that schedules by it.

mod prometheus;
mod told;
mod watch;

use crate::args::Common;
use crate::args::soc::{Soc, SocTask, Watching};
use crate::outcome::Failure;
use crate::{clock, output, stop};
use fairwave_soc_tool::command::tasks::{self, Console};
use told::failure;

/// Console that writes to standard error.
struct Terminal<'a>(&'a Common);

impl Console for Terminal<'_> {
    fn note(&self, text: &str) {
        if !self.0.quiet {
            output::note(text);
        }
    }

    fn warn(&self, text: &str) {
        output::warn(text);
    }

    fn ask(&self, question: &str) {
        output::note(&format!("{question} [yes/no]"));
    }

    fn answer(&self) -> bool {
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer).is_ok() && answer.trim() == "yes"
    }

    fn unix_s(&self) -> u64 {
        clock::unix_s()
    }
}

/// Runs the command.
pub(crate) fn run(common: &Common, soc: &Soc) -> Result<(), Failure> {
    let console = Terminal(common);
    match &soc.task {
        SocTask::Station(station) => {
            let epoch = u32::try_from(clock::unix_s()).unwrap_or(u32::MAX);
            let stop = stop::on(&stop::SIGNALS)?;
            let told = tasks::report(station, epoch, &stop, &console).map_err(failure)?;
            told::print(common, &told)
        }
        SocTask::Ap(ap) => {
            let stop = stop::on(&stop::SIGNALS)?;
            let told = tasks::serve(ap, &stop, &console).map_err(failure)?;
            told::print(common, &told)
        }
        SocTask::Pair(pair) => {
            let stop = stop::on(&stop::SIGNALS)?;
            told::print(common, &tasks::pair(pair, &stop, &console).map_err(failure)?)
        }
        SocTask::Join(join) => {
            let stop = stop::on(&stop::SIGNALS)?;
            told::print(common, &tasks::join(join, &stop, &console).map_err(failure)?)
        }
        SocTask::Status(watching) => tell(common, watching),
        SocTask::Key(key) => Ok(output::print(&tasks::key(key).map_err(failure)?)?),
    }
}

/// Shows the status once, repeatedly until interrupted, or to Prometheus.
fn tell(common: &Common, watching: &Watching) -> Result<(), Failure> {
    let found = told::found(watching)?;
    if let Some(at) = watching.prometheus {
        return prometheus::serve(watching.clone(), at);
    }
    if common.json && found.len() > 1 {
        let names: Vec<&str> = found.iter().map(|one| one.interface.as_str()).collect();
        let several = format!("access points serve {}", names.join(", "));
        return Err(Failure::Usage(format!("{several}: name one by --interface")));
    }
    if watching.watch {
        return watch::watch(common, watching);
    }
    found.iter().try_for_each(|status| told::show(common, status))
}
