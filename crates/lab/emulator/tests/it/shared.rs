//! Flows over several paths by the code of `fairwave shake` on the loopback interface.

use crate::traffic::{UNTIL_DONE, V4, only, run, spec};
use fairwave_emulator::traffic::{KernelFlow, Load, Place, Shared, Timing, Way};
use fairwave_shake_host::{Config, Mode, Psk, SetConfig};
use fairwave_trace::NodeId;
use fairwave_units::{Bytes, Duration, Seed};
use std::net::SocketAddr;

/// A path that joins and leaves at these times in milliseconds.
fn way((join, leave): (u64, Option<u64>)) -> Way {
    Way {
        name: format!("path from {join}"),
        place: Place { node: NodeId(0), address: SocketAddr::new(V4, 0) },
        join: Duration::from_millis(join),
        leave: leave.map(Duration::from_millis),
        rejoin: None,
    }
}

/// A transfer of 3 MB in a mode, over paths that join and leave at these times in milliseconds.
fn carried(mode: Mode, paths: &[(u64, Option<u64>)]) -> KernelFlow {
    over(mode, paths.iter().copied().map(way).collect())
}

/// A transfer of 3 MB in a mode, over these paths.
fn over(mode: Mode, ways: Vec<Way>) -> KernelFlow {
    let config = Config {
        mode,
        set: SetConfig { weights: Some(vec![1; ways.len()]), ..SetConfig::default() },
        notes_departures: mode != Mode::Multi,
        ..Config::new(Psk::of(&fairwave_sim::shared_key(Seed(7))))
    };
    let shared =
        Shared { source: config.clone(), sink: config, ways, size: Some(Bytes(3_000_000)) };
    only(run(vec![spec(0, V4, Load::Shared(Box::new(shared)))], UNTIL_DONE))
}

#[test]
fn a_transfer_arrives_whole_in_every_mode_and_its_paths_are_counted() {
    for mode in Mode::ALL {
        let flow = carried(mode, &[(0, None), (0, None)]);
        assert_eq!(flow.failure, None, "{mode:?}");
        let outcome = flow.outcome;
        assert_eq!(outcome.at_end.delivered_bytes, 3_000_000, "{mode:?}");
        assert!(outcome.completed.is_some(), "{mode:?}");
        assert!(outcome.at_end.sent_packets > 0 && outcome.at_end.acks_sent > 0, "{mode:?}");
        // The source counts by acknowledgements, of which the last may still be on their way.
        let arrived: Vec<u64> = outcome.paths.iter().map(|p| p.at_end.delivered_bytes).collect();
        assert!(arrived.len() == 2 && arrived.iter().sum::<u64>() > 0, "{arrived:?}");
        let is_set = mode == Mode::Multi;
        assert_eq!((outcome.shake.is_none(), outcome.delay.is_none()), (is_set, is_set));
    }
}

#[test]
fn a_path_that_never_joins_carries_nothing_and_one_that_left_takes_nothing_with_it() {
    let flow = carried(Mode::Shake, &[(0, Some(5)), (1, None), (29_000, None)]);
    assert_eq!(flow.failure, None);
    assert_eq!(flow.outcome.at_end.delivered_bytes, 3_000_000);
    let sent: Vec<u64> = flow.outcome.paths.iter().map(|p| p.at_end.sent_packets).collect();
    assert!(sent[1] > 0 && sent[2] == 0, "{sent:?}");
}

/// The path is alone, and leaves before the data can have arrived.
#[test]
fn a_path_that_left_comes_back() {
    let rejoin = Some(Duration::from_millis(50));
    let flow = over(Mode::Shake, vec![Way { rejoin, ..way((0, Some(1))) }]);
    assert_eq!(flow.failure, None);
    assert_eq!(flow.outcome.at_end.delivered_bytes, 3_000_000);
}

#[test]
fn a_flow_without_an_end_counts_in_bins_until_the_run_is_over() {
    let ms = Duration::from_millis;
    let timing = Timing { duration: ms(400), bins: Some(ms(100)), ..UNTIL_DONE };
    let config = Config::new(Psk::of(&fairwave_sim::shared_key(Seed(7))));
    let ways = vec![way((0, None))];
    let shared = Shared { source: config.clone(), sink: config, ways, size: None };
    let flow = only(run(vec![spec(0, V4, Load::Shared(Box::new(shared)))], timing));
    let (bins, all) = (flow.outcome.bins, flow.outcome.at_end.delivered_bytes);
    assert_eq!((flow.failure, flow.outcome.completed), (None, None));
    assert!(all > 0 && bins.len() == 4 && bins.iter().sum::<u64>() <= all, "{bins:?} of {all}");
}
