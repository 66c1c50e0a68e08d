//! Keys of active queue management: disciplines that drop or mark before a queue is full.

use crate::diagnostic::Refusal;
use crate::keys::keys;
use crate::kinds::{boolean, bounds, count};
use crate::queue::times;
use crate::reader::Reader;
use fairwave_queue::{Limit, PieConfig, RedConfig};
use fairwave_units::Duration;

/// The bound of an interface in the descriptions of keys.
const USUAL: Limit = Limit::Packets(100);

keys! {
    /// Random early detection.
    for RedConfig |r| (usual: RedConfig = RedConfig::of(USUAL)) {
        /// Bound, in packets or bytes.
        limit: Limit = bounds().or(usual.limit)
            .phrase("the bound that the queue has without a discipline");
        /// Average length from which on packets are dropped at random, in packets or bytes. The
        /// average counts in the same unit.
        min_threshold: Limit = bounds().or(usual.min_threshold);
        /// Average length at which the probability is at its maximum, in the same unit.
        max_threshold: Limit = bounds().or(usual.max_threshold);
        /// The maximum probability, in percent.
        max_percent: u32 = count(1, 100).or(usual.max_percent);
        /// The average moves by 2^-`weight_shift` of the difference at each arrival.
        weight_shift: u32 = count(1, 20).or(usual.weight_shift);
        /// Time that a packet takes on the link. While the queue is empty, its average falls as if
        /// packets arrived at these intervals.
        packet_time: Duration = times().or(usual.packet_time);
        /// Let the probability rise from its maximum to one between `max_threshold` and twice that,
        /// instead of dropping all arrivals above `max_threshold`.
        gentle: bool = boolean().or(usual.gentle);
        /// Move the maximum probability every 500 ms so that the average stays half way between the
        /// thresholds (Adaptive RED).
        adaptive: bool = boolean().or(usual.adaptive);
        /// Mark packets that take part in ECN instead of dropping them at random.
        ecn: bool = boolean().or(usual.ecn);
    }
    check thresholds_rise;
}

keys! {
    /// Proportional integral controller enhanced.
    for PieConfig |r| (usual: PieConfig = PieConfig::of(USUAL)) {
        /// Bound, in packets or bytes.
        limit: Limit = bounds().or(usual.limit)
            .phrase("the bound that the queue has without a discipline");
        /// Delay that PIE aims at.
        target: Duration = times().or(usual.target);
        /// Time between two updates of the probability of drops.
        update: Duration = times().or(usual.update);
        /// Length of the bursts that are let in after a time without congestion.
        max_burst: Duration = times().or(usual.max_burst);
        /// Mark packets of ECN instead of dropping them, up to a probability of 10 %.
        ecn: bool = boolean().or(usual.ecn);
    }
}

fn thresholds_rise(config: &RedConfig, r: &Reader<'_>) {
    let rises = match (config.min_threshold, config.max_threshold) {
        (Limit::Packets(min), Limit::Packets(max)) => min < max,
        (Limit::Bytes(min), Limit::Bytes(max)) => min < max,
        _ => {
            let refusal = Refusal::new("the thresholds have different units")
                .help("write both in packets or both in bytes");
            return r.refuse("min_threshold", refusal);
        }
    };
    if !rises {
        let refusal = Refusal::new("a range of averages is empty")
            .help("write a min_threshold below max_threshold");
        r.refuse("min_threshold", refusal);
    }
}
