//! In the steady state an analysis does not allocate.

use crate::common::{MS, Shot, Transfer};
use fairwave_machine::line::Wire;
use fairwave_tcp::Config;
use fairwave_trace::analysis::{self, Analyzer, Ignore};
use fairwave_units::{BitRate, Instant, Seed};

/// A capture at the sender of a connection with loss, SACK and timestamps.
fn capture() -> Vec<Shot> {
    let wire = |loss| Wire {
        delay: MS(10),
        rate: Some(BitRate::mbps(20)),
        queue: Some(40),
        loss,
        ..Wire::default()
    };
    let config = Config { timestamps: true, max_rto: MS(4_000), ..Config::default() };
    let transfer = Transfer::new(Seed(1), config, [wire(0.01), wire(0.05)], 6_000_000);
    let [at_sender, _] = transfer.run(Instant::MAX).captures;
    at_sender
}

#[test]
fn packets_of_a_known_connection_cost_no_allocation() {
    let seen = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(seen.count_total, 1, "the counter does not count");
    let shots = capture();
    let (warm, steady) = shots.split_at(shots.len() / 2);
    assert!(steady.len() > 2_000, "only {} packets", steady.len());
    let mut analyzer = Analyzer::new(analysis::Config::default());
    warm.iter().for_each(|shot| analyzer.push(shot.frame(), &mut Ignore));
    let counted = allocation_counter::measure(|| {
        steady.iter().for_each(|shot| analyzer.push(shot.frame(), &mut Ignore));
    });
    assert_eq!(counted.count_total, 0, "allocations for {} packets", steady.len());
}
