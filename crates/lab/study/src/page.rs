//! Parts that every HTML page about a study has.

use crate::claim::{Claim, Verdict};
use crate::definition::{Error, Study};
use crate::findings::Exhibit;
use crate::values::measurements;
use fairwave_lab::page::{CSS, responsive};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// A page of a study around its sections.
pub(crate) fn frame(study: &dyn Study, sections: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Fairwave: " (study.name()) }
                style { (PreEscaped(CSS)) }
            }
            body {
                header {
                    h1 { "Study " (study.name()) }
                    p.paper { (study.paper()) }
                }
                main { (sections) }
                footer { p { "Fairwave " (env!("CARGO_PKG_VERSION")) } }
            }
        }
    }
}

/// The verdict as a mark and a word.
pub(crate) fn verdict(claim: &Claim) -> Markup {
    let (class, text) = match claim.verdict {
        Verdict::Holds => ("holds", "✓ holds"),
        Verdict::DoesNotHold(_) => ("fails", "✗ does not hold"),
        Verdict::Undecided(_) => ("open", "? undecided"),
    };
    html! { span.verdict.(class) { (text) } }
}

/// Measurements for a claim.
pub(crate) fn measured(claim: &Claim) -> Markup {
    html! {
        dl.measured { @for (key, text) in measurements(claim) { dt { (key) } dd { (text) } } }
    }
}

/// A figure with its captions.
pub(crate) fn exhibit(exhibit: &Exhibit) -> Result<Markup, Error> {
    let svg = exhibit.figure.to_svg()?;
    let alternative = format!("{}. {}", exhibit.figure.title, exhibit.ours);
    Ok(html! {
        figure id=(exhibit.id) {
            div.plot role="img" aria-label=(alternative) { (PreEscaped(responsive(&svg))) }
            figcaption {
                p { b { "Paper: " } (exhibit.paper) }
                p { b { "Ours: " } (exhibit.ours) }
            }
        }
    })
}
