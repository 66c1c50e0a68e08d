//! A page: its words, its data, and the HTML file that has both.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fairwave_lab::compare::Comparison;
use fairwave_lab::points::Point;
use fairwave_lab::report::Refusal;
use fairwave_lab::results::{self, Piece, Pieces};
use maud::{DOCTYPE, PreEscaped, html};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/page.js"));
const STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.css"));

/// Reason why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The results cannot be read or written.
    #[error(transparent)]
    Results(#[from] results::Error),
    /// There are no such results.
    #[error(transparent)]
    Refusal(#[from] Refusal),
    /// The capture cannot be analysed.
    #[cfg(not(target_arch = "wasm32"))]
    #[error(transparent)]
    Capture(#[from] fairwave_capture::trace::RequestError),
    /// A temporary directory cannot be made, or a file in it read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The data cannot be written as JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// The tables are larger than a page can be.
    #[error("the tables have {megabytes} MB; a page has at most {MAX_MEGABYTES} MB of them")]
    TooLarge {
        /// Their size.
        megabytes: usize,
    },
    /// The build had no npm.
    #[error(
        "this build is without the page of `fairwave show`: npm did not run when it was built; \
         install Node.js with npm (on Debian `sudo apt-get install nodejs npm`), then build again"
    )]
    NotBuilt,
}

/// Columns that have the times of a table.
const TIMES: [&str; 2] = ["t_ns", "at_unix_ns"];
/// Maximum size of the tables in a page. A browser holds a page in memory, and its text once more.
const MAX_MEGABYTES: usize = 256;

/// The graphs that a page begins with: table, column and title. Their columns come first in the
/// page, so that the graphs are drawn while a browser still reads the rest.
const GRAPHS: &str = include_str!("../web/src/graphs.json");

/// Kind of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Run,
    Sweep,
    #[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "captures are read from files"))]
    Capture,
    Comparison,
}

/// A page about results.
#[derive(Debug)]
pub struct Page {
    pub(crate) heading: String,
    /// Sentences that answer the question of the heading.
    pub(crate) answer: Vec<String>,
    /// Origin of the results, in a few words each.
    pub(crate) facts: Vec<String>,
    pub(crate) content: Content,
    /// The Parquet files, in the order of their numbers.
    pub(crate) tables: Vec<Parquet>,
}

/// A Parquet file of a page.
#[derive(Debug)]
pub(crate) struct Parquet {
    path: PathBuf,
    bytes: Vec<u8>,
}

/// Data for the script of the page.
#[derive(Debug, Serialize)]
pub(crate) struct Content {
    pub(crate) kind: Kind,
    pub(crate) runs: Vec<RunContent>,
    pub(crate) groups: Vec<Group>,
    pub(crate) sheets: Vec<Sheet>,
    pub(crate) comparisons: Vec<Comparison>,
}

/// A run with its tables.
#[derive(Debug, Default, Serialize)]
pub(crate) struct RunContent {
    /// Index of its group.
    pub(crate) group: usize,
    pub(crate) axes: BTreeMap<String, String>,
    /// It is text, as a number of JavaScript has 53 bits.
    pub(crate) seed: String,
    /// Length in seconds.
    pub(crate) seconds: f64,
    /// Length of the intervals of a capture's table, in seconds.
    pub(crate) interval_s: f64,
    /// Time of the first packet of a capture since 1970, in nanoseconds; as text, too.
    pub(crate) start_unix_ns: String,
    /// Numbers of its tables, by name without the ending.
    pub(crate) tables: BTreeMap<String, usize>,
}

/// A sweep.
#[derive(Debug, Serialize)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

/// A table of words.
#[derive(Debug, Serialize)]
pub(crate) struct Sheet {
    pub(crate) title: String,
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) note: Option<String>,
}

impl Content {
    pub(crate) const fn new(kind: Kind) -> Self {
        Self {
            kind,
            runs: Vec::new(),
            groups: Vec::new(),
            sheets: Vec::new(),
            comparisons: Vec::new(),
        }
    }
}

impl Page {
    /// Adds the Parquet files in `directory` to a run of the page.
    pub(crate) fn add_tables(
        &mut self,
        directory: &Path,
        run: &mut RunContent,
    ) -> Result<(), Error> {
        for (name, path) in tables_in(directory)? {
            run.tables.insert(name, self.tables.len());
            self.tables.push(Parquet { bytes: std::fs::read(&path)?, path });
        }
        Ok(())
    }

    /// Heading, and the sentences of the answer.
    pub fn words(&self) -> (&str, &[String]) {
        (&self.heading, &self.answer)
    }

    /// Words and figures of the page as JSON: `heading`, `answer`, `facts` and `content`.
    ///
    /// # Errors
    /// A value that JSON cannot hold.
    pub fn data(&self) -> Result<serde_json::Value, Error> {
        let content = serde_json::to_value(&self.content)?;
        let Self { heading, answer, facts, .. } = self;
        Ok(serde_json::json!({
            "heading": heading, "answer": answer, "facts": facts, "content": content,
        }))
    }

    /// The page as a self-contained HTML file.
    ///
    /// # Errors
    /// If the tables are too large, or the crate was built without the page's script.
    pub fn html(&self) -> Result<String, Error> {
        if SCRIPT.is_empty() {
            return Err(Error::NotBuilt);
        }
        let megabytes = self.tables.iter().map(|file| file.bytes.len()).sum::<usize>() >> 20;
        if megabytes > MAX_MEGABYTES {
            return Err(Error::TooLarge { megabytes });
        }
        let divided = self.tables.iter().map(|file| Pieces::of(&file.bytes, &file.path));
        let divided: Vec<Pieces<'_>> = divided.collect::<Result<_, _>>()?;
        // `<` could end the element that the data stands in.
        let content = serde_json::to_string(&self.content)?.replace('<', "\\u003c");
        let markup = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { "Fairwave: " (self.heading) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    header {
                        h1 { (self.heading) }
                        @for line in &self.answer { p.answer { (line) } }
                        p.facts { (self.facts.join(" · ")) }
                    }
                    main id="body" {}
                    p.unseen id="status" role="status" {}
                    footer { p.facts { "Fairwave " (env!("CARGO_PKG_VERSION")) } }
                    script type="application/json" id="content" { (PreEscaped(content)) }
                    @for (number, of) in divided.iter().enumerate() {
                        script type="text/plain" id={ "table-" (number) } {
                            (PreEscaped(STANDARD.encode(of.footer)))
                        }
                    }
                    script { (PreEscaped(SCRIPT)) }
                    @for (number, piece) in self.order(&divided)? {
                        script type="text/plain" id={ "table-" (number) "-" (piece.name) } {
                            (PreEscaped(STANDARD.encode(&piece.bytes)))
                        }
                    }
                }
            }
        };
        Ok(markup.into_string())
    }
}

impl Page {
    /// All columns with the numbers of their tables, in the order in which the page shows them.
    fn order<'a>(&self, tables: &'a [Pieces<'_>]) -> Result<Vec<(usize, &'a Piece)>, Error> {
        let graphs: Vec<[String; 3]> = serde_json::from_str(GRAPHS)?;
        let mut found = Vec::new();
        for run in &self.content.runs {
            for [table, column, _] in &graphs {
                let Some(&number) = run.tables.get(table) else { continue };
                let is_needed = |piece: &&Piece| {
                    piece.is_text || TIMES.contains(&piece.name.as_str()) || piece.name == *column
                };
                found.extend(tables[number].columns.iter().filter(is_needed).map(|p| (number, p)));
            }
        }
        let all = tables.iter().enumerate();
        found.extend(all.flat_map(|(number, of)| of.columns.iter().map(move |p| (number, p))));
        let mut known = BTreeSet::new();
        found.retain(|(number, piece)| known.insert((*number, piece.name.as_str())));
        Ok(found)
    }
}

/// Name and path of each Parquet file directly in a directory, sorted.
pub(crate) fn tables_in(directory: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let is_table = path.extension().is_some_and(|kind| kind == "parquet");
        let name = path.file_stem().filter(|_| is_table).and_then(|name| name.to_str());
        found.extend(name.map(|name| (name.to_owned(), path.clone())));
    }
    found.sort();
    Ok(found)
}
