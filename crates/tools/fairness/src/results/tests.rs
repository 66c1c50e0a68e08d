//! Summaries by hand, files of iperf3, a file for flent.

use super::*;
use std::fs;

fn flow(is_up: bool, bytes: &[u64]) -> Flow {
    Flow {
        is_up,
        carrier: Carrier::Tcp,
        algorithm: Some("reno".to_owned()),
        counted: Counted::AtReceiver,
        bytes: bytes.to_vec(),
        datagrams: None,
        lost: None,
        is_broken: false,
        retransmitted: Vec::new(),
        rtt_ms: Vec::new(),
        lost_by_interval: Vec::new(),
        jitter_ms: Vec::new(),
    }
}

fn station(name: &str, flows: Vec<Flow>) -> Station {
    Station {
        name: name.to_owned(),
        address: None,
        clock_error_ms: Some(0.1),
        late_ms: Some(0.2),
        ending: Ending::Complete,
        flows,
        radio: Vec::new(),
    }
}

/// Two stations with one flow up each, two intervals of 5 s; the rates of both by repetition, in
/// units of 125 kB, which are 0.2 Mbps of such an interval.
fn record(rates: &[(u64, u64)]) -> Record {
    let bytes = |units: u64| flow(true, &[units * 125_000; 2]);
    let repetition = |(one, other): &(u64, u64)| Repetition {
        stations: vec![station("one", vec![bytes(*one)]), station("other", vec![bytes(*other)])],
    };
    Record {
        interval_s: 5.0,
        begun_unix_s: Some(1_795_430_500),
        target_bps: None,
        effective_bps: None,
        single: Vec::new(),
        repetitions: rates.iter().map(repetition).collect(),
    }
}

/// By hand: 10 and 20 units are 2 and 4 Mbps, 6 together; Jain 36 / (2 * 20) = 0.9.
#[test]
fn a_summary_by_hand() {
    let summary = Summary::of(&record(&[(10, 20), (10, 20)]));
    let total = summary.total_mbps.unwrap();
    assert_eq!((total.mean, total.half_width), (6.0, Some(0.0)));
    assert!((summary.jain.unwrap().mean - 0.9).abs() < 1e-12);
    let stations: Vec<_> =
        summary.stations.iter().map(|s| (s.name.as_str(), s.mbps.mean, s.down_mbps)).collect();
    assert_eq!(stations, [("one", 2.0, None), ("other", 4.0, None)]);
    assert_eq!((summary.starved_flows, summary.unfair_repetitions), (vec![], 0));
}

/// A link of 6 Mbps: two stations have 2 and 4 Mbps for 5 s, then one leaves and the other has 6.
/// The sum of their own rates would be 2 + (4 + 6) / 2 = 7 Mbps.
#[test]
fn a_station_that_leaves_does_not_raise_the_total_above_the_link() {
    let mut record = record(&[(10, 20)]);
    record.repetitions[0].stations[0].flows[0].bytes.pop();
    record.repetitions[0].stations[1].flows[0].bytes[1] = 30 * 125_000;
    let summary = Summary::of(&record);
    assert_eq!(summary.total_mbps.unwrap().mean, 6.0);
    assert_eq!((summary.shared_s, summary.lasted_s), (5.0, 10.0));
    assert_eq!(summary.stations.iter().map(|s| s.mbps.mean).collect::<Vec<_>>(), [2.0, 5.0]);
    assert!((summary.jain.unwrap().mean - 0.9).abs() < 1e-12, "of the time that both shared");
    let words = crate::report::words(&summary, &record);
    assert!(words.contains("6.00 Mbps together in the first 5.0 of 10.0 s"), "{words}");
    // A station that never had an interval shortens nothing.
    record.repetitions[0].stations[0].flows[0].bytes.clear();
    let summary = Summary::of(&record);
    assert_eq!((summary.shared_s, summary.total_mbps.unwrap().mean), (10.0, 5.0));
}

/// 8 Mbps are sent for 3 s, and 212 of 2143 datagrams are lost.
#[test]
fn an_upload_of_datagrams_in_iperf3_has_the_bytes_that_arrived() {
    let second = r#"{"streams": [{"socket": 5, "seconds": 1.0001, "bytes": 1000000}]}"#;
    let text = |end: &str| {
        format!(
            r#"{{"start": {{"test_start": {{"protocol": "UDP", "reverse": 0}}}},
                "intervals": [{second}, {second}, {second}], {end}}}"#
        )
    };
    let udp = r#""end": {"streams": [{"udp":
        {"socket": 5, "bytes": 3000000, "packets": 2143, "lost_packets": 212}}]}"#;
    let place = tempfile::tempdir().unwrap();
    let flow = |end: &str| {
        let file = place.path().join("one.json");
        fs::write(&file, text(end)).unwrap();
        read(&file).unwrap().repetitions[0].stations[0].flows[0].clone()
    };
    let found = flow(udp);
    assert_eq!(found.counted, Counted::AtReceiver);
    // 1,000,000 * 1931 / 2143.
    assert_eq!(found.bytes, [901_073; 3]);
    // A queue of 0.3 s is emptied afterwards.
    let sums = r#""sum_sent": {"seconds": 3.0}, "sum_received": {"seconds": 3.3}"#;
    let found = flow(&udp.replacen(r#"{"streams""#, &format!(r#"{{{sums}, "streams""#), 1));
    assert_eq!(found.bytes, [819_158; 3]);
    let cut_off = flow(&format!(r#"{udp}, "error": "interrupted""#));
    assert_eq!((cut_off.counted, cut_off.bytes), (Counted::AtSender, vec![1_000_000; 3]));
}

/// 1 of 50 units, where an equal share is 25.5.
#[test]
fn who_has_less_than_a_tenth_of_a_share_starves() {
    let summary = Summary::of(&record(&[(25, 25), (1, 50)]));
    let [starved] = &summary.starved_flows[..] else { panic!("{summary:?}") };
    assert_eq!((starved.repetition, starved.station.as_str(), starved.flow), (2, "one", 1));
    assert_eq!(summary.unfair_repetitions, 1);
}

/// A flow of datagrams that all arrived has what it asked for. One of which none arrived has no
/// numbers that could show a loss.
#[test]
fn a_flow_of_which_no_datagram_arrived_starves() {
    let starving = |bytes: u64, datagrams: u64| {
        let mut record = record(&[(1, 50)]);
        let flow = &mut record.repetitions[0].stations[0].flows[0];
        (flow.carrier, flow.bytes) = (Carrier::Udp, vec![bytes; 2]);
        (flow.datagrams, flow.lost) = (Some(datagrams), Some(0));
        Summary::of(&record).starved_flows.len()
    };
    assert_eq!((starving(14_000, 20), starving(0, 0)), (0, 1));
}

/// A target of 3 Mbps of 24 that are stated: NRT 0.125, a share of 12. The first interval does not
/// count, so that the second of each decides.
#[test]
fn a_target_is_judged_as_the_paper_does() {
    let mut record = record(&[(10, 20)]);
    (record.target_bps, record.effective_bps) = (Some(3_000_000), Some(24_000_000));
    record.repetitions[0].stations[1].flows[0].bytes[0] = 0;
    let summary = Summary::of(&record);
    let target = summary.target.unwrap();
    assert_eq!((target.normalized, target.fair_share_mbps), (Some(0.125), 12.0));
    let achieved: Vec<_> =
        summary.stations.iter().map(|station| station.achievement.unwrap().mean).collect();
    assert_eq!(achieved, [0.0, 1.0]);
}

/// Alone one station has 24 Mbps and the other 30; together they have 6. A target of 6 Mbps is a
/// fifth of the larger one, and an equal share half of it.
#[test]
fn the_effective_bandwidth_is_the_maximum_of_a_flow_alone() {
    let mut record = record(&[(10, 20)]);
    record.target_bps = Some(6_000_000);
    let of = |summary: &Summary| {
        let target = summary.target.unwrap();
        (target.effective_mbps, target.effective_from, target.normalized, target.fair_share_mbps)
    };
    let summary = Summary::of(&record);
    assert_eq!(of(&summary), (6.0, EffectiveFrom::Total, Some(1.0), 3.0));
    let alone = |name: &str, units: u64| {
        let flow = flow(true, &[units * 125_000; 2]);
        Repetition { stations: vec![station(name, vec![flow])] }
    };
    record.single = vec![alone("one", 120), alone("other", 150)];
    let summary = Summary::of(&record);
    assert_eq!(of(&summary), (30.0, EffectiveFrom::SingleFlow, Some(0.2), 15.0));
    assert_eq!(summary.total_mbps.unwrap().mean, 6.0, "repetitions alone");
    let words = crate::report::words(&summary, &record);
    assert!(words.contains("One flow alone, in Mbps: one 24.00, other 30.00."), "{words}");
    assert!(words.contains("20 % of the effective bandwidth, 30.00 Mbps (the maximum"), "{words}");
    record.effective_bps = Some(25_000_000);
    assert_eq!(of(&Summary::of(&record)), (25.0, EffectiveFrom::Stated, Some(0.24), 12.5));
}

#[test]
fn runs_that_differ_are_told_from_those_that_do_not() {
    let equal = record(&[(20, 21), (21, 20), (20, 20), (21, 21)]);
    let unequal = record(&[(10, 30), (11, 31), (9, 31), (10, 30)]);
    let of = |found: &[fairwave_lab::compare::Comparison], metric: &str| {
        found.iter().find(|one| one.metric == metric).unwrap().difference
    };
    let found = compare(&equal, &unequal);
    assert!(of(&found, "jain").is_significant() && !of(&found, "jain").is_paired);
    assert!(of(&found, "station.one.mbps").is_significant());
    assert!(!of(&found, "total_mbps").is_significant());
    assert!(compare(&equal, &equal).iter().all(|one| !one.difference.is_significant()));
}

#[test]
fn files_of_iperf3_are_stations_or_repetitions() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/iperf3");
    let text = |name: &str| fs::read_to_string(format!("{data}/{name}.json")).unwrap();
    let place = tempfile::tempdir().unwrap();
    for repetition in ["a", "b"] {
        fs::create_dir(place.path().join(repetition)).unwrap();
        for name in ["up", "down"] {
            let file = place.path().join(repetition).join(name).with_extension("json");
            fs::write(file, text(name)).unwrap();
        }
    }
    let record = read(place.path()).unwrap();
    assert_eq!((record.repetitions.len(), record.names()), (2, vec!["down", "up"]));
    assert_eq!(record.interval_s, 0.5);
    let [down, up] = &record.repetitions[1].stations[..] else { panic!("{record:?}") };
    assert_eq!((up.flows.len(), up.flows[0].bytes.len()), (2, 2));
    assert!(up.flows[0].is_up && up.flows[0].counted == Counted::AtSender);
    assert!(!down.flows[0].is_up && down.flows[0].counted == Counted::AtReceiver);
    // As iperf3 itself sums them up.
    assert_eq!(up.bytes().iter().sum::<u64>(), 1_310_720);
}

#[test]
fn what_is_no_record_is_named() {
    let place = tempfile::tempdir().unwrap();
    let reported = |path: &std::path::Path| read(path).unwrap_err().to_string();
    assert!(reported(place.path()).contains("neither fairness.json nor"));
    assert!(reported(&place.path().join("gone")).contains("gone"));
    let failed = place.path().join("failed.json");
    fs::write(&failed, r#"{"start": {}, "error": "unable to connect"}"#).unwrap();
    assert!(
        reported(&failed).contains("failed.json: no result")
            && reported(&failed).contains("unable")
    );
    fs::write(&failed, "[1").unwrap();
    assert!(reported(&failed).contains("line 1"), "{}", reported(&failed));
}

#[test]
fn a_file_for_flent_has_the_series_of_its_test() {
    let mut record = record(&[(10, 20)]);
    let value = |record: &Record| -> serde_json::Value {
        let bytes = flent(record, 0, "a title").unwrap();
        serde_json::from_reader(flate2::read::GzDecoder::new(&bytes[..])).unwrap()
    };
    let found = value(&record);
    assert_eq!(found["metadata"]["NAME"], "tcp_nup");
    assert_eq!(found["x_values"], serde_json::json!([5.0, 10.0]));
    assert_eq!(found["results"]["TCP upload::2"], serde_json::json!([4.0, 4.0]));
    assert_eq!(found["results"]["TCP upload sum"], serde_json::json!([6.0, 6.0]));
    assert_eq!(found["raw_values"]["TCP upload::1"][1]["t"], 1_795_430_510.0);
    record.repetitions[0].stations[0].flows.push(flow(false, &[1, 1]));
    assert_eq!(value(&record)["metadata"]["NAME"], "rrul_be_nflows");
    assert!(flent(&record, 1, "").is_err());
}
