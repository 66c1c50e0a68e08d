//! Labels of points, which name the directories of their runs.

use fairwave_units::Seed;
use std::collections::BTreeMap;

/// Maximum length of a label in bytes: file systems take names of 255.
const MAX_LABEL_BYTES: usize = 200;
/// Number of hexadecimal digits of a hash.
const HASH_DIGITS: usize = 16;

/// Keys and values of a point.
type Axes = [(String, String)];

/// The label of each point of a plan, by its axes. Characters that shells or file systems treat
/// specially are `_` in it. Where two points would share a label, or it would be too long, it ends
/// with a hash.
pub(super) fn labels<'a>(points: impl Iterator<Item = &'a Axes> + Clone) -> Vec<String> {
    let mut labels: Vec<String> = points.clone().map(plain).collect();
    let mut times = BTreeMap::<String, usize>::new();
    for label in &labels {
        *times.entry(label.clone()).or_default() += 1;
    }
    for (label, axes) in labels.iter_mut().zip(points) {
        if times[label] > 1 || label.len() > MAX_LABEL_BYTES {
            // No label without a hash has a tilde.
            let hash = format!("~{:0HASH_DIGITS$x}", hash(axes));
            label.truncate(label.floor_char_boundary(MAX_LABEL_BYTES - hash.len()));
            *label += &hash;
        }
    }
    labels
}

/// Whether a point with these keys and values, in any order, can have this label. The other points
/// of its plan decide whether its label ends with a hash.
pub(super) fn is_label(name: &str, axes: &Axes) -> bool {
    let hashed = name.rsplit_once('~').filter(|(_, hash)| hash.len() == HASH_DIGITS);
    let shown = hashed.map_or(name, |(shown, _)| shown);
    let mut left: Vec<String> = axes.iter().map(|(key, value)| part(key, value)).collect();
    for part in shown.split(',') {
        match left.iter().position(|whole| whole == part) {
            Some(place) => drop(left.swap_remove(place)),
            // Before a hash the label may be cut.
            None => return hashed.is_some() && left.iter().any(|whole| whole.starts_with(part)),
        }
    }
    left.is_empty() || hashed.is_some()
}

/// Keys, without the tables that they are in, and values.
fn plain(axes: &Axes) -> String {
    axes.iter().map(|(key, value)| part(key, value)).collect::<Vec<_>>().join(",")
}

/// A key, without the table that it is in, and its value.
fn part(key: &str, value: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "+-.".contains(c) { c } else { '_' };
    let key = key.rsplit('.').next().unwrap_or(key);
    format!("{key}={}", value.trim_matches('"').chars().map(plain).collect::<String>())
}

/// A hash over the keys and values of a point, the same in each version of Fairwave.
fn hash(axes: &Axes) -> u64 {
    let axes = axes.iter().map(|(key, value)| format!("{key}\0{value}\0"));
    Seed(0).stream(&axes.collect::<String>()).next_u64()
}

#[cfg(test)]
mod tests {
    use crate::plan::{Plan, Point};

    const SCENARIO: &str = "duration = \"1 s\"\n\
        node = [{ name = \"a\", kind = \"host\" }, { name = \"b\", kind = \"host\" }]\n\
        link = [{ ends = [\"a\", \"b\"] }]\n\
        flow = [{ name = \"up\", from = \"a\", to = \"b\" }]\n\
        [sweep]\n";

    fn labels(sweep: &str) -> Vec<String> {
        let plan = Plan::parse("s", &format!("{SCENARIO}{sweep}"), &[]);
        let plan = plan.unwrap_or_else(|error| panic!("{error}"));
        plan.points.into_iter().map(|point| point.label).collect()
    }

    #[test]
    fn a_label_is_that_of_its_own_point_alone() {
        let long = "x".repeat(300);
        for sweep in [
            "\"tcp.congestion_control\" = [\"reno\", \"cubic\"]\nduration = [\"1 s\", \"2 s\"]",
            "variant = [{ name = \"< 10 ms\" }, { name = \"> 10 ms\" }, { name = \"20 ms\" }]",
            &format!("variant = [{{ name = \"{long}1\" }}, {{ name = \"y{long}2\" }}]"),
        ] {
            let plan = Plan::parse("s", &format!("{SCENARIO}{sweep}"), &[]);
            let points = plan.unwrap_or_else(|error| panic!("{error}")).points;
            for point in &points {
                // A run directory has its axes sorted.
                let mut axes = point.axes.clone();
                axes.sort();
                assert!(Point::is_label(&point.label, &axes), "{}", point.label);
                assert!(!Point::is_label(&point.label, &[]), "{}", point.label);
                assert!(!Point::is_label("queue=20", &axes));
            }
            let last = points.last().expect("a point");
            assert!(!Point::is_label(&last.label, &points[0].axes), "{}", last.label);
        }
    }

    #[test]
    fn usual_labels_have_keys_and_values_alone() {
        let names = labels(
            "\"duration\" = [\"1 s\", \"2 s\"]\n\
             \"tcp.congestion_control\" = [\"reno\", \"ack-loss+compound\"]",
        );
        assert_eq!(names[3], "duration=2_s,congestion_control=ack-loss+compound");
        assert!(names.iter().all(|name| !name.contains('~')), "{names:?}");
        assert_eq!(labels("seeds = 2"), [""]);
    }

    #[test]
    fn points_with_equal_letters_have_a_hash() {
        let names = labels(
            "variant = [{ name = \"< 10 ms\" }, { name = \"> 10 ms\" }, { name = \"20 ms\" }]",
        );
        assert_eq!(names[2], "variant=20_ms");
        assert!(names[..2].iter().all(|name| name.starts_with("variant=__10_ms~")), "{names:?}");
        assert_ne!(names[0], names[1]);
        assert_eq!(names[0].len(), "variant=__10_ms~".len() + 16);
    }

    #[test]
    fn long_labels_are_cut_and_have_a_hash() {
        let long = "x".repeat(300);
        let names =
            labels(&format!("variant = [{{ name = \"{long}1\" }}, {{ name = \"{long}2\" }}]"));
        assert_eq!(names.iter().map(String::len).collect::<Vec<_>>(), [200, 200]);
        assert_ne!(names[0], names[1]);
    }
}
