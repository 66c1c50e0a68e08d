//! Log file of an access point's decisions and their reasons, as lines of JSON.

use crate::Error;
use crate::access_point::AccessPointEvent;
use fairwave_soc::{Action, Decision, Reach, WeightReason};
use fairwave_units::Instant;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// An open log.
pub(crate) struct Log {
    file: File,
    interface: String,
    /// Date of the start, in seconds since 1970.
    started_s: u64,
}

impl Log {
    /// Opens a file for appending.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn open(file: &Path, interface: &str, started_s: u64) -> Result<Self, Error> {
        let opened = OpenOptions::new().append(true).create(true).open(file);
        let file = opened.map_err(Error::at(file.display().to_string()))?;
        Ok(Self { file, interface: interface.to_owned(), started_s })
    }

    /// Adds a line, if the event belongs in the log.
    ///
    /// # Errors
    /// If the file cannot be written, such as on a full disk.
    pub(crate) fn add(&mut self, events: &AccessPointEvent) -> io::Result<()> {
        match entry(&self.interface, self.started_s, events) {
            // One write per line, so that two writers do not mix their lines.
            Some(line) => self.file.write_all(format!("{line}\n").as_bytes()),
            None => Ok(()),
        }
    }
}

/// The line of a decision, or of a change that the kernel refused. Refused reports are only
/// counted, as a flood of them would fill the disk.
fn entry(interface: &str, started_s: u64, events: &AccessPointEvent) -> Option<Value> {
    // Time advances by the monotonic clock from the start: steps of the date have no effect.
    let unix_s = |at: &Instant| started_s as f64 + at.as_secs_f64();
    match events {
        AccessPointEvent::Decided(at, Decision::Changed { action, source, reason }) => {
            let mut line = decided(*at, action)?;
            let fields = line.as_object_mut()?;
            fields.insert("interface".to_owned(), interface.into());
            fields.insert("unix_s".to_owned(), unix_s(at).into());
            fields.insert("source".to_owned(), source.name().into());
            fields.insert("reason".to_owned(), word(reason).into());
            fields.insert("soc_db".to_owned(), soc(reason).into());
            fields.insert("because".to_owned(), reason.to_string().into());
            Some(line)
        }
        AccessPointEvent::Failed(at, station, why) => Some(json!({
            "t_s": at.as_secs_f64(), "unix_s": unix_s(at), "interface": interface,
            "station": station.to_string(), "action": "failed", "because": why,
        })),
        AccessPointEvent::Decided(_, Decision::Refused { .. })
        | AccessPointEvent::Serving(_)
        | AccessPointEvent::Trouble(_) => None,
    }
}

fn decided(at: Instant, action: &Action) -> Option<Value> {
    let (address, weights, name) = match action {
        Action::Serve { reach, weights, .. } => {
            let address = match reach {
                Reach::Link => None,
                Reach::Address(address) => Some(address.to_string()),
            };
            let weights: Vec<f64> = weights.iter().map(|weight| weight.fraction()).collect();
            (address, weights, "serve")
        }
        Action::Stop { .. } => (None, Vec::new(), "stop"),
        Action::Answer { .. } | Action::Reply { .. } => return None,
    };
    Some(json!({
        "t_s": at.as_secs_f64(), "station": action.station().to_string(), "address": address,
        "action": name, "weights": weights,
    }))
}

/// A keyword for the reason.
const fn word(reason: &WeightReason) -> &'static str {
    match reason {
        WeightReason::Joined => "joined",
        WeightReason::Left => "left",
        WeightReason::Report { .. } => "report",
        WeightReason::Missed { .. } => "missed",
        WeightReason::View { .. } => "view",
        WeightReason::Silent => "silent",
        WeightReason::Ended => "ended",
        WeightReason::Unknown => "unknown",
    }
}

const fn soc(reason: &WeightReason) -> Option<f64> {
    match reason {
        WeightReason::Report { soc }
        | WeightReason::Missed { soc, .. }
        | WeightReason::View { soc } => Some(soc.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_soc::{Refusal, Source, Weight};
    use fairwave_units::{Db, Duration};
    use fairwave_wire::ethernet::Mac;

    #[test]
    fn a_decision_is_a_line_with_its_reason() {
        let station = Mac::local(7);
        let at = Instant::ZERO + Duration::from_millis(1500);
        let action = Action::Serve {
            station,
            reach: Reach::Address("10.0.0.7".parse().unwrap()),
            weights: vec![Weight::ONE],
        };
        let reason = WeightReason::Missed { soc: Db(9.8), misses: 2 };
        let events = AccessPointEvent::Decided(
            at,
            Decision::Changed { action, source: Source::Report, reason },
        );
        let expected = json!({
            "interface": "wlan0", "t_s": 1.5, "unix_s": 101.5, "station": "02:00:00:00:00:07",
            "address": "10.0.0.7", "action": "serve", "weights": [1.0], "source": "report",
            "reason": "missed", "soc_db": 9.8,
            "because": "2 reports are missing, 9.8 dB are left",
        });
        assert_eq!(entry("wlan0", 100, &events), Some(expected));
        let failed = AccessPointEvent::Failed(at, station, "no room".to_owned());
        let expected = json!({
            "interface": "wlan0", "t_s": 1.5, "unix_s": 101.5, "station": "02:00:00:00:00:07",
            "action": "failed", "because": "no room",
        });
        assert_eq!(entry("wlan0", 100, &failed), Some(expected));
        let refused = Decision::Refused { from: station, why: Refusal::Forged };
        assert_eq!(entry("wlan0", 100, &AccessPointEvent::Decided(at, refused)), None);
    }

    #[test]
    fn lines_follow_what_is_there() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("log");
        for _ in 0..2 {
            let mut log = Log::open(&file, "wlan0", 0).unwrap();
            let failed =
                AccessPointEvent::Failed(Instant::ZERO, Mac::local(7), "no room".to_owned());
            log.add(&failed).unwrap();
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((lines.len(), &lines[0]["action"]), (2, &"failed".into()));
        assert!(Log::open(place.path(), "wlan0", 0).is_err(), "a directory is no log");
    }
}
