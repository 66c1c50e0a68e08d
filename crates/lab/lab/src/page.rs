//! Parts of every self-contained HTML page: the frame, the style sheet, and drawings that fit.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// A self-contained page with a title in its head; `body` is its content.
pub fn document(title: &str, body: &Markup) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(CSS)) }
            }
            body { main { (body) } }
        }
    };
    markup.into_string()
}

/// Light and dark by the reader's setting; black on white in print. Figures keep a white ground.
pub const CSS: &str = "
:root { --ink: #1d1f21; --ground: #ffffff; --soft: #5a6068; --line: #d5d9de; --panel: #f5f6f8;
  --good: #00664a; --good-ground: #dff3ec; --bad: #9a3500; --bad-ground: #fbe7dc; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --ground: #17191c; --soft: #a5abb3;
  --line: #3a3f46; --panel: #202328; --good: #7fdcbc; --good-ground: #0f3a2e; --bad: #ffb489;
  --bad-ground: #4a1f08; } }
body { margin: 0 auto; max-width: 68rem; padding: 1.5rem; color: var(--ink);
  background: var(--ground); font: 16px/1.5 system-ui, sans-serif; }
h1, h2, h3, p, li { overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; margin: 0; } h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; }
.paper, .criterion, .note, footer, caption { color: var(--soft); }
p { margin: .4rem 0; } code { font-size: .95em; background: var(--panel); padding: .1em .3em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .6rem 0; }
dt { color: var(--soft); } dd { margin: 0; }
.quick { background: var(--panel); border-left: 4px solid var(--soft); padding: .4rem .8rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .86rem; }
caption { text-align: left; padding: .3rem 0; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem;
  border-bottom: 1px solid var(--line); }
thead th { border-bottom: 2px solid var(--line); }
.results td { font-variant-numeric: tabular-nums; white-space: nowrap; }
.verdict { display: inline-block; padding: .1rem .5rem; border-radius: .3rem; font-weight: 600;
  white-space: nowrap; }
.holds { color: var(--good); background: var(--good-ground); }
.fails { color: var(--bad); background: var(--bad-ground); }
.open { color: var(--soft); background: var(--panel); }
.claims td:nth-child(3) { min-width: 22rem; } .claims th[scope=row] { white-space: nowrap; }
.measured { font-size: .8rem; grid-template-columns: max-content 1fr; margin: 0; }
.measured dt { overflow-wrap: anywhere; } .claims td:nth-child(4) { width: 24rem; }
figure { margin: 1.4rem 0 2rem; } .plot { background: #fff; border: 1px solid var(--line); }
.plot svg { display: block; width: 100%; height: auto; }
figcaption { font-size: .92rem; margin-top: .4rem; }
@media print { :root { --ink: #000; --ground: #fff; --soft: #333; --line: #999; --panel: #eee;
  --good: #004d38; --good-ground: #fff; --bad: #7a2a00; --bad-ground: #fff; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  figure, tr { break-inside: avoid; } .wide { overflow: visible; }
  .results { font-size: 7pt; } .results td { white-space: normal; } }
";

/// The drawing with its size in a view box only, so that it shrinks with the page.
pub fn responsive(svg: &str) -> String {
    let Some((head, body)) = svg.split_once('>') else { return svg.to_owned() };
    let attributes =
        head.split(' ').filter(|part| !part.starts_with("width=") && !part.starts_with("height="));
    format!("{}>{body}", attributes.collect::<Vec<_>>().join(" "))
}
