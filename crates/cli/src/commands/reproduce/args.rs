//! The arguments of `fairwave reproduce`.

use crate::args::Common;
use crate::outcome::Failure;
use crate::store::StoreChoice;
use clap::{Args, ValueEnum};
use fairwave_study::Study;
use fairwave_units::Duration;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  fairwave reproduce ack-loss
  fairwave reproduce ack-loss --full --out out/ack-loss
  fairwave reproduce ack-loss --full --from out/ack-loss --markdown
  fairwave reproduce ack-loss --json --quiet --strict
  fairwave reproduce ack-loss --map ACK-4
  fairwave reproduce ack-loss --map all --full --confirm --out out/map --resume
  fairwave reproduce ack-loss --map ACK-4 --at 'attempts=4 with RTS'
  fairwave reproduce ack-loss --host emulate --realtime
  fairwave reproduce fairness --host emulate --for '20 s' --seeds 2
  fairwave reproduce ack-loss --host emulate --only uploads --out out/real --resume

Each claim gets one of four words over the set-ups that its paper leaves open: 'robust' holds in at
least 80 % of them, 'conditional' in some, which a sentence names, 'nowhere' in none that was tried,
and 'not judgeable' could not be decided. The quick form says 'undecided' where its seeds or seconds
could give another word, and prints the verdict that the last full run published. Measurements of
the study's own set-up stand beside. --map runs the map of one claim, --at one set-up of it with its
traces.

Exit code 3 with --strict: a claim of the paper is 'nowhere', or one of our questions is answered
with no. A claim that is not judgeable gives a warning on standard error, and no exit code of its
own.

Each result is kept in a store (`fairwave store`): after an interruption, or a change of something
else than the simulator, the same command makes only the runs that are missing there.

With --host emulate the algorithms of a paper are BPF programs, which `fairwave cc load` gives the
kernel; without them the points that need them are left out and named. There a claim 'holds', 'does
not hold' or is 'undecided' in one set-up; with --strict one that does not hold gives exit code 3.";

/// Rerun a paper's experiment and report the measurements claim by claim
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Reproduce {
    /// The study: one of `fairwave list studies`
    pub(super) study: String,
    /// Fewer seeds, points and set-ups, about a minute: the default
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Every seed, point and set-up of the study, then a second time with seeds that confirm the
    /// findings; takes from a minute to an hour
    #[arg(long)]
    full: bool,
    /// Exit with 3 if a claim of the paper holds nowhere or one of ours fails
    #[arg(long)]
    pub(super) strict: bool,
    /// Also print each claim's criterion and everything that was measured
    #[arg(long, short)]
    pub(super) verbose: bool,
    /// Evaluate the runs that an earlier `--out DIR` left, in the same form, without simulating;
    /// runs of maps come from the store
    #[arg(long, value_name = "DIR")]
    pub(super) from: Option<PathBuf>,
    /// Print the page for results/studies instead of the verdicts
    #[arg(long)]
    pub(super) markdown: bool,
    /// Host of the experiments: with `emulate`, experiments that the kernel's sockets can carry run
    /// in real time, one after the other, and are also simulated for comparison
    #[arg(long, value_enum, default_value_t = Host::Simulator)]
    pub(super) host: Host,
    /// With `--host emulate`: give the emulator's loop a real-time priority
    #[arg(long)]
    pub(super) realtime: bool,
    /// With `--host emulate`: length of each run, instead of the study's own
    #[arg(long = "for", value_name = "TIME")]
    pub(super) lasts: Option<Duration>,
    /// With `--host emulate`: number of seeds for each point, instead of the study's own
    #[arg(long, value_name = "N")]
    pub(super) seeds: Option<u32>,
    /// Run the map of this claim, or of `all`, without the study around it
    #[arg(long, value_name = "CLAIM", conflicts_with_all = ["from", "verbose"])]
    pub(super) map: Option<String>,
    /// With `--map`: in one set-up only, with series and captures; axes that are not named keep the
    /// value of the study's own files
    #[arg(long, value_name = "KEY=VALUE,...", requires = "map", value_delimiter = ',')]
    pub(super) at: Vec<String>,
    /// With `--map`: confirm the findings with seeds that no exploring run had
    #[arg(long, requires = "map")]
    pub(super) confirm: bool,
    /// With `--host emulate` or `--map`: continue the runs that were interrupted in --out; complete
    /// runs there are kept
    #[arg(long)]
    pub(super) resume: bool,
    /// With `--host emulate`: only this experiment of the study, such as `uploads`
    #[arg(long, value_name = "EXPERIMENT")]
    pub(super) only: Option<String>,
    #[command(flatten)]
    pub(super) store: StoreChoice,
    /// Make every run, and store no result
    #[arg(long, conflicts_with = "directory")]
    pub(super) no_store: bool,
}

/// Hosts of a study's experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Host {
    /// Virtual time
    Simulator,
    /// Real time, with the kernel's TCP and UDP
    Emulate,
}

impl Reproduce {
    /// The requested study, if the options are compatible.
    pub(super) fn find(&self, common: &Common) -> Result<&'static dyn Study, Failure> {
        if self.markdown && common.json {
            let text = "--json and --markdown both print to standard output";
            return Err(Failure::Usage(text.into()));
        }
        let name = &self.study;
        fairwave_studies::find(name).ok_or_else(|| {
            let known: Vec<&str> = fairwave_studies::ALL.iter().map(|study| study.name()).collect();
            Failure::Usage(format!("there is no study {name:?}; there are: {}", known.join(", ")))
        })
    }

    /// Refuses an option that does not go with the host. Nothing would look at it.
    pub(super) fn check_host(&self) -> Result<(), Failure> {
        let of_simulator = [
            (self.from.is_some(), "--from"),
            (self.map.is_some(), "--map"),
            (self.store.is_given(), "--store"),
            (self.no_store, "--no-store"),
            (self.verbose, "--verbose"),
        ];
        let of_emulation = [
            (self.realtime, "--realtime"),
            (self.lasts.is_some(), "--for"),
            (self.seeds.is_some(), "--seeds"),
            (self.only.is_some(), "--only"),
        ];
        let first = |options: &[(bool, &'static str)]| {
            options.iter().find(|(given, _)| *given).map(|(_, name)| *name)
        };
        let text =
            match self.host {
                Host::Emulate => first(&of_simulator)
                    .map(|name| format!("{name} does not go with --host emulate")),
                Host::Simulator if self.resume && self.map.is_none() => {
                    Some("--resume goes with --host emulate or --map alone".to_owned())
                }
                Host::Simulator => first(&of_emulation)
                    .map(|name| format!("{name} goes with --host emulate alone")),
            };
        text.map_or(Ok(()), |text| Err(Failure::Usage(text)))
    }

    /// Whether the reduced set of seeds and points is requested.
    pub(in crate::commands) fn is_quick(&self) -> bool {
        self.quick || !self.full
    }
}
