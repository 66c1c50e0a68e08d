//! Runs with chosen measurements, for the tests of studies. Nothing is simulated.

use fairwave_lab::results::{
    Direction, FlowSummary, QueueSummary, StationSummary, Stretch, Summary, Totals,
};
use fairwave_lab::run::Run;
use fairwave_lab::stats;

/// Measurements of a run that matter to the claims.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The first flow's goodput as a share of the others'.
    pub first: f64,
    /// Goodput of each upload in Mbps.
    pub up_mbps: u64,
    /// Goodput of each download in Mbps.
    pub down_mbps: u64,
    /// Packets that the access point's queue dropped for want of room.
    pub overflow: u64,
    /// Longest time that the first flow had a collapsed window, in seconds.
    pub collapse_s: u64,
    /// ACKs of ten that the access point dropped in that time.
    pub acks_dropped: u64,
}

/// All flows get the same and nothing is dropped.
pub const FAIR: Shape =
    Shape { first: 1.0, up_mbps: 1, down_mbps: 1, overflow: 0, collapse_s: 0, acks_dropped: 0 };

fn flow(i: u64, bps: u64, direction: Direction, shape: Shape) -> FlowSummary {
    let collapsed = Stretch {
        start_ns: 30_000_000_000,
        length_ns: if i == 0 { shape.collapse_s * 1_000_000_000 } else { 0 },
        acks_sent: 10,
        acks_dropped_at_ap: shape.acks_dropped,
        timeouts: 6,
    };
    FlowSummary {
        name: format!("flow{i}"),
        direction,
        start_ns: i * 1_000_000,
        goodput_bps: bps,
        asked_bps: None,
        sent_packets: 1000,
        retransmissions: 3,
        timeouts: 2,
        fast_recoveries: Some(1),
        acks_sent: 900,
        acks_dropped: 100,
        acks_dropped_at_ap_all_run: 100,
        acks_filtered: 0,
        acks_lost_inferred: Some(0),
        srtt_end_ns: Some(210_000_000),
        longest_silence_ns: 1_000_000,
        collapsed,
        collapsed_by_ack_loss: collapsed.loses_half_of_its_acks().then_some(collapsed),
        completed_ns: None,
        completion_ns: None,
        delay: None,
        round_trips: None,
        datagrams: None,
        web: None,
        playout: None,
        bins_bps: Vec::new(),
        proxy: None,
        probe: None,
        shake: None,
        paths: Vec::new(),
    }
}

/// A run of `flows` flows, of which every other one is a download if `down` is set.
pub fn shaped(axes: &[(&str, &str)], seed: u64, flows: usize, down: bool, shape: Shape) -> Run {
    // A little spread over seeds, so that intervals have a width.
    let wobble = 10_000 * seed;
    let flows: Vec<FlowSummary> = (0..flows as u64)
        .map(|i| {
            let toward_station = down && i % 2 == 1;
            let mbps = if toward_station { shape.down_mbps } else { shape.up_mbps };
            let share = if i == 0 { shape.first } else { 1.0 };
            let bps = (mbps as f64 * 1e6 * share) as u64 + wobble;
            flow(i, bps, if toward_station { Direction::Down } else { Direction::Up }, shape)
        })
        .collect();
    let toward = |d| flows.iter().filter(|f| f.direction == d).map(|f| f.goodput_bps).sum();
    let rates: Vec<f64> = flows.iter().map(|f| f.goodput_bps as f64).collect();
    let totals = Totals {
        goodput_bps: flows.iter().map(|f| f.goodput_bps).sum(),
        up_bps: toward(Direction::Up),
        down_bps: toward(Direction::Down),
        jain: stats::jain(&rates),
        starved_flows: stats::starved(&rates, 0.1),
        drops_queue_full: shape.overflow,
        drops_retry_limit: 0,
        drops_link_loss: 0,
        drops_no_route: 0,
        drops_aqm: 0,
        drops_ack_filtered: 0,
    };
    let queue = QueueSummary {
        name: "ap".into(),
        access_point: true,
        enqueued: 1000,
        drops_queue_full: shape.overflow,
        drops_retry_limit: 0,
        drops_link_loss: 0,
        drops_no_route: 0,
        drops_aqm: 0,
        drops_ack_filtered: 0,
        peak_packets: 100,
        mean_packets: 90.5,
    };
    let station = StationSummary {
        name: "ap".into(),
        attempts: 10,
        failures: 1,
        collisions: 1,
        successes: 9,
        retry_drops: 0,
        airtime_share: 0.1,
    };
    let summary = Summary {
        schema_version: 1,
        simulated_ns: 120_000_000_000,
        measured_ns: 100_000_000_000,
        bin_ns: None,
        frames: 1000,
        events: 5000,
        flows,
        queues: vec![queue],
        stations: vec![station],
        pairs: Vec::new(),
        totals,
        emulation: None,
    };
    let axes = axes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Run { axes, seed, summary, directory: None }
}

/// A run of uploads with these goodputs in Mbps, and this share of their ACKs dropped.
pub fn run(axes: &[(&str, &str)], seed: u64, rates_mbps: &[f64], acks_dropped: f64) -> Run {
    let mut run = shaped(axes, seed, rates_mbps.len(), false, FAIR);
    for (flow, rate) in run.summary.flows.iter_mut().zip(rates_mbps) {
        flow.goodput_bps = (rate * 1e6) as u64;
        flow.acks_dropped = (flow.acks_sent as f64 * acks_dropped) as u64;
    }
    run.summary.totals.jain = stats::jain(rates_mbps);
    run
}
