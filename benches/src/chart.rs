//! The chart of the README: simulated seconds and frames that a core handles in a second, beside
//! ns-3, from the newest record of `cargo xtask bench-ns3`.

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
const DECADE: f64 = 60.0;
/// Minimum of the axis in simulated seconds per CPU second, and its number of decades.
const MIN: f64 = 0.1;
const DECADES: i32 = 4;
/// Height of a case and of a bar.
const ROW: f64 = 46.0;
const BAR: f64 = 16.0;
/// Height of the text above the first case.
const HEAD: f64 = 34.0;

/// A case of the record. Times are CPU seconds per simulated second.
#[derive(Debug, PartialEq)]
struct Case {
    name: String,
    theirs_s: f64,
    ours_s: f64,
    ratio: String,
    frames_per_s: f64,
}

/// The chart of the newest record.
fn newest() -> Result<String, String> {
    let runs = fs::read_dir(root().join("benches/runs")).map_err(|error| error.to_string())?;
    let names = runs.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let newest = names.filter(|name| name.ends_with(RECORDS)).max().ok_or("no record of ns-3")?;
    let text = fs::read_to_string(root().join("benches/runs").join(&newest));
    let text = text.map_err(|error| format!("{newest}: {error}"))?;
    let cases = cases(&text);
    if cases.is_empty() {
        return Err(format!("{newest}: no table"));
    }
    let version = version(&text).ok_or_else(|| format!("{newest}: no version of ns-3"))?;
    Ok(draw(&cases, version, &newest))
}

/// The version of ns-3 in the record's last section, without that of Debian's package.
fn version(record: &str) -> Option<&str> {
    let (_, package) = record.rsplit_once("libns3-dev ")?;
    package.split(['-', ',']).next()
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
            frames_per_s: median(cells.get(6)?)?,
        })
    })
    .collect()
}

/// Bars on a logarithmic axis.
fn draw(cases: &[Case], version: &str, record: &str) -> String {
    let height = HEAD + ROW * cases.len() as f64 + 26.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\" role=\"img\" \
         aria-label=\"Simulated seconds per second of a core, Fairwave and ns-3\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"8\" y=\"20\">Simulated seconds per second of a core \
         (benches/runs/{record})</text>\n"
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
        row(&mut svg, HEAD + ROW * index as f64 + 6.0, case, version);
    }
    svg.push_str("</svg>\n");
    svg
}

/// A case's name and its two bars, ours above ns-3's.
fn row(svg: &mut String, top: f64, case: &Case, version: &str) {
    let _ = writeln!(svg, "<text x=\"8\" y=\"{}\">{}</text>", top + 20.0, case.name);
    let [ours, theirs] = [case.ours_s, case.theirs_s].map(|cpu_s| 1.0 / cpu_s);
    let millions = case.frames_per_s / 1e6;
    let labels = [
        format!("Fairwave {ours:.0} s, {millions:.2} million frames"),
        format!("ns-3 {version} {theirs:.2} s (Fairwave: {} times as fast)", case.ratio),
    ];
    let bars = [(ours, "#00664a"), (theirs, "#b5651d")];
    for (index, ((seconds, colour), label)) in bars.into_iter().zip(labels).enumerate() {
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

/// Length of a bar for a number of simulated seconds per second.
fn length(seconds: f64) -> f64 {
    DECADE * (seconds.max(MIN) / MIN).log10()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_table_of_a_record_is_drawn() {
        let head = "ns-3: Debian's libns3-dev 3.37-2, g++\n\n\
                    | case | ns-3 | ours | ratio | target | frames |\n|--|--|--|--|--|--|\n";
        let old = "| old | 1 (1-1) | 1 (1-1) | 1 | 9 | 7 |\n\n";
        let record =
            format!("{head}{old}{head}| new | 1.5 (1-2) | 0.01 (0-1) | 150 | 9 | 1230000 |\n");
        let found = cases(&record);
        let new = Case {
            name: "new".into(),
            theirs_s: 1.5,
            ours_s: 0.01,
            ratio: "150".into(),
            frames_per_s: 1_230_000.0,
        };
        assert_eq!((found.as_slice(), version(&record)), (&[new][..], Some("3.37")));
        let svg = draw(&found, "3.37", "a-ns3.md");
        assert!(svg.contains("Fairwave 100 s, 1.23 million frames"), "{svg}");
        assert!(svg.contains("ns-3 3.37 0.67 s (Fairwave: 150 times as fast)"), "{svg}");
        assert!((length(1.0) - DECADE).abs() < 1e-9, "{}", length(1.0));
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
