//! A map for a terminal.

use super::page::runs;
use super::summary::{ClaimMap, MapSummary, explained};
use crate::definition::Study;
use fairwave_text::{BAD, GOOD, HEADING, WORTH_A_LOOK, styled};
use fairwave_units::several;

/// Each claim with its word, and the sets of claims that hold together. With `is_single` the map
/// has one set-up, whose outcome is shown.
pub fn text(study: &dyn Study, summary: &MapSummary, is_single: bool) -> String {
    let mut text = format!("{}\n\n", styled(HEADING, study.paper()));
    text.extend(summary.claims.iter().map(if is_single { single } else { claim }));
    for set in summary.joint.iter().filter(|_| summary.claims.len() > 1) {
        let count = several(set.setups, "set-up");
        text.push_str(&format!("Together hold {} in {count}\n", set.claims.join(", ")));
    }
    if summary.quick {
        text.push_str("This was the quick form, with fewer values and seeds; --full runs all.\n");
    }
    let (runs, wall) = (runs(summary), summary.wall_s);
    text.push_str(&format!("{runs}, {:.0} simulated s in {wall:.1} s\n", summary.simulated_s));
    text
}

/// A claim in the single requested set-up.
fn single(claim: &ClaimMap) -> String {
    let Some(point) = claim.points.first() else { return String::new() };
    let colour = match point.outcome {
        "holds" => GOOD,
        "does not hold" => BAD,
        _ => WORTH_A_LOOK,
    };
    let word = styled(colour, &point.outcome.to_uppercase());
    let set_up = point.setup.iter().map(|(key, label)| format!("{key} = {label}"));
    let measured = claim.measured.iter().map(|(name, value)| format!("{name} = {value}"));
    let anchors = explained(&claim.anchors);
    let because = match point.contradicts {
        Some(_) => anchors.as_str(),
        None => point.reason.as_deref().unwrap_or_default(),
    };
    let rows = [
        ("claim", claim.statement),
        ("set-up", &set_up.collect::<Vec<_>>().join(", ")),
        ("because", because),
        ("measured", &measured.collect::<Vec<_>>().join(", ")),
        ("criterion", &claim.criterion),
        ("note", &claim.note),
    ];
    format!("{}  {word}\n{}\n", styled(HEADING, &claim.id), lines(&rows))
}

/// Named rows; rows without text are left out.
fn lines(rows: &[(&str, &str)]) -> String {
    let rows = rows.iter().filter(|(_, row)| !row.is_empty());
    rows.map(|(name, row)| format!("  {name:<10} {}\n", row.trim_end())).collect()
}

/// A word in its colour.
fn word(verdict: &str) -> String {
    let colour = match verdict {
        "robust" => GOOD,
        "nowhere" => BAD,
        _ => WORTH_A_LOOK,
    };
    styled(colour, &verdict.to_uppercase())
}

fn claim(claim: &ClaimMap) -> String {
    let word = word(claim.verdict);
    let direction = claim.direction.as_ref();
    let direction = direction.map(|d| format!("{} {}", d.verdict, d.condition)).unwrap_or_default();
    // The condition explains them where they leave out all set-ups.
    let anchors = match claim.setups.admitted {
        0 => String::new(),
        _ => explained(&claim.anchors),
    };
    let rows = [
        ("claim", claim.statement),
        ("where", &claim.condition),
        ("set-ups", &claim.setups.text(claim.share)),
        ("left out", &anchors),
        ("direction", &direction),
        ("criterion", &claim.criterion),
    ];
    format!("{}  {word}\n{}\n", styled(HEADING, &claim.id), lines(&rows))
}
