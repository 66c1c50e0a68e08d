//! Figures on a page: drawings for print and for readers without scripts, and their data, which the
//! page's script draws for readers who look closely.

use super::compact::compact;
use super::data::Data;
use super::figure::{Error, Figure};
use crate::page::responsive;
use maud::{Markup, PreEscaped, html};

/// Script and style sheet by which readers explore the figures of a page: zoom, move, read values
/// and hide series. They are those of the pages of `fairwave show`, and empty in a build without
/// npm, whose pages have the drawings alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Explorer {
    /// The script.
    pub script: &'static str,
    /// The style sheet.
    pub style: &'static str,
}

/// Figures of a page, as far as it is written.
#[derive(Debug, Default)]
pub struct Plots {
    explorer: Explorer,
    /// Of each figure with data: the identifier of its drawing, its time axis, and the data.
    data: Vec<(String, String, String)>,
}

impl Plots {
    /// Figures of a page that has this script.
    pub fn new(explorer: Explorer) -> Self {
        Self { explorer, data: Vec::new() }
    }

    /// A drawing with `id`. Figures with the same `axis` show the same range of their horizontal
    /// axis; an empty one is shared with no other figure.
    ///
    /// # Errors
    /// A figure that cannot be drawn.
    pub fn drawing(&mut self, figure: &Figure, id: &str, axis: &str) -> Result<String, Error> {
        let svg = compact(&responsive(&figure.to_svg()?));
        let json = Data::of(figure).map(|data| serde_json::to_string(&data));
        if let (Some(json), false) = (json, self.explorer.script.is_empty()) {
            let json = json.map_err(|error| Error::new(&figure.title, error))?;
            self.data.push((id.to_owned(), axis.to_owned(), json));
        }
        Ok(svg.replacen("<svg", &format!("<svg id=\"{id}\""), 1))
    }

    /// The data, style and script, which stand at the end of the page's body.
    pub fn end(&self) -> Markup {
        if self.data.is_empty() {
            return html! {};
        }
        let entries = self.data.iter().map(|(id, axis, json)| format!("[{id:?},{axis:?},{json}]"));
        // `<` could end the element that the data stands in.
        let entries = entries.collect::<Vec<_>>().join(",").replace('<', "\\u003c");
        html! {
            p.unseen id="status" role="status" {}
            style { (PreEscaped(self.explorer.style)) }
            script type="application/json" id="figures" { "[" (PreEscaped(entries)) "]" }
            script { (PreEscaped(self.explorer.script)) }
        }
    }
}
