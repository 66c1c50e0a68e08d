//! `fairwave soc status --watch`: access points and their stations as they change.

use super::words::{weights, words};
use crate::Error;
use crate::status::{StationLine, Status};
use fairwave_console::live_table::{self, LiveTable};
use fairwave_console::{Console, Failure};
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

/// Shows the access points that `found` returns until interrupted, or until one of them ends. Then
/// the terminal is restored, also after a signal such as SIGTERM.
pub(crate) fn watch(
    console: &dyn Console,
    found: impl Fn() -> Result<Vec<Status>, Error>,
) -> Result<(), Failure> {
    let stop = console.stop()?;
    if console.is_json() || !stdout().is_terminal() {
        return lines(console, found, &stop);
    }
    let mut ended = Ok(());
    let followed = live_table::follow(EVERY, |is_over| match found() {
        _ if is_over || stop.load(Ordering::Relaxed) => ControlFlow::Break(()),
        Ok(found) => ControlFlow::Continue(Some(shown(&found))),
        Err(error) => {
            ended = Err(error.into());
            ControlFlow::Break(())
        }
    });
    followed.map_err(Failure::run)?;
    ended
}

/// Prints the status every second, one below the other.
fn lines(
    console: &dyn Console,
    found: impl Fn() -> Result<Vec<Status>, Error>,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    while !stop.load(Ordering::Relaxed) {
        for status in found()? {
            match console.is_json() {
                true => console.print_json_line(&json!(status))?,
                false => console.print(&words(&status))?,
            }
        }
        // A signal ends the wait early.
        std::thread::park_timeout(EVERY);
    }
    Ok(())
}

/// A row for each station of each access point.
fn shown(found: &[Status]) -> LiveTable<'static> {
    let line = |status: &Status| {
        let Status { interface, actuator, accepted, missed, changes, failed, .. } = status;
        let refused: u64 = status.refused.values().sum();
        format!(
            "{interface} ({actuator}): {accepted} reports accepted, {missed} missing, {refused} \
             refused, {changes} changes, {failed} failed"
        )
    };
    let heads: Vec<String> = found.iter().map(line).collect();
    let rows = found
        .iter()
        .flat_map(|status| status.stations.iter().map(|one| row(status, one)))
        .collect();
    LiveTable { headline: format!("{}   (q ends)", heads.join("\n")), heads: &HEADS, rows }
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

    #[test]
    fn stations_stand_below_their_access_point() {
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
            unauthenticated: 0,
            ..Status::default()
        };
        let screen = live_table::on_terminal(&shown(&[status]), 100, 6);
        assert!(screen.contains("wlan0 (htb): 7 reports accepted, 0 missing"), "{screen}");
        let line = screen.lines().find(|line| line.contains("02:00:00:00:00:01")).expect("a row");
        let words: Vec<&str> = line.trim_matches('"').split_whitespace().skip(1).collect();
        assert_eq!(words, ["14.0", "0.80", "report", "0.1", "-50", "54.0", "-", "3"]);
    }
}
