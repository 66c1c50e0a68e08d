//! Keys of `cell.soc`, as a user writes them.

use fairwave_queue::{ServiceCurve, Weight};
use fairwave_scenario::{Scenario, schema};
use fairwave_sim::world::{FilterSpec, Monitor, Service, Soc, World};
use fairwave_soc::{Curve, Decay, FILTERS, POLICIES, Policies, TableConfig};
use fairwave_units::{BitRate, Db, Duration};

/// The access points of a cell with this key.
fn soc(key: &str) -> Vec<Soc> {
    world(key).soc
}

/// A cell with this key; what is resolved reads the same.
fn world(key: &str) -> World {
    let text = format!(
        r#"
        [cell]
        standard = "802.11b"
        {key}
        [[node]]
        name = "server"
        kind = "host"
        [[node]]
        name = "ap"
        kind = "access-point"
        queue = {{ discipline = "wfq" }}
        [[node]]
        name = "sta"
        kind = "station"
        count = 2
        [[link]]
        ends = ["ap", "server"]
        [[flow]]
        name = "down"
        from = "server"
        to = "sta*"
        "#
    );
    let scenario = Scenario::parse("soc.toml", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let resolved = scenario.to_toml();
    let again = Scenario::parse("resolved.toml", &resolved).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scenario, again, "{resolved}");
    scenario.to_world(1)
}

#[test]
fn categories_have_their_own_policies() {
    let policies = r#"{ voice = "gb3", background = { threshold = "9 dB" } }"#;
    let key = format!("edca = true\nsoc = {{ policy = \"pw\", by_category = {policies} }}");
    let found = &soc(&key)[0];
    let named =
        |name| (POLICIES.iter().find(|kind| kind.name == name).expect("it is listed").curve)();
    // Background, best effort, video, voice.
    let curves = [Curve::GoodOrBad(Db(9.0)), named("pw"), named("pw"), named("gb3")];
    assert_eq!(found.table.policies.curves, curves);
}

#[test]
fn what_is_agreed_with_stations_reaches_the_simulator() {
    let text = r#"
        [cell]
        standard = "802.11b"
        [[node]]
        name = "ap"
        kind = "access-point"
        queue = { discipline = "h-fsc" }
        [[node]]
        name = "slow"
        kind = "station"
        count = 2
        service.upper_rate = "300 kbps"
        service.upper_first_rate = "3 Mbps"
        service.upper_first_for = "20 ms"
        [[node]]
        name = "fast"
        kind = "station"
        service = { weight = 2.5, realtime_rate = "1 Mbps", share_rate = "200 Mbps" }
        [[flow]]
        name = "down"
        from = "ap"
        to = "slow*"
    "#;
    let scenario = Scenario::parse("service.toml", text).unwrap_or_else(|e| panic!("{e}"));
    let again = Scenario::parse("resolved.toml", &scenario.to_toml());
    assert_eq!(scenario, again.unwrap_or_else(|e| panic!("{e}")));
    let world = scenario.to_world(1);
    let service = |node: usize| world.nodes[node].radio.as_ref().expect("it has one").service;
    let (first, lasts, then) = (BitRate::mbps(3), millis(20), BitRate(300_000));
    let slow = Service { upper: Some(ServiceCurve { first, lasts, then }), ..Service::default() };
    assert_eq!([service(1), service(2)], [slow; 2]);
    let linear = |mbps| Some(ServiceCurve::linear(BitRate::mbps(mbps)));
    let weight = Weight(5 * Weight::ONE.0 / 2);
    let fast = Service { weight, realtime: linear(1), share: linear(200), upper: None };
    assert_eq!((service(3), service(0)), (fast, Service::default()));
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn it_is_off_unless_asked_for() {
    assert!(soc("").is_empty() && soc("soc = \"off\"").is_empty());
}

#[test]
fn the_default_is_the_papers() {
    let found = &soc("soc = {}")[0];
    assert_eq!((found.ap.0, found.interval, found.hold), (1, millis(200), millis(50)));
    assert_eq!((found.filter, found.read_every), (FilterSpec::Mean, millis(10)));
    let pw = POLICIES.iter().find(|kind| kind.name == "pw").expect("it is listed");
    assert_eq!(found.table, TableConfig::new(Policies::per_host((pw.curve)())));
}

#[test]
fn every_key_acts() {
    let found =
        &soc(r#"soc = { interval = "20 ms", hold = "0 s", read_every = "2 ms", filter = "median",
             policy = { threshold = "5 dB" }, hysteresis = "1 dB", smoothing = 0.5, beta = 0.9,
             decay = "weight", floor = "-3 dB", forget_after = "10 s" }"#)[0];
    let table = &found.table;
    assert_eq!((found.interval, found.hold, found.read_every), (millis(20), millis(0), millis(2)));
    assert_eq!((found.filter, table.smoothing, table.beta), (FilterSpec::Median, 0.5, 0.9));
    assert_eq!(table.policies.curves, [Curve::GoodOrBad(Db(5.0))]);
    assert_eq!((table.policies.hysteresis, table.floor), (Db(1.0), Db(-3.0)));
    assert_eq!((table.decay, table.forget_after), (Decay::Weight, Duration::from_secs(10)));
}

#[test]
fn reports_have_the_frame_of_the_paper_if_asked_for() {
    let table = |key: &str| soc(key)[0].table.clone();
    assert!(!table("soc = {}").compat && !table("soc.frame = \"sealed\"").compat);
    // The format does not say when the next report is due.
    let plain = table("soc = { frame = \"plain\", interval = \"20 ms\" }");
    assert_eq!((plain.compat, plain.compat_interval), (true, millis(20)));
}

#[test]
fn knots_make_a_curve() {
    let at = |rule: &str, db: f64| {
        let key = format!(
            "soc.policy = {{ knots = [[\"2 dB\", 0.0], [\"4 dB\", 0.2]], rule = \"{rule}\" }}"
        );
        soc(&key)[0].table.policies.curves[0].at(Db(db))
    };
    assert!((at("linear", 3.0) - 0.1).abs() < 1e-12 && (at("step", 3.0) - 0.2).abs() < 1e-12);
}

#[test]
fn links_are_watched_by_level_or_by_failures() {
    let monitor = |key: &str| world(key).monitors.first().map(|spec| (spec.ap.0, spec.monitor));
    assert_eq!(monitor(""), None);
    let (threshold, every) = (Db(5.0), millis(10));
    let level = Monitor::Level { threshold, every };
    assert_eq!(monitor("link_monitor = { threshold = \"5 dB\" }"), Some((1, level)));
    let failures = Monitor::Failures { back_off: millis(300) };
    assert_eq!(monitor("link_monitor = { back_off = \"300 ms\" }"), Some((1, failures)));
}

#[test]
fn every_listed_name_is_one_and_the_schema_knows_the_filters() {
    for kind in POLICIES {
        let found = soc(&format!("soc.policy = {:?}", kind.name));
        assert_eq!(found[0].table.policies.curves, [(kind.curve)()], "{}", kind.name);
    }
    for kind in FILTERS {
        assert_eq!(soc(&format!("soc.filter = {:?}", kind.name))[0].filter, kind.spec);
    }
    let schema = schema();
    let words = &schema["$defs"]["Soc"]["properties"]["filter"]["enum"];
    assert_eq!(words.as_array().expect("it is a list").len(), FILTERS.len());
    assert!(schema["$defs"]["Soc"]["properties"]["rate"].is_null());
}

/// WaveLAN before 802.11 had no acknowledgements; what a cell writes itself wins.
#[test]
fn a_mac_of_wavelan_acknowledges_nothing_by_itself() {
    let acknowledges = |key: &str| world(key).cells[0].acknowledges;
    assert!(acknowledges(""));
    assert!(!acknowledges("mac = \"wavelan\""));
    assert!(acknowledges("mac = \"wavelan\"\nacknowledgements = true"));
}
