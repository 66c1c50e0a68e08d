//! The page and the CSV.

use super::path::{FLOWS, MBPS, Path, RUN_S, WARM_UP_S};
use std::fmt::Write;

/// Results of a path, in the order of [`FLOWS`].
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) path: Path,
    /// Goodput in Mbps by sockets of the kernel, and simulated.
    pub(super) emulated: Vec<f64>,
    pub(super) simulated: Vec<f64>,
    /// Reason for which the emulator did not keep real time.
    pub(super) late: Option<String>,
}

/// The page in Markdown.
pub(super) fn page(facts: &str, rows: &[Row]) -> String {
    let mut text = format!(
        "# CCID 3 beside the kernel's Reno and CUBIC\n\n\
         Written by `cargo xtask bench-dccp --record`; do not edit. {facts}.\n\n\
         Wires of {MBPS} Mbps between two namespaces, with queues of rate times round trip and \
         losses at random towards the receiver. CCID 3 is the code of `fairwave dccp`, Reno and \
         CUBIC are the kernel's TCP; all send as much as they may for {RUN_S} s, of which the \
         last {} s count, with one seed. Goodput in Mbps, and in brackets that of the simulator, \
         which has the same scenario with the stack linux-6. All runs: \
         [ccid3-paths.csv](ccid3-paths.csv). A run marked * did not keep real time.\n",
        RUN_S - WARM_UP_S
    );
    let tables = [(false, "A wire for each"), (true, "One wire for all three")];
    for (is_shared, title) in tables {
        let _ = write!(
            text,
            "\n## {title}\n\n| round trip, ms | loss, % | CCID 3 | Reno | CUBIC |\n\
             |---:|---:|---:|---:|---:|\n"
        );
        for row in rows.iter().filter(|row| row.path.is_shared == is_shared) {
            let mark = if row.late.is_some() { " *" } else { "" };
            let both = row.emulated.iter().zip(&row.simulated);
            let cells: Vec<String> = both
                .map(|(emulated, simulated)| format!("{emulated:.2} ({simulated:.2})"))
                .collect();
            let Path { rtt_ms, loss, .. } = row.path;
            let _ = writeln!(text, "| {rtt_ms}{mark} | {} | {} |", 1e2 * loss, cells.join(" | "));
        }
    }
    text
}

/// Every run as CSV.
pub(super) fn csv(rows: &[Row]) -> String {
    let mut text = "rtt_ms,loss,shared,flow,emulated_mbps,simulated_mbps,late\n".to_owned();
    for Row { path, emulated, simulated, late } in rows {
        let Path { rtt_ms, loss, is_shared } = path;
        let late = late.as_deref().unwrap_or_default().replace('"', "'");
        for ((name, emulated), simulated) in FLOWS.into_iter().zip(emulated).zip(simulated) {
            let _ = writeln!(
                text,
                "{rtt_ms},{loss},{is_shared},{name},{emulated:.4},{simulated:.4},\"{late}\""
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_beside_the_simulators() {
        let path = |is_shared| Path { rtt_ms: 50, loss: 0.001, is_shared };
        let row = |is_shared, late: Option<&str>| Row {
            path: path(is_shared),
            emulated: vec![1.0, 2.0, 3.0],
            simulated: vec![1.5, 2.5, 3.5],
            late: late.map(str::to_owned),
        };
        let rows = [row(false, None), row(true, Some("late"))];
        let page = page("facts", &rows);
        assert!(page.contains("| 50 | 0.1 | 1.00 (1.50) | 2.00 (2.50) | 3.00 (3.50) |"), "{page}");
        assert!(page.contains("| 50 * | 0.1 |"), "{page}");
        let csv = csv(&rows);
        assert_eq!(csv.lines().count(), 1 + 6, "{csv}");
        assert!(csv.contains("50,0.001,true,cubic,3.0000,3.5000,\"late\""), "{csv}");
    }
}
