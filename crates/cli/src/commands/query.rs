//! `fairwave query`: SQL over run directories, by DuckDB.

use crate::args::Common;
use crate::outcome::Failure;
use clap::Args;
use fairwave_lab::query::views;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

const EXAMPLES: &str = "\
Examples:
  fairwave query out/one \"SELECT flow, max(srtt_ns) / 1e6 AS ms FROM flows GROUP BY flow\"
  fairwave query out/sweep 'SELECT \"node.pc.count\", avg(goodput_bps) FROM results GROUP BY 1'
  fairwave query out/before out/after \"SELECT run, count(*) FROM drops GROUP BY run\" --csv
  fairwave query out/sweep \"SHOW TABLES\"

There is a view for each series (flows, queues, stations, drops, ...; docs/run-tables.md has their
columns), `results` with a row for each flow of each run, and the table `runs`. All of them begin
with the run's path, its seed, and its axes.

The query is made by DuckDB's program: `pip install duckdb-cli`, or https://duckdb.org.";

/// Ask run directories by SQL, with DuckDB
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Query {
    /// Directories of runs, or with runs below them
    #[arg(required = true, value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// The query
    #[arg(required = true)]
    sql: String,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// The program that answers.
const PROGRAM: &str = "duckdb";

/// Passes the query to DuckDB, whose answer and errors go to the terminal.
pub(super) fn run(common: &Common, args: &Query) -> Result<(), Failure> {
    let views = views(&args.directories).map_err(Failure::run)?;
    let mut duckdb = Command::new(PROGRAM);
    duckdb.args(["-bail", "-init", "/dev/null", ":memory:"]).stdin(Stdio::piped());
    if common.json {
        duckdb.arg("-json");
    } else if args.csv {
        duckdb.arg("-csv");
    }
    let mut child = duckdb.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::Run(format!(
            "the program {PROGRAM} is not in PATH: `pip install duckdb-cli`, or https://duckdb.org"
        )),
        _ => Failure::Run(format!("{PROGRAM}: {error}")),
    })?;
    let written = child.stdin.take().map(|mut input| {
        let sql = args.sql.trim_end().trim_end_matches(';');
        input.write_all(format!("{views}{sql};\n").as_bytes())
    });
    let status = child.wait().map_err(Failure::run)?;
    match (status.success(), written) {
        (true, Some(Ok(())) | None) => Ok(()),
        (true, Some(Err(error))) => Err(Failure::run(error)),
        (false, _) if has_lost_reader(status) => Err(Failure::Closed),
        (false, _) => Err(Failure::Usage(format!("{PROGRAM} refused the query"))),
    }
}

/// Whether the reader of DuckDB's output has closed it, as `head` does. `pip install duckdb-cli`
/// installs a script of Python, which ends with the negative number of DuckDB's signal; a shell
/// ends with 128 more than the number.
#[cfg(unix)]
fn has_lost_reader(status: ExitStatus) -> bool {
    use signal_hook::consts::SIGPIPE;
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(SIGPIPE)
        || status.code().is_some_and(|code| code == 128 + SIGPIPE || code == 256 - SIGPIPE)
}

#[cfg(not(unix))]
const fn has_lost_reader(_: ExitStatus) -> bool {
    false
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    #[test]
    fn a_lost_reader_is_told_from_a_refused_query() {
        use super::*;
        let of = |script| {
            let status = Command::new("sh").args(["-c", script]).status();
            has_lost_reader(status.expect("a shell"))
        };
        assert!(["kill -PIPE $$", "exit 141", "exit 243"].into_iter().all(of));
        assert!(!["exit 0", "exit 1", "kill -TERM $$"].into_iter().any(of));
    }
}
