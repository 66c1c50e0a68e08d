//! `fairwave packets`: packet scripts against our endpoint and against the kernel's TCP.

use crate::args::Common;
use crate::args::packets::{Packets, Side};
use crate::outcome::Failure;
use crate::output;
use crate::printed::{PacketsOutput, PlayedScript, SideVerdict};
use crate::table::Table;
use fairwave_netns::KeeperCommand;
use fairwave_packets::{Against, Field, Script, Verdict, simulate};
use fairwave_units::Duration;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Longest script that is played in real time without `--slow`.
const QUICK: Duration = Duration::from_millis(1_500);
/// Number of scripts played at once. It may exceed the number of processors: scripts mostly wait.
const PLACES: usize = 12;

/// A script with a verdict for each side, in the order of [`Packets::sides`].
type Row<'s> = (&'s Script, Vec<Verdict>);

/// Plays every script against every requested side.
pub(crate) fn run(common: &Common, packets: &Packets) -> Result<(), Failure> {
    let scripts = read(&packets.scripts)?;
    let sides = packets.sides();
    if sides.iter().any(|side| *side != Side::Simulator) {
        fairwave_netns::support().map_err(Failure::run)?;
        // The kernel only lets a process with one thread enter a new user namespace.
        fairwave_netns::become_root_inside().map_err(Failure::run)?;
    }
    let columns = play(packets, &scripts, &sides)?;
    let rows: Vec<Row<'_>> = (0..)
        .zip(&scripts)
        .map(|(n, script)| (script, columns.iter().map(|column| column[n].clone()).collect()))
        .collect();
    if common.json {
        output::print_json(&json!(printed(&rows, &sides)))?;
    } else if packets.markdown {
        output::print(&markdown(&rows, &sides))?;
    } else {
        output::print(&shown(&rows, &sides))?;
    }
    let wrong = rows.iter().filter(|(_, verdicts)| !verdicts.iter().all(Verdict::is_expected));
    match wrong.count() {
        0 => Ok(()),
        count => Err(Failure::Run(format!("{count} of {} scripts differ", rows.len()))),
    }
}

/// The scripts of files, and of the `.pkt` files of directories.
fn read(paths: &[PathBuf]) -> Result<Vec<Script>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => files.extend(in_directory(path)?),
            false => files.push(path.clone()),
        }
    }
    if files.is_empty() {
        return Err(Failure::Usage("there is no file *.pkt".to_owned()));
    }
    let script = |file: &PathBuf| {
        let shown = file.display();
        let text = fs::read_to_string(file).map_err(|e| Failure::Run(format!("{shown}: {e}")))?;
        let name = file.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        Script::read(&name, &text).map_err(Failure::Usage)
    };
    files.iter().map(script).collect()
}

fn in_directory(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let fault = |error| Failure::Run(format!("{}: {error}", path.display()));
    let entries = fs::read_dir(path).map_err(fault)?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "pkt"));
    files.sort();
    Ok(files)
}

/// The verdicts of each side, in the order of the scripts.
fn play(
    packets: &Packets,
    scripts: &[Script],
    sides: &[Side],
) -> Result<Vec<Vec<Verdict>>, Failure> {
    let places = PLACES.min(scripts.len());
    let mut field = None;
    let mut columns = Vec::new();
    for side in sides {
        let Some(against) = side.real() else {
            columns.push(scripts.iter().map(|s| Verdict::of_endpoint(simulate(s))).collect());
            continue;
        };
        // Built once, and only if a side needs real time.
        if field.is_none() {
            field = Some(Field::build(places, KeeperCommand::default()).map_err(Failure::Run)?);
        }
        let field = field.as_ref().expect("it was built above");
        columns.push(in_real_time(packets, field, scripts, against));
    }
    Ok(columns)
}

fn in_real_time(
    packets: &Packets,
    field: &Field,
    scripts: &[Script],
    against: Against,
) -> Vec<Verdict> {
    let plays = |script: &Script| packets.slow || script.length() <= QUICK;
    let work: Vec<_> = scripts.iter().filter(|s| plays(s)).map(|s| (s, against)).collect();
    let mut verdicts = field.play(&work, packets.tries.get()).into_iter();
    let of = |script: &Script| match plays(script) {
        true => verdicts.next().expect("there is one for each that was played"),
        false => Verdict::Omitted(format!("takes {}; --slow plays it", script.length())),
    };
    scripts.iter().map(of).collect()
}

fn heads(sides: &[Side]) -> Vec<&'static str> {
    let names = sides.iter().map(|side| side.name());
    ["script"].into_iter().chain(names).chain(["first difference"]).collect()
}

/// Cells of a row: the verdicts, then the detail of an unexpected verdict or else of any other.
fn cells((script, verdicts): &Row<'_>) -> Vec<String> {
    let grave = verdicts.iter().find(|verdict| !verdict.is_expected());
    let told = grave.or_else(|| verdicts.iter().find(|verdict| verdict.detail().is_some()));
    let detail = told.and_then(Verdict::detail).unwrap_or_default();
    let prefix = format!("{}:", script.name());
    let detail = detail.strip_prefix(&prefix).map_or(detail.clone(), |rest| format!("line {rest}"));
    let name = script.name().trim_end_matches(".pkt").to_owned();
    let words = verdicts.iter().map(|verdict| verdict.word().to_owned());
    [name].into_iter().chain(words).chain([detail]).collect()
}

fn shown(rows: &[Row<'_>], sides: &[Side]) -> String {
    let heads = heads(sides);
    let (last, columns) = heads.split_last().expect("there are some");
    let mut text = String::new();
    let mut table = Table::new("Packet scripts", columns);
    for row in rows {
        let mut cells = cells(row);
        let detail = cells.pop().unwrap_or_default();
        if !detail.is_empty() {
            text.push_str(&format!("  {}: {detail}\n", cells[0]));
        }
        table.row(cells);
    }
    let details = if text.is_empty() { text } else { format!("{last}\n{text}") };
    format!("{}{details}{}\n", table.render(), counts(rows, sides))
}

/// Number of scripts by verdict, for each side.
fn counts(rows: &[Row<'_>], sides: &[Side]) -> String {
    let of = |n: usize, word: &str| rows.iter().filter(|(_, v)| v[n].word() == word).count();
    let words = ["follows", "known", "differs", "surprises", "-"];
    let side = |(n, side): (usize, &Side)| {
        let found = words.iter().filter(|word| of(n, word) > 0);
        let told: Vec<String> = found.map(|word| format!("{} {word}", of(n, word))).collect();
        format!("{}: {}.", side.name(), told.join(", "))
    };
    sides.iter().enumerate().map(side).collect::<Vec<_>>().join(" ")
}

/// The table of results/validation.md: differences of the kernel, with the reasons.
fn markdown(rows: &[Row<'_>], sides: &[Side]) -> String {
    let mut text =
        String::from("| script | what it demands | why Linux does otherwise |\n|---|---|---|\n");
    for (script, _) in rows {
        if let Some(remark) = script.remark() {
            let name = script.name().trim_end_matches(".pkt");
            text.push_str(&format!("| `{name}` | {} | {} |\n", script.about(), remark.reason()));
        }
    }
    format!("{text}\n{}\n", counts(rows, sides))
}

fn printed(rows: &[Row<'_>], sides: &[Side]) -> PacketsOutput {
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
        verdicts: sides.iter().zip(verdicts).map(verdict).collect(),
    };
    PacketsOutput { scripts: rows.iter().map(script).collect() }
}
