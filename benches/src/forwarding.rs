//! `cargo xtask bench-forwarding`: cost of a packet in each queue of an access point. The study
//! `socps` compares Table 4 of its paper with these records.

use crate::machine::{load, processor, words};
use clap::Args;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use xtask::shell::{Outcome, cargo, note, root, run_aside, succeeds};
use xtask::workspace;

/// Options of `bench-forwarding`.
#[derive(Args)]
pub(crate) struct Options {
    /// The core to which it is pinned, if `taskset` is installed.
    #[arg(long, default_value_t = 1)]
    core: u32,
    /// Write the figures to `benches/runs/DATE-forwarding.json` and `.md`. The study embeds the
    /// file that its source names.
    #[arg(long)]
    record: bool,
}

/// Measures, and prints or records the results.
pub(crate) fn bench(options: &Options) -> Outcome {
    let build = ["build", "--release", "-p", "fairwave-benches", "--example", "forwarding"];
    run_aside(cargo(&build))?;
    let before = load();
    let mut reported = measure(options.core)?;
    let facts = reported.as_object_mut().ok_or("the program printed no object")?;
    facts.insert("date".into(), json!(words("date", &["+%F"])?));
    facts.insert("processor".into(), json!(processor().unwrap_or_else(|| "unknown".into())));
    facts.insert("compiler".into(), json!(words("rustc", &["--version"])?));
    facts.insert("load_before".into(), json!(before));
    facts.insert("load_after".into(), json!(load()));
    let text = table(&reported)?;
    println!("{text}");
    if options.record { record(&reported, &text) } else { Ok(()) }
}

fn measure(core: u32) -> Result<Value, String> {
    let program = workspace::target().join("release/examples/forwarding");
    let mut command = Command::new(&program);
    let mut probe = Command::new("taskset");
    probe.args(["-c", &core.to_string(), "true"]);
    if succeeds(probe) {
        command = Command::new("taskset");
        command.args(["-c", &core.to_string()]).arg(&program);
    } else {
        note("without taskset: the scheduler may move the program from core to core");
    }
    let output = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("forwarding: {error}"))
}

/// The figures as Markdown.
fn table(reported: &Value) -> Result<String, String> {
    let schemes = reported["schemes"].as_array().ok_or("the program reported no queue")?;
    let rows = schemes.iter().chain(reported.get("report_over_wfq")).chain([&reported["report"]]);
    let row = |entry: &Value| {
        let number = |key: &str| entry[key].as_f64().map_or("?".into(), |ns| format!("{ns:.1}"));
        let name = entry["name"].as_str().unwrap_or("?");
        let cells = ["least_ns", "median_ns", "mean_ns", "most_ns"].map(number);
        format!("| {name} | {} |\n", cells.join(" | "))
    };
    let word = |key: &str| reported[key].as_str().unwrap_or("?").to_owned();
    Ok(format!(
        "# {}, forwarding\n\n`cargo xtask bench-forwarding --record`. {}; {}; load {} before and \
         {} after. One packet of {} bytes in and one out, {} hosts with packets waiting, {} \
         repetitions of {} packets; \"report\" is a report checked and its weight set (over \
         H-FSC). Nanoseconds for each.\n\n\
         | queue | least | median | mean | most |\n|---|---|---|---|---|\n{}",
        word("date"),
        word("processor"),
        word("compiler"),
        word("load_before"),
        word("load_after"),
        reported["packet_bytes"],
        reported["hosts"],
        reported["repetitions"],
        reported["packets_per_repetition"],
        rows.map(row).collect::<String>(),
    ))
}

fn record(reported: &Value, text: &str) -> Outcome {
    let date = reported["date"].as_str().unwrap_or("undated");
    let pretty = serde_json::to_string_pretty(reported).map_err(|error| error.to_string())? + "\n";
    for (ending, content) in [("json", pretty.as_str()), ("md", text)] {
        let path = root().join(format!("benches/runs/{date}-forwarding.{ending}"));
        fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))?;
        note(&format!("wrote {}", path.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_row_for_each_queue_and_one_for_reports() {
        let entry = |name: &str| json!({ "name": name, "least_ns": 1.0, "median_ns": 2.04 });
        let reported = json!({
            "schemes": [entry("fifo"), entry("socps")], "report": entry("report"), "hosts": 8,
        });
        let text = table(&reported).expect("there are schemes");
        assert!(text.contains("| socps | 1.0 | 2.0 | ? | ? |\n| report | 1.0 |"), "{text}");
        assert!(table(&json!({})).is_err());
    }
}
