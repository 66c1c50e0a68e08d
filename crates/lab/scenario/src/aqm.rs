//! Keys of active queue management: disciplines that drop or mark before a queue is full.

use crate::diagnostic::Refusal;
use crate::keys::keys;
use crate::kinds::{boolean, bounds, choice, count, size};
use crate::queue::times;
use crate::reader::Reader;
use crate::service::curve_rates;
use fairwave_queue::{CakeConfig, Isolation, Limit, PieConfig, RedConfig};
use fairwave_units::{BitRate, Duration};

/// The bound of an interface in the descriptions of keys.
const USUAL: Limit = Limit::Packets(100);

keys! {
    /// Random early detection.
    for RedConfig |r| (usual: RedConfig = RedConfig::of(USUAL)) {
        /// Bound, in packets or bytes.
        limit: Limit = bounds().or(usual.limit)
            .phrase("that without a discipline");
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
            .phrase("that without a discipline");
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

/// The words for the parties among whom CAKE shares: those of `tc`.
const ISOLATIONS: [(&str, Isolation); 4] = [
    ("flows", Isolation::Flows),
    ("dual-srchost", Isolation::Sources),
    ("dual-dsthost", Isolation::Destinations),
    ("triple-isolate", Isolation::Triple),
];

keys! {
    /// CAKE.
    for CakeConfig |r| (usual: CakeConfig = CakeConfig::of(Limit::Packets(10_240))) {
        /// Bound, in packets or bytes.
        limit: Limit = bounds().or(usual.limit);
        /// Rate of the shaper, best a little below that of the link; without it, packets leave as
        /// fast as the link takes them.
        rate: Option<BitRate> = curve_rates().optional();
        /// Bytes that the link adds to an IP packet, for the shaper: 14 as Linux counts Ethernet,
        /// 38 with its preamble and gap.
        overhead: u32 = size(0, 256).or(usual.overhead);
        /// Length on the link of the shortest packets, for the shaper.
        min_packet: u32 = size(0, 256).or(usual.min_packet);
        /// The usual round-trip time: the interval of COBALT, whose target is a twentieth of it.
        rtt: Duration = times().or(usual.rtt);
        /// Parties that share equally: the flows; the hosts that send or that receive, and each
        /// one's flows; or both, a flow counting for that end of it which has more flows.
        isolation: Isolation = choice(&ISOLATIONS).or(usual.isolation);
    }
    check shapes_to_count_lengths;
}

fn shapes_to_count_lengths(config: &CakeConfig, r: &Reader<'_>) {
    if config.rate.is_some() {
        return;
    }
    for (key, value) in [("overhead", config.overhead), ("min_packet", config.min_packet)] {
        if value > 0 {
            let refusal = Refusal::new("there is no shaper whose lengths it could change")
                .help("write a rate, too");
            r.refuse(key, refusal);
        }
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
