//! The live table of `fairwave shake connect`: its paths as they change.

use crate::board::{Board, Shown};
use crate::report::{PathOutput, ShakeOutput};
use fairwave_console::live_table::{self, LiveTable};
use fairwave_units::several;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Interval between two drawings; rates and shares are means over it.
const EVERY: Duration = Duration::from_secs(1);
/// Heads of the columns.
const HEADS: [&str; 9] =
    ["interface", "path", "Mbps", "RTT ms", "loss %", "share %", "waiting kB", "min RTT", "is"];
/// The same where a path has a radio: its signal, the rate of its frames, and retries of a hundred.
const HEADS_WITH_RADIO: [&str; 12] = [
    "interface",
    "path",
    "Mbps",
    "RTT ms",
    "loss %",
    "share %",
    "dBm",
    "air Mbps",
    "retries %",
    "waiting kB",
    "min RTT",
    "is",
];

/// A table that is on the terminal until it is dropped.
#[derive(Debug)]
pub(crate) struct Live {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Live {
    /// Draws the figures of `board` on the terminal; q and Ctrl-C set `stop`.
    ///
    /// # Errors
    /// If there can be no thread.
    pub(crate) fn start(board: Board, stop: Arc<AtomicBool>) -> std::io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let run = move || draw(&board, &stop, &seen);
        Ok(Self { over, thread: Some(std::thread::Builder::new().spawn(run)?) })
    }
}

impl Drop for Live {
    /// Restores the terminal.
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // A terminal that cannot be drawn on does not keep connections from being carried.
        self.thread.take().map(JoinHandle::join);
    }
}

fn draw(board: &Board, stop: &AtomicBool, over: &AtomicBool) -> std::io::Result<()> {
    let mut before = board.shown();
    live_table::follow(EVERY, |is_ended| {
        if is_ended {
            stop.store(true, Ordering::Relaxed);
        }
        if stop.load(Ordering::Relaxed) || over.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        let now = board.shown();
        let table = between(&before.output, &now);
        before = now;
        ControlFlow::Continue(Some(table))
    })
}

/// Figures for the time between two states.
fn between(before: &ShakeOutput, now: &Shown) -> LiveTable<'static> {
    let (output, notes) = (&now.output, now.notes.iter().map(String::as_str));
    let seconds = output.seconds - before.seconds;
    let bytes = |path: &PathOutput| {
        let known = before.paths.iter().find(|one| one.via == path.via);
        path.bytes.saturating_sub(known.map_or(0, |one| one.bytes))
    };
    let all: u64 = output.paths.iter().map(bytes).sum();
    let mbps = |bytes: u64| if seconds > 0.0 { bytes as f64 * 8e-6 / seconds } else { 0.0 };
    let ShakeOutput { server, mode, connections, failed, unsent, .. } = output;
    let connections = several(*connections, "connection");
    let first = format!(
        "{server}, {mode}, {:.0} s: {:.3} Mbps, {connections} ({failed} failed), \
         {:.0} kB wait for a path   (q ends)",
        output.seconds,
        mbps(all),
        *unsent as f64 / 1e3,
    );
    let figure = |value: Option<f64>, decimals: usize| {
        value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
    };
    let has_radio = output.paths.iter().any(|path| path.radio.is_some());
    let row = |(id, path): (usize, &PathOutput)| {
        let share = (all > 0).then(|| bytes(path) as f64 * 100.0 / all as f64);
        let mut cells = vec![
            path.via.clone(),
            id.to_string(),
            format!("{:.3}", mbps(bytes(path))),
            figure(path.rtt_ms, 1),
            figure(path.loss.map(|loss| loss * 100.0), 2),
            figure(share, 0),
        ];
        if has_radio {
            let radio = path.radio.unwrap_or_default();
            let known = before.paths.iter().find(|one| one.via == path.via);
            let retries = radio.retries_since(&known.and_then(|one| one.radio).unwrap_or_default());
            cells.push(figure(radio.signal_dbm.map(f64::from), 0));
            cells.push(figure(radio.tx_mbps, 1));
            cells.push(figure(retries.map(|part| part * 100.0), 0));
        }
        cells.extend([
            format!("{:.0}", path.in_flight as f64 / 1e3),
            figure(path.min_rtt_ms, 1),
            path.state().to_owned(),
        ]);
        cells
    };
    let headline: Vec<&str> = std::iter::once(first.as_str()).chain(notes).collect();
    LiveTable {
        headline: headline.join("\n"),
        heads: if has_radio { &HEADS_WITH_RADIO } else { &HEADS },
        rows: output.paths.iter().enumerate().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_shares_are_those_of_the_last_interval() {
        let path = |via: &str, bytes| PathOutput {
            via: via.to_owned(),
            is_up: true,
            bytes,
            in_flight: 42_000,
            rtt_ms: Some(12.34),
            priority: "backup".to_owned(),
            ..PathOutput::default()
        };
        let of = |seconds, bytes: [u64; 2]| ShakeOutput {
            seconds,
            paths: vec![path("wlan0", bytes[0]), path("usb0", bytes[1])],
            ..ShakeOutput::default()
        };
        let before = of(3.0, [500_000, 9_000_000]);
        let now = of(5.0, [2_000_000, 9_500_000]);
        let notes = VecDeque::from(["usb0 can be used".to_owned()]);
        let table = between(&before, &Shown { output: now, notes });
        let screen = live_table::on_terminal(&table, 100, 10);
        // 1.5 MB and 0.5 MB in 2 s.
        for part in ["wlan0", "6.000", "75", "12.3", "42", "usb0", "2.000", "25", "8.000 Mbps"] {
            assert!(screen.contains(part), "{part}: {screen}");
        }
        assert!(screen.contains("usb0 can be used") && screen.contains("backup"), "{screen}");
        // The first table has no interval yet.
        between(&before, &Shown { output: before.clone(), notes: VecDeque::new() });
    }

    /// The statistics are those of a station's answer to `NL80211_CMD_GET_STATION`: -60 dBm,
    /// 54 Mbps, and then 30 retries of 200 frames.
    #[test]
    fn a_radio_has_its_signal_rate_and_retries() {
        let station = Station {
            signal_dbm: Some(-60),
            tx_kbps: Some(54_000),
            tx_packets: Some(700),
            tx_retries: Some(14),
            tx_failed: Some(2),
            ..Station::default()
        };
        let later = Station { tx_packets: Some(900), tx_retries: Some(44), ..station.clone() };
        let wired = PathOutput { via: "usb0".to_owned(), ..PathOutput::default() };
        let of = |seconds, station: &Station| ShakeOutput {
            seconds,
            paths: vec![
                PathOutput {
                    via: "wlan0".to_owned(),
                    radio: Some(RadioOutput::of(station)),
                    ..PathOutput::default()
                },
                wired.clone(),
            ],
            ..ShakeOutput::default()
        };
        let now = Shown { output: of(2.0, &later), notes: VecDeque::new() };
        let table = between(&of(1.0, &station), &now);
        assert_eq!(table.rows[0][6..9], ["-60", "54.0", "15"]);
        assert_eq!(table.rows[1][6..9], ["-", "-", "-"]);
        assert!(table.rows.iter().all(|row| row.len() == table.heads.len()));
        // After a new association the counters begin anew.
        let again = Shown { output: of(3.0, &station), notes: VecDeque::new() };
        assert_eq!(between(&of(2.0, &later), &again).rows[0][8], "-");
        let alone = ShakeOutput { paths: vec![wired.clone()], ..ShakeOutput::default() };
        let alone = Shown { output: alone, notes: VecDeque::new() };
        assert_eq!(between(&ShakeOutput::default(), &alone).heads, HEADS);
    }

    use crate::report::RadioOutput;
    use fairwave_linux::radio::Station;
    use std::collections::VecDeque;
}
