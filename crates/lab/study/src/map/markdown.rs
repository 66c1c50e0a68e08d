//! A map in Markdown: no drawing, and nothing that differs between two runs of the same command but
//! the day; and the parts of it that a study's page has, too.

use super::figure;
use super::file::{Declared, ValueFile};
use super::joint::JointSet;
use super::page::{Context, days, joint_in_words, joint_set, left_out};
use super::panels;
use super::summary::{ClaimMap, MapSummary};
use crate::md::{table, text};
use std::fmt::Write as _;

/// The page.
pub fn page(context: &Context<'_>, map: &MapSummary) -> String {
    let Context { declared, command, explored, .. } = *context;
    let mut page = format!(
        "# Map of the study {}\n\nWritten by `{command} --markdown`; do not edit.\n\n{}\n\n",
        map.study,
        text(&days([map])),
    );
    let words = map.claims.iter().map(|claim| {
        let earlier = explored.map(|earlier| format!(" ({})", earlier.of_claim(claim)));
        let word = format!("{}{}", claim.verdict, earlier.unwrap_or_default());
        let setups = claim.setups.text(claim.share);
        [&claim.id, &word, &setups, &claim.condition].map(|cell| text(cell)).to_vec()
    });
    page.push_str(&table(&["Claim", "Verdict", "Set-ups", "Where"].map(str::to_owned), words));
    page.push_str(&joint(&map.joint, map.claims.len()));
    for claim in &map.claims {
        let _ = write!(page, "\n## {}\n\n{}.\n\n", claim.id, text(claim.statement));
        if let Some(direction) = direction(claim) {
            let _ = write!(page, "{direction}\n\n");
        }
        let _ = write!(page, "Criterion: {}.\n\n", text(&claim.criterion));
        page.push_str(&of_claim(declared, map.quick, claim));
    }
    page.push_str(&axes(declared, map.quick));
    page
}

/// The largest sets of the `all` claims that one set-up satisfies, as a section.
pub(crate) fn joint(sets: &[JointSet], all: usize) -> String {
    let list = sets.iter().map(|set| text(&format!("- {}\n", joint_set(set))));
    let list: String = list.collect();
    let gap = if list.is_empty() { "" } else { "\n" };
    format!("\n## Joint consistency\n\n{}\n{gap}{list}", joint_in_words(sets, all))
}

/// Verdict by the conditions on direction alone, as a sentence; `None` if none is about magnitude.
pub(crate) fn direction(claim: &ClaimMap) -> Option<String> {
    let direction = claim.direction.as_ref()?;
    let share = direction.share.map_or(String::new(), |s| format!(" ({:.0} %)", 100.0 * s));
    let line = format!("Direction alone: {}{share}. {}", direction.verdict, direction.condition);
    Some(text(line.trim_end()))
}

/// The map of a claim as text, its anchors, and shares by one value at a time.
pub(crate) fn of_claim(declared: &Declared, quick: bool, claim: &ClaimMap) -> String {
    let grid = declared.grid(quick).of(&declared.axes_of_map(&claim.id));
    let panels = panels::of(&grid, claim);
    let mut section = match panels.is_empty() {
        true => String::new(),
        false => format!("```text\n{}```\n\n", figure::text(&panels)),
    };
    for anchor in declared.anchors_of(&claim.id) {
        let out = left_out(claim, &anchor.id);
        let (id, statement) = (text(&anchor.id), text(&anchor.statement));
        let _ = write!(section, "Anchor {id}: {statement}. {out} set-ups contradict it.\n\n");
    }
    let rows = claim.one_way.iter().map(|row| {
        let count = format!("{} of {}", row.holding, row.decided);
        [&row.key, &row.value, &count].map(|cell| text(cell)).to_vec()
    });
    section.push_str(&table(&["Axis", "Value", "Holds in"].map(str::to_owned), rows));
    section
}

/// Meaning of the signs in text maps.
pub(crate) const SIGNS: &str = "In the maps `H` is a set-up in which the claim holds, `–` one in \
    which it does not, `?` one that is undecided, and `·` one that an anchor contradicts, which is \
    left out. `(H)` is the study's own set-up; `*`: leaving out one seed changes the verdict.";

/// The parameters that the paper leaves open, and the sentence behind each criterion, as sections.
pub(crate) fn axes(declared: &Declared, quick: bool) -> String {
    let mut page = String::new();
    if !declared.axis.is_empty() {
        page.push_str("\n## What the paper leaves open\n\n");
        let axes = declared.axis.iter().flat_map(|axis| {
            let row = |value: &ValueFile| {
                let key = format!("{}: {}", axis.key.get_ref(), axis.name);
                [key.as_str(), &value.label, &value.why].map(text).to_vec()
            };
            axis.values(quick).map(row).collect::<Vec<_>>()
        });
        page.push_str(&table(&["Axis", "Value", "Who had it"].map(str::to_owned), axes));
    }
    if !declared.criterion.is_empty() {
        page.push_str("\n## What the criteria stand for\n\n");
    }
    for criterion in &declared.criterion {
        let (id, day) = (&criterion.id, &criterion.declared);
        let _ = writeln!(page, "- {id} ({day}): {}", text(&criterion.reported()));
    }
    page
}
