//! The claims on a study's page: all verdicts in a list, then a section for each claim, with its
//! figure beside the words and everything behind the verdict folded.

use crate::claim::Claim;
use crate::definition::Error;
use crate::findings::Exhibit;
use crate::map::joint::JointSet;
use crate::map::{ClaimMap, page as map};
use crate::page::{Drawings, evidence, measured, wide};
use crate::plain::Standing;
use crate::reproduction::Reproduction;
use crate::verdict::{ClaimVerdict, Maps};
use fairwave_units::several;
use maud::{Markup, html};

/// The verdict over all set-ups, in words.
fn badge(one: &ClaimVerdict) -> Markup {
    let class = match one.standing() {
        Standing::Holds => "holds",
        Standing::HoldsInPart => "partly",
        Standing::Fails => "fails",
        Standing::Open => "open",
    };
    html! { span.verdict.(class) { (one.in_words()) } }
}

/// The claims of the paper, and the questions of ours.
fn parted<T>(all: Vec<(&ClaimVerdict, T)>) -> [(&'static str, Vec<(&ClaimVerdict, T)>); 2] {
    let (ours, papers) = all.into_iter().partition(|(one, _)| one.ours);
    [("Claims of the paper", papers), ("Questions of ours", ours)]
}

/// The verdicts, and the sets of claims that hold together, in sentences.
pub(super) fn verdicts(all: &[ClaimVerdict], joint: &[JointSet]) -> Markup {
    let groups = parted(all.iter().map(|one| (one, ())).collect());
    html! {
        @for (title, group) in groups.iter().filter(|(_, group)| !group.is_empty()) {
            h3 { (title) }
            ul.verdicts {
                @for (one, ()) in group {
                    li { a href={ "#" (one.id) } { (one.id) } (badge(one)) p { (one.statement) } }
                }
            }
        }
        @for set in joint.iter().filter(|set| set.claims.len() > 1) {
            p {
                "Together " (set.claims.join(", ")) " hold in " (several(set.setups, "set-up")) "."
            }
        }
    }
}

/// A section for each claim.
///
/// # Errors
/// A figure that cannot be drawn.
pub(super) fn sections(
    reproduction: &Reproduction<'_>,
    verdicts: &[ClaimVerdict],
    drawings: &mut Drawings,
) -> Result<Markup, Error> {
    let claims = &reproduction.findings.claims;
    let mut drawn = Vec::new();
    for (one, claim) in verdicts.iter().zip(claims) {
        drawn.push((one, section(reproduction, one, claim, drawings)?));
    }
    let groups = parted(drawn);
    Ok(html! {
        @for (title, group) in groups.iter().filter(|(_, group)| !group.is_empty()) {
            h2 { (title) }
            @for (_, section) in group { (section) }
        }
    })
}

fn section(
    reproduction: &Reproduction<'_>,
    one: &ClaimVerdict,
    claim: &Claim,
    drawings: &mut Drawings,
) -> Result<Markup, Error> {
    let exhibits = &reproduction.findings.exhibits;
    let mut shown = exhibits.iter().filter(|exhibit| exhibit.claims.contains(&one.id));
    let beside = shown.next().map(|exhibit| drawings.show(exhibit)).transpose()?;
    let more: Vec<&Exhibit> = shown.collect();
    let summary = format!("{} of {}", several(more.len(), "more figure"), one.id);
    let more: Result<Vec<Markup>, Error> =
        more.into_iter().map(|exhibit| drawings.show(exhibit)).collect();
    let class = if beside.is_some() { "claim drawn" } else { "claim" };
    let why = reproduction.study.without_figure().iter().find(|(id, _)| *id == one.id);
    Ok(html! {
        section class=(class) id=(one.id) aria-label=(one.id) {
            div.words {
                h3 { (one.id) " " (badge(one)) }
                p.statement { (one.statement) }
                (evidence(one, one.own_set_up()))
                @if let Some(published) = &one.published { p.note { (published.text()) } }
                @if let Some((_, why)) = why { p.note { "No figure shows it. " (why) } }
            }
            @if let Some(figure) = beside { div.shown { (figure) } }
            div.folds {
                @let more = more?;
                @if !more.is_empty() {
                    details { summary { (summary) } @for figure in more { (figure) } }
                }
                details {
                    summary { "Basis of the verdict on " (one.id) }
                    (basis(reproduction.maps.as_ref(), one, claim))
                }
            }
        }
    })
}

/// The criterion, measurements in the study's own set-up, and the set-ups that were tried.
fn basis(maps: Option<&Maps>, one: &ClaimVerdict, claim: &Claim) -> Markup {
    let map = maps.and_then(|maps| Some((maps, maps.of(one.id)?)));
    let mut stands_for = maps.into_iter().flat_map(|maps| &maps.declared.criterion);
    html! {
        h4 { "Criterion" }
        p { (one.criterion) }
        @if let Some(criterion) = stands_for.find(|criterion| criterion.id == one.id) {
            p.note { "Settled on " (criterion.declared) ". " (criterion.reported()) }
        }
        h4 { "Measured in the study's own set-up" }
        @if let Some(reason) = &one.reason { p { (claim.verdict.word()) ": " (reason) } }
        (measured(claim))
        @if !one.note.is_empty() { p.note { (one.note) } }
        h4 { "Set-ups" }
        p { b { (one.verdict) } ": " (one.counted()) }
        @if !one.condition.is_empty() { p { (one.condition) } }
        @if let Some(why) = &one.only_setup { p.note { (why) } }
        @if one.explored.is_some() { p.note { (one.beside()) } }
        @if let Some((maps, map)) = map { (mapped(maps, map)) }
    }
}

/// The map of a claim, and the set-ups by one value at a time.
fn mapped(maps: &Maps, claim: &ClaimMap) -> Markup {
    let judged = maps.judged();
    let shares = html! {
        table {
            thead { tr {
                @for name in ["Axis", "Value", "Holds in"] { th scope="col" { (name) } }
            } }
            tbody { @for row in &claim.one_way { tr {
                td { (row.key) } td { (row.value) } td { (row.holding) " of " (row.decided) }
            } } }
        }
    };
    html! {
        @if let Some(direction) = &claim.direction {
            p { "Direction alone: " (direction.verdict) ". " (direction.condition) }
        }
        p.note { "Declared " (claim.declared) "; run " (judged.ran) "." }
        p { code { (map::command(judged, claim)) } }
        (map::drawing(&maps.declared, judged.quick, claim))
        @if !claim.one_way.is_empty() {
            (wide(&format!("Set-ups of {} by value", claim.id), &shares))
        }
    }
}
