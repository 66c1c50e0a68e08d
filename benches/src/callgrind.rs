//! Runs of programs under callgrind, and the profiles that it writes.
//!
//! A profile is read as valgrind's manual describes the format (section "Callgrind Format
//! Specification"), with names in full (`--compress-strings=no --compress-pos=no`).

use std::collections::BTreeMap;
use std::fs;
use std::ops::{AddAssign, SubAssign};
use std::path::Path;
use std::process::{Command, Output};
use xtask::shell::succeeds;

/// The caches of the simulated processor, stated so that misses do not depend on the machine:
/// 32 KiB of L1 for data and for instructions, 8 MiB of last level, lines of [`LINE_BYTES`].
const CACHES: [&str; 4] =
    ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"];
/// Bytes of a cache line.
pub(crate) const LINE_BYTES: u64 = 64;
/// Share of all instructions below which a branch of the call tree is left out.
const MIN_SHARE: f64 = 0.002;
/// Part of the paths of the project's own source files. Code of libraries that is inlined counts as
/// the function's own.
const OURS: &str = "/crates/";
/// Depth of the call tree.
const MAX_DEPTH: usize = 40;

/// Events of a piece of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Events {
    /// Instructions.
    pub(crate) instructions: u64,
    /// Reads and writes of memory.
    pub(crate) accesses: u64,
    /// Of these, those whose line was not in the L1 cache.
    pub(crate) l1_misses: u64,
    /// Of these, those whose line was not in the last level.
    pub(crate) last_level_misses: u64,
}

impl AddAssign for Events {
    fn add_assign(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.accesses += other.accesses;
        self.l1_misses += other.l1_misses;
        self.last_level_misses += other.last_level_misses;
    }
}

impl SubAssign for Events {
    fn sub_assign(&mut self, other: Self) {
        self.instructions = self.instructions.saturating_sub(other.instructions);
        self.accesses = self.accesses.saturating_sub(other.accesses);
        self.l1_misses = self.l1_misses.saturating_sub(other.l1_misses);
        self.last_level_misses = self.last_level_misses.saturating_sub(other.last_level_misses);
    }
}

/// Calls of one function by another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Calls {
    count: u64,
    /// Instructions of the called function and of all that it calls.
    instructions: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Function {
    /// By source file, as functions of other files are inlined.
    own: BTreeMap<String, Events>,
    /// By name of the called function.
    calls: BTreeMap<String, Calls>,
}

impl Function {
    fn instructions(&self) -> u64 {
        let own = self.own.values().map(|events| events.instructions);
        own.chain(self.calls.values().map(|calls| calls.instructions)).sum()
    }
}

/// Profile of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Profile {
    functions: BTreeMap<String, Function>,
}

impl Profile {
    /// Reads a profile.
    ///
    /// # Errors
    /// A line that is not of callgrind's format.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut reader = Reader::default();
        for (at, line) in text.lines().enumerate() {
            reader.line(line).ok_or_else(|| format!("line {}: {line}", at + 1))?;
        }
        Ok(reader.profile)
    }

    /// Subtracts a shorter run, so that only what the longer one did in addition is left.
    pub(crate) fn subtract(&mut self, shorter: &Self) {
        for (name, function) in &mut self.functions {
            let Some(before) = shorter.functions.get(name) else { continue };
            for (file, events) in &mut function.own {
                *events -= before.own.get(file).copied().unwrap_or_default();
            }
            for (called, calls) in &mut function.calls {
                let before = before.calls.get(called).copied().unwrap_or_default();
                calls.count = calls.count.saturating_sub(before.count);
                calls.instructions = calls.instructions.saturating_sub(before.instructions);
            }
        }
    }

    /// Events of each source file, those of its functions that were inlined elsewhere included.
    pub(crate) fn files(&self) -> BTreeMap<&str, Events> {
        let mut files: BTreeMap<&str, Events> = BTreeMap::new();
        for (file, events) in self.functions.values().flat_map(|function| &function.own) {
            *files.entry(file).or_default() += *events;
        }
        files
    }

    /// Number of calls of these functions.
    pub(crate) fn calls_of(&self, names: &[&str]) -> u64 {
        let calls = self.functions.values().flat_map(|function| &function.calls);
        calls.filter(|(name, _)| names.contains(&name.as_str())).map(|(_, calls)| calls.count).sum()
    }

    /// The call tree from `root` on, as lines `function;function;file instructions`. Callgrind
    /// knows the costs of a call by its caller alone: those of a function with several callers are
    /// divided in proportion to what each call cost.
    pub(crate) fn stacks(&self, root: &str, label: &dyn Fn(&str) -> String) -> Vec<String> {
        let mut lines = Vec::new();
        let all = self.functions.get(root).map_or(0, Function::instructions);
        let mut path = vec![root];
        self.descend(&mut path, all as f64, all as f64 * MIN_SHARE, label, &mut lines);
        lines
    }

    fn descend<'p>(
        &'p self,
        path: &mut Vec<&'p str>,
        cost: f64,
        min: f64,
        label: &dyn Fn(&str) -> String,
        lines: &mut Vec<String>,
    ) {
        let Some(function) = path.last().and_then(|name| self.functions.get(*name)) else { return };
        let whole = function.instructions().max(1) as f64;
        let names: Vec<String> = path.iter().map(|name| label(name)).collect();
        let names = names.join(";");
        for (file, events) in &function.own {
            let own = events.instructions as f64 / whole * cost;
            if own >= min {
                lines.push(format!("{names};{} {own:.0}", label(file)));
            }
        }
        for (called, calls) in &function.calls {
            let cost = calls.instructions as f64 / whole * cost;
            let is_recursive = path.contains(&called.as_str());
            if cost >= min && !is_recursive && path.len() < MAX_DEPTH {
                path.push(called);
                self.descend(path, cost, min, label, lines);
                path.pop();
            }
        }
    }
}

/// State between the lines of a profile.
#[derive(Debug, Default)]
struct Reader {
    profile: Profile,
    /// Source file of the function.
    home: String,
    /// Source file of the present instructions.
    file: String,
    function: String,
    called: String,
    /// Number of calls whose cost the next line states.
    pending: Option<u64>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Option<()> {
        if let Some((key, name)) = line.split_once('=') {
            match key {
                "fl" => {
                    name.clone_into(&mut self.home);
                    name.clone_into(&mut self.file);
                }
                "fi" | "fe" => {
                    let file = if name.contains(OURS) { name } else { &*self.home };
                    file.clone_into(&mut self.file);
                }
                "fn" => name.clone_into(&mut self.function),
                "cfn" => name.clone_into(&mut self.called),
                "calls" => self.pending = Some(name.split(' ').next()?.parse().ok()?),
                _ => {}
            }
            return Some(());
        }
        if !line.starts_with(|first: char| first.is_ascii_digit()) {
            return Some(());
        }
        let mut numbers = line.split(' ').skip(1).map(str::parse::<u64>);
        let mut next = || numbers.next().transpose().ok().map(Option::unwrap_or_default);
        // Instructions, reads, writes; misses of L1 by instructions, reads, writes; of the last
        // level by the same. Zeros at the end are left out.
        let counts =
            [next()?, next()?, next()?, next()?, next()?, next()?, next()?, next()?, next()?];
        let function = self.profile.functions.entry(self.function.clone()).or_default();
        if let Some(count) = self.pending.take() {
            let calls = function.calls.entry(self.called.clone()).or_default();
            calls.count += count;
            calls.instructions += counts[0];
        } else {
            *function.own.entry(self.file.clone()).or_default() += Events {
                instructions: counts[0],
                accesses: counts[1] + counts[2],
                l1_misses: counts[4] + counts[5],
                last_level_misses: counts[7] + counts[8],
            };
        }
        Some(())
    }
}

/// Whether callgrind is installed.
pub(crate) fn is_installed() -> bool {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--version"]);
    succeeds(valgrind)
}

/// Runs a program under callgrind. Returns its instructions and its standard output.
pub(crate) fn count(program: &Path, arguments: &[String]) -> Result<(u64, String), String> {
    run(program, arguments, &["--callgrind-out-file=/dev/null"])
}

/// Runs a program with simulated caches. Returns its profile and its standard output. `file` is
/// where callgrind writes the profile.
pub(crate) fn profile(
    program: &Path,
    arguments: &[String],
    file: &Path,
) -> Result<(Profile, String), String> {
    let out = format!("--callgrind-out-file={}", file.display());
    let names = ["--compress-strings=no", "--compress-pos=no", &out];
    let (_, printed) = run(program, arguments, &[&CACHES[..], &names].concat())?;
    let text = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let profile = Profile::read(&String::from_utf8_lossy(&text));
    Ok((profile.map_err(|error| format!("{}: {error}", file.display()))?, printed))
}

fn run(program: &Path, arguments: &[String], options: &[&str]) -> Result<(u64, String), String> {
    let mut valgrind = Command::new("valgrind");
    valgrind.arg("--tool=callgrind").args(options);
    let output = valgrind.arg(program).args(arguments).output();
    let Output { status, stdout, stderr } = output.map_err(|error| format!("valgrind: {error}"))?;
    let errors = String::from_utf8_lossy(&stderr);
    match collected(&errors).filter(|_| status.success()) {
        Some(count) => Ok((count, String::from_utf8_lossy(&stdout).into_owned())),
        None => Err(format!("{} {}: {errors}", program.display(), arguments.join(" "))),
    }
}

/// The number of instructions in callgrind's messages.
fn collected(messages: &str) -> Option<u64> {
    let line = messages.lines().find_map(|line| line.split_once("Collected :"))?;
    line.1.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: &str = "version: 1\nevents: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw\n\n\
        fl=main.rs\nfn=main\n3 10 2 1\nfi=/crates/seq.rs\n40 5\n\
        fi=/rustc/vec.rs\n9 4\nfe=main.rs\ncfi=air.rs\ncfn=judge\n\
        calls=2 7\n4 60 9\n\nfl=air.rs\nfn=judge\n7 60 8 1 0 2 1 0 1\n";

    #[test]
    fn callgrinds_count_is_found() {
        let messages = "==7== Events    : Ir Dr\n==7== Collected : 123456 789\n==7== \n";
        assert_eq!(collected(messages), Some(123_456));
        assert_eq!(collected("valgrind: no such tool\n"), None);
    }

    #[test]
    fn a_profile_is_divided_by_file_and_by_stack() {
        let profile = Profile::read(SHORT).unwrap();
        let files = profile.files();
        assert_eq!(files["main.rs"], Events { instructions: 14, accesses: 3, ..Events::default() });
        assert_eq!(files["/crates/seq.rs"].instructions, 5);
        let judged = Events { instructions: 60, accesses: 9, l1_misses: 3, last_level_misses: 1 };
        assert_eq!(files["air.rs"], judged);
        assert_eq!(profile.calls_of(&["judge"]), 2);
        assert_eq!(
            profile.stacks("main", &str::to_owned),
            ["main;/crates/seq.rs 5", "main;main.rs 14", "main;judge;air.rs 60"]
        );
    }

    #[test]
    fn a_shorter_run_is_subtracted() {
        let short = Profile::read(SHORT).unwrap();
        let mut long = Profile::read(&SHORT.replace("7 60 8", "7 90 8")).unwrap();
        long.subtract(&short);
        assert_eq!(long.files()["air.rs"], Events { instructions: 30, ..Events::default() });
        assert_eq!(long.files()["main.rs"], Events::default());
        assert_eq!(long.calls_of(&["judge"]), 0);
    }

    #[test]
    fn a_line_that_is_no_cost_is_refused() {
        assert_eq!(Profile::read("fn=a\n3 x\n").unwrap_err(), "line 2: 3 x");
    }
}
