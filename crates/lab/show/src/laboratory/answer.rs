//! Answers to requests.

use super::network::NetworkOutput;
use super::request::{
    Performed, PlanOutput, Planned, PointOutput, RefusedOutput, Request, RunOutput,
};
use crate::runs::Finished;
use fairwave_lab::results::{read_meta, series_in};
use fairwave_lab::run::{Output, execute_while};
use fairwave_scenario::OwnAlgorithms;
use fairwave_scenario::plan::{Job, Override, Plan};
use fairwave_text::quoted;
use fairwave_units::Instant;
use serde::Serialize;
use std::path::Path;

/// Files of a run directory beside its series.
const DESCRIPTION: [&str; 3] = ["meta.json", "scenario.toml", "summary.json"];

/// Reads the scenario of a request. Returns [`Planned`] as JSON.
pub fn plan(request: &[u8]) -> Vec<u8> {
    json(&match read(request) {
        Ok((request, plan)) => Planned::Plan(output(&request, &plan)),
        Err(refused) => Planned::Refused(refused),
    })
}

/// Makes the run of a request in the run directory `place`, until `goes_on`, which gets the
/// finished fraction, returns `false`. Returns [`Performed`] as JSON. In WebAssembly the files are
/// in memory.
pub fn run(request: &[u8], place: &Path, goes_on: &mut dyn FnMut(f64) -> bool) -> Vec<u8> {
    json(
        &match read(request).and_then(|(request, plan)| perform(&request, &plan, place, goes_on)) {
            Ok(output) => Performed::Run(output),
            Err(refused) => Performed::Refused(refused),
        },
    )
}

/// Number of flows and simulated seconds of the run of a request; `None` if it has errors.
pub fn size(request: &Request) -> Option<[f64; 2]> {
    let plan = planned(request).ok()?;
    let scenario = &plan.points.get(request.point)?.scenario;
    let flows = scenario.to_world(scenario.seed).flows.len();
    Some([flows as f64, scenario.duration.as_secs_f64()])
}

/// The request, and the plan of its scenario.
fn read(request: &[u8]) -> Result<(Request, Plan), RefusedOutput> {
    let request: Request = serde_json::from_slice(request)?;
    let plan = planned(&request)?;
    Ok((request, plan))
}

fn planned(request: &Request) -> Result<Plan, RefusedOutput> {
    let mut settings: Vec<Override> =
        request.settings.iter().map(|setting| Override::set(setting)).collect();
    settings.extend(
        request.seed.map(|seed| Override {
            setting: format!("seed={seed}"),
            name: format!("--seed {seed}"),
        }),
    );
    Plan::parse_with(&request.file, &request.text, &settings, &OwnAlgorithms::default())
        .map_err(|wrong| RefusedOutput { text: wrong.to_string(), diagnostics: wrong.0 })
}

impl<E: std::error::Error> From<E> for RefusedOutput {
    fn from(error: E) -> Self {
        Self { text: error.to_string(), diagnostics: Vec::new() }
    }
}

fn output(request: &Request, plan: &Plan) -> PlanOutput {
    let mut points = Vec::new();
    for point in &plan.points {
        let label: Vec<String> =
            point.axes.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let mut command = format!("fairwave run {}", quoted(&request.file));
        for setting in request.settings.iter().chain(&point.picks) {
            command += &format!(" --set {}", quoted(setting));
        }
        let seed = point.scenario.seed;
        command += &format!(" --seed {seed}");
        let seconds = point.scenario.duration.as_secs_f64();
        points.push(PointOutput { label: label.join(", "), seed, seconds, command });
    }
    let network = plan.points.get(request.point).map(|point| {
        let scenario = &point.scenario;
        NetworkOutput::from(&scenario.to_world(scenario.seed))
    });
    let (question, warnings) = (plan.question.clone(), plan.warnings());
    // The plan was read from this text, so that it is TOML.
    let written = toml::from_str(&request.text).unwrap_or_default();
    PlanOutput { question, points, seeds: plan.seeds, warnings, network, written }
}

fn perform(
    request: &Request,
    plan: &Plan,
    place: &Path,
    goes_on: &mut dyn FnMut(f64) -> bool,
) -> Result<RunOutput, RefusedOutput> {
    let point = plan.points.get(request.point).ok_or_else(|| {
        let count = plan.points.len();
        let text = format!("there is no point {}: the plan has {count}, from 0 on", request.point);
        RefusedOutput { text, diagnostics: Vec::new() }
    })?;
    let whole_s = point.scenario.duration.as_secs_f64();
    let mut watch = |now: Instant| goes_on(now.as_nanos() as f64 / 1e9 / whole_s);
    let job = Job { point: request.point, seed: point.scenario.seed };
    let run = execute_while(plan, job, Output::Full(place), &mut watch)?;
    let meta = &read_meta(place)?;
    let scenario = &plan.scenario(job).to_toml();
    let series = series_in(place)?;
    let names: Vec<String> =
        series.iter().filter_map(|name| name.strip_suffix(".parquet")).map(str::to_owned).collect();
    let page = Finished { meta, summary: &run.summary, scenario }.page(&request.file, &names);
    let page = page.data()?;
    let tables = names.into_iter().map(|name| name + ".parquet").collect();
    let mut files = DESCRIPTION.map(str::to_owned).to_vec();
    files.extend(series);
    files.sort();
    Ok(RunOutput { page, files, tables })
}

/// JSON of an answer. One that cannot be written is refused in the same form.
fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_else(|error| {
        let text = format!("{{\"refused\":{{\"text\":\"{error}\",\"diagnostics\":[]}}}}");
        text.into_bytes()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const TEXT: &str = "# Is it fair?\nduration = \"10 s\"\n\
        node = [{ name = \"a\", kind = \"host\" }, { name = \"b\", kind = \"host\" }]\n\
        link = [{ name = \"l\", ends = [\"a\", \"b\"] }]\n\
        flow = [{ name = \"f\", from = \"a\", to = \"b\" }]\n\
        sweep.\"link.l.delay\" = [\"1 ms\", \"2 ms\"]\n";

    fn planned(request: &Value) -> Value {
        serde_json::from_slice(&plan(request.to_string().as_bytes())).expect("JSON")
    }

    #[test]
    fn a_plan_names_the_command_of_each_point() {
        let found = planned(&json!({ "file": "my file.toml", "text": TEXT, "seed": 7 }));
        let points = found["plan"]["points"].as_array().expect("a plan");
        assert_eq!(found["plan"]["question"], "Is it fair?");
        assert_eq!(points.len(), 2);
        assert_eq!(points[1]["seed"], 7);
        let command = points[1]["command"].as_str().expect("a command");
        assert!(command.starts_with("fairwave run 'my file.toml' --set "), "{command}");
        assert!(command.ends_with(" --seed 7"), "{command}");
    }

    #[test]
    fn a_plan_has_the_network_of_its_point_and_the_keys_of_its_text() {
        let found = planned(&json!({ "file": "x.toml", "text": TEXT, "point": 1 }));
        let expected = json!({
            "nodes": [{ "name": "a", "role": "host", "access_points": [] },
                { "name": "b", "role": "host", "access_points": [] }],
            "links": [{ "ends": [0, 1], "paces": ["100 Mbps, 2 ms"] }],
            "flows": [{ "name": "f", "from": 0, "to": 1 }],
        });
        assert_eq!(found["plan"]["network"], expected);
        assert_eq!(found["plan"]["written"]["link"][0]["name"], "l");
        let none = planned(&json!({ "file": "x.toml", "text": TEXT, "point": 2 }));
        assert!(none["plan"]["network"].is_null(), "{none}");
    }

    #[test]
    fn a_station_has_the_access_points_of_its_way() {
        let all = crate::laboratory::scenarios();
        let name = "scenarios/handover.toml";
        let (_, text) = all.iter().find(|(found, _)| *found == name).expect("a scenario");
        let found = planned(&json!({ "file": "handover.toml", "text": text }));
        let nodes = found["plan"]["network"]["nodes"].as_array().expect("a network");
        let most = nodes.iter().filter_map(|node| node["access_points"].as_array()).map(Vec::len);
        assert_eq!(most.max(), Some(2), "{nodes:?}");
        let of = |role| nodes.iter().filter(|node| node["role"] == role).count();
        assert!(of("access_point") >= 2 && of("station") >= 1 && of("host") >= 1, "{nodes:?}");
    }

    #[test]
    fn an_error_has_its_place_and_the_words_of_the_command() {
        let wrong = TEXT.replace("duration", "duratoin");
        let found = planned(&json!({ "file": "x.toml", "text": wrong }));
        let first = &found["refused"]["diagnostics"][0];
        assert_eq!((&first["line"], &first["column"]), (&2.into(), &1.into()));
        let text = found["refused"]["text"].as_str().expect("words");
        assert!(text.starts_with("x.toml:2:1: duratoin: "), "{text}");
        assert!(text.contains("did you mean \"duration\"?"), "{text}");
    }

    #[test]
    fn a_request_that_is_none_is_refused() {
        for request in ["", "1", "{\"texts\": 1}"] {
            let found: Value = serde_json::from_slice(&plan(request.as_bytes())).expect("JSON");
            assert!(found["refused"]["text"].is_string(), "{found}");
        }
    }
}
