//! The page and the CSV.

use super::judged::{BEHIND_S, DAMAGED, Judged, RUNS, WINDOW_S};
use super::stream::{FREEZE_S, Stream, Way};
use std::fmt::Write;

/// A run, and its result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) stream: Stream,
    pub(super) judged: Judged,
    /// Goodput of each resident after the gap in kbps.
    pub(super) residents_kbps: Vec<f64>,
    /// Reason for which the emulator did not keep real time.
    pub(super) late: Option<String>,
}

/// The page in Markdown.
pub(super) fn page(facts: &str, rows: &[Row]) -> String {
    let (away, kbps) =
        rows.first().map_or(("", 0), |row| (row.stream.away.as_str(), row.stream.rate_kbps));
    let mut text = format!(
        "# Video across a handover\n\n\
         Written by `cargo xtask bench-video --record`; do not edit. {facts}.\n\n\
         A mobile leaves its access point and comes, after a gap, to one with nine residents that \
         send 503 kbps each (802.11b, 11 Mbps, 25 ms to the host: the network of the study \
         tfrc-handover). In the mobile's namespace ffmpeg encodes its test source (640x360, 25 \
         pictures a second, x264, {kbps} kbps, a key frame a second, MPEG-TS), at the host another \
         ffmpeg receives, decodes and shows each picture when it arrives. The mobile's device is \
         `{away}` in the gap. The residents are simulated; all programs are real, with a real-time \
         priority, so that other work on the machine does not delay them.\n\n\
         - relay: `fairwave dccp relay` inside UDP; congestion control is notified of the handover \
         (remedies B' and C), and datagrams older than 200 ms are dropped (D).\n\
         - relay-blind: the same with `--no-handovers` at both ends.\n\
         - tcp: the kernel's TCP. udp: UDP alone.\n\
         - rtp-gcc: RTP by Fairwave's machine of GCC. It sees no handovers.\n\n\
         The encoder's rate is fixed in all of them: ffmpeg has no way to change it while it runs, \
         so that REMB, the relay's socket and GCC's target reach nobody. GCC then paces only, as \
         its pacer holds nothing for more than 2 s.\n\n\
         Figures are of the time from the beginning of the gap, as `ip monitor` reports it, until \
         {WINDOW_S} s after its end. freezes: times of {FREEZE_S} s or more without a change of \
         the picture (ffmpeg's freezedetect), the longest, and their sum. back: from the end of \
         the gap until {RUNS} pictures come within a second, none more than {BEHIND_S} s behind \
         the usual. behind: the longest delay of a picture beyond the usual. SSIM: mean similarity \
         of the pictures that came with those of the source; damaged: below {DAMAGED}. lost: \
         pictures that never came. residents: goodput after the gap, mean and worst of the nine. \
         Cells have a figure for each seed. All runs: \
         [video-handover.csv](video-handover.csv). A run marked * did not keep real time.\n"
    );
    let mut gaps: Vec<u32> = rows.iter().map(|row| row.stream.gap_ms).collect();
    gaps.dedup();
    for gap_ms in gaps {
        let _ = write!(
            text,
            "\n## A gap of {} s\n\n| way | freezes | longest, s | frozen, s | back, s | behind, s \
             | SSIM | damaged | lost, of {} | residents, kbps |\n\
             |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
            f64::from(gap_ms) / 1e3,
            rows.iter()
                .filter(|row| row.stream.gap_ms == gap_ms)
                .map(|row| row.judged.sent)
                .max()
                .unwrap_or(0)
        );
        for way in Way::ALL {
            let of: Vec<&Row> = rows
                .iter()
                .filter(|row| row.stream.gap_ms == gap_ms && row.stream.way == way)
                .collect();
            if !of.is_empty() {
                let _ = writeln!(text, "| {} | {} |", way.name(), cells(&of).join(" | "));
            }
        }
    }
    text
}

/// Cells of a way, with a figure for each run.
fn cells(rows: &[&Row]) -> [String; 9] {
    let each = |figure: &dyn Fn(&Row) -> String| {
        rows.iter().map(|row| figure(row)).collect::<Vec<_>>().join(" / ")
    };
    let of = |figure: fn(&Judged) -> f64, decimals: usize| {
        each(&|row: &Row| format!("{:.decimals$}", figure(&row.judged)))
    };
    [
        each(&|row| {
            let mark = if row.late.is_some() { "*" } else { "" };
            format!("{}{mark}", row.judged.freezes)
        }),
        of(|judged| judged.longest_s, 2),
        of(|judged| judged.frozen_s, 2),
        each(&|row| row.judged.back_s.map_or("never".to_owned(), |back| format!("{back:.2}"))),
        of(|judged| judged.behind_s, 2),
        of(|judged| judged.ssim, 3),
        of(|judged| judged.damaged as f64, 0),
        of(|judged| judged.lost as f64, 0),
        each(&|row| format!("{:.0}, {:.0}", mean(&row.residents_kbps), worst(&row.residents_kbps))),
    ]
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn worst(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Every run as CSV.
pub(super) fn csv(rows: &[Row]) -> String {
    let mut text = "way,away,encoder_kbps,gap_ms,seed,gap_measured_s,freezes,longest_s,frozen_s,\
                    back_s,behind_s,ssim,damaged,sent,lost,residents_mean_kbps,\
                    residents_worst_kbps,late\n"
        .to_owned();
    for Row { stream, judged, residents_kbps, late } in rows {
        let back = judged.back_s.map_or(String::new(), |back| format!("{back:.3}"));
        let _ = writeln!(
            text,
            "{},{},{},{},{},{:.4},{},{:.3},{:.3},{back},{:.3},{:.4},{},{},{},{:.1},{:.1},\"{}\"",
            stream.way.name(),
            stream.away,
            stream.rate_kbps,
            stream.gap_ms,
            stream.seed,
            judged.gap_s,
            judged.freezes,
            judged.longest_s,
            judged.frozen_s,
            judged.behind_s,
            judged.ssim,
            judged.damaged,
            judged.sent,
            judged.lost,
            mean(residents_kbps),
            worst(residents_kbps),
            late.as_deref().unwrap_or_default().replace('"', "'")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(way: Way, seed: u32, back_s: Option<f64>) -> Row {
        let judged = Judged {
            freezes: 1,
            longest_s: 1.25,
            frozen_s: 1.25,
            back_s,
            behind_s: 0.5,
            ssim: 0.972,
            damaged: 3,
            sent: 250,
            lost: 25,
            gap_s: 1.0,
        };
        let away = "no-carrier".to_owned();
        let late = (seed == 2).then(|| "late".to_owned());
        let stream = Stream { way, gap_ms: 1_000, seed, away, rate_kbps: 420 };
        Row { stream, judged, residents_kbps: vec![500.0, 400.0], late }
    }

    #[test]
    fn a_way_has_a_figure_for_each_seed() {
        let rows = [row(Way::Udp, 1, Some(0.04)), row(Way::Udp, 2, None)];
        let page = page("facts", &rows);
        let cells = "| udp | 1 / 1* | 1.25 / 1.25 | 1.25 / 1.25 | 0.04 / never | 0.50 / 0.50 | \
                     0.972 / 0.972 | 3 / 3 | 25 / 25 | 450, 400 / 450, 400 |";
        assert!(page.contains(cells), "{page}");
        assert!(page.contains("## A gap of 1 s\n") && page.contains("lost, of 250"), "{page}");
        let csv = csv(&rows);
        assert_eq!(csv.lines().count(), 3);
        assert!(csv.contains("udp,no-carrier,420,1000,2,1.0000,1,1.250,1.250,,0.500,"), "{csv}");
    }
}
