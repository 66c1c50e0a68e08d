//! Paths with narrow links, and idle connections.

use super::*;
use fairwave_dccp::PathLimits;

const PATH: PathLimits = PathLimits { min: 1_200, max: 1_472 };

/// Ends that search their path; the client sends datagrams of 1400 bytes.
fn pair(takes: usize) -> Pair {
    pair_of(Pair::new(Over::Udp, false, 3), takes)
}

fn pair_of(mut pair: Pair, takes: usize) -> Pair {
    for end in [0, 1] {
        let mut settings = settings(Over::Udp, pair.addresses, 3, end == 0);
        settings.connection.path = Some(PATH);
        pair.ends[end] = Connections::new(settings);
    }
    (pair.size, pair.takes) = (1_400, takes);
    pair.report(0, Fact::Start);
    pair
}

fn size(pair: &Pair) -> u32 {
    let account = pair.ends[0].account(pair.open().expect("it is established"));
    account.expect("it is there").path_size.expect("it is searched")
}

fn arrived(pair: &Pair) -> usize {
    pair.count(1, |event| matches!(event, PortEvent::Data(..)))
}

/// Datagrams are longer than what is known to get through, so that they may be cut: all arrive.
#[test]
fn a_narrow_link_is_found_and_nothing_is_lost_meanwhile() {
    let mut pair = pair(1_252);
    pair.run_until(at(20_000));
    assert!((1_244..=1_252).contains(&size(&pair)), "{}", size(&pair));
    let sent = pair.ends[0].account(pair.open().expect("open")).expect("open").stats;
    assert!(arrived(&pair) + 5 > sent.data_packets_sent as usize, "{sent:?}");
    assert!(arrived(&pair) > 500);
}

#[test]
fn a_path_that_becomes_narrow_ends_no_connection() {
    let mut pair = pair(usize::MAX);
    pair.run_until(at(3_000));
    assert_eq!(size(&pair), PATH.max);
    pair.takes = 1_252;
    pair.run_until(at(40_000));
    assert!(size(&pair) <= 1_252, "{}", size(&pair));
    let before = arrived(&pair);
    pair.run_until(at(42_000));
    assert!(arrived(&pair) > before + 10);
    for end in [0, 1] {
        assert_eq!(pair.count(end, |event| matches!(event, PortEvent::Ended(..))), 0);
    }
}

/// With IPv6 nobody cuts datagrams, so that those found too long are dropped.
#[test]
fn an_outage_makes_no_datagram_too_long() {
    let mut pair = pair_of(Pair::new(Over::Udp, true, 3), usize::MAX);
    // The size is confirmed 10 s after it was found.
    pair.run_until(at(9_900));
    pair.dead = vec![0, 1];
    pair.run_until(at(17_000));
    pair.dead.clear();
    pair.run_until(at(40_000));
    let account = pair.ends[0].account(pair.open().expect("open")).expect("open");
    assert_eq!(account.dropped.too_long, 0);
    assert_eq!(account.path_size, Some(PATH.max - 20));
}

#[test]
fn a_report_of_icmp_is_heeded() {
    let mut pair = pair(1_252);
    pair.run_until(at(500));
    pair.report(0, Fact::PathTakes(pair.addresses[1], 1_252));
    pair.run_until(at(1_000));
    assert_eq!(size(&pair), 1_252);
}

/// Beyond the 150 s after which an end without packets closes; a Sync every 15 s, and its answer.
/// Without data from either end the client leaves PARTOPEN by the first one, also after it opened
/// its connection again.
#[test]
fn an_idle_connection_is_kept() {
    for (sends, moves) in [(true, false), (false, false), (false, true)] {
        let mut pair = Pair::new(Over::Udp, false, 3);
        let mut settings = settings(Over::Udp, pair.addresses, 3, true);
        settings.connection.keep_alive = Some(Duration::from_secs(15));
        pair.ends[0] =
            Connections::new(Settings { reconnect: Some(Duration::from_secs(60)), ..settings });
        // One datagram at the beginning, or none.
        pair.pace = Some(Duration::from_secs(10_000));
        pair.is_stopped = !sends;
        pair.report(0, Fact::Start);
        pair.run_until(at(1_000));
        if moves {
            pair.report(0, Fact::Moved(pair.addresses[0].ip()));
        }
        pair.run_until(at(600_000));
        let is_restored = |event: &PortEvent| matches!(event, PortEvent::Restored(_));
        assert_eq!(pair.count(0, is_restored), usize::from(moves));
        // The server's connection before has no packets any more.
        for (end, ends) in [(0, 0), (1, usize::from(moves))] {
            let ended = pair.count(end, |event| matches!(event, PortEvent::Ended(..)));
            assert_eq!(ended, ends, "end {end}, sends: {sends}");
        }
        let stats = pair.ends[0].account(pair.open().expect("open")).expect("open").stats;
        assert!((33..=40).contains(&stats.syncs_sent), "{}", stats.syncs_sent);
    }
}
