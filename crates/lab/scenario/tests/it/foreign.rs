//! Scenario files before readers that are not Fairwave's: Python's `tomllib`, and its validator of
//! JSON schemas. `cargo xtask test` installs both.

use crate::corpus::{self, Text};
use crate::python::answer;
use fairwave_scenario::schema;
use serde_json::json;

const SCRIPT: &str = include_str!("foreign.py");

/// What the foreign readers have to say against the texts.
fn complaints<'a>(texts: impl IntoIterator<Item = &'a Text>) -> String {
    let texts: Vec<_> = texts.into_iter().map(|text| json!([text.name, text.text])).collect();
    let input = json!({ "schema": schema(), "texts": texts }).to_string();
    answer("tomllib, jsonschema", SCRIPT, &input)
}

#[test]
fn every_file_and_what_it_resolves_to_are_valid_for_others() {
    let mut texts = Vec::new();
    for (file, plan) in corpus::plans() {
        let point = plan.points.last().expect("a plan has points");
        let name = format!("{} as resolved", file.name);
        texts.push(Text { name, text: point.scenario.to_toml() });
        texts.push(file);
    }
    assert_eq!(complaints(&texts), "");
}

#[test]
fn what_is_accepted_here_is_valid_by_the_schema() {
    let texts = corpus::by_key().iter().map(|(text, _)| text);
    assert_eq!(complaints(texts), "");
}

#[test]
fn sweeps_are_valid_by_the_schema_in_every_form() {
    let forms = [
        "[sweep]\nseeds = 3\n",
        "[sweep]\n\"node.sta.count\" = [1, 2]\n",
        "[sweep]\nnode.sta.count = [1, 2]\n",
        "[sweep]\n\"duration, warm_up\" = [[\"2 s\", \"1 s\"], [\"3 s\", \"2 s\"]]\n",
        "[[sweep.variant]]\nname = \"a\"\n\"cell.soc\" = \"off\"\n",
    ];
    let base = "duration = \"1 s\"\n[cell]\nstandard = \"802.11a\"\n[[node]]\nname = \"ap\"\n\
                kind = \"access-point\"\n[[node]]\nname = \"sta\"\nkind = \"station\"\n";
    let texts = forms.map(|form| Text { name: form.to_owned(), text: format!("{base}{form}") });
    for text in &texts {
        let plan = fairwave_scenario::plan::Plan::parse("sweep", &text.text, &[]);
        assert!(plan.is_ok(), "{}", plan.unwrap_err());
    }
    assert_eq!(complaints(&texts), "");
}

#[test]
fn what_is_wrong_is_told() {
    let wrong = Text { name: "wrong".to_owned(), text: "duration = 5\n".to_owned() };
    let newer = Text { name: "newer".to_owned(), text: "x = {\n a = 1 }\n".to_owned() };
    let printed = complaints(&[wrong, newer]);
    assert!(printed.contains("wrong: ") && printed.contains("newer: "), "{printed}");
}
