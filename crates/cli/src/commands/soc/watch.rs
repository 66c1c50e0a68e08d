//! `fairwave soc status --watch`: access points and their stations as they change.

use super::told;
use crate::args::Common;
use crate::args::soc::Watching;
use crate::outcome::Failure;
use crate::screen::{self, Screen};
use crate::{output, stop};
use fairwave_soc_tool::command::words::weights;
use fairwave_soc_tool::status::{StationLine, Status};
use fairwave_units::BitRate;
use serde_json::json;
use std::io::{IsTerminal, stdout};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Interval between two updates.
const EVERY: Duration = Duration::from_secs(1);
/// Heads of the columns.
const HEADS: [&str; 9] = [
    "station",
    "SoC dB",
    "weight",
    "source",
    "age s",
    "signal",
    "Mbps to it",
    "from it",
    "retries",
];

/// Shows them until interrupted, or until an access point ends. Then the terminal is restored, also
/// after a signal such as SIGTERM.
pub(super) fn watch(common: &Common, watching: &Watching) -> Result<(), Failure> {
    let stop = stop::on(&stop::SIGNALS)?;
    if common.json || !stdout().is_terminal() {
        return lines(common, watching, &stop);
    }
    let mut ended = Ok(());
    let kept = screen::keep(EVERY, |is_over| match told::found(watching) {
        _ if is_over || stop.load(Ordering::Relaxed) => ControlFlow::Break(()),
        Ok(found) => ControlFlow::Continue(Some(shown(&found))),
        Err(failure) => {
            ended = Err(failure);
            ControlFlow::Break(())
        }
    });
    kept.map_err(Failure::run)?;
    ended
}

/// Prints the status every second, one below the other.
fn lines(common: &Common, watching: &Watching, stop: &AtomicBool) -> Result<(), Failure> {
    while !stop.load(Ordering::Relaxed) {
        for status in told::found(watching)? {
            match common.json {
                true => output::print_raw(format!("{}\n", json!(status)).as_bytes())?,
                false => told::show(common, &status)?,
            }
        }
        // A signal ends the wait early.
        std::thread::park_timeout(EVERY);
    }
    Ok(())
}

/// A row for each station of each access point.
fn shown(found: &[Status]) -> Screen<'static> {
    let line = |status: &Status| {
        let Status { interface, actuator, accepted, missed, changes, failed, .. } = status;
        let refused: u64 = status.refused.values().sum();
        format!(
            "{interface} ({actuator}): {accepted} reports believed, {missed} missing, {refused} \
             refused, {changes} changes, {failed} failed"
        )
    };
    let heads: Vec<String> = found.iter().map(line).collect();
    let rows = found
        .iter()
        .flat_map(|status| status.stations.iter().map(|one| row(status, one)))
        .collect();
    Screen { headline: format!("{}   (q ends)", heads.join("\n")), heads: &HEADS, rows }
}

fn row(status: &Status, station: &StationLine) -> Vec<String> {
    let figure = |value: Option<f64>, decimals: usize| {
        value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
    };
    let mbps = |bps: Option<u64>| figure(bps.map(|bps| BitRate(bps).as_mbps_f64()), 1);
    vec![
        station.station.clone(),
        figure(station.soc_db, 1),
        weights(status, station, 2),
        station.source.clone(),
        figure(station.age_s, 1),
        figure(station.signal_dbm, 0),
        mbps(station.tx_rate_bps),
        mbps(station.rx_rate_bps),
        station.retries.map_or("-".to_owned(), |count| count.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    #[test]
    fn stations_stand_below_what_holds_of_all() {
        let station = json!({
            "station": "02:00:00:00:00:01", "soc_db": 14.04, "source": "report", "age_s": 0.12,
            "weight": 0.8, "weights": [0.8], "class": "5343:10", "address": null,
            "signal_dbm": -50.0, "noise_dbm": null, "tx_rate_bps": 54_000_000,
            "rx_rate_bps": null, "retries": 3, "failed": 0, "airtime_s": 1.25, "inactive_s": 0.0,
        });
        let station: StationLine = serde_json::from_value(station).expect("a line");
        let status = Status {
            interface: "wlan0".into(),
            actuator: "htb".into(),
            stations: vec![station],
            traffic: vec!["rest".into()],
            accepted: 7,
            ..Status::default()
        };
        let mut terminal = Terminal::new(TestBackend::new(100, 6)).expect("a screen");
        terminal.draw(|frame| screen::draw(frame, &shown(&[status]))).expect("it is drawn");
        let screen = terminal.backend().to_string();
        assert!(screen.contains("wlan0 (htb): 7 reports believed, 0 missing"), "{screen}");
        let line = screen.lines().find(|line| line.contains("02:00:00:00:00:01")).expect("a row");
        let words: Vec<&str> = line.trim_matches('"').split_whitespace().skip(1).collect();
        assert_eq!(words, ["14.0", "0.80", "report", "0.1", "-50", "54.0", "-", "3"]);
    }
}
