//! Answers to requests.

use super::network::NetworkOutput;
use super::request::{
    Averaged, MeansOutput, MeansRequest, Performed, PlanOutput, Planned, PointOutput,
    RefusedOutput, Request, RunFigures, RunOutput,
};
use crate::runs::Finished;
use fairwave_lab::points::{Digest, Point, to_csv};
use fairwave_lab::report::answer;
use fairwave_lab::results::{read_meta, series_in};
use fairwave_lab::run::{Error, Output, Run, execute_while};
use fairwave_scenario::OwnAlgorithms;
use fairwave_scenario::plan::{Job, Override, Plan};
use fairwave_text::quoted;
use fairwave_units::Instant;
use serde::Serialize;
use std::path::Path;

/// Maximum seed, the greatest integer up to which all are numbers of JavaScript.
const MAX_SEED: u64 = (1 << 53) - 1;
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
/// in memory. A request for figures alone leaves no directory.
pub fn run(request: &[u8], place: &Path, goes_on: &mut dyn FnMut(f64) -> bool) -> Vec<u8> {
    let performed = read(request).and_then(|(request, plan)| match request.only_figures {
        true => figures(&request, &plan, goes_on).map(Performed::Figures),
        false => perform(&request, &plan, place, goes_on).map(Performed::Run),
    });
    json(&performed.unwrap_or_else(Performed::Refused))
}

/// Computes the means over the runs of a sweep from a [`MeansRequest`]. Returns [`Averaged`] as
/// JSON.
pub fn means(request: &[u8]) -> Vec<u8> {
    json(&match digests(request) {
        Ok(runs) => {
            let points = Point::all(&runs);
            let (answer, csv) = (answer::of_points(&points), to_csv(&points));
            Averaged::Means(MeansOutput { points, answer, csv })
        }
        Err(refused) => Averaged::Refused(refused),
    })
}

/// The runs of a [`MeansRequest`].
fn digests(request: &[u8]) -> Result<Vec<Digest>, RefusedOutput> {
    let MeansRequest { names, runs } = serde_json::from_slice(request)?;
    let digest = |RunFigures { axes, seed, metrics }| {
        let named =
            metrics.into_iter().map(|(index, value)| Some((names.get(index)?.clone(), value)));
        let metrics: Option<Vec<_>> = named.collect();
        let metrics = metrics.ok_or_else(|| RefusedOutput {
            text: format!("a run refers to a figure that is none of the {} names", names.len()),
            diagnostics: Vec::new(),
        })?;
        Ok(Digest { axes, seed, is_simulated: true, metrics })
    };
    runs.into_iter().map(digest).collect()
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
    let plan = Plan::parse_with(&request.file, &request.text, &settings, &OwnAlgorithms::default())
        .map_err(|wrong| RefusedOutput { text: wrong.to_string(), diagnostics: wrong.0 })?;
    let inexact = plan.points.iter().map(|point| point.scenario.seed).find(|seed| *seed > MAX_SEED);
    if let Some(seed) = inexact {
        let text = format!(
            "the seed {seed} is above {MAX_SEED}, the maximum here, since numbers of JavaScript \
             are exact up to it: choose another seed, or run the scenario by `fairwave run`"
        );
        return Err(RefusedOutput { text, diagnostics: Vec::new() });
    }
    Ok(plan)
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
        let seed = point.scenario.seed;
        let mut command = command("run", request, &point.picks);
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
    let mut sweep = command("sweep", request, &[]);
    sweep.extend(request.seed.map(|seed| format!(" --seed {seed}")));
    PlanOutput { question, points, seeds: plan.seeds, sweep, warnings, network, written }
}

/// The command `verb` on the scenario of a request, with its settings and further ones.
fn command(verb: &str, request: &Request, further: &[String]) -> String {
    let file = request.saved_as.as_ref().unwrap_or(&request.file);
    let mut command = format!("fairwave {verb} {}", quoted(file));
    for setting in request.settings.iter().chain(further) {
        command += &format!(" --set {}", quoted(setting));
    }
    command
}

/// The run that a request means.
fn job(request: &Request, plan: &Plan) -> Result<Job, RefusedOutput> {
    let point = plan.points.get(request.point).ok_or_else(|| {
        let count = plan.points.len();
        let text = format!("there is no point {}: the plan has {count}, from 0 on", request.point);
        RefusedOutput { text, diagnostics: Vec::new() }
    })?;
    Ok(Job { point: request.point, seed: point.scenario.seed })
}

/// Makes a run that leaves its files at `output`.
fn execute(
    plan: &Plan,
    job: Job,
    output: Output<'_>,
    goes_on: &mut dyn FnMut(f64) -> bool,
) -> Result<Run, Error> {
    let whole_s = plan.points[job.point].scenario.duration.as_secs_f64();
    let mut watch = |now: Instant| goes_on(now.as_nanos() as f64 / 1e9 / whole_s);
    execute_while(plan, job, output, &mut watch)
}

/// Makes a run that keeps no files.
fn figures(
    request: &Request,
    plan: &Plan,
    goes_on: &mut dyn FnMut(f64) -> bool,
) -> Result<Digest, RefusedOutput> {
    let job = job(request, plan)?;
    Ok(Digest::of(&execute(plan, job, Output::Nothing, goes_on)?))
}

/// Makes a run whose files are kept in the run directory `place`.
fn perform(
    request: &Request,
    plan: &Plan,
    place: &Path,
    goes_on: &mut dyn FnMut(f64) -> bool,
) -> Result<RunOutput, RefusedOutput> {
    let job = job(request, plan)?;
    let run = execute(plan, job, Output::Full(place), goes_on)?;
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
        assert_eq!(found["plan"]["sweep"], "fairwave sweep 'my file.toml' --seed 7");
    }

    #[test]
    fn a_command_names_the_file_that_an_edited_text_is_saved_as() {
        let file = "scenarios/rate-anomaly.toml";
        let found = planned(&json!({ "file": file, "text": TEXT, "saved_as": "my anomaly.toml" }));
        let command = found["plan"]["points"][0]["command"].as_str().expect("a command");
        assert!(command.starts_with("fairwave run 'my anomaly.toml' --set "), "{command}");
        assert_eq!(found["plan"]["sweep"], "fairwave sweep 'my anomaly.toml'");
    }

    /// Two points with two seeds each, by figures alone, and their means. The link loses packets,
    /// so that the seeds differ.
    #[test]
    fn figures_of_runs_become_means_of_points() {
        let text = TEXT.replace("\"l\", ends", "\"l\", loss = 0.01, ends");
        let mut names: Vec<String> = Vec::new();
        let mut runs = Vec::new();
        for (point, seed) in [(0, 1), (0, 2), (1, 1), (1, 2)] {
            let request = json!({ "text": text, "settings": ["duration=4 s"], "seed": seed,
                "point": point, "only_figures": true });
            let place = Path::new("no/such/directory");
            let answer = run(request.to_string().as_bytes(), place, &mut |_| true);
            let found: Value = serde_json::from_slice(&answer).expect("JSON");
            assert!(found["figures"].is_object() && !place.exists(), "{found}");
            let mut metrics = Vec::new();
            for metric in found["figures"]["metrics"].as_array().expect("figures") {
                let name = metric[0].as_str().expect("a name");
                let index = names.iter().position(|known| known == name).unwrap_or_else(|| {
                    names.push(name.to_owned());
                    names.len() - 1
                });
                metrics.push(json!([index, metric[1]]));
            }
            runs.push(
                json!({ "axes": found["figures"]["axes"], "seed": seed, "metrics": metrics }),
            );
        }
        let request = json!({ "names": names, "runs": runs }).to_string();
        let found: Value = serde_json::from_slice(&means(request.as_bytes())).expect("JSON");
        let points = found["means"]["points"].as_array().expect("points");
        assert_eq!(points.len(), 2);
        assert_eq!(points[1]["axes"], json!({ "link.l.delay": "2 ms" }));
        assert_eq!(points[1]["seeds"], json!([1, 2]));
        let goodput = &points[0]["metrics"]["flow.f.goodput_mbps"];
        assert_eq!(goodput["n"], 2);
        assert!(goodput["half_width"].as_f64().is_some_and(|half| half > 0.0), "{goodput}");
        let csv = found["means"]["csv"].as_str().expect("a table");
        assert!(
            csv.starts_with("link.l.delay,metric,runs,mean,low,high,std_dev\r\n1 ms,"),
            "{csv}"
        );
        assert!(found["means"]["answer"][0].as_str().is_some_and(|text| text.contains(" to ")));
        let wrong = json!({ "names": [], "runs": runs }).to_string();
        let found: Value = serde_json::from_slice(&means(wrong.as_bytes())).expect("JSON");
        assert!(found["refused"]["text"].is_string(), "{found}");
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
    fn a_seed_that_a_page_cannot_hold_is_refused() {
        let written = TEXT.replace("duration", "seed = 9007199254740993\nduration");
        for request in [
            json!({ "text": TEXT, "seed": 9_007_199_254_740_992_u64 }),
            json!({ "text": TEXT, "settings": ["seed=9007199254740993"] }),
            json!({ "text": written }),
        ] {
            let found = planned(&request);
            let text = found["refused"]["text"].as_str().expect("words");
            assert!(text.contains("is above 9007199254740991"), "{text}");
        }
        let found = planned(&json!({ "text": TEXT, "seed": 9_007_199_254_740_991_u64 }));
        assert_eq!(found["plan"]["points"][0]["seed"], 9_007_199_254_740_991_u64);
    }

    #[test]
    fn a_request_that_is_none_is_refused() {
        for request in ["", "1", "{\"texts\": 1}"] {
            let found: Value = serde_json::from_slice(&plan(request.as_bytes())).expect("JSON");
            assert!(found["refused"]["text"].is_string(), "{found}");
        }
    }
}
