//! The record of a measurement by this program.

use super::record::{Carrier, Counted, Ending, Flow, RadioSample, Record, Repetition, Station};
use crate as measured;

/// Builds the record of a host's measurement.
pub(crate) fn of_measurement(
    found: &measured::Measured,
    terms: &measured::Terms,
    begun_unix_s: u64,
) -> Record {
    let of_kind = |is_alone| {
        let of = found.repetitions.iter().filter(move |one| one.is_alone == is_alone);
        let stations = |one: &measured::Repetition| one.stations.iter().map(station).collect();
        of.map(|one| Repetition { stations: stations(one) }).collect()
    };
    Record {
        interval_s: terms.interval_ns as f64 / 1e9,
        begun_unix_s: Some(begun_unix_s),
        target_bps: None,
        effective_bps: None,
        single: of_kind(true),
        repetitions: of_kind(false),
    }
}

fn station(station: &measured::Station) -> Station {
    let carrier = match station.traffic.protocol {
        measured::Protocol::Tcp { .. } => Carrier::Tcp,
        measured::Protocol::Udp { .. } => Carrier::Udp,
    };
    Station {
        name: station.name.clone(),
        address: Some(station.address.to_string()),
        clock_error_ms: Some(station.clock_error_ns as f64 / 1e6),
        late_ms: Some(station.late_ns as f64 / 1e6),
        ending: match station.ending {
            measured::Ending::Complete => Ending::Complete,
            measured::Ending::Left => Ending::Left,
            measured::Ending::Gone => Ending::Gone,
            measured::Ending::UsedUp => Ending::UsedUp,
            measured::Ending::Open => Ending::Open,
        },
        flows: station.flows.iter().map(|counted| flow(counted, carrier)).collect(),
        radio: station.radio.iter().map(radio).collect(),
    }
}

fn flow(flow: &measured::Flow, carrier: Carrier) -> Flow {
    Flow {
        is_up: flow.is_up,
        carrier,
        algorithm: flow.algorithm.clone(),
        counted: if flow.by_receiver { Counted::AtReceiver } else { Counted::AtSender },
        bytes: flow.bytes.clone(),
        datagrams: flow.datagrams,
        lost: flow.lost,
        is_broken: flow.is_broken,
        retransmitted: flow.path.retransmitted.clone(),
        rtt_ms: flow.path.rtt_us.iter().map(|us| ms(*us)).collect(),
        lost_by_interval: flow.path.lost.clone(),
        jitter_ms: flow.path.jitter_us.iter().map(|us| ms(*us)).collect(),
    }
}

fn ms(us: u32) -> f64 {
    f64::from(us) / 1e3
}

fn radio(sample: &measured::RadioSample) -> RadioSample {
    let mbps = |kbps: u32| f64::from(kbps) / 1e3;
    RadioSample {
        signal_dbm: sample.signal_dbm.map(f64::from),
        tx_mbps: sample.tx_kbps.map(mbps),
        rx_mbps: sample.rx_kbps.map(mbps),
        retries: sample.retries,
        failed: sample.failed,
        airtime_ms: sample.airtime_us.map(|us| us as f64 / 1e3),
    }
}
