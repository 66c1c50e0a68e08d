//! Heat maps of a matrix: algorithms from top to bottom, points of the scenario's sweep from left
//! to right.

use super::findings::Findings;
use super::grid::{Entry, Grid};
use super::measure::FIGURES;
use super::{ALGORITHM, COMPETING, HOST, KERNEL, SIMULATOR, distinct};
use fairwave_lab::plot::{Content, Figure, Map};
use fairwave_lab::points::Point;

/// A figure and its explanation.
#[derive(Clone, Debug)]
pub(super) struct Exhibit {
    /// Its name in files.
    pub(super) id: String,
    /// The drawing.
    pub(super) figure: Figure,
    /// Explanation of the figure.
    pub(super) help: &'static str,
}

/// A map for each choice of competing flows and each figure that was measured with it.
pub(super) fn exhibits(grid: &Grid, findings: &Findings) -> Vec<Exhibit> {
    let entries = &grid.kernel.entries;
    let competitors = distinct(entries.iter().map(|entry| entry.competing.to_string()));
    let (columns, x_label) = columns(entries);
    let mut exhibits = Vec::new();
    for competing in &competitors {
        for figure in &FIGURES {
            let (rows, cells) = cells(entries, findings, competing, figure.name);
            if cells.iter().flatten().all(Option::is_none) {
                continue;
            }
            let names = columns.iter().map(|axes| name(axes)).collect();
            let map = Map { columns: names, rows, cells, line: Vec::new() };
            let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
            let competing_id: String = competing.chars().map(plain).collect();
            exhibits.push(Exhibit {
                id: format!("{}-{competing_id}", figure.name),
                help: figure.help,
                figure: Figure {
                    title: format!("{}, {competing}", figure.title),
                    x_label: x_label.clone(),
                    y_label: String::new(),
                    y_range: figure.range,
                    content: Content::Map(map),
                },
            });
        }
    }
    exhibits
}

type Axes = [(String, String)];

/// The combinations of the scenario's axes, and the label of their axis.
fn columns(entries: &[Entry]) -> (Vec<Vec<(String, String)>>, String) {
    let columns = distinct(entries.iter().map(|entry| entry.axes.clone()));
    let keys = columns.first().into_iter().flatten();
    let last = |(key, _): &(String, String)| key.rsplit('.').next().unwrap_or(key).to_owned();
    (columns.clone(), keys.map(last).collect::<Vec<_>>().join(", "))
}

fn name(axes: &Axes) -> String {
    let values: Vec<&str> = axes.iter().map(|(_, value)| value.trim_matches('"')).collect();
    if values.is_empty() { "the scenario".to_owned() } else { values.join(", ") }
}

/// The rows of a map, in which each row of the kernel is followed by the simulator's, with their
/// cells.
fn cells(
    entries: &[Entry],
    findings: &Findings,
    competing: &str,
    figure: &str,
) -> (Vec<String>, Vec<Vec<Option<f64>>>) {
    let algorithms = distinct(entries.iter().map(|entry| entry.algorithm.clone()));
    let columns = distinct(entries.iter().map(|entry| entry.axes.clone()));
    let is_in = |point: &&Point, host: &str| of(point, HOST) == Some(host);
    let hosts = [KERNEL, SIMULATOR];
    let hosts = hosts.iter().filter(|host| findings.points.iter().any(|p| is_in(&p, host)));
    let hosts: Vec<&str> = hosts.copied().collect();
    let (mut rows, mut cells) = (Vec::new(), Vec::new());
    for algorithm in &algorithms {
        for host in &hosts {
            let row = columns
                .iter()
                .map(|axes| value(findings, [host, algorithm, competing], axes, figure));
            let row: Vec<Option<f64>> = row.collect();
            if *host == SIMULATOR && row.iter().all(Option::is_none) {
                continue;
            }
            rows.push(if *host == KERNEL {
                algorithm.clone()
            } else {
                format!("{algorithm}, simulated")
            });
            cells.push(row);
        }
    }
    (rows, cells)
}

fn of<'p>(point: &'p Point, key: &str) -> Option<&'p str> {
    point.axes.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
}

fn value(findings: &Findings, place: [&str; 3], axes: &Axes, figure: &str) -> Option<f64> {
    let is_there = |point: &&Point| {
        [HOST, ALGORITHM, COMPETING]
            .iter()
            .zip(place)
            .all(|(key, value)| of(point, key) == Some(value))
            && axes.iter().all(|(key, value)| of(point, key) == Some(value.trim_matches('"')))
    };
    Some(findings.points.iter().find(is_there)?.metric(figure)?.mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulation::matrix::{Competing, Flows, Half};
    use fairwave_lab::points::Digest;
    use fairwave_scenario::OwnAlgorithms;
    use fairwave_scenario::plan::Plan;

    fn grid() -> Grid {
        let entry = |algorithm: &str, delay: &str| Entry {
            algorithm: algorithm.to_owned(),
            competing: Competing::Beside("cubic".to_owned()),
            axes: vec![("link.a-b.delay".to_owned(), format!("\"{delay}\""))],
            flows: Flows::default(),
        };
        let places = [("reno", "5 ms"), ("reno", "40 ms"), ("bbr", "5 ms"), ("bbr", "40 ms")];
        let plan = || Plan {
            question: String::new(),
            points: Vec::new(),
            seeds: 1,
            own: OwnAlgorithms::default(),
        };
        let half = |entries| Half { plan: plan(), entries };
        let entries = places.map(|(algorithm, delay)| entry(algorithm, delay)).to_vec();
        Grid { kernel: half(entries), simulator: half(Vec::new()) }
    }

    fn findings(runs: &[(&str, &str, &str, f64)]) -> Findings {
        let digest = |&(host, algorithm, delay, share): &(&str, &str, &str, f64)| {
            let axes = [
                (HOST, host),
                (ALGORITHM, algorithm),
                (COMPETING, "beside cubic"),
                ("link.a-b.delay", delay),
            ];
            let axes = axes.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
            Digest {
                axes,
                seed: 1,
                is_simulated: false,
                metrics: vec![("share_percent".to_owned(), share)],
            }
        };
        let digests: Vec<Digest> = runs.iter().map(digest).collect();
        Findings { points: Point::all(&digests), ..Findings::default() }
    }

    #[test]
    fn a_map_has_the_laws_of_both_hosts_over_the_sweep() {
        let findings = findings(&[
            (KERNEL, "reno", "5 ms", 40.0),
            (KERNEL, "bbr", "5 ms", 70.0),
            (KERNEL, "bbr", "40 ms", 20.0),
            (SIMULATOR, "reno", "40 ms", 45.0),
        ]);
        let exhibits = exhibits(&grid(), &findings);
        let [exhibit] = exhibits.as_slice() else { panic!("{exhibits:?}") };
        assert_eq!(exhibit.id, "share_percent-beside-cubic");
        let Content::Map(map) = &exhibit.figure.content else { panic!("{exhibit:?}") };
        assert_eq!(map.columns, ["5 ms", "40 ms"]);
        assert_eq!(map.rows, ["reno", "reno, simulated", "bbr"]);
        let expected = [[Some(40.0), None], [None, Some(45.0)], [Some(70.0), Some(20.0)]];
        assert_eq!(map.cells, expected);
        assert_eq!(exhibit.figure.x_label, "delay");
        assert!(exhibit.figure.to_svg().expect("it can be drawn").contains("reno, simulated"));
    }

    #[test]
    fn what_nobody_measured_has_no_map() {
        assert!(exhibits(&grid(), &findings(&[])).is_empty());
    }
}
