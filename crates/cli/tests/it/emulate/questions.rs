//! Requests by users of other emulators that were not fulfilled there, each as an example scenario
//! with real programs or the kernel's sockets.
//!
//! The default suite runs beside builds, where senders and emulator wait for a processor. Its
//! bounds are those of physics: something arrives, and not more than a channel carries. Tests named
//! `realtime` have the bounds of an idle machine.

use super::{Ended, Site, machine_can};
use serde_json::Value;

/// Runs a scenario with two sets of settings at the same time.
fn both(name: &str, settings: [&[&str]; 2]) -> [Ended; 2] {
    let started = settings.map(|settings| {
        let site = Site::catalogued(name).with(&["--set", "emulate.lateness_limit='1 s'"]);
        site.with(settings).start()
    });
    started.map(|started| {
        let ended = started.end();
        ended.went_well();
        ended
    })
}

fn station(summary: &Value, name: &str, key: &str) -> u64 {
    let stations = summary["stations"].as_array().expect("stations are listed");
    let station = stations.iter().find(|station| station["name"] == name).expect("it is listed");
    station[key].as_u64().expect("a count")
}

/// Goodput of flows whose names have this prefix, in Mbps.
fn goodput(ended: &Ended, flows: &str) -> f64 {
    let summary = ended.summary();
    let all = summary["flows"].as_array().expect("flows are listed");
    let bears = |flow: &&Value| flow["name"].as_str().is_some_and(|name| name.starts_with(flows));
    let rate = |flow: &Value| flow["goodput_bps"].as_f64().expect("a rate") / 1e6;
    all.iter().filter(bears).map(rate).sum()
}

/// Maximum goodput of one channel at 54 Mbps, in Mbps: without preambles, gaps and ACKs it would be
/// its data rate.
const CHANNEL_MBPS: f64 = 54.0;

/// Summaries of two senders and of one.
fn senders() -> [Value; 2] {
    let alone: &[&str] = &["--set", "node.sta.count=1", "--for", "1500 ms"];
    let ended = both("emulated-collisions.toml", [&["--for", "1500 ms"], alone]);
    ended.map(|ended| ended.summary())
}

/// mininet-wifi, issues 498 and 500.
#[test]
fn two_real_senders_collide() {
    if machine_can() {
        let [two, one] = senders();
        let of_two = |key| ["sta1", "sta2"].map(|name| station(&two, name, key));
        assert!(of_two("attempts").iter().all(|&attempts| attempts > 0), "{}", two["stations"]);
        assert!(of_two("collisions").iter().sum::<u64>() > 0, "{}", two["stations"]);
        assert!(station(&one, "sta1", "attempts") > 0, "{}", one["stations"]);
    }
}

#[test]
#[ignore = "real time: cargo xtask test --realtime"]
fn realtime_two_real_senders_collide_and_one_alone_does_not() {
    if !machine_can() {
        return;
    }
    let [two, one] = senders();
    for name in ["sta1", "sta2"] {
        let [attempts, collisions] = ["attempts", "collisions"].map(|key| station(&two, name, key));
        assert!(attempts > 300 && collisions > attempts / 50, "{name}: {collisions}/{attempts}");
    }
    assert!(station(&one, "sta1", "attempts") > 300, "{}", one["stations"]);
    // It may collide with its access point, which sends a few answers of the server.
    let few = station(&two, "sta1", "collisions") / 10;
    assert!(station(&one, "sta1", "collisions") < few, "{}", one["stations"]);
}

/// Goodput of two fast stations beside a slow one, and beside a third fast one, in Mbps.
fn beside_a_slow_station() -> (f64, f64) {
    let short: &[&str] = &["--for", "2 s"];
    let all_fast: &[&str] = &["--for", "2 s", "--set", "node.slow.data_rate='54 Mbps'"];
    let [slow, fast] = both("emulated-anomaly.toml", [short, all_fast]);
    (goodput(&slow, "fast"), goodput(&fast, "fast"))
}

#[test]
fn real_senders_send_beside_a_slow_station() {
    if machine_can() {
        let (slow, fast) = beside_a_slow_station();
        let possible = [slow, fast].iter().all(|&rate| rate > 0.0 && rate < CHANNEL_MBPS);
        assert!(possible, "{slow} and {fast} Mbps");
    }
}

#[test]
#[ignore = "real time: cargo xtask test --realtime"]
fn realtime_a_slow_station_pulls_real_senders_at_fast_ones_down() {
    if machine_can() {
        let (slow, fast) = beside_a_slow_station();
        assert!(fast > 14.0, "two of three fast senders: {fast} Mbps");
        assert!(slow < 0.6 * fast, "{slow} of {fast} Mbps");
    }
}

/// Goodput of two access points on one channel, and on two channels, in Mbps.
fn of_two_access_points() -> (f64, f64) {
    let short: &[&str] = &["--for", "2 s"];
    let apart: &[&str] = &["--for", "2 s", "--set", "cell.right.channel=40"];
    let [shared, own] = both("emulated-two-aps.toml", [short, apart]);
    (goodput(&shared, ""), goodput(&own, ""))
}

/// mininet-wifi, issue 134.
#[test]
fn two_access_points_carry_on_one_channel_and_on_two() {
    if machine_can() {
        let (shared, own) = of_two_access_points();
        assert!(shared > 0.0 && shared < CHANNEL_MBPS, "{shared} Mbps");
        assert!(own > 0.0 && own < 2.0 * CHANNEL_MBPS, "{own} Mbps");
    }
}

#[test]
#[ignore = "real time: cargo xtask test --realtime"]
fn realtime_two_access_points_on_one_channel_share_its_capacity() {
    if machine_can() {
        let (shared, own) = of_two_access_points();
        assert!(own > 45.0 && own > 1.6 * shared, "{shared} and {own} Mbps");
    }
}

/// Goodput of a download in mode n and in mode g, in Mbps.
fn of_modes() -> (f64, f64) {
    let short: &[&str] = &["--for", "2 s"];
    let old: &[&str] = &["--for", "2 s", "--set", "cell.standard=802.11g"];
    let [n, g] = both("emulated-modes.toml", [short, old]);
    (goodput(&n, "down"), goodput(&g, "down"))
}

/// mininet-wifi, issue 462: there mode n had 7 Mbps and g 34.
#[test]
fn modes_n_and_g_carry() {
    if machine_can() {
        let (n, g) = of_modes();
        assert!(n > 0.0 && g > 0.0 && g < CHANNEL_MBPS, "n {n}, g {g} Mbps");
    }
}

#[test]
#[ignore = "real time: cargo xtask test --realtime"]
fn realtime_mode_n_is_faster_than_g() {
    if machine_can() {
        let (n, g) = of_modes();
        assert!(g > 12.0 && n > 1.4 * g, "n {n}, g {g} Mbps");
    }
}

/// Goodput of a link of a gigabit in bit/s; `None` if the run was refused, with its reason.
fn of_a_gigabit() -> Option<f64> {
    let ended = Site::catalogued("emulated-gigabit.toml").run();
    if ended.code == Some(4) {
        let summary = ended.summary();
        let reason = summary["invalid_reason"].as_str().expect("a run that is refused says why");
        assert!(reason.contains("late") || reason.contains("waited") || reason.contains("lost"));
        return None;
    }
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let reported: Value = serde_json::from_str(&ended.log("client")).expect("iperf3 tells JSON");
    Some(reported["end"]["sum_received"]["bits_per_second"].as_f64().expect("a rate"))
}

/// Mahimahi, issue 144: with 720 Mbps requested it carried 300, without an error message.
#[test]
fn a_gigabit_is_carried_or_refused() {
    if machine_can() {
        // On a busy machine the emulator can be in time and the sender late, but hardly so late
        // that it sends a hundredth.
        let rate = of_a_gigabit();
        assert!(rate.is_none_or(|rate| rate > 1e7), "a valid run carried {rate:?}");
    }
}

#[test]
#[ignore = "real time: cargo xtask test --realtime"]
fn realtime_a_gigabit_is_carried_whole_or_refused() {
    if machine_can() {
        // 1448 of 1538 bytes on the wire, and a slow start.
        let rate = of_a_gigabit();
        assert!(rate.is_none_or(|rate| rate > 0.85e9), "a valid run carried {rate:?}");
    }
}
