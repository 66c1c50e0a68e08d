//! What each radio sent to each receiver. Times by hand are those of [`super::aggregates`].

use super::aggregates::{airtime, airtimes, batch, ht, lossy};
use super::*;
use fairwave_trace::PairSample;

fn pairs(rig: &Rig, radio: u32) -> Vec<(Option<RadioId>, PairSample)> {
    rig.channel.pairs(RadioId(radio)).collect()
}

#[test]
fn an_ampdu_counts_for_its_receiver_and_the_block_ack_for_its_sender() {
    let mut rig = batch(config(Standard::N), ht(7), 1538, 3, 1);
    rig.run_until(at(10_000));
    let sent = PairSample {
        ppdus: 1,
        failures: 0,
        mpdus: 3,
        retries: 0,
        psdu_bytes: 1544 + 1544 + 1542,
        mcs_sum: 7,
        streams_sum: 1,
        width_mhz_sum: 20,
        rate_bps_sum: 65_000_000,
        airtime: Duration::from_micros(608),
        control_airtime: Duration::ZERO,
        last: Some((ht(7).into(), BitRate::mbps(65))),
    };
    assert_eq!(pairs(&rig, 1), [(Some(RadioId(0)), sent)]);
    let control_airtime = Duration::from_micros(32);
    let answered = PairSample { control_airtime, ..PairSample::default() };
    assert_eq!(pairs(&rig, 0), [(Some(RadioId(1)), answered)]);
}

/// Of eight MPDUs some are lost, and only those were on the air before.
#[test]
fn mpdus_that_are_sent_once_more_are_retries() {
    let mut rig = batch(lossy(0.3, 0.0), ht(7), 1538, 8, 5);
    rig.run_until(at(100_000));
    let (_, sent) = pairs(&rig, 1)[0];
    assert!(airtimes(&rig).len() > 1, "the seed should lose some");
    assert_eq!((sent.ppdus, sent.mpdus - sent.retries), (airtimes(&rig).len() as u64, 8));
    let total: u64 = airtimes(&rig).iter().sum();
    assert_eq!(sent.airtime, Duration::from_micros(total));
    assert_eq!(sent.failures, 0, "each was answered");
}

#[test]
fn a_missing_block_ack_is_a_failure() {
    let mut rig = batch(lossy(0.0, 1.0), ht(7), 1538, 5, 1);
    rig.run_until(at(1_000_000));
    let (_, sent) = pairs(&rig, 1)[0];
    assert_eq!((sent.ppdus, sent.failures, sent.mpdus, sent.retries), (7, 7, 35, 30));
    assert!(sent.airtime >= Duration::from_micros(7 * airtime(5)), "with BlockAckReqs");
}

/// A CTS to itself is sent for the sake of the data behind it; beacons are for everybody.
#[test]
fn protection_is_for_the_receiver_of_the_data_and_beacons_for_everybody() {
    let mut config = config(Standard::G);
    config.protection = Some(config.phy.lowest_mode());
    config.beacon_interval = Some(Duration::from_millis(20));
    let mut rig = Rig::new(config, &[radio("ap", 0.0), radio("sta", 4.0)]);
    rig.send(at(100), 0, mpdu(1, 7));
    rig.run_until(at(25_000));
    let found = pairs(&rig, 0);
    let to: Vec<_> = found.iter().map(|(to, _)| *to).collect();
    assert_eq!(to, [Some(RadioId(1)), None]);
    assert!(found[0].1.ppdus == 1 && found[0].1.control_airtime > Duration::ZERO);
    assert!(found[1].1.ppdus == 0 && found[1].1.airtime > Duration::ZERO);
    let stats = rig.channel.stats(RadioId(0));
    assert_eq!(stats.airtime, found[0].1.airtime + found[1].1.airtime);
    assert_eq!(stats.control_airtime, found[0].1.control_airtime);
}
