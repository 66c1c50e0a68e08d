//! `fairwave plot`: figures of earlier runs.

use crate::args::Common;
use crate::outcome::Failure;
use crate::output;
use clap::Args;
use fairwave_lab::plot::{Layout, to_png_as};
use fairwave_lab::report::plot::{PlotOutput, Request};
use fairwave_lab::results::write_file;
use fairwave_units::Metres;
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  fairwave plot out/sweep --y goodput_mbps
  fairwave plot out/sweep --y flow.up.delay_p99_ms --x queue --file delay.png
  fairwave plot out/run --y flows.cwnd_bytes
  fairwave plot out/sweep --y jain --width '85 mm' --file jain.svg
  fairwave plot out/kernel out/simulator --y flows.cwnd_bytes --file both.svg
  fairwave plot out/kernel out/simulator --y windows.srtt_ns --file both.svg

windows has the kernel's connections at each ACK (fairwave emulate --windows). A run without it is
drawn from its flows instead, every record.sample_every.
Each combination of the other axes is a series. A name that does not exist lists the nearest.";

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
    /// Width in print, such as '85 mm' for a column of a paper: text of 8 points, no title, a PNG
    /// of 600 dots per inch [default: for a screen]
    #[arg(long, value_name = "LENGTH", value_parser = printed_width)]
    width: Option<Metres>,
}

/// Widths in print that leave room for axes, in metres: 4 cm to 1 m.
const WIDTHS: std::ops::RangeInclusive<f64> = 0.04..=1.0;

/// A length in millimetres, centimetres or inches.
fn printed_width(text: &str) -> Result<Metres, String> {
    let units = [("mm", 0.001), ("cm", 0.01), ("in", 0.0254)];
    let metres = units.into_iter().find_map(|(unit, metres)| {
        let number = text.trim().strip_suffix(unit)?.trim().parse::<f64>().ok()?;
        Some(number * metres)
    });
    metres
        .filter(|metres| WIDTHS.contains(metres))
        .map(Metres)
        .ok_or_else(|| "expected a length from 4 cm to 1 m, such as '85 mm' or '3.5 in'".to_owned())
}

/// Draws the requested figure, and prints the files' names.
pub(super) fn run(common: &Common, args: &Plot) -> Result<(), Failure> {
    let request = Request { directories: &args.directories, y: &args.y, x: args.x.as_deref() };
    let figure = request.figure()?;
    let layout = args.width.map_or(Layout::SCREEN, Layout::printed);
    let svg = figure.to_svg_as(layout).map_err(Failure::run)?;
    let files = request.files(args.file.as_deref())?;
    for file in &files {
        let is_png = file.extension().is_some_and(|extension| extension == "png");
        let bytes = match is_png {
            true => to_png_as(&svg, layout).map_err(Failure::run)?,
            false => svg.clone().into(),
        };
        write_file(file, &bytes).map_err(Failure::run)?;
    }
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    if common.json {
        let value = PlotOutput { figure: figure.title, files: names };
        return Ok(output::print_json(&json!(value))?);
    }
    Ok(output::print(&format!("{}\n", names.join("\n")))?)
}
