//! Waits by hand: two clocks that are apart, and a queue of two packets.

use super::*;
use crate::Trial;
use fairwave_units::{Duration, Instant};
use fairwave_wire::probe::Record;

#[test]
fn waits_count_from_the_fastest_packet_by_whatever_clock() {
    let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
    let interval = Duration::from_millis(10);
    let trial = Trial { payload_bytes: 1000, spaced: 2, interval, train: 3 };
    // The receiver's clock is 1000 ms ahead, the path takes 4 ms; the second packet is lost.
    let arrivals = [(0, 1004), (2, 1024), (3, 1029), (4, 1034)];
    let arrived = arrivals.map(|(number, ms)| Record { number, arrived: at(ms) }).to_vec();
    let account = Account { trial, sent: [0, 10, 20, 21, 22].map(at).to_vec(), arrived };
    let found = delays(&[account]);
    assert_eq!(found[0].waits_ms, [Some(0.0), None, Some(0.0), Some(4.0), Some(8.0)]);
    assert_eq!(found[0].sent_s[4], 0.022);
    assert_eq!((found[0].lost_apart(), found[0].longest_ms), ((2, 1), 8.0));
}

#[test]
fn a_trial_of_which_nothing_arrived_has_no_delays() {
    let trial = Trial { payload_bytes: 9, spaced: 0, interval: Duration::ZERO, train: 1 };
    let account = Account { trial, sent: vec![Instant::ZERO], arrived: Vec::new() };
    assert_eq!(delays(&[account]), []);
    assert_eq!(drift_ppm(&[]), 0.0);
}
