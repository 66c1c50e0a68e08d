//! Scripts played against one or several TCP implementations, and reports of the verdicts.

use crate::field::{Against, Field};
use crate::script::Script;
use crate::simulated::simulate;
use crate::verdict::Verdict;
use fairwave_netns::KeeperCommand;
use fairwave_text::Table;
use fairwave_units::Duration;
use schemars::JsonSchema;
use serde::Serialize;

/// Longest script that is played in real time unless slow ones are wanted.
const QUICK: Duration = Duration::from_millis(1_500);
/// Number of scripts played at once. It may exceed the number of processors: scripts mostly wait.
const PLACES: usize = 12;

/// TCP implementations that packet scripts are played against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Our endpoint in virtual time.
    Simulator,
    /// A real world.
    Real(Against),
}

impl Side {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulator => "simulator",
            Self::Real(Against::Endpoint) => "endpoint",
            Self::Real(Against::Kernel) => "kernel",
        }
    }
}

/// A script with a verdict for each side.
type Row<'s> = (&'s Script, Vec<Verdict>);

/// Scripts with their verdicts.
#[derive(Debug)]
pub struct Played<'s> {
    sides: Vec<Side>,
    rows: Vec<Row<'s>>,
}

/// Plays every script against every side. In real time a script that differs is tried `tries`
/// times, and slow scripts are left out unless `slow`.
///
/// # Errors
/// If the namespaces cannot be built.
pub fn play(
    scripts: &[Script],
    sides: Vec<Side>,
    slow: bool,
    tries: u32,
) -> Result<Played<'_>, String> {
    let places = PLACES.min(scripts.len());
    let mut field = None;
    let mut columns: Vec<Vec<Verdict>> = Vec::new();
    for side in &sides {
        let Side::Real(against) = side else {
            columns.push(scripts.iter().map(|s| Verdict::of_endpoint(simulate(s))).collect());
            continue;
        };
        // Built once, and only if a side needs real time.
        let built = match field.take() {
            Some(built) => built,
            None => Field::build(places, KeeperCommand::default())?,
        };
        columns.push(in_real_time(&built, scripts, *against, slow, tries));
        field = Some(built);
    }
    let verdicts_of = |n: usize| columns.iter().map(|column| column[n].clone()).collect();
    let rows = scripts.iter().enumerate().map(|(n, script)| (script, verdicts_of(n))).collect();
    Ok(Played { sides, rows })
}

fn in_real_time(
    field: &Field,
    scripts: &[Script],
    against: Against,
    slow: bool,
    tries: u32,
) -> Vec<Verdict> {
    let plays = |script: &Script| slow || script.length() <= QUICK;
    let work: Vec<_> = scripts.iter().filter(|s| plays(s)).map(|s| (s, against)).collect();
    let mut verdicts = field.play(&work, tries).into_iter();
    let of = |script: &Script| match plays(script) {
        true => verdicts.next().expect("there is one for each that was played"),
        false => Verdict::Omitted(format!("takes {}; --slow plays it", script.length())),
    };
    scripts.iter().map(of).collect()
}

/// Output of `fairwave packets --json`.
#[derive(Serialize, JsonSchema)]
pub struct PacketsOutput {
    /// Every script, in the order of the command line.
    pub scripts: Vec<PlayedScript>,
}

/// Results of a packet script.
#[derive(Serialize, JsonSchema)]
pub struct PlayedScript {
    /// Its file, without the directory.
    pub script: String,
    /// Source and content of its requirements.
    pub about: String,
    /// Duration of the script in real time.
    pub length_s: f64,
    /// Reason why the kernel is known to differ; null if it is not known to.
    pub reason: Option<String>,
    /// One verdict for each side.
    pub verdicts: Vec<SideVerdict>,
}

/// Result of a packet script against one side.
#[derive(Serialize, JsonSchema)]
pub struct SideVerdict {
    /// `simulator`, `endpoint` or `kernel`.
    pub side: String,
    /// `follows`, `differs`, `known` (differs, as the script states), `surprises` (does not differ,
    /// although the script states so), or `-` (not played).
    pub verdict: String,
    /// Whether the script predicts this verdict.
    pub expected: bool,
    /// The first difference, or the reason why it was not played; null if there is none.
    pub difference: Option<String>,
}

/// Cells of a row: the verdicts, then the detail of an unexpected verdict or else of any other.
fn cells(row: &Row<'_>) -> Vec<String> {
    let (script, verdicts) = row;
    let grave = verdicts.iter().find(|verdict| !verdict.is_expected());
    let shown = grave.or_else(|| verdicts.iter().find(|verdict| verdict.detail().is_some()));
    let detail = shown.and_then(Verdict::detail).unwrap_or_default();
    let prefix = format!("{}:", script.name());
    let detail = detail.strip_prefix(&prefix).map_or(detail.clone(), |rest| format!("line {rest}"));
    let name = script.name().trim_end_matches(".pkt").to_owned();
    let words = verdicts.iter().map(|verdict| verdict.word().to_owned());
    [name].into_iter().chain(words).chain([detail]).collect()
}

impl Played<'_> {
    /// Number of scripts, and of those with an unexpected verdict.
    pub fn counts(&self) -> (usize, usize) {
        let is_unexpected = |(_, verdicts): &&Row<'_>| !verdicts.iter().all(Verdict::is_expected);
        (self.rows.len(), self.rows.iter().filter(is_unexpected).count())
    }

    /// A table of the verdicts, and the first differences.
    pub fn text(&self) -> String {
        let names = self.sides.iter().map(|side| side.name());
        let columns: Vec<&str> = ["script"].into_iter().chain(names).collect();
        let mut text = String::new();
        let mut table = Table::new("Packet scripts", &columns);
        for row in &self.rows {
            let mut cells = cells(row);
            let detail = cells.pop().unwrap_or_default();
            if !detail.is_empty() {
                text.push_str(&format!("  {}: {detail}\n", cells[0]));
            }
            table.row(cells);
        }
        let details = if text.is_empty() { text } else { format!("first difference\n{text}") };
        format!("{}{details}{}\n", table.render(), self.summary())
    }

    /// The table of results/validation.md: differences of the kernel, with the reasons.
    pub fn markdown(&self) -> String {
        let mut text = String::from(
            "| script | what it demands | why Linux does otherwise |\n|---|---|---|\n",
        );
        for (script, _) in &self.rows {
            if let Some(remark) = script.remark() {
                let name = script.name().trim_end_matches(".pkt");
                let (about, reason) = (script.about(), remark.reason());
                text.push_str(&format!("| `{name}` | {about} | {reason} |\n"));
            }
        }
        format!("{text}\n{}\n", self.summary())
    }

    /// Number of scripts by verdict, for each side.
    fn summary(&self) -> String {
        let rows = &self.rows;
        let of = |n: usize, word: &str| rows.iter().filter(|(_, v)| v[n].word() == word).count();
        let words = ["follows", "known", "differs", "surprises", "-"];
        let side = |(n, side): (usize, &Side)| {
            let found = words.iter().filter(|word| of(n, word) > 0);
            let counts: Vec<String> = found.map(|word| format!("{} {word}", of(n, word))).collect();
            format!("{}: {}.", side.name(), counts.join(", "))
        };
        self.sides.iter().enumerate().map(side).collect::<Vec<_>>().join(" ")
    }

    /// The verdicts for JSON.
    pub fn output(&self) -> PacketsOutput {
        let verdict = |(side, verdict): (&Side, &Verdict)| SideVerdict {
            side: side.name().to_owned(),
            verdict: verdict.word().to_owned(),
            expected: verdict.is_expected(),
            difference: verdict.detail(),
        };
        let script = |(script, verdicts): &Row<'_>| PlayedScript {
            script: script.name().to_owned(),
            about: script.about().to_owned(),
            length_s: script.length().as_secs_f64(),
            reason: script.remark().map(|remark| remark.reason().to_owned()),
            verdicts: self.sides.iter().zip(verdicts).map(verdict).collect(),
        };
        PacketsOutput { scripts: self.rows.iter().map(script).collect() }
    }
}
