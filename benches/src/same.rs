//! `cargo xtask same COMMIT`: whether this tree computes the same as a commit. Both are built, run
//! all scenarios and the quick forms of the studies, and their run directories are compared.

mod renamed;

use crate::checkout::Checkout;
use clap::Args;
use renamed::Renamed;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use xtask::compare::{Compared, compare};
use xtask::pages::studies;
use xtask::shell::{Outcome, cargo, root, run};
use xtask::workspace;

/// Options of `same`.
#[derive(Args)]
pub(crate) struct Options {
    /// The commit to compare with. It is checked out and built in target/same, which stays for the
    /// next time.
    base: String,
    /// Only this scenario or study; may be repeated.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// A column or key that has another name since the commit; may be repeated.
    #[arg(long, value_name = "OLD=NEW")]
    renamed: Vec<String>,
    /// Seconds after which a run is ended, named and not compared.
    #[arg(long, value_name = "SECONDS", default_value_t = 1200)]
    limit: u64,
}

// Without features: their names may differ between the commits, and the simulator needs none.
const BUILD: [&str; 4] = ["build", "--release", "-p", "fairwave-cli"];

/// One of both versions.
struct Side {
    /// The checked-out version, whose scenarios it reads.
    tree: PathBuf,
    /// Its command.
    program: PathBuf,
    /// Directory for its results.
    out: PathBuf,
}

/// A scenario, or a study in its quick form.
#[derive(Debug)]
enum Task {
    Scenario(String),
    Study(String),
}

/// Result of a task.
enum Judged {
    Compared(Compared),
    /// It took longer than the limit.
    Slow,
    Failed(String),
}

/// Builds both, runs all tasks one after the other, and prints a line for each.
pub(crate) fn same(options: &Options) -> Outcome {
    let names = Renamed::parse(&options.renamed)?;
    let sides = [base(&options.base)?, this_tree()?];
    let limit = Duration::from_secs(options.limit);
    let (mut differ, mut slow, mut count) = (Vec::new(), Vec::new(), 0);
    for task in tasks(&options.only)? {
        count += 1;
        match judge(&task, &sides, limit, &names) {
            Judged::Compared(Compared { files, differences }) if differences.is_empty() => {
                println!("{}: {files} files are the same", task.name());
            }
            Judged::Compared(Compared { differences, .. }) => {
                println!("{}: DIFFERS\n  {}", task.name(), differences.join("\n  "));
                differ.push(task.name().to_owned());
            }
            Judged::Slow => {
                println!("{}: not compared, over {} s", task.name(), options.limit);
                slow.push(task.name().to_owned());
            }
            Judged::Failed(why) => {
                println!("{}: FAILED, {why}", task.name());
                differ.push(task.name().to_owned());
            }
        }
    }
    println!("\n{count} compared with {}, {} differ", options.base, differ.len());
    if !slow.is_empty() {
        println!("not compared, as they take over {} s: {}", options.limit, slow.join(", "));
    }
    if differ.is_empty() { Ok(()) } else { Err(format!("other results: {}", differ.join(", "))) }
}

/// Checks the commit out and builds it.
fn base(commit: &str) -> Result<Side, String> {
    let checkout = Checkout::of(commit)?;
    checkout.cargo(&BUILD)?;
    let program = checkout.build.join("release/fairwave");
    let out = workspace::target().join("same/base");
    Ok(Side { tree: checkout.tree, program, out })
}

fn this_tree() -> Result<Side, String> {
    run(cargo(&BUILD))?;
    let target = workspace::target();
    let program = target.join("release/fairwave");
    Ok(Side { tree: root(), program, out: target.join("same/this") })
}

/// All tasks, or those named.
fn tasks(only: &[String]) -> Result<Vec<Task>, String> {
    let entries = fs::read_dir(root().join("scenarios")).map_err(|error| error.to_string())?;
    let files = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut scenarios: Vec<String> =
        files.filter_map(|file| Some(file.strip_suffix(".toml")?.to_owned())).collect();
    scenarios.sort();
    let all = scenarios.into_iter().map(Task::Scenario);
    let all = all.chain(studies()?.into_iter().map(Task::Study));
    let wanted = |task: &Task| only.is_empty() || only.iter().any(|name| name == task.name());
    let all: Vec<Task> = all.filter(wanted).collect();
    if all.is_empty() { Err(format!("no scenario or study is named {only:?}")) } else { Ok(all) }
}

impl Task {
    fn name(&self) -> &str {
        match self {
            Self::Scenario(name) | Self::Study(name) => name,
        }
    }

    /// The command that writes the results of a side.
    fn command(&self, side: &Side, out: &Path) -> Command {
        let mut command = Command::new(&side.program);
        command.args(["--quiet", "--out"]).arg(out).current_dir(&side.tree);
        match self {
            Self::Scenario(name) => command.args(["sweep", &format!("scenarios/{name}.toml")]),
            // A stored result may be that of the other version, if both have the same number.
            Self::Study(name) => command.args(["reproduce", name, "--quick", "--no-store"]),
        };
        command
    }

    /// Runs a side. Returns the directory of its results; `None` if it takes longer than the limit.
    fn run(&self, side: &Side, limit: Duration) -> Result<Option<PathBuf>, String> {
        let out = side.out.join(self.name());
        if out.exists() {
            fs::remove_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        }
        let mut command = self.command(side, &out);
        let command = command.stdin(Stdio::null()).stdout(Stdio::null());
        let program = side.program.display();
        let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
        let begun = Instant::now();
        loop {
            match child.try_wait().map_err(|error| format!("{program}: {error}"))? {
                Some(status) if status.success() => return Ok(Some(out)),
                Some(status) => return Err(format!("{program} ended with {status}")),
                None if begun.elapsed() > limit => {
                    let ended = child.kill().and_then(|()| child.wait());
                    return ended.map(|_| None).map_err(|error| format!("{program}: {error}"));
                }
                None => thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

fn judge(task: &Task, sides: &[Side; 2], limit: Duration, names: &Renamed) -> Judged {
    let mut outs = Vec::new();
    for side in sides {
        match task.run(side, limit) {
            Ok(Some(out)) => outs.push(out),
            Ok(None) => return Judged::Slow,
            Err(why) => return Judged::Failed(why),
        }
    }
    match compare(
        &outs[0],
        &outs[1],
        [&|bytes| names.in_base(bytes), &|bytes| names.in_tree(bytes)],
    ) {
        Ok(compared) => Judged::Compared(compared),
        Err(why) => Judged::Failed(why),
    }
}
