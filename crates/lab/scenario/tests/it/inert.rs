//! A key acts, or is refused, or a warning names it: each key of cells, radios, links and flows is
//! changed in scenarios of different kinds.

use fairwave_scenario::plan::{Override, Plan};
use fairwave_scenario::{OwnAlgorithms, keys};
use fairwave_trace::Discard;

/// Stations of 802.11n that do not all sense each other, at the edge of their reach.
const CROWD: &str = r#"
duration = "600 ms"
warm_up = "50 ms"
[cell]
standard = "802.11n"
[[node]]
name = "ap"
kind = "access-point"
[[node]]
name = "sta"
kind = "station"
count = 2
distance = "33 m"
[[node]]
name = "near"
kind = "station"
distance = "28 m"
power = "26 dBm"
[[node]]
name = "server"
kind = "host"
[[link]]
name = "line"
ends = ["server", "ap"]
rate = "20 Mbps"
delay = "3 ms"
[[flow]]
name = "up"
from = "sta*"
to = "ap"
transport = "udp"
traffic = "poisson"
rate = "3 Mbps"
[[flow]]
name = "beside"
from = "near"
to = "ap"
transport = "udp"
traffic = "poisson"
rate = "3 Mbps"
[[flow]]
name = "down"
from = "server"
to = "near"
"#;

/// One station of 802.11g that only receives, at the edge of its rate.
const SINK: &str = r#"
duration = "300 ms"
[cell]
standard = "802.11g"
[[node]]
name = "ap"
kind = "access-point"
[[node]]
name = "sta"
kind = "station"
distance = "66 m"
[[node]]
name = "server"
kind = "host"
[[link]]
name = "line"
ends = ["server", "ap"]
rate = "unlimited"
[[flow]]
name = "down"
from = "server"
to = "sta"
transport = "udp"
traffic = "poisson"
rate = "30 Mbps"
"#;

/// One station of 802.11n without A-MPDU, whose levels are a trace.
const TRACE: &str = r#"
duration = "400 ms"
[cell]
standard = "802.11n"
ampdu_frames = 1
[[node]]
name = "ap"
kind = "access-point"
[[node]]
name = "sta"
kind = "station"
snr_trace = { points = [["0 s", "14 dB"], ["1 s", "11 dB"]] }
[[node]]
name = "server"
kind = "host"
[[link]]
name = "line"
ends = ["server", "ap"]
rate = "50 Mbps"
[[flow]]
name = "down"
from = "server"
to = "sta"
"#;

/// Stations of 802.11a that do not all sense each other, without acknowledgements.
const DEAF: &str = r#"
duration = "300 ms"
[cell]
standard = "802.11a"
acknowledgements = false
[[node]]
name = "ap"
kind = "access-point"
[[node]]
name = "sta"
kind = "station"
count = 2
distance = "33 m"
data_rate = "36 Mbps"
[[node]]
name = "near"
kind = "station"
distance = "28 m"
power = "26 dBm"
data_rate = "36 Mbps"
[[node]]
name = "server"
kind = "host"
[[link]]
name = "line"
ends = ["server", "ap"]
rate = "3 Mbps"
[[flow]]
name = "up"
from = "sta*"
to = "server"
transport = "udp"
traffic = "poisson"
rate = "4 Mbps"
[[flow]]
name = "beside"
from = "near"
to = "server"
transport = "udp"
traffic = "poisson"
rate = "4 Mbps"
"#;

/// Each key with a value that is not its default.
const CHANGES: &[(&str, &str)] = &[
    ("cell.mac", "\"ns-2\""),
    ("cell.preamble", "\"short\""),
    ("cell.band", "\"2.4 GHz\""),
    ("cell.width", "\"40 MHz\""),
    ("cell.dsss_stations", "true"),
    ("cell.protection", "\"off\""),
    ("cell.edca", "true"),
    ("cell.edca_parameters", "{ background = { aifsn = 4 } }"),
    ("cell.edca_parameters", "{ best-effort = { cw_min = 63 } }"),
    ("cell.edca_parameters", "{ video = { cw_max = 31 } }"),
    ("cell.edca_parameters", "{ voice = { aifsn = 9 } }"),
    ("cell.ampdu_frames", "3"),
    ("cell.ampdu_size", "\"3 kB\""),
    ("cell.amsdu_size", "\"3839 B\""),
    ("cell.amsdu_size", "\"7935 B\""),
    ("cell.block_ack_request", "\"after-missing\""),
    ("cell.ampdu_retry_limit", "2"),
    ("cell.acknowledgements", "false"),
    ("cell.frequency", "\"5500 MHz\""),
    ("cell.channel", "40"),
    ("cell.path_loss_exponent", "3.02"),
    ("cell.noise_figure", "\"9 dB\""),
    ("cell.carrier_sense", "\"-75 dBm\""),
    ("cell.preamble_detection", "\"16 dB\""),
    ("cell.capture", "\"off\""),
    ("cell.errors", "{ data = 0.2, control = 0.0 }"),
    ("cell.fading", "{ doppler_hz = 12 }"),
    ("cell.shadowing", "{ sigma = \"6 dB\" }"),
    ("cell.soc", "{ policy = \"pw\" }"),
    ("cell.link_monitor", "{ back_off = \"100 ms\" }"),
    ("cell.rts_threshold", "\"500 B\""),
    ("cell.short_retry_limit", "2"),
    ("cell.long_retry_limit", "1"),
    ("cell.beacon_interval", "\"off\""),
    ("node.ap.power", "\"15 dBm\""),
    ("node.ap.data_rate", "\"6 Mbps\""),
    ("node.ap.mcs", "0"),
    ("node.ap.streams", "2"),
    ("node.ap.width", "\"20 MHz\""),
    ("node.ap.guard_interval", "\"0.4 us\""),
    ("node.ap.max_mcs", "0"),
    ("node.ap.rate_control", "\"aarf\""),
    ("node.ap.queue", "\"1 packets\""),
    ("node.sta.count", "1"),
    ("node.sta.distance", "\"30 m\""),
    ("node.sta.snr_trace", "{ points = [[\"0 s\", \"13 dB\"]] }"),
    ("node.sta.position", "[\"31 m\", \"0 m\"]"),
    ("node.sta.path", "[{ at = \"0 s\", position = [\"31 m\", \"0 m\"] }]"),
    ("node.sta.power", "\"15 dBm\""),
    ("node.sta.data_rate", "\"6 Mbps\""),
    ("node.sta.mcs", "0"),
    ("node.sta.streams", "2"),
    ("node.sta.width", "\"20 MHz\""),
    ("node.sta.guard_interval", "\"0.4 us\""),
    ("node.sta.max_mcs", "0"),
    ("node.sta.rate_control", "\"aarf\""),
    ("node.sta.queue", "\"1 packets\""),
    ("link.line.rate", "\"3 Mbps\""),
    ("link.line.delay", "\"1 ms\""),
    ("link.line.tick", "\"1 ms\""),
    ("link.line.jitter", "\"1 ms\""),
    ("link.line.delay_distribution", "\"exponential\""),
    ("link.line.loss", "0.3"),
    ("link.line.queue", "\"1 packets\""),
    ("flow.up.start", "\"10 ms\""),
    ("flow.up.start", "\"1 s\""),
    ("flow.up.start_spread", "\"10 ms\""),
    ("flow.up.stop", "\"100 ms\""),
    ("flow.up.stop", "\"1 s\""),
    ("flow.up.category", "\"voice\""),
    ("flow.down.start", "\"10 ms\""),
    ("flow.down.stop", "\"100 ms\""),
    ("flow.down.stop", "\"1 s\""),
    ("flow.down.category", "\"video\""),
    ("flow.down.thresh_ack_losses", "8"),
    ("flow.down.ack_loss_decision", "\"count\""),
    ("flow.down.ack_loss_pause", "true"),
    ("flow.down.ack_loss_exclude", "[\"sacked\"]"),
];

/// Pairs of a setting that leaves a key without effect, and the key with a value that is not its
/// default.
const PAIRS: &[(&str, &str)] = &[
    ("flow.down.sack=false", "flow.down.dsack=true"),
    ("flow.down.sack=false", "flow.down.keep_sacks=true"),
    ("flow.down.sack=false", "flow.down.prr=true"),
    ("flow.down.sack=false", "flow.down.rack=true"),
    ("flow.down.timestamps=false", "flow.down.eifel=true"),
    ("flow.down.send_buffer=\"40 KB\"", "flow.down.send_buffer_max=\"20 KB\""),
    ("flow.down.receive_buffer=\"40 KB\"", "flow.down.receive_buffer_max=\"20 KB\""),
];

/// Keys of cells that name things, or that a scenario must have.
const GIVEN: &[&str] = &["cell.name", "cell.standard"];

/// Changes that could act, and do not within the moments that a base lasts: no frame fails twice,
/// none is overtaken by a stronger one.
const CHANCE: &[(&str, &str)] = &[("sink", "cell.short_retry_limit"), ("deaf", "cell.capture")];

/// The result of a run, and the warnings about it; `None` where the key is refused.
fn result(text: &str, changes: &[&str]) -> Option<(String, Vec<String>)> {
    let set: Vec<Override> = changes.iter().map(|change| Override::set(change)).collect();
    let plan = Plan::parse_with("base.toml", text, &set, &OwnAlgorithms::default()).ok()?;
    let scenario = &plan.points[0].scenario;
    // A value that the base has already changes nothing.
    let base = Plan::parse("base.toml", text, &[]).ok()?;
    if !changes.is_empty() && *scenario == base.points[0].scenario {
        return None;
    }
    let world = scenario.to_world(1);
    let outcome = fairwave_sim::run(&world, &mut Discard, &mut |_| {}).ok()?;
    Some((format!("{outcome:?}"), scenario.warnings()))
}

#[test]
fn a_key_acts_or_is_refused_or_warned_about() {
    let mut failures = Vec::new();
    for (name, text) in [("crowd", CROWD), ("sink", SINK), ("trace", TRACE), ("deaf", DEAF)] {
        let (before, _) = result(text, &[]).expect("a base is a scenario");
        for (key, value) in CHANGES {
            let change = format!("{key}={value}");
            let Some((after, warnings)) = result(text, &[&change]) else { continue };
            // A channel is a frequency, and where nothing is received no key acts.
            let last = key.rsplit('.').next().unwrap_or(key).replace("channel", "frequency");
            let names = |warning: &String| warning.contains(&last) || warning.contains(" hear ");
            let is_named = warnings.iter().any(names);
            let may_rest = CHANCE.contains(&(name, *key));
            if before == after && !is_named && !may_rest {
                failures.push(format!("{name}: {key} = {value}: {warnings:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "neither bytes nor a warning:\n{}", failures.join("\n"));
}

/// Such keys had no warning, as only single keys were changed.
#[test]
fn a_key_without_effect_beside_another_is_warned_about() {
    for (first, second) in PAIRS {
        let both = result(CROWD, &[first, second]).expect("a scenario");
        let named = |warnings: &[String]| {
            let key = second.split('=').next().and_then(|key| key.rsplit('.').next());
            let key = key.expect("a key");
            let idle = |warning: &&String| warning.contains("has no effect");
            warnings.iter().filter(idle).any(|warning| warning.contains(key))
        };
        assert!(named(&both.1), "{first}, {second}: {:?}", both.1);
        let one = Plan::parse("base.toml", CROWD, &[(*first).to_owned()]).expect("a scenario");
        let (before, warnings) = result(CROWD, &[first]).unwrap_or_else(|| {
            let (bytes, _) = result(CROWD, &[]).expect("the base has that value");
            (bytes, one.points[0].scenario.warnings())
        });
        assert_eq!(before, both.0, "{first}, {second}: it has an effect");
        assert!(!named(&warnings), "{first} alone: {warnings:?}");
    }
}

/// On a stack whose buffers grow, a maximum below the buffer fixes its size.
#[test]
fn a_maximum_that_ends_the_growth_of_a_buffer_has_an_effect() {
    for key in ["send_buffer_max", "receive_buffer_max"] {
        let maximum = format!("flow.down.{key}=\"10 KB\"");
        let set = ["flow.down.stack=linux-6".to_owned(), maximum];
        let plan = Plan::parse("base.toml", CROWD, &set).expect("a scenario");
        let warnings = plan.points[0].scenario.warnings();
        assert!(!warnings.iter().any(|warning| warning.contains(key)), "{warnings:?}");
    }
}

/// A stack's own choices are no settings.
#[test]
fn keys_that_a_stack_sets_are_not_warned_about() {
    for set in ["flow.down.sack=false", "flow.down.timestamps=false"] {
        let found = warnings(CROWD, &["flow.down.stack=linux-6", set]);
        assert!(found.iter().all(|warning| !warning.contains("no effect")), "{set}: {found:?}");
    }
}

#[test]
fn every_key_of_a_cell_is_changed() {
    let known = |key: &str| CHANGES.iter().any(|(changed, _)| *changed == key);
    let all = keys();
    let names = all.iter().map(String::as_str);
    let own = names.filter(|key| key.starts_with("cell.") && key.matches('.').count() == 1);
    let missing: Vec<&str> =
        own.filter(|key| !known(key) && !GIVEN.iter().any(|given| given == key)).collect();
    assert!(missing.is_empty(), "no change is tried: {missing:?}");
}

fn warnings(text: &str, sets: &[&str]) -> Vec<String> {
    let has_path = sets.iter().any(|set| set.contains(".path="));
    let text = if has_path { text.replace("distance = \"66 m\"\n", "") } else { text.to_owned() };
    let sets: Vec<Override> = sets.iter().map(|set| Override::set(set)).collect();
    Plan::parse_with("base.toml", &text, &sets, &OwnAlgorithms::default())
        .expect("it is a scenario")
        .warnings()
}

#[test]
fn options_for_lost_acks_are_idle_without_an_algorithm_that_watches_acks() {
    let options = [
        "thresh_ack_losses=2",
        "ack_loss_decision='count'",
        "ack_loss_pause=true",
        "ack_loss_exclude=[]",
    ];
    for option in options {
        let option = format!("flow.down.{option}");
        let named = |algorithm: &str| {
            let algorithm = format!("flow.down.congestion_control='{algorithm}'");
            let found = warnings(CROWD, &[&option, &algorithm]);
            found.iter().filter(|warning| warning.contains("watches no ACKs")).count()
        };
        assert_eq!((named("compound"), named("ack-loss-literal+compound")), (1, 0), "{option}");
    }
}

/// -82 dBm are 12 dB over the noise of 20 MHz, however wide the cell is.
#[test]
fn a_station_below_carrier_sense_is_warned_about_however_its_level_is_set() {
    let trace = "node.sta.snr_trace={ points = [['0 s', '8 dB'], ['9 s', '11.9 dB']] }";
    let path = "node.sta.path=[{ at = '0 s', position = ['100 m', '-9 m'] }, \
                { at = '1 s', position = ['100 m', '9 m'] }]";
    for (text, set) in [(TRACE, trace), (SINK, path), (SINK, "node.sta.distance='100 m'")] {
        let found = warnings(text, &[set]);
        assert!(found.iter().any(|warning| warning.contains(" hear ")), "{set}: {found:?}");
    }
    let once = "node.sta.snr_trace={ points = [['0 s', '8 dB'], ['9 s', '12.1 dB']] }";
    let by = "node.sta.path=[{ at = '0 s', position = ['100 m', '-90 m'] }, \
              { at = '1 s', position = ['20 m', '90 m'] }]";
    for (text, set) in [(TRACE, once), (SINK, by)] {
        let found = warnings(text, &[set]);
        assert!(found.iter().all(|warning| !warning.contains(" hear ")), "{set}: {found:?}");
    }
}

/// A station's trace holds to every access point, so that none is the strongest.
#[test]
fn a_station_with_a_trace_compares_no_levels() {
    for key in ["roaming.by_signal={}", "roaming.begin='strongest'"] {
        let set = format!("node.sta.{key}");
        let name = key.split('=').next().expect("a key");
        let count = |text: &str| {
            let found = warnings(text, &[&set]);
            found.iter().filter(|warning| warning.contains(name)).count()
        };
        assert_eq!((count(TRACE), count(SINK)), (1, 0), "{key}");
    }
}

/// Two sources of 40 Mbps into the queue of an access point that sends 30 (Floyd and Jacobson).
#[test]
fn equal_rates_into_a_full_fifo_are_warned_about() {
    let second = "\n[[flow]]\nname = \"other\"\nfrom = \"server\"\nto = \"sta\"\n\
                  transport = \"udp\"\ntraffic = \"cbr\"\nrate = \"30 Mbps\"\n";
    let text = SINK.replace("poisson", "cbr") + second;
    let is_locked =
        |sets: &[&str]| warnings(&text, sets).iter().any(|w| w.contains("phase effects"));
    assert!(is_locked(&[]));
    assert!(!is_locked(&["flow.other.traffic='poisson'"]), "one of a kind");
    assert!(!is_locked(&["flow.other.rate='29 Mbps'"]), "intervals differ");
    assert!(!is_locked(&["node.ap.queue={ discipline = 'fq-codel' }"]));
    assert!(!is_locked(&["flow.other.rate='5 Mbps'", "flow.down.rate='5 Mbps'"]));
}
