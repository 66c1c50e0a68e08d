//! Types of the output of `fairwave fairness` with `--json`, and their construction.

use fairwave_fairness as measured;
use fairwave_fairness::results::{
    Carrier, Counted, Ending, Flow, RadioSample, Record, Repetition, Station, Summary,
};
use schemars::JsonSchema;
use serde::Serialize;

/// Output of `fairwave fairness run --json` and `fairwave fairness show --json`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FairnessOutput {
    /// Figures computed from the record.
    pub(crate) summary: Summary,
    /// Counts of all intervals.
    pub(crate) record: Record,
    /// Warnings for the reader of the figures.
    pub(crate) warnings: Vec<String>,
    /// Reason why the measurement ended early; null if it did not.
    pub(crate) error: Option<String>,
}

impl FairnessOutput {
    /// The output for a record.
    pub(crate) fn of(record: Record, error: Option<String>) -> Self {
        let (summary, warnings) = (Summary::of(&record), crate::show_fairness::warnings(&record));
        Self { summary, record, warnings, error }
    }
}

/// Builds the record of a host's measurement.
pub(crate) fn record(
    found: &measured::Measured,
    terms: &measured::Terms,
    begun_unix_s: u64,
) -> Record {
    let repetitions = found.repetitions.iter().map(|repetition| Repetition {
        stations: repetition.stations.iter().map(station).collect(),
    });
    Record {
        interval_s: terms.interval_ns as f64 / 1e9,
        begun_unix_s: Some(begun_unix_s),
        target_bps: None,
        effective_bps: None,
        repetitions: repetitions.collect(),
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
        law: flow.law.clone(),
        counted: if flow.by_receiver { Counted::AtReceiver } else { Counted::AtSender },
        bytes: flow.bytes.clone(),
        datagrams: flow.datagrams,
        lost: flow.lost,
        is_broken: flow.is_broken,
    }
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
