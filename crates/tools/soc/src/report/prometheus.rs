//! `fairwave soc status --prometheus`: access points and their stations as metrics.
//!
//! Figures of radios have the names and labels of OpenWrt's collector `wifi_stations` of
//! prometheus-node-exporter-lua, so that dashboards for routers work. The other names begin with
//! `fairwave_soc`.

use crate::Error;
use crate::status::{ShareLine, StationLine, Status};
use fairwave_console::metrics::{Labels, Metric, serve as serve_metrics};
use fairwave_console::{Console, Failure};
use std::net::SocketAddr;

/// Serves the metrics of the access points that `found` returns, until the process is interrupted.
/// An access point that has ended disappears from the metrics.
pub(crate) fn serve(
    console: &dyn Console,
    at: SocketAddr,
    found: impl Fn() -> Result<Vec<Status>, Error> + 'static,
) -> Result<(), Failure> {
    serve_metrics(console, at, "", move || Ok(metrics(&found()?)))
}

/// A metric of stations: its name, its help, and its value.
type Gauge = (&'static str, &'static str, fn(&StationLine) -> Option<f64>);

const GAUGES: [Gauge; 6] = [
    ("fairwave_soc_db", "Strength of connection in dB.", |one| one.soc_db),
    ("fairwave_soc_age_seconds", "Age of the SoC.", |one| one.age_s),
    ("wifi_station_signal_dbm", "Level of the station's frames.", |one| one.signal_dbm),
    ("wifi_station_inactive_milliseconds", "Time since its last frame.", |one| {
        one.inactive_s.map(|seconds| seconds * 1e3)
    }),
    ("wifi_station_transmit_kilobits_per_second", "PHY rate of the last frame to it.", |one| {
        one.tx_rate_bps.map(|bps| bps as f64 / 1e3)
    }),
    ("wifi_station_receive_kilobits_per_second", "PHY rate of the last frame from it.", |one| {
        one.rx_rate_bps.map(|bps| bps as f64 / 1e3)
    }),
];

/// Metrics of stations that only increase; their names are without `_total`.
const STATION_COUNTERS: [Gauge; 3] = [
    ("fairwave_soc_station_retries", "Retransmissions of frames to it.", |one| {
        one.retries.map(|count| count as f64)
    }),
    (
        "fairwave_soc_station_failed",
        "Frames to it that were discarded after the last attempt.",
        |one| one.failed.map(|count| count as f64),
    ),
    ("fairwave_soc_station_airtime_seconds", "Airtime of frames to it and from it.", |one| {
        one.airtime_s
    }),
];

/// A counter of an access point: its name without `_total`, its help, and its value.
type Counter = (&'static str, &'static str, fn(&Status) -> u64);

const COUNTERS: [Counter; 4] = [
    ("fairwave_soc_reports_accepted", "Reports accepted.", |ap| ap.accepted),
    ("fairwave_soc_reports_missing", "Reports that did not arrive.", |ap| ap.missed),
    ("fairwave_soc_changes", "Changes requested of the scheduler.", |ap| ap.changes),
    ("fairwave_soc_changes_failed", "Changes that the kernel refused.", |ap| ap.failed),
];

/// Figures of radios, weights and counters of all access points.
fn metrics(all: &[Status]) -> Vec<Metric> {
    let served = Metric::gauge("wifi_stations", "Stations that are served.");
    let served = served.of(all, |ap| of_access_point(ap), |ap| Some(ap.stations.len() as u64));
    let gauges = GAUGES.map(|(name, help, value)| {
        Metric::gauge(name, help).of(stations(all), of_station, |(_, one)| value(one))
    });
    let counters = STATION_COUNTERS.map(|(name, help, value)| {
        Metric::counter(name, help).of(stations(all), of_station, |(_, one)| value(one))
    });
    let counts = COUNTERS.map(|(name, help, value)| {
        Metric::counter(name, help).of(all, |ap| of_access_point(ap), |ap| Some(value(ap)))
    });
    let has_no_effect = Metric::gauge(
        "fairwave_soc_weights_without_effect",
        "1 if measured shares are not those of the weights.",
    );
    let has_no_effect = has_no_effect.of(
        all,
        |ap| of_access_point(ap),
        |ap| ap.effect.as_ref().map(|effect| u64::from(effect.problem.is_some())),
    );
    let shares = [
        weights(all),
        sources(all),
        measured(all, "fairwave_soc_share", "Measured share of bytes.", |one| one.share),
        measured(all, "fairwave_soc_share_due", "Share of the weight.", |one| one.due),
        has_no_effect,
    ];
    let radios = [served].into_iter().chain(gauges).chain(counters);
    radios.chain(shares).chain(counts).chain([refusals(all)]).collect()
}

/// Each station of each access point.
fn stations(all: &[Status]) -> impl Iterator<Item = (&Status, &StationLine)> {
    all.iter().flat_map(|ap| ap.stations.iter().map(move |one| (ap, one)))
}

fn of_access_point(ap: &Status) -> Labels {
    vec![("ifname", ap.interface.clone())]
}

fn of_station(station: &(&Status, &StationLine)) -> Labels {
    let (ap, one) = station;
    vec![("ifname", ap.interface.clone()), ("mac", one.station.clone())]
}

/// Weights by class of traffic.
fn weights(all: &[Status]) -> Metric {
    let classes = stations(all).flat_map(|(ap, one)| {
        let weights = ap.traffic.iter().zip(&one.weights);
        weights.map(move |(class, weight)| ((ap, one), class, *weight))
    });
    let metric = Metric::gauge("fairwave_soc_weight", "Weight of a class of traffic, from 0 to 1.");
    let labels = |(station, class, _): &((&Status, &StationLine), &String, f64)| {
        [of_station(station), vec![("class", (*class).clone())]].concat()
    };
    metric.of(classes, labels, |(_, _, weight)| Some(*weight))
}

/// Figures of the classes whose shares were measured; `mac` is empty for unknown stations.
fn measured(
    all: &[Status],
    name: &'static str,
    help: &'static str,
    value: fn(&ShareLine) -> f64,
) -> Metric {
    let shares = all.iter().flat_map(|ap| {
        let shares = ap.effect.iter().flat_map(|effect| &effect.shares);
        shares.map(move |one| (ap, one))
    });
    let labels = |(ap, one): &(&Status, &ShareLine)| {
        let own =
            vec![("mac", one.station.clone().unwrap_or_default()), ("class", one.traffic.clone())];
        [of_access_point(ap), own].concat()
    };
    Metric::gauge(name, help).of(shares, labels, |(_, one)| Some(value(one)))
}

/// The origin of each station's SoC.
fn sources(all: &[Status]) -> Metric {
    let metric = Metric::gauge("fairwave_soc_source", "Source of the SoC, as a label.");
    let labels = |station: &(&Status, &StationLine)| {
        [of_station(station), vec![("source", station.1.source.clone())]].concat()
    };
    metric.of(stations(all), labels, |_| Some(1u64))
}

/// Refused reports by reason.
fn refusals(all: &[Status]) -> Metric {
    let reasons =
        all.iter().flat_map(|ap| ap.refused.iter().map(move |(why, count)| (ap, why, count)));
    let metric = Metric::counter("fairwave_soc_reports_refused", "Reports that changed nothing.");
    let labels = |(ap, why, _): &(&Status, &String, &u64)| {
        [of_access_point(ap), vec![("why", (*why).clone())]].concat()
    };
    metric.of(reasons, labels, |(_, _, count)| Some(**count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::collections::BTreeSet;

    /// The dashboard in the packages.
    const DASHBOARD: &str = include_str!("../../../../../packaging/grafana/fairwave-soc.json");

    fn page() -> String {
        let status = json!({
            "interface": "wlan0", "actuator": "hfsc", "lasted_s": 3.0, "accepted": 7, "missed": 1,
            "changes": 5, "failed": 0, "refused": { "forged": 2 }, "challenges": 0,
            "traffic": ["rest"],
            "effect": { "verdict": "deviates", "problem": "why", "shares": [
                { "station": "02:00:00:00:00:01", "traffic": "rest", "share": 0.5, "due": 0.75 },
            ] },
            "stations": [{
                "station": "02:00:00:00:00:01", "soc_db": 14.5, "source": "report", "age_s": 0.1,
                "weight": 1.0, "weights": [1.0], "class": "5343:10", "address": null,
                "signal_dbm": -50.0, "noise_dbm": -95.0,
                "tx_rate_bps": 54_000_000, "rx_rate_bps": 6_000_000, "retries": 3, "failed": 0,
                "airtime_s": 1.25, "inactive_s": 0.02,
            }],
        });
        let status = serde_json::from_value(status).expect("a status");
        fairwave_console::metrics::text("", metrics(&[status])).expect("a page")
    }

    #[test]
    fn stations_have_the_names_of_openwrt_and_ours() {
        let page = page();
        for line in [
            "wifi_stations{ifname=\"wlan0\"} 1",
            "wifi_station_signal_dbm{ifname=\"wlan0\",mac=\"02:00:00:00:00:01\"} -50.0",
            "wifi_station_inactive_milliseconds{ifname=\"wlan0\",mac=\"02:00:00:00:00:01\"} 20.0",
            "fairwave_soc_db{ifname=\"wlan0\",mac=\"02:00:00:00:00:01\"} 14.5",
            "fairwave_soc_reports_refused_total{ifname=\"wlan0\",why=\"forged\"} 2",
            "fairwave_soc_changes_total{ifname=\"wlan0\"} 5",
            "fairwave_soc_share{ifname=\"wlan0\",mac=\"02:00:00:00:00:01\",class=\"rest\"} 0.5",
            "fairwave_soc_weights_without_effect{ifname=\"wlan0\"} 1",
        ] {
            assert!(page.contains(&format!("\n{line}\n")), "{line} is not in\n{page}");
        }
    }

    /// The words of a query that are followed by labels, an interval or nothing, and look like
    /// metrics.
    fn metrics_of(query: &str) -> Vec<&str> {
        let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.filter(|word| word.starts_with("wifi_") || word.starts_with("fairwave_")).collect()
    }

    #[test]
    fn the_dashboard_queries_existing_metrics() {
        let page = page();
        let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
        let panels = dashboard["panels"].as_array().expect("panels");
        let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
        let queries: Vec<&str> = targets.filter_map(|target| target["expr"].as_str()).collect();
        let requested: BTreeSet<&str> =
            queries.iter().flat_map(|query| metrics_of(query)).collect();
        assert!(requested.len() >= 8, "{requested:?}");
        for name in requested {
            assert!(page.contains(&format!("\n{name}{{")), "no {name} in\n{page}");
        }
    }
}
