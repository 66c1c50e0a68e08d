//! The page and the CSV.

use super::combinations::{Combination, Line};
use super::measured::{Carrier, Measured};
use std::fmt::Write;

/// Results of a combination with one carrier.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) combination: Combination,
    pub(super) carrier: Carrier,
    pub(super) together: Measured,
    /// Each path alone with the same carrier.
    pub(super) singles: Vec<Measured>,
}

/// Goals: of the sum up to a ratio of 2 and beyond, and of the best path.
const OF_SUM: (f64, f64) = (0.95, 0.85);
const OF_BEST: f64 = 0.98;
/// Combinations that the page names as the worst.
const WORST: usize = 5;

impl Row {
    /// Goodput over the sum of what each path carries alone.
    fn of_sum(&self) -> f64 {
        self.together.mbps / self.singles.iter().map(|single| single.mbps).sum::<f64>()
    }

    /// Goodput over that of the best path alone.
    fn of_best(&self) -> f64 {
        let best = self.singles.iter().map(|single| single.mbps).fold(0.0, f64::max);
        self.together.mbps / best
    }

    /// Goodput over the rates of the paths.
    fn of_rates(&self) -> f64 {
        self.together.mbps / self.combination.capacity()
    }

    fn goal(&self) -> f64 {
        if self.combination.ratio <= 2 { OF_SUM.0 } else { OF_SUM.1 }
    }

    fn is_reached(&self) -> bool {
        self.of_sum() >= self.goal() && self.of_best() >= OF_BEST
    }

    fn is_late(&self) -> bool {
        let all = std::iter::once(&self.together).chain(&self.singles);
        all.into_iter().any(|measured| measured.late.is_some())
    }

    /// Counts that explain the result: each path beside what it carries alone.
    fn reason(&self) -> String {
        let paths = self.together.paths_mbps.iter().zip(&self.singles).zip(&self.combination.lines);
        let paths: Vec<String> = paths
            .map(|((mbps, single), line)| {
                let (alone, loss) = (single.mbps, 100.0 * line.loss);
                let Line { mbps: rate, rtt_ms, .. } = line;
                format!("{rate} Mbps, {rtt_ms} ms, {loss} %: {mbps:.1} of {alone:.1} alone")
            })
            .collect();
        let Measured { retransmissions, timeouts, late, .. } = &self.together;
        let late = late.as_ref().map(|why| format!("; late: {why}")).unwrap_or_default();
        format!(
            "{}; {retransmissions} segments repeated, {timeouts} timeouts{late}",
            paths.join("; ")
        )
    }
}

/// The page in Markdown.
pub(super) fn page(facts: &str, rows: &[Row]) -> String {
    let of = |carrier: Carrier| rows.iter().filter(move |row| row.carrier == carrier);
    let mut text = format!(
        "# SHAKE and MPTCP over the same emulated paths\n\n\
         Written by `cargo xtask bench-shake --record`; do not edit. {facts}.\n\n\
         One flow for 8 s, of which the last 5 s count, by the code of `fairwave shake` and by the \
         kernel's MPTCP with Reno, alternately. The widest path has a round trip of 20 ms, the \
         others that times the ratio. Queues hold rate times round trip unless stated, the \
         receive buffer twice the sum of rates times the longest round trip. \"of the sum\": over \
         what each path carries alone with the same code (MPTCP: with the kernel's TCP); \"of the \
         best\": over the best of them; \"of the rates\": over the rates, heads included. The \
         goal is {:.0} % of the sum up to a ratio of 2, {:.0} % beyond, and {:.0} % of the best. \
         All runs: [shake-paths.csv](shake-paths.csv). A run marked * did not keep real time.\n\n\
         | paths | SHAKE Mbps | of the sum | of the best | of the rates | MPTCP Mbps | of the sum \
         | of the best | of the rates |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        100.0 * OF_SUM.0,
        100.0 * OF_SUM.1,
        100.0 * OF_BEST
    );
    for shake in of(Carrier::Shake) {
        let other = of(Carrier::Mptcp).find(|row| row.combination == shake.combination);
        let cells: Vec<String> = [Some(shake), other].into_iter().flatten().map(cells).collect();
        let _ = writeln!(text, "| {} | {} |", shake.combination.name, cells.join(" | "));
    }
    for carrier in Carrier::ALL {
        let (all, reached) = (of(carrier).count(), of(carrier).filter(|r| r.is_reached()).count());
        let _ = write!(text, "\n{} reaches the goal in {reached} of {all}.", carrier.name());
    }
    let mut shake: Vec<&Row> = of(Carrier::Shake).collect();
    shake.sort_by(|a, b| (a.of_sum() / a.goal()).total_cmp(&(b.of_sum() / b.goal())));
    text.push_str("\n\n## The worst of SHAKE\n\n");
    for row in shake.into_iter().take(WORST) {
        let (name, sum) = (&row.combination.name, row.of_sum());
        let _ = writeln!(text, "- {name}: {sum:.3} of the sum. {}.", row.reason());
    }
    text
}

fn cells(row: &Row) -> String {
    let mark = if row.is_late() { " *" } else { "" };
    format!(
        "{:.1}{mark} | {:.3} | {:.3} | {:.3}",
        row.together.mbps,
        row.of_sum(),
        row.of_best(),
        row.of_rates()
    )
}

/// Every run as CSV; those of single paths stand at each combination that they are compared with.
pub(super) fn csv(rows: &[Row]) -> String {
    let mut text = "combination,carrier,rtt_ratio,path,rate_mbps,rtt_ms,loss,goodput_mbps,\
                    of_sum,of_best,retransmissions,timeouts,late\n"
        .to_owned();
    for row in rows {
        let Row { combination, carrier, together, singles } = row;
        let head = format!("\"{}\",{},{}", combination.name, carrier.name(), combination.ratio);
        let tail = |measured: &Measured| {
            let late = measured.late.as_deref().unwrap_or_default().replace('"', "'");
            format!("{},{},\"{late}\"", measured.retransmissions, measured.timeouts)
        };
        let (rates, all) = (combination.capacity(), tail(together));
        let (mbps, sum, best) = (together.mbps, row.of_sum(), row.of_best());
        let _ = writeln!(text, "{head},all,{rates},,,{mbps:.3},{sum:.4},{best:.4},{all}");
        for ((line, single), path) in combination.lines.iter().zip(singles).zip(1..) {
            let Line { mbps, rtt_ms, loss, .. } = line;
            let (alone, counts) = (single.mbps, tail(single));
            let _ = writeln!(text, "{head},{path},{mbps},{rtt_ms},{loss},{alone:.3},,,{counts}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::combinations::all;
    use super::*;

    fn measured(mbps: f64) -> Measured {
        Measured {
            mbps,
            paths_mbps: vec![mbps / 2.0; 2],
            retransmissions: 3,
            timeouts: 1,
            late: None,
        }
    }

    #[test]
    fn shares_are_of_the_same_carrier_alone() {
        let combination = all().remove(0);
        let row = |carrier, mbps, alone: [f64; 2]| Row {
            combination: combination.clone(),
            carrier,
            together: measured(mbps),
            singles: alone.map(measured).into(),
        };
        let rows =
            [row(Carrier::Shake, 95.0, [60.0, 40.0]), row(Carrier::Mptcp, 45.0, [60.0, 30.0])];
        let page = page("facts", &rows);
        assert!(page.contains("| 95.0 | 0.950 | 1.583 | 0.250 | 45.0 | 0.500 | 0.750 |"), "{page}");
        assert!(page.contains("SHAKE reaches the goal in 1 of 1."), "{page}");
        assert!(page.contains("MPTCP reaches the goal in 0 of 1."), "{page}");
        let csv = csv(&rows);
        assert_eq!(csv.lines().count(), 1 + 2 * 3, "{csv}");
        assert!(csv.contains(",MPTCP,1,all,380,,,45.000,0.5000,0.7500,3,1,\"\""), "{csv}");
    }
}
