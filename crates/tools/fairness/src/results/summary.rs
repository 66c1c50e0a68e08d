//! Evaluation of a run.

use super::record::{Flow, Record, Repetition, Station};
use fairwave_lab::means::MeanSummary;
use fairwave_lab::results::STARVED_FRACTION;
use fairwave_lab::stats::{Estimate, jain, mean, unfair};
use fairwave_lab::target::{achievement, fair_share, normalized};
use fairwave_units::BitRate;
use schemars::JsonSchema;
use serde::Serialize;

/// Results of a run: means over repetitions with their 95 % confidence intervals.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// Number of repetitions.
    pub repetitions: usize,
    /// Its stations, in the order in which they joined.
    pub stations: Vec<StationSummary>,
    /// Time from the start for which all stations took part, to which the total, the indices and
    /// starved flows refer; all repetitions together.
    #[schemars(extend("unit" = "seconds"))]
    pub shared_s: f64,
    /// Length of all repetitions together.
    #[schemars(extend("unit" = "seconds"))]
    pub lasted_s: f64,
    /// Payload of all stations in the time that they shared, in Mbps; null without a repetition.
    #[schemars(extend("unit" = "megabits per second"))]
    pub total_mbps: Option<MeanSummary>,
    /// Jain's fairness index over the stations, from 1/n to 1; null if nothing was carried.
    pub jain: Option<MeanSummary>,
    /// Jain's fairness index over all flows; null if nothing was carried.
    pub jain_flows: Option<MeanSummary>,
    /// Flows that had less than a tenth of an equal share of all flows, except flows of datagrams
    /// without loss.
    pub starved_flows: Vec<StarvedFlow>,
    /// Repetitions in which a station had nearly no throughput while another had more than its
    /// share.
    pub unfair_repetitions: usize,
    /// Flows that had the network for themselves, in their order.
    pub single: Vec<SingleFlow>,
    /// Results for the target; null without one.
    pub target: Option<TargetSummary>,
}

/// A station of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StationSummary {
    /// Its name.
    pub name: String,
    /// Its address; null if it is not known.
    pub address: Option<String>,
    /// Congestion control algorithms of its flows, without duplicates.
    pub algorithms: Vec<String>,
    /// Payload of all its flows, in Mbps.
    #[schemars(extend("unit" = "megabits per second"))]
    pub mbps: MeanSummary,
    /// Payload from the station, in Mbps; null without flows of that direction.
    #[schemars(extend("unit" = "megabits per second"))]
    pub up_mbps: Option<MeanSummary>,
    /// Payload to the station, in Mbps; null without flows of that direction.
    #[schemars(extend("unit" = "megabits per second"))]
    pub down_mbps: Option<MeanSummary>,
    /// Share of datagrams that were lost, from 0 to 1; null for TCP.
    #[schemars(extend("unit" = "share"))]
    pub loss: Option<f64>,
    /// Segments that the senders of its TCP flows retransmitted; null without samples.
    pub retransmitted: Option<u64>,
    /// Mean of the smoothed round-trip times that the senders of its TCP flows had at the end of
    /// each interval: the latency under load; null without samples.
    #[schemars(extend("unit" = "milliseconds"))]
    pub rtt_ms: Option<f64>,
    /// Mean of the jitter that the receivers of its datagrams had at the end of each interval; null
    /// without samples.
    #[schemars(extend("unit" = "milliseconds"))]
    pub jitter_ms: Option<f64>,
    /// AVR: the share of intervals, without the first, in which it reached the target; null without
    /// a target.
    #[schemars(extend("unit" = "share"))]
    pub achievement: Option<MeanSummary>,
    /// Maximum error of its clock against the server's; null if clocks were not compared.
    #[schemars(extend("unit" = "milliseconds"))]
    pub clock_error_ms: Option<f64>,
    /// Maximum delay of its start; null if no time was agreed.
    #[schemars(extend("unit" = "milliseconds"))]
    pub late_ms: Option<f64>,
}

/// A flow with nearly no throughput.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StarvedFlow {
    /// The repetition, from 1.
    pub repetition: usize,
    /// Its station.
    pub station: String,
    /// Its number at the station, from 1.
    pub flow: usize,
    /// Its rate.
    #[schemars(extend("unit" = "megabits per second"))]
    pub mbps: f64,
}

/// A flow that had the network for itself.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SingleFlow {
    /// Its station.
    pub station: String,
    /// Whether it went to the server.
    pub is_up: bool,
    /// Its mean rate.
    #[schemars(extend("unit" = "megabits per second"))]
    pub mbps: f64,
}

/// Origin of the effective bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EffectiveFrom {
    /// The command line.
    Stated,
    /// The maximum over flows that had the network for themselves.
    SingleFlow,
    /// The total of all stations, for want of both.
    Total,
}

/// A target rate in relation to the capacity (Ando, Murase and Oguchi, section 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TargetSummary {
    /// The target of each station.
    #[schemars(extend("unit" = "megabits per second"))]
    pub mbps: f64,
    /// EB: the stated capacity of the network; if none was stated, the maximum over the flows that
    /// had the network for themselves; without any, the total throughput of all stations.
    #[schemars(extend("unit" = "megabits per second"))]
    pub effective_mbps: f64,
    /// Origin of EB.
    pub effective_from: EffectiveFrom,
    /// EB divided by the number of stations.
    #[schemars(extend("unit" = "megabits per second"))]
    pub fair_share_mbps: f64,
    /// NRT: the target divided by EB; null if EB is zero.
    #[schemars(extend("unit" = "share"))]
    pub normalized: Option<f64>,
}

impl Summary {
    /// Computes the summary of a record.
    pub fn of(record: &Record) -> Self {
        let seconds = record.interval_s;
        let over = |value: &dyn Fn(&Repetition) -> Option<f64>| {
            means(&record.repetitions.iter().filter_map(value).collect::<Vec<_>>())
        };
        let total = over(&|repetition| Some(repetition.rates(seconds).iter().sum()));
        Self {
            repetitions: record.repetitions.len(),
            shared_s: seconds
                * record.repetitions.iter().map(Repetition::shared).sum::<usize>() as f64,
            lasted_s: seconds
                * record.repetitions.iter().map(Repetition::whole).sum::<usize>() as f64,
            stations: record.names().into_iter().filter_map(|name| station(record, name)).collect(),
            total_mbps: total,
            jain: over(&|repetition| jain(&repetition.rates(seconds))),
            jain_flows: over(&|repetition| jain(&flow_rates(repetition, seconds))),
            starved_flows: starved(record),
            unfair_repetitions: record.repetitions.iter().filter(|r| is_unfair(r, seconds)).count(),
            single: single(record),
            target: record.target_bps.map(|target| of_target(record, target, total)),
        }
    }
}

fn means(values: &[f64]) -> Option<MeanSummary> {
    Estimate::of(values).map(Into::into)
}

fn flow_rates(repetition: &Repetition, interval_s: f64) -> Vec<f64> {
    let stations = repetition.stations.iter();
    stations.flat_map(|station| repetition.flow_rates(station, interval_s)).collect()
}

fn is_unfair(repetition: &Repetition, interval_s: f64) -> bool {
    unfair(&repetition.rates(interval_s))
}

/// AVR of a station in one repetition.
pub(super) fn avr(station: &Station, interval_s: f64, target_bps: u64) -> Option<f64> {
    let bps = |bytes: u64| (bytes as f64 * 8.0 / interval_s) as u64;
    let bins: Vec<u64> = station.bytes().into_iter().map(bps).collect();
    achievement(&bins, BitRate(target_bps), 0.0)
}

fn station(record: &Record, name: &str) -> Option<StationSummary> {
    let seconds = record.interval_s;
    let over = |value: &dyn Fn(&Station) -> Option<f64>| {
        means(&record.of(name).filter_map(value).collect::<Vec<_>>())
    };
    let mut algorithms: Vec<String> = Vec::new();
    for algorithm in
        record.of(name).flat_map(|station| &station.flows).filter_map(|f| f.algorithm.clone())
    {
        if !algorithms.contains(&algorithm) {
            algorithms.push(algorithm);
        }
    }
    let max = |value: &dyn Fn(&Station) -> Option<f64>| {
        record.of(name).filter_map(value).max_by(f64::total_cmp)
    };
    let flows = record.of(name).flat_map(|station| &station.flows);
    let (sent, lost) = flows
        .filter_map(|flow| flow.datagrams.zip(flow.lost))
        .fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    Some(StationSummary {
        name: name.to_owned(),
        address: record.of(name).find_map(|station| station.address.clone()),
        algorithms,
        mbps: over(&|station| station.mbps(seconds, None))?,
        up_mbps: over(&|station| station.mbps(seconds, Some(true))),
        down_mbps: over(&|station| station.mbps(seconds, Some(false))),
        loss: (sent > 0).then(|| lost as f64 / sent as f64),
        retransmitted: record
            .flows(name)
            .flat_map(|flow| &flow.retransmitted)
            .map(|count| u64::from(*count))
            .reduce(u64::saturating_add),
        rtt_ms: mean(&record.flows(name).flat_map(|flow| flow.rtt_ms.clone()).collect::<Vec<_>>()),
        jitter_ms: mean(
            &record.flows(name).flat_map(|flow| flow.jitter_ms.clone()).collect::<Vec<_>>(),
        ),
        achievement: record
            .target_bps
            .and_then(|target| over(&|station| avr(station, seconds, target))),
        clock_error_ms: max(&|station| station.clock_error_ms),
        late_ms: max(&|station| station.late_ms),
    })
}

fn starved(record: &Record) -> Vec<StarvedFlow> {
    let seconds = record.interval_s;
    let mut list = Vec::new();
    for (repetition, number) in record.repetitions.iter().zip(1..) {
        let fair = mean(&flow_rates(repetition, seconds)).unwrap_or(0.0);
        for station in &repetition.stations {
            let rates = repetition.flow_rates(station, seconds).into_iter().zip(1..);
            let rates = station.flows.iter().zip(rates);
            let hungry = rates.filter(|(flow, _)| !flow.is_without_loss()).map(|(_, rate)| rate);
            list.extend(hungry.filter(|(mbps, _)| *mbps < fair * STARVED_FRACTION).map(
                |(mbps, flow)| StarvedFlow {
                    repetition: number,
                    station: station.name.clone(),
                    flow,
                    mbps,
                },
            ));
        }
    }
    list
}

fn single(record: &Record) -> Vec<SingleFlow> {
    let stations = record.single.iter().flat_map(|repetition| &repetition.stations);
    let flows = stations.flat_map(|station| station.flows.iter().map(move |flow| (station, flow)));
    let of = |(station, flow): (&Station, &Flow)| SingleFlow {
        station: station.name.clone(),
        is_up: flow.is_up,
        mbps: flow.mbps(record.interval_s, flow.bytes.len()),
    };
    // A flow that was cut off in its first interval has no rate.
    flows.filter(|(_, flow)| !flow.bytes.is_empty()).map(of).collect()
}

fn of_target(record: &Record, target_bps: u64, total: Option<MeanSummary>) -> TargetSummary {
    let bps = |mbps: f64| BitRate((mbps * 1e6).round() as u64);
    let total = bps(total.map_or(0.0, |total| total.mean));
    let maximum = single(record).into_iter().map(|flow| flow.mbps).max_by(f64::total_cmp);
    let (eb, effective_from) = match (record.effective_bps, maximum) {
        (Some(stated), _) => (BitRate(stated), EffectiveFrom::Stated),
        (None, Some(mbps)) => (bps(mbps), EffectiveFrom::SingleFlow),
        (None, None) => (total, EffectiveFrom::Total),
    };
    let target = BitRate(target_bps);
    let stations = u32::try_from(record.names().len()).unwrap_or(u32::MAX);
    TargetSummary {
        mbps: target.as_mbps_f64(),
        effective_mbps: eb.as_mbps_f64(),
        effective_from,
        fair_share_mbps: fair_share(eb, stations).as_mbps_f64(),
        normalized: normalized(target, eb),
    }
}
