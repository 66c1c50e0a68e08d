//! Misleading zeros are reported in warnings, by `check` and in every run.

use crate::common::{ends_with, json, scratch};
use std::fs;

const HOME: &str = "duration = \"3 s\"\nwarm_up = \"1 s\"\n[cell]\nstandard = \"802.11g\"\n\
    [[node]]\nname = \"ap\"\nkind = \"access-point\"\ndata_rate = \"54 Mbps\"\n\
    [[node]]\nname = \"near\"\nkind = \"station\"\n\
    [[node]]\nname = \"far\"\nkind = \"station\"\ndistance = \"300 m\"\n\
    [[node]]\nname = \"server\"\nkind = \"host\"\n[[link]]\nends = [\"ap\", \"server\"]\n\
    [[flow]]\nname = \"call\"\nfrom = \"server\"\nto = \"far\"\ntransport = \"udp\"\n\
    traffic = \"cbr\"\nrate = \"100 kbps\"\n";

#[test]
fn a_station_out_of_reach_is_told_of_before_and_after() {
    let place = scratch();
    fs::write(place.path().join("s.toml"), HOME).unwrap();
    let (_, err) = ends_with(0, place.path(), &["check", "s.toml"]);
    assert!(err.contains("far does not hear ap") && !err.contains("near"), "{err}");
    let value = json(place.path(), &["check", "s.toml"]);
    let printed = value["files"][0]["warnings"][0].as_str().unwrap().to_owned();
    assert!(printed.contains("300.0 m"), "{printed}");
    let (out, err) = ends_with(0, place.path(), &["run", "s.toml", "--out", "o"]);
    assert!(err.contains("far does not hear ap"), "{err}");
    assert!(err.contains("flow call: nothing arrived of "), "{err}");
    let call = out.lines().skip_while(|line| !line.contains("Datagrams")).nth(2).unwrap();
    let words: Vec<&str> = call.split_whitespace().collect();
    assert_eq!(words[..3], ["call", "0", "100.00"], "nothing received is all lost: {out}");
    let value = json(place.path(), &["run", "s.toml", "--out", "p"]);
    let printed = value["warnings"].to_string();
    assert!(printed.contains("nothing arrived") && printed.contains("does not hear"), "{printed}");
}

#[test]
fn a_scenario_without_a_flow_is_told_of() {
    let place = scratch();
    let (idle, _) = HOME.split_once("[[flow]]").unwrap();
    fs::write(place.path().join("s.toml"), idle).unwrap();
    for args in [&["check", "s.toml"][..], &["run", "s.toml", "--out", "o"]] {
        let (_, err) = ends_with(0, place.path(), args);
        assert!(err.contains("there is no [[flow]]: a simulation has nothing to send"), "{err}");
    }
}

#[test]
fn a_warm_up_that_eats_the_run_is_told_of() {
    let place = scratch();
    fs::write(place.path().join("s.toml"), HOME.replace("300 m", "4 m")).unwrap();
    let check = |sets: &[&str]| {
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        let args: Vec<&str> = ["check", "s.toml"].into_iter().chain(sets).collect();
        ends_with(0, place.path(), &args).1
    };
    assert_eq!(check(&[]), "");
    let err = check(&["warm_up=2.9 s"]);
    assert!(err.contains("the warm-up leaves 100 ms of 3 s"), "{err}");
    let err = check(&["flow.call.stop=1 s"]);
    assert!(err.contains("flow call: it stops at 1 s, within the warm-up of 1 s"), "{err}");
}

#[test]
fn what_is_complete_within_the_warm_up_is_told_of() {
    let place = scratch();
    let flow = "[[flow]]\nname = \"up\"\nfrom = \"near\"\nto = \"server\"\nsize = \"100 KB\"\n";
    fs::write(place.path().join("s.toml"), format!("{}{flow}", HOME.replace("300 m", "4 m")))
        .unwrap();
    let (_, err) = ends_with(0, place.path(), &["run", "s.toml", "--out", "o"]);
    assert!(err.contains("flow up: it was complete at") && err.contains("warm-up"), "{err}");
}

/// Beside downloads of 20 Mbps a call has less than a tenth of an equal share, but all that it
/// needs.
#[test]
fn a_call_at_its_offered_rate_does_not_starve() {
    let place = scratch();
    let flow = "[[flow]]\nname = \"down\"\nfrom = \"server\"\nto = \"near\"\n";
    fs::write(place.path().join("s.toml"), format!("{}{flow}", HOME.replace("300 m", "4 m")))
        .unwrap();
    let value = json(place.path(), &["run", "s.toml", "--out", "o"]);
    let bps = |flow: usize| value["summary"]["flows"][flow]["goodput_bps"].as_f64().unwrap();
    assert!(bps(0) < 0.1 * (bps(0) + bps(1)) / 2.0, "{} beside {}", bps(0), bps(1));
    assert_eq!(value["summary"]["totals"]["starved_flows"], 0);
}

/// A call that asks for 3 Mbps and gets half of it over a slow uplink is far below the mean of its
/// rate and the download's, but not starved.
#[test]
fn a_call_that_adapts_is_measured_by_the_rate_it_asks_for() {
    let place = scratch();
    let scenario = r#"title = "a call and a download"
duration = "6 s"
warm_up = "2 s"
node = [{ name = "a", kind = "host" }, { name = "b", kind = "host" }]
link = [{ name = "l", ends = ["a", "b"], rate = "50 Mbps", rate_back = "2 Mbps", delay = "5 ms" }]
flow = [
    { name = "call", from = "b", to = "a", transport = "rtc", max_rate = "3 Mbps" },
    { name = "down", from = "a", to = "b", transport = "udp", traffic = "cbr", rate = "45 Mbps" },
]
"#;
    fs::write(place.path().join("s.toml"), scenario).unwrap();
    let value = json(place.path(), &["run", "s.toml", "--out", "o"]);
    let bps = |flow: usize| value["summary"]["flows"][flow]["goodput_bps"].as_f64().unwrap();
    let (call, mean) = (bps(0), (bps(0) + bps(1)) / 2.0);
    assert!((0.3e6..2.7e6).contains(&call) && call < 0.1 * mean, "{call} of {mean} bit/s");
    assert_eq!(value["summary"]["totals"]["starved_flows"], 0);
}

#[test]
fn what_aqm_drops_is_in_the_table_of_queues() {
    let place = scratch();
    let flow = "[[flow]]\nname = \"down\"\nfrom = \"server\"\nto = \"near\"\n";
    fs::write(place.path().join("s.toml"), format!("{}{flow}", HOME.replace("300 m", "4 m")))
        .unwrap();
    let args = ["run", "s.toml", "--out", "o", "--set", "node.ap.queue.discipline=fq-codel"];
    let (out, _) = ends_with(0, place.path(), &args);
    let table: Vec<&str> = out.lines().skip_while(|line| *line != "Queues").collect();
    let column = |line: &str| line.split_whitespace().nth(3).map(str::to_owned).unwrap();
    assert_eq!(column(table[1]), "AQM", "{out}");
    assert_ne!(column(table[2]), "0", "{out}");
}

/// Names and values come from files of others and must not control the terminal.
#[test]
fn escape_characters_never_reach_a_terminal() {
    let place = scratch();
    let escape = "\u{1b}[31m";
    let name = format!("{escape}s.toml");
    fs::write(place.path().join(&name), HOME).unwrap();
    fs::write(place.path().join("bad.toml"), format!("\"{escape}\" = 1\n")).unwrap();
    let texts = [
        ends_with(0, place.path(), &["check", &name]).0,
        ends_with(2, place.path(), &["check", "bad.toml"]).1,
        ends_with(1, place.path(), &["check", &format!("{escape}none.toml")]).1,
        ends_with(2, place.path(), &["explain", escape]).1,
    ];
    for text in texts {
        assert!(!text.contains(escape), "{text:?}");
    }
    let mut command = crate::common::fairwave(place.path(), &["check", &name]);
    let output = command.env("CLICOLOR_FORCE", "1").output().unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(text.contains("[31ms.toml") && !text.contains(escape), "{text:?}");
}

/// The number of lost packets differs between seeds, but there is only one warning.
#[test]
fn a_sweep_tells_of_what_is_the_same_in_its_runs_once() {
    let place = scratch();
    let poisson = HOME.replace("\"cbr\"", "\"poisson\"");
    fs::write(place.path().join("s.toml"), poisson + "[sweep]\nseeds = 3\n").unwrap();
    let value = json(place.path(), &["sweep", "s.toml", "--out", "o"]);
    let printed: Vec<&str> =
        value["warnings"].as_array().unwrap().iter().filter_map(|one| one.as_str()).collect();
    let one = "flow call: nothing arrived of the packets sent (in 3 of 3 runs)";
    assert_eq!(
        printed.iter().filter(|printed| printed.contains("flow call")).collect::<Vec<_>>(),
        [&one]
    );
    let of_one = value["runs"][0]["warnings"].to_string();
    assert!(of_one.contains("nothing arrived of ") && of_one.contains("packets sent"), "{of_one}");
}
