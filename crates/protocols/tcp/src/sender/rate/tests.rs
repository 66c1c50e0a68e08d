//! Samples by hand, in segments of 1000 bytes.

use super::*;
use fairwave_units::BitRate;

const MS: fn(u64) -> Duration = Duration::from_millis;

fn at(millis: u64) -> Instant {
    Instant::ZERO + MS(millis)
}

/// Takes one segment that ends at `end` as arrived at `now`.
fn arrive(rate: &mut RateSampler, now: u64, sent: u64, end: u64, d: &Departure) -> RateSample {
    let mut arrivals = Arrivals::default();
    arrivals.take(1_000, Sent { at: at(sent), number: end }, d);
    rate.arrive(at(now), &arrivals, Some(MS(100))).expect("a segment arrived")
}

/// Section 3.3: four segments leave 10 ms apart and arrive 20 ms apart. The first tells only
/// that 1000 bytes took a round trip; the fourth, that 4000 took the longer, ACK, interval.
#[test]
fn the_slower_of_sending_and_acknowledging_counts() {
    let mut rate = RateSampler::default();
    let sent: Vec<_> = (0..4).map(|n| rate.depart(at(10 * n), n == 0)).collect();
    let first = arrive(&mut rate, 100, 0, 1_000, &sent[0]);
    assert_eq!((first.delivered, first.interval), (1_000, MS(100)));
    arrive(&mut rate, 120, 10, 2_000, &sent[1]);
    arrive(&mut rate, 140, 20, 3_000, &sent[2]);
    let fourth = arrive(&mut rate, 160, 30, 4_000, &sent[3]);
    assert_eq!((fourth.delivered, fourth.interval), (4_000, MS(160)));
    assert_eq!(fourth.rate(), Some(BitRate(200_000)));
    // The next flight leaves at 160 with 4000 delivered, and is measured from there: sending is
    // clocked from the segment whose arrival let it go.
    let next = rate.depart(at(160), false);
    let sample = arrive(&mut rate, 280, 160, 5_000, &next);
    assert_eq!((sample.prior_delivered, sample.delivered), (4_000, 1_000));
    assert_eq!(sample.interval, MS(130));
}

/// Section 3.3: ACKs that come all at once (ACK compression) do not shorten the interval below
/// the time that sending took.
#[test]
fn compressed_acks_do_not_inflate_the_rate() {
    let mut rate = RateSampler::default();
    let sent: Vec<_> = (0..20).map(|n| rate.depart(at(20 * n), n == 0)).collect();
    arrive(&mut rate, 300, 0, 1_000, &sent[0]);
    let late = rate.depart(at(400), false);
    let mut arrivals = Arrivals::default();
    for (n, departure) in (1..20).zip(&sent[1..]) {
        arrivals.take(1_000, Sent { at: at(20 * n), number: n }, departure);
    }
    rate.arrive(at(490), &arrivals, Some(MS(100)));
    let sample = arrive(&mut rate, 500, 400, 21_000, &late);
    assert_eq!((sample.delivered, sample.interval), (20_000, MS(400)));
}

/// Section 3.3: a sample shorter than the least round trip says nothing.
#[test]
fn a_sample_below_the_least_rtt_is_unreliable() {
    let mut rate = RateSampler::default();
    let departure = rate.depart(at(0), true);
    assert_eq!(arrive(&mut rate, 99, 0, 1_000, &departure).rate(), None);
}

/// Section 3.4: what left while the application was the limit is marked, until all that was in
/// flight then has arrived.
#[test]
fn app_limited_samples_end_with_their_flight() {
    let mut rate = RateSampler::default();
    let first = rate.depart(at(0), true);
    rate.note_app_limited(1_000);
    let second = rate.depart(at(10), false);
    assert!(!arrive(&mut rate, 100, 0, 1_000, &first).is_app_limited);
    let third = rate.depart(at(100), false);
    assert!(arrive(&mut rate, 110, 10, 2_000, &second).is_app_limited);
    assert!(arrive(&mut rate, 200, 100, 3_000, &third).is_app_limited);
    assert!(!rate.depart(at(200), true).app_limited);
}

/// An idle connection begins to measure afresh: the silence is not part of an interval.
#[test]
fn idleness_is_not_measured() {
    let mut rate = RateSampler::default();
    let first = rate.depart(at(0), true);
    arrive(&mut rate, 100, 0, 1_000, &first);
    let second = rate.depart(at(5_000), true);
    assert_eq!(arrive(&mut rate, 5_100, 5_000, 2_000, &second).interval, MS(100));
}

/// Nothing new arrived: nothing to tell.
#[test]
fn an_empty_ack_gives_no_sample() {
    let mut rate = RateSampler::default();
    assert_eq!(rate.arrive(at(1), &Arrivals::default(), None), None);
}
