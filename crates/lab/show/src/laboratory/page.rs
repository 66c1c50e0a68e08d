//! The page of the laboratory as an HTML file.

use super::claims;
use crate::page::Error;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::{Map, Value, json};
use std::io::Write;

const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/lab.js"));
const WORKER: &str = include_str!(concat!(env!("OUT_DIR"), "/worker.js"));
const STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/lab.css"));
const LIVE: &str = include_str!(concat!(env!("OUT_DIR"), "/live.js"));

#[allow(clippy::redundant_pub_crate, reason = "the build script writes it")]
mod catalogue {
    include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));
}
use catalogue::{SCENARIOS, STUDIES, TOURS};

/// Tables whose keys change nothing in a simulation, or that are no keys of a run.
const WITHOUT_FORM: [&str; 3] = ["emulate", "program", "sweep"];

/// Maker of the page's runs.
#[derive(Clone, Copy, Debug)]
pub enum Engine<'a> {
    /// The module `fairwave.wasm`, whose bytes become part of the page. Such a page needs no
    /// server.
    Module(&'a [u8]),
    /// The server that the page comes from.
    Server {
        /// Names of the runs that it can show.
        runs: &'a [String],
        /// Number of runs that it makes at the same time.
        at_once: usize,
    },
}

/// Names and texts of the scenarios of the catalogue.
pub const fn scenarios() -> &'static [(&'static str, &'static str)] {
    SCENARIOS
}

impl Engine<'_> {
    /// The page as a self-contained HTML file.
    ///
    /// # Errors
    /// If the crate was built without the page's script, or the data cannot be written as JSON.
    pub fn page(self) -> Result<String, Error> {
        if SCRIPT.is_empty() {
            return Err(Error::NotBuilt);
        }
        // `<` could end the element that the data stands in.
        let content = serde_json::to_string(&self.content())?.replace('<', "\\u003c");
        let module = match self {
            Self::Module(bytes) => Some(STANDARD.encode(packed(bytes)?)),
            Self::Server { .. } => None,
        };
        let about = html! {
            p {
                "Choose a scenario or write one, run it packet by packet, and look at each flow, \
                 queue and station."
            }
            p.choices {
                a href="#tours" { "Five papers as tours" }
                @if matches!(self, Self::Server { .. }) {
                    a href="live" { "Live: tools that run on this machine" }
                }
            }
        };
        let parts = html! {
            script type="application/json" id="content" { (PreEscaped(content)) }
            @if let Some(module) = module {
                script type="text/plain" id="worker" { (PreEscaped(WORKER)) }
                script type="text/plain" id="module" { (PreEscaped(module)) }
            }
            script { (PreEscaped(SCRIPT)) }
        };
        let heading = "The laboratory: Wi-Fi and transport in your browser";
        Ok(framed("Fairwave: laboratory", heading, &about, &parts))
    }

    /// Data for the script: scenarios, verdicts, and the names of runs.
    fn content(self) -> Value {
        let question = |text: &str| {
            let first = text.lines().next().and_then(|line| line.strip_prefix("# "));
            first.unwrap_or_default().to_owned()
        };
        let catalogue: Vec<Value> = SCENARIOS
            .iter()
            .map(|(name, text)| json!({ "name": name, "question": question(text), "text": text }))
            .collect();
        let studies: Map<String, Value> =
            TOURS.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
        let claims: Map<String, Value> = STUDIES
            .iter()
            .map(|(name, page)| {
                let name = name.rsplit('/').next().unwrap_or(name);
                (name.trim_end_matches(".md").to_owned(), json!(claims::of(page)))
            })
            .collect();
        let (runs, at_once): (&[String], _) = match self {
            Self::Module(_) => (&[], None),
            Self::Server { runs, at_once } => (runs, Some(at_once)),
        };
        json!({ "catalogue": catalogue, "studies": studies, "claims": claims, "runs": runs,
            "at_once": at_once, "keys": keys() })
    }
}

/// The page of tools that run on the server's machine, whose figures the server has.
///
/// # Errors
/// If the crate was built without the page's script.
pub fn live() -> Result<String, Error> {
    if LIVE.is_empty() {
        return Err(Error::NotBuilt);
    }
    let about = html! {
        p {
            "SHAKE's paths, DCCP's connections, access points of SoC and emulations, as they \
             change. " a href="." { "The laboratory" }
        }
    };
    let parts = html! { script { (PreEscaped(LIVE)) } };
    Ok(framed("Fairwave: live", "Live: tools that run on this machine", &about, &parts))
}

/// A page whose script fills its body.
fn framed(title: &str, heading: &str, about: &Markup, parts: &Markup) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { h1 { (heading) } (about) }
                main id="body" {}
                p.unseen id="status" role="status" {}
                footer { p.facts { "Fairwave " (env!("CARGO_PKG_VERSION")) } }
                (parts)
            }
        }
    };
    markup.into_string()
}

/// Descriptions of all keys, for completion and for the form. The form offers as settings the keys
/// of the top level and of the tables there.
fn keys() -> Vec<Value> {
    let tables = fairwave_scenario::tables();
    let is_setting = |key: &str| !key.contains('.') && !WITHOUT_FORM.contains(&key);
    let mut keys = Vec::new();
    for table in &tables {
        for key in &table.keys {
            let conditions: Vec<&String> = table.conditions.iter().chain(&key.conditions).collect();
            keys.push(json!({ "table": table.key, "key": key.key, "conditions": conditions,
                "about": key.about, "words": key.words, "default": key.default,
                "example": key.example, "isSetting": is_setting(&table.key) }));
        }
    }
    keys
}

/// The bytes in gzip.
fn packed(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}
