//! The verdicts of a study for a terminal.

use crate::compared;
use crate::definition::Study;
use crate::map::Word;
use crate::plain::{KeyFigure, Standing};
use crate::reproduction::Reproduction;
use crate::verdict::ClaimVerdict;
use fairwave_text::{BAD, GOOD, HEADING, WORTH_A_LOOK, styled, wrapped};
use fairwave_units::several;
use serde_json::Value;

/// The command that gives the same results on any machine. The number of jobs and the directory do
/// not affect them.
pub fn command_line(study: &dyn Study, quick: bool) -> String {
    let full = if quick { "" } else { " --full" };
    format!("fairwave reproduce {}{full}", study.name())
}

/// The claims of the paper, then questions of ours, then the cost of the runs. With `is_verbose`
/// each claim has its criterion and all that was measured.
pub fn text(
    reproduction: &Reproduction<'_>,
    verdicts: &[ClaimVerdict],
    summary: &Value,
    is_verbose: bool,
) -> String {
    let study = reproduction.study;
    let (ours, papers): (Vec<&ClaimVerdict>, Vec<&ClaimVerdict>) =
        verdicts.iter().partition(|claim| claim.ours);
    let show =
        |claim: &ClaimVerdict| brief(claim) + &if is_verbose { all(claim) } else { "\n".into() };
    let mut text = wrapped(study.paper(), "") + "\n";
    text.extend(papers.into_iter().map(show));
    if !ours.is_empty() {
        text.push_str(&format!("{}\n\n", styled(HEADING, "Questions of ours")));
    }
    text.extend(ours.into_iter().map(show));
    for set in summary["joint"].as_array().into_iter().flatten() {
        let ids = set["claims"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let (ids, count) = (ids.collect::<Vec<_>>(), set["setups"].as_u64().unwrap_or(0));
        if ids.len() > 1 {
            let together = ids.join(", ");
            text.push_str(&format!("Together {together} hold in {}.\n", several(count, "set-up")));
        }
    }
    text.push_str(&compared::text(&reproduction.originals()));
    if summary["quick"] == true {
        let full = command_line(study, false);
        let quick = "This was the quick form, with fewer seeds, points and set-ups";
        text.push_str(&wrapped(&format!("{quick}; `{full}` runs all."), ""));
    }
    if !is_verbose {
        text.push_str("--verbose adds criteria and everything that was measured.\n");
    }
    text.push_str(&format!("{}\n", effort(summary)));
    text
}

/// A claim: its verdict in words, the claim, and the figures that decide it.
fn brief(claim: &ClaimVerdict) -> String {
    const INDENT: &str = "         ";
    let colour = match claim.standing() {
        Standing::Holds => GOOD,
        Standing::HoldsInPart | Standing::Open => WORTH_A_LOOK,
        Standing::Fails => BAD,
    };
    let verdict = wrapped(&claim.in_words(), INDENT);
    let verdict = styled(colour, verdict.trim());
    let mut text = format!("{} {verdict}\n", styled(HEADING, &format!("{:<8}", claim.id)));
    text.push_str(&wrapped(claim.statement, INDENT));
    let figures: Vec<String> = claim.figures().iter().map(KeyFigure::to_string).collect();
    let figures = claim.gap().unwrap_or_else(|| figures.join("; "));
    if !figures.is_empty() {
        text.push_str(&wrapped(&format!("{}: {figures}", claim.own_set_up()), INDENT));
    }
    if claim.verdict == Word::Undecided.text() {
        text.push_str(&wrapped(&claim.condition, INDENT));
    }
    if let Some(published) = &claim.published {
        text.push_str(&wrapped(&published.text(), INDENT));
    }
    text
}

/// Everything else that is known of a claim.
fn all(claim: &ClaimVerdict) -> String {
    let measured = claim.measured.iter().map(|(name, value)| format!("{name} = {value}"));
    let rows = [
        ("where", claim.condition.clone()),
        ("set-ups", claim.counted()),
        ("beside", claim.beside()),
        ("measured", measured.collect::<Vec<_>>().join(", ")),
        ("criterion", claim.criterion.clone()),
        ("note", claim.note.clone()),
    ];
    let rows = rows.iter().filter(|(_, row)| !row.is_empty());
    rows.map(|(name, row)| wrapped(&format!("{name}: {row}"), "         "))
        .chain(["\n".to_owned()])
        .collect()
}

/// Cost of the study, from the figures that `--json` prints.
fn effort(summary: &Value) -> String {
    let figure = |name: &str| summary[name].as_f64().unwrap_or(0.0);
    let number = |name: &str, noun| several(summary[name].as_u64().unwrap_or(0), noun);
    let (runs, seeds) = (number("runs", "run"), number("seeds", "seed"));
    let runs = format!("{runs}, {seeds}, {:.0} simulated s", figure("simulated_s"));
    if summary["wall_s"].is_null() {
        return format!("{runs}, read back from their directories");
    }
    if summary["frames_per_cpu_s"].is_null() {
        return format!("{runs} in {:.1} s", figure("wall_s"));
    }
    format!(
        "{runs} in {:.1} s: {:.1} simulated s and {:.0} frames per CPU s",
        figure("wall_s"),
        figure("simulated_s_per_cpu_s"),
        figure("frames_per_cpu_s"),
    )
}
