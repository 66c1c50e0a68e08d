//! Why a run is slow stands in its tables: airtime by receiver, rates, sizes of A-MPDUs, delays.

use fairwave_lab::over;
use fairwave_lab::results::{Series, read_summary};
use fairwave_lab::run::{self, Output};
use fairwave_scenario::plan::Plan;
use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;

/// A download to a station that is near and one that is far, and a call.
const SCENARIO: &str = r#"
duration = "2 s"
record.sample_every = "100 ms"
cell = { standard = "802.11ax", width = "40 MHz" }
node = [
    { name = "ap", kind = "access-point" },
    { name = "near", kind = "station", distance = "3 m" },
    { name = "far", kind = "station", distance = "30 m" },
    { name = "server", kind = "host" },
]
link = [{ ends = ["ap", "server"], rate = "200 Mbps", delay = "10 ms" }]
flow = [
    { name = "tcp-near", from = "server", to = "near" },
    { name = "tcp-far", from = "server", to = "far" },
    { name = "call", from = "near", to = "server", transport = "udp", traffic = "voip" },
]
"#;

fn ran() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    let plan = Plan::parse("test", SCENARIO, &[]).unwrap_or_else(|e| panic!("{e}"));
    let jobs = plan.jobs();
    run::execute(&plan, jobs[0], Output::Full(place.path()), &mut |_| {}).unwrap();
    place
}

/// The column of a table by time and name; null counts as nothing.
fn column(run: &Path, file: &str, name: &str, column: &str) -> BTreeMap<(i64, String), i64> {
    let series = Series::read(run, file, &["t_ns", name, column]).unwrap();
    let times = series.integers("t_ns").unwrap().iter().map(|at| at.unwrap());
    let names = series.texts(name).unwrap().iter().map(|text| text.clone().unwrap().to_string());
    let values = series.integers(column).unwrap().iter().map(|value| value.unwrap_or(0));
    let mut sums = BTreeMap::new();
    for ((at, name), value) in times.zip(names).zip(values) {
        *sums.entry((at, name)).or_insert(0) += value;
    }
    sums
}

#[test]
fn airtimes_of_receivers_add_up_to_those_of_the_transmitter() {
    let place = ran();
    let run = place.path();
    for part in ["airtime_ns", "control_airtime_ns"] {
        let pairs = column(run, "pairs.parquet", "transmitter", part);
        let stations = column(run, "stations.parquet", "station", part);
        let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
        for ((at, station), total) in &stations {
            let sum = sums.entry(station).or_insert(0);
            *sum += pairs.get(&(*at, station.clone())).unwrap_or(&0);
            assert_eq!(sum, total, "{part} of {station} at {at}");
        }
        assert_eq!(sums.len(), 3);
        assert!(sums["ap"] > 0, "{part}");
    }
    let summary = read_summary(run).unwrap();
    for station in &summary.stations {
        let own = summary.pairs.iter().filter(|pair| pair.transmitter == station.name);
        let sum: f64 = own.map(|pair| pair.airtime_share).sum();
        assert!((sum - station.airtime_share).abs() < 1e-9, "{}: {sum}", station.name);
    }
    assert_eq!(summary.pairs[0].name, "ap>near");
    assert!(summary.pairs.iter().any(|pair| pair.name == "ap>*" && pair.ppdus == 0));
}

#[test]
fn rates_and_ampdus_tell_a_near_station_from_a_far_one() {
    let place = ran();
    let run = place.path();
    let summary = read_summary(run).unwrap();
    let pair = |name: &str| summary.pairs.iter().find(|pair| pair.name == name).unwrap();
    let (near, far) = (pair("ap>near"), pair("ap>far"));
    assert!(near.rate_mean_bps > far.rate_mean_bps && near.mcs_mean > far.mcs_mean);
    assert!(near.ampdu_mean_mpdus > Some(2.0) && near.width_mean_mhz > Some(20.0));
    let mpdus = column(run, "pairs.parquet", "pair", "mpdus");
    let of_near = mpdus.iter().filter(|((_, name), _)| name == "ap>near");
    assert_eq!(of_near.map(|(_, mpdus)| *mpdus as u64).sum::<u64>(), near.mpdus);
    let figure = over::over_time(&[("run", run)], "pairs.mcs").unwrap().to_svg().unwrap();
    for pair in ["ap&gt;near", "ap&gt;far"] {
        assert!(figure.contains(pair) || figure.contains(&pair.replace("&gt;", ">")), "{pair}");
    }
}

/// Without a warm-up the series, the distribution and the summary are of the same deliveries.
#[test]
fn delays_of_tcp_and_datagrams_agree_in_series_distribution_and_summary() {
    let place = ran();
    let run = place.path();
    let summary = read_summary(run).unwrap();
    let series = column(run, "delays.parquet", "flow", "delivered");
    let bins = Series::read(run, "delay_bins.parquet", &["flow", "from_ns", "to_ns", "delivered"]);
    let bins = bins.unwrap();
    for flow in &summary.flows {
        let times = flow.delay.as_ref().unwrap();
        let in_series: i64 =
            series.iter().filter(|((_, name), _)| *name == flow.name).map(|(_, n)| n).sum();
        assert_eq!(in_series as u64, times.count, "{}", flow.name);
        let names = bins.texts("flow").unwrap().iter();
        let own: Vec<usize> = names
            .enumerate()
            .filter(|(_, f)| f.as_deref() == Some(&flow.name))
            .map(|f| f.0)
            .collect();
        let cell = |column: &str, row: usize| bins.integers(column).unwrap()[row].unwrap();
        let total: i64 = own.iter().map(|row| cell("delivered", *row)).sum();
        assert_eq!(total as u64, times.count, "{}", flow.name);
        for row in &own {
            let (from, to) = (cell("from_ns", *row), cell("to_ns", *row));
            assert!((to - from) * 100 <= from, "wider than 1 %: {from} to {to}");
        }
        let quantiles = [
            times.min_ns,
            times.p50_ns,
            times.p90_ns.unwrap(),
            times.p95_ns,
            times.p99_ns,
            times.p999_ns.unwrap(),
        ];
        assert!(quantiles.is_sorted() && times.p999_ns <= Some(times.max_ns), "{times:?}");
        // Nothing is faster than the wire.
        assert!(times.min_ns > 10_000_000, "{times:?}");
    }
    let tcp = &summary.flows[0];
    assert!(tcp.datagrams.is_none() && tcp.delay.as_ref().unwrap().count > 1000);
    assert_eq!(summary.flows[2].datagrams.as_ref().unwrap().delay, summary.flows[2].delay);
}
