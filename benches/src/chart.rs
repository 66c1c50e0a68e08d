//! The chart of the README: cost of a simulated second in ns-3 and in Fairwave, from the newest
//! record of `cargo xtask bench-ns3`.

use std::fmt::Write;
use std::fs;
use xtask::shell::root;

/// Path of the chart.
const CHART: &str = "docs/speed.svg";
/// Ending of the records' file names.
const RECORDS: &str = "-ns3.md";
/// Width of the whole drawing, of the names of cases, and of a decade, in pixels.
const WIDTH: f64 = 770.0;
const NAMES: f64 = 310.0;
const DECADE: f64 = 92.0;
/// Minimum of the axis in CPU seconds per simulated second, and its number of decades.
const MIN: f64 = 0.001;
const DECADES: i32 = 4;
/// Height of a case and of a bar.
const ROW: f64 = 46.0;
const BAR: f64 = 16.0;
/// Height of the text above the first case.
const HEAD: f64 = 34.0;

/// A case of the record.
#[derive(Debug, PartialEq)]
struct Case {
    name: String,
    theirs_s: f64,
    ours_s: f64,
    ratio: String,
}

/// The chart of the newest record.
fn newest() -> Result<String, String> {
    let runs = fs::read_dir(root().join("benches/runs")).map_err(|error| error.to_string())?;
    let names = runs.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let newest = names.filter(|name| name.ends_with(RECORDS)).max().ok_or("no record of ns-3")?;
    let text = fs::read_to_string(root().join("benches/runs").join(&newest));
    let cases = cases(&text.map_err(|error| format!("{newest}: {error}"))?);
    if cases.is_empty() { Err(format!("{newest}: no table")) } else { Ok(draw(&cases, &newest)) }
}

/// The rows of the record's last table of cases.
fn cases(record: &str) -> Vec<Case> {
    let section = record.rsplit_once("| case ").map_or("", |(_, section)| section);
    let rows = section.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let median = |cell: &str| cell.split(' ').next()?.parse().ok();
        Some(Case {
            name: (*cells.get(1)?).to_owned(),
            theirs_s: median(cells.get(2)?)?,
            ours_s: median(cells.get(3)?)?,
            ratio: (*cells.get(4)?).to_owned(),
        })
    })
    .collect()
}

/// Bars on a logarithmic axis.
fn draw(cases: &[Case], record: &str) -> String {
    let height = HEAD + ROW * cases.len() as f64 + 26.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\" role=\"img\" \
         aria-label=\"CPU seconds per simulated second, ns-3 and Fairwave\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"8\" y=\"20\">CPU seconds per simulated second (benches/runs/{record})</text>\n"
    );
    for decade in 0..=DECADES {
        let (x, bottom) = (NAMES + DECADE * f64::from(decade), height - 22.0);
        let value = MIN * 10_f64.powi(decade);
        let _ = writeln!(
            svg,
            "<line x1=\"{x}\" y1=\"{HEAD}\" x2=\"{x}\" y2=\"{bottom}\" stroke=\"#ccc\"/>\
             <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">{value}</text>",
            height - 8.0
        );
    }
    for (index, case) in cases.iter().enumerate() {
        row(&mut svg, HEAD + ROW * index as f64 + 6.0, case);
    }
    svg.push_str("</svg>\n");
    svg
}

/// A case's name and its two bars, ns-3's above ours.
fn row(svg: &mut String, top: f64, case: &Case) {
    let _ = writeln!(svg, "<text x=\"8\" y=\"{}\">{}</text>", top + 20.0, case.name);
    let ours = format!("Fairwave {} ({} times faster)", case.ours_s, case.ratio);
    let theirs = format!("ns-3 {}", case.theirs_s);
    let bars = [(case.theirs_s, "#b5651d", theirs), (case.ours_s, "#00664a", ours)];
    for (index, (seconds, colour, label)) in bars.into_iter().enumerate() {
        let (y, width) = (top + (BAR + 2.0) * index as f64, length(seconds));
        let _ = writeln!(
            svg,
            "<rect x=\"{NAMES}\" y=\"{y}\" width=\"{width:.1}\" height=\"{BAR}\" \
             fill=\"{colour}\"/><text x=\"{:.1}\" y=\"{}\" font-size=\"12\">{label}</text>",
            NAMES + width + 5.0,
            y + 12.5,
        );
    }
}

/// Length of a bar for a number of CPU seconds.
fn length(seconds: f64) -> f64 {
    DECADE * (seconds.max(MIN) / MIN).log10()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_table_of_a_record_is_drawn() {
        let head = "| case | ns-3 | ours | ratio |\n|--|--|--|--|\n";
        let old = "| old | 1 (1-1) | 1 (1-1) | 1 |\n\n";
        let record = format!("{head}{old}{head}| new | 1.5 (1-2) | 0.01 (0-1) | 150 |\n");
        let found = cases(&record);
        let new = Case { name: "new".into(), theirs_s: 1.5, ours_s: 0.01, ratio: "150".into() };
        assert_eq!(found, [new]);
        let svg = draw(&found, "a-ns3.md");
        assert!(svg.contains("Fairwave 0.01 (150 times faster)") && svg.contains("ns-3 1.5"));
        assert!((length(0.01) - DECADE).abs() < 1e-9, "{}", length(0.01));
    }

    #[test]
    fn the_chart_is_that_of_the_newest_record() {
        let drawn = fs::read_to_string(root().join(CHART)).unwrap_or_default();
        assert!(
            drawn == newest().unwrap(),
            "{CHART} is not of the newest record: cargo xtask golden"
        );
    }

    #[test]
    #[ignore = "rewrites the chart"]
    fn bless() {
        fs::write(root().join(CHART), newest().unwrap()).unwrap();
    }
}
