//! `fairwave soc status --prometheus`: access points and their stations as metrics.
//!
//! Figures of radios have the names and labels of OpenWrt's collector `wifi_stations` of
//! prometheus-node-exporter-lua, so that dashboards for routers work. The other names begin with
//! `fairwave_soc`.

use super::told;
use crate::args::soc::Watching;
use crate::metrics;
use crate::outcome::Failure;
use fairwave_soc_tool::status::{StationLine, Status};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use std::fmt;
use std::net::SocketAddr;

/// Serves the metrics until the process is interrupted. An access point that has ended disappears
/// from the metrics.
pub(super) fn serve(watching: Watching, at: SocketAddr) -> Result<(), Failure> {
    metrics::serve(at, "", move || Ok(Figures(told::found(&watching)?)))
}

/// Figures for one request.
#[derive(Debug)]
struct Figures(Vec<Status>);

/// A metric of stations: its name, its help, and its value.
type Gauge = (&'static str, &'static str, fn(&StationLine) -> Option<f64>);

const GAUGES: [Gauge; 6] = [
    ("fairwave_soc_db", "Strength of connection in dB.", |one| one.soc_db),
    ("fairwave_soc_age_seconds", "Time since it was told.", |one| one.age_s),
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
    ("fairwave_soc_station_failed", "Frames to it that were given up.", |one| {
        one.failed.map(|count| count as f64)
    }),
    ("fairwave_soc_station_airtime_seconds", "Airtime of frames to it and from it.", |one| {
        one.airtime_s
    }),
];

/// A counter of an access point: its name without `_total`, its help, and its value.
type Counter = (&'static str, &'static str, fn(&Status) -> u64);

const COUNTERS: [Counter; 4] = [
    ("fairwave_soc_reports_believed", "Reports that were believed.", |ap| ap.accepted),
    ("fairwave_soc_reports_missing", "Reports that did not come.", |ap| ap.missed),
    ("fairwave_soc_changes", "Changes that the scheduler was asked for.", |ap| ap.changes),
    ("fairwave_soc_changes_failed", "Changes that the kernel refused.", |ap| ap.failed),
];

impl Figures {
    fn encode_stations(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let stations = |ap: &Status| ap.stations.len() as u64;
        let name = "wifi_stations";
        let mut family = encoder.encode_descriptor(
            name,
            "Stations that are served.",
            None,
            MetricType::Gauge,
        )?;
        for ap in &self.0 {
            let labels = [("ifname", ap.interface.as_str())];
            family.encode_family(&labels)?.encode_gauge(&stations(ap))?;
        }
        for (name, help, value) in GAUGES {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (labels, value) in self.of_stations(value) {
                family.encode_family(&labels)?.encode_gauge(&value)?;
            }
        }
        for (name, help, value) in STATION_COUNTERS {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (labels, value) in self.of_stations(value) {
                family
                    .encode_family(&labels)?
                    .encode_counter::<NoLabelSet, _, u64>(&value, None)?;
            }
        }
        Ok(())
    }

    /// A figure of each station that has it.
    fn of_stations(
        &self,
        value: impl Fn(&StationLine) -> Option<f64>,
    ) -> impl Iterator<Item = ([(&'static str, &str); 2], f64)> {
        let all = self.0.iter().flat_map(|ap| ap.stations.iter().map(move |one| (ap, one)));
        all.filter_map(move |(ap, one)| {
            let labels = [("ifname", ap.interface.as_str()), ("mac", one.station.as_str())];
            Some((labels, value(one)?))
        })
    }

    /// Weights by class of traffic, and the origin of each station's SoC.
    fn encode_shares(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let (name, help) = ("fairwave_soc_weight", "Weight of a class of traffic, from 0 to 1.");
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (ap, one) in self.0.iter().flat_map(|ap| ap.stations.iter().map(move |one| (ap, one))) {
            for (class, weight) in ap.traffic.iter().zip(&one.weights) {
                let of = (ap.interface.as_str(), one.station.as_str());
                let labels = [("ifname", of.0), ("mac", of.1), ("class", class.as_str())];
                family.encode_family(&labels)?.encode_gauge(weight)?;
            }
        }
        let (name, help) = ("fairwave_soc_source", "Who told the SoC, as a label.");
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (ap, one) in self.0.iter().flat_map(|ap| ap.stations.iter().map(move |one| (ap, one))) {
            let of = (ap.interface.as_str(), one.station.as_str());
            let labels = [("ifname", of.0), ("mac", of.1), ("source", one.source.as_str())];
            family.encode_family(&labels)?.encode_gauge(&1u64)?;
        }
        Ok(())
    }

    fn encode_counts(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, value) in COUNTERS {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for ap in &self.0 {
                let labels = [("ifname", ap.interface.as_str())];
                let mut counter = family.encode_family(&labels)?;
                counter.encode_counter::<NoLabelSet, _, u64>(&value(ap), None)?;
            }
        }
        let (name, help) = ("fairwave_soc_reports_refused", "Reports that changed nothing.");
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for ap in &self.0 {
            for (why, count) in &ap.refused {
                let labels = [("ifname", ap.interface.as_str()), ("why", why.as_str())];
                let mut counter = family.encode_family(&labels)?;
                counter.encode_counter::<NoLabelSet, _, u64>(count, None)?;
            }
        }
        Ok(())
    }
}

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.encode_stations(&mut encoder)?;
        self.encode_shares(&mut encoder)?;
        self.encode_counts(&mut encoder)
    }
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
            "stations": [{
                "station": "02:00:00:00:00:01", "soc_db": 14.5, "source": "report", "age_s": 0.1,
                "weight": 1.0, "weights": [1.0], "class": "5343:10", "address": null,
                "signal_dbm": -50.0, "noise_dbm": -95.0,
                "tx_rate_bps": 54_000_000, "rx_rate_bps": 6_000_000, "retries": 3, "failed": 0,
                "airtime_s": 1.25, "inactive_s": 0.02,
            }],
        });
        let status = serde_json::from_value(status).expect("a status");
        metrics::written("", Figures(vec![status])).expect("a page")
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
    fn the_dashboard_asks_for_what_there_is() {
        let page = page();
        let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
        let panels = dashboard["panels"].as_array().expect("panels");
        let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
        let queries: Vec<&str> = targets.filter_map(|target| target["expr"].as_str()).collect();
        let asked: BTreeSet<&str> = queries.iter().flat_map(|query| metrics_of(query)).collect();
        assert!(asked.len() >= 8, "{asked:?}");
        for name in asked {
            assert!(page.contains(&format!("\n{name}{{")), "no {name} in\n{page}");
        }
    }
}
