//! The state of access points in words.

use crate::status::{Effect, ShareLine, StationLine, Status};
use fairwave_units::{BitRate, several};
use std::fmt::Write;

/// An access point and its stations, in words.
pub(crate) fn words(status: &Status) -> String {
    let mut text = format!(
        "{}: {} after {:.0} s; {} reports accepted, {} missing, {} changes.\n",
        status.interface,
        several(status.stations.len() as u64, "station"),
        status.lasted_s,
        status.accepted,
        status.missed,
        status.changes
    );
    for station in &status.stations {
        let soc = station.soc_db.map_or("unknown SoC".to_owned(), |soc| format!("{soc:.1} dB"));
        let age = station.age_s.map_or(String::new(), |age| format!(", {age:.1} s ago"));
        let _ = writeln!(
            text,
            "  {}{}  {soc:>11}  weight {}  ({}{age}){}",
            station.station,
            station.address.as_ref().map_or(String::new(), |address| format!(" at {address}")),
            weights(status, station, 3),
            station.source,
            seen(station)
        );
    }
    let is_airtime = status.actuator == "airtime";
    let shares = |effect| shares(effect, status.stations.len(), is_airtime);
    text.extend(status.effect.iter().map(shares));
    if status.is_pending {
        text.push_str("  the kernel has refused changes; they are requested again each second\n");
    }
    if status.unauthenticated > 0 {
        let _ = writeln!(text, "  not authenticated: {} of the reports", status.unauthenticated);
    }
    for (why, count) in &status.refused {
        let _ = writeln!(text, "  refused as {}: {count}", why.replace('_', " "));
    }
    text
}

/// The measured effect of the weights.
fn shares(effect: &Effect, stations: usize, is_airtime: bool) -> String {
    let mut text = effect.problem.as_ref().map_or(String::new(), |why| format!("  {why}\n"));
    if effect.shares.is_empty() && effect.problem.is_none() && stations > 1 && !is_airtime {
        text.push_str(
            "  shares not measured: packets of two classes have not waited together for 3 s, and \
             weights decide only then; if the link is full, --rate is above what it carries\n",
        );
    }
    for ShareLine { station, traffic, share, due } in &effect.shares {
        let station = station.as_deref().unwrap_or("unknown stations");
        let _ = writeln!(text, "  {station} {traffic}: share {share:.3}, by weight {due:.3}");
    }
    text
}

/// Its weights; where traffic is told apart, each with the name of its class.
pub(crate) fn weights(status: &Status, station: &StationLine, decimals: usize) -> String {
    let all = status.traffic.iter().zip(&station.weights);
    let one = |(name, weight): (&String, &f64)| match station.weights.len() {
        0 | 1 => format!("{weight:.decimals$}"),
        _ => format!("{weight:.decimals$} {name}"),
    };
    all.map(one).collect::<Vec<_>>().join(", ")
}

/// Figures of the access point's radio for a station.
fn seen(station: &StationLine) -> String {
    let rate = |bps: u64| BitRate(bps).to_string();
    let parts = [
        station.signal_dbm.map(|signal| format!("signal {signal:.0} dBm")),
        station.noise_dbm.map(|noise| format!("noise {noise:.0} dBm")),
        station.tx_rate_bps.map(|bps| format!("to it at {}", rate(bps))),
        station.rx_rate_bps.map(|bps| format!("from it at {}", rate(bps))),
        station.retries.map(|count| format!("retries {count}")),
        station.airtime_s.map(|time| format!("airtime {time:.1} s")),
    ];
    let reported: Vec<String> = parts.into_iter().flatten().collect();
    if reported.is_empty() { String::new() } else { format!("; {}", reported.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_radio_sees_stands_behind_the_source() {
        let line = json!({
            "station": "02:00:00:00:00:01", "soc_db": 14.0, "source": "report", "age_s": 0.1,
            "weight": 1.0, "weights": [1.0], "class": "5343:10", "address": null,
            "signal_dbm": -50.0, "noise_dbm": null, "tx_rate_bps": 54_000_000,
            "rx_rate_bps": null, "retries": 3, "failed": 0, "airtime_s": 1.25, "inactive_s": 0.0,
        });
        let station: StationLine = serde_json::from_value(line).expect("a line");
        let expected = "; signal -50 dBm, to it at 54 Mbps, retries 3, airtime 1.2 s";
        assert_eq!(seen(&station), expected);
        let weights = vec![1.0, 0.2];
        let station = StationLine { signal_dbm: None, address: Some("10.0.0.7".into()), ..station };
        let two = Status {
            stations: vec![StationLine { weights, ..station.clone() }],
            traffic: vec!["rest".into(), "voice".into()],
            ..Status::default()
        };
        let text = words(&two);
        assert!(text.contains("02:00:00:00:00:01 at 10.0.0.7  "), "{text}");
        assert!(text.contains("weight 1.000 rest, 0.200 voice  ("), "{text}");
        let two = Status { effect: Some(Effect::default()), ..two };
        let stations = vec![station.clone(), station.clone()];
        let text = words(&Status { stations, ..two });
        assert!(text.contains("if the link is full, --rate is above"), "{text}");
        let line = ShareLine {
            station: Some("02:00:00:00:00:01".into()),
            traffic: "rest".into(),
            share: 0.6,
            due: 0.8333,
        };
        let effect =
            Effect { problem: Some("a problem".into()), shares: vec![line], ..Effect::default() };
        let text = words(&Status { effect: Some(effect), ..Status::default() });
        let expected = "  a problem\n  02:00:00:00:00:01 rest: share 0.600, by weight 0.833\n";
        assert!(text.ends_with(expected), "{text}");
        let stations = vec![station];
        let traffic = vec!["rest".to_owned()];
        let text = words(&Status { traffic, stations, ..Status::default() });
        assert!(text.contains("weight 1.000  (report"), "{text}");
        assert!(text.contains("(report, 0.1 s ago); to it at 54 Mbps"), "{text}");
    }
}
