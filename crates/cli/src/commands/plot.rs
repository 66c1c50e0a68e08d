//! `fairwave plot`: figures of earlier runs.

use crate::args::Common;
use crate::outcome::Failure;
use crate::output;
use clap::Args;
use fairwave_lab::plot::to_png;
use fairwave_lab::report::plot::{PlotOutput, Request};
use fairwave_lab::results::write_file;
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  fairwave plot out/sweep --y goodput_mbps
  fairwave plot out/sweep --y flow.up.delay_p99_ms --x queue --file delay.png
  fairwave plot out/run --y flows.cwnd_bytes
  fairwave plot out/kernel out/simulator --y flows.cwnd_bytes --file both.svg
  fairwave plot out/kernel out/simulator --y windows.srtt_ns --file both.svg

windows has the kernel's connections at each ACK (fairwave emulate --windows). A run without it is
drawn from its flows instead, every record.sample_every.
Each combination of the other axes is a series. A name that does not exist lists those that do.";

/// Plot results: a sweep's means over one of its axes, or a series of a run over time
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Plot {
    /// Directory of a sweep or of one run; several runs are drawn over each other
    #[arg(value_name = "DIR", required = true)]
    directories: Vec<PathBuf>,
    /// The figure on the y axis, such as goodput_mbps or flow.up.delay_p99_ms; may be repeated.
    /// Also a column of a run's tables, such as flows.cwnd_bytes
    #[arg(long, value_name = "FIGURE", required = true)]
    y: Vec<String>,
    /// The sweep's axis on the x axis [default: its first axis, or time]
    #[arg(long, value_name = "AXIS")]
    x: Option<String>,
    /// Output file, as .svg or .png [default: both, in the first DIR]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Draws the requested figure, and prints the files' names.
pub(super) fn run(common: &Common, args: &Plot) -> Result<(), Failure> {
    let request = Request { directories: &args.directories, y: &args.y, x: args.x.as_deref() };
    let figure = request.figure()?;
    let svg = figure.to_svg().map_err(Failure::run)?;
    let files = request.files(args.file.as_deref())?;
    for file in &files {
        let is_png = file.extension().is_some_and(|extension| extension == "png");
        let bytes = if is_png { to_png(&svg).map_err(Failure::run)? } else { svg.clone().into() };
        write_file(file, &bytes).map_err(Failure::run)?;
    }
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    if common.json {
        let value = PlotOutput { figure: figure.title, files: names };
        return Ok(output::print_json(&json!(value))?);
    }
    Ok(output::print(&format!("{}\n", names.join("\n")))?)
}
