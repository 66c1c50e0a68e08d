//! Keys of a varying channel, of rate control and of stations that move, as a user writes them.

use fairwave_dot11::rate_control::Chosen;
use fairwave_scenario::Scenario;
use fairwave_sim::world::{self, ErrorModel, World};
use fairwave_units::{BitRate, Db, Duration, Instant, Metres};

const NETWORK: &str = r#"
[[node]]
name = "ap1"
kind = "access-point"
cell = "left"
[[node]]
name = "ap2"
kind = "access-point"
cell = "right"
position = ["40 m", "0 m"]
[[link]]
ends = ["ap1", "ap2"]
[[flow]]
name = "up"
from = "sta"
to = "ap1"
"#;

/// Two cells with `cell` in the first, and a station with `station`.
fn world(cell: &str, station: &str) -> World {
    let text = format!(
        "[[cell]]\nname = \"left\"\nstandard = \"802.11a\"\n{cell}\n[[cell]]\nname = \"right\"\n\
         standard = \"802.11a\"\nchannel = 149\n[[node]]\nname = \"sta\"\n\
         kind = \"station\"\nap = \"ap1\"\n{station}\n{NETWORK}"
    );
    let scenario = Scenario::parse("air.toml", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let resolved = scenario.to_toml();
    let again = Scenario::parse("resolved.toml", &resolved).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scenario, again, "{resolved}");
    scenario.to_world(1)
}

fn station(world: &World) -> &world::Radio {
    world.nodes[0].radio.as_ref().expect("a station has a radio")
}

#[test]
fn a_cell_may_fade_and_shadow() {
    let keys = "fading = { rice_k = \"10 dB\", doppler_hz = 4.6 }\n\
                shadowing = { sigma = \"6 dB\", decorrelation = \"8 m\" }";
    let world = world(keys, "");
    let fading = world.cells[0].fading.expect("the cell fades");
    assert!((fading.rice_k - 10.0).abs() < 1e-12 && fading.doppler_hz == 4.6);
    let shadowing = world.cells[0].shadowing.expect("the cell has shadows");
    assert_eq!((shadowing.sigma, shadowing.decorrelation), (Db(6.0), Some(Metres(8.0))));
    assert!(world.cells[1].fading.is_none() && world.cells[1].shadowing.is_none());
}

#[test]
fn errors_may_follow_the_table() {
    let world = world("errors = \"table\"", "");
    assert_eq!(
        (world.cells[0].errors, world.cells[1].errors),
        (ErrorModel::Table, ErrorModel::Snr)
    );
}

#[test]
fn middle_and_width_make_delivery_a_slope() {
    let world = world("errors = { middle = \"5 dB\", width = \"1.1 dB\" }", "");
    let ErrorModel::Slope(slope) = world.cells[0].errors else { panic!("no slope") };
    assert_eq!((slope.middle, slope.width), (Db(5.0), Db(1.1)));
}

#[test]
fn p_and_r_make_losses_come_in_bursts() {
    let world = world("errors = { p = 0.02, r = 0.25, good = 0.001 }", "");
    let ErrorModel::Bursts(chain) = world.cells[0].errors else { panic!("no chain") };
    assert_eq!((chain.p, chain.r, chain.good, chain.bad), (0.02, 0.25, 0.001, 1.0));
}

#[test]
fn a_controlled_rate_begins_with_the_one_that_is_set() {
    let keys = "rate_control = \"minstrel\"\ndata_rate = \"24 Mbps\"";
    let controlled = world("", keys);
    let rates = station(&controlled).rates.as_ref().expect("its rate is controlled");
    let initial = rates.initial.map(fairwave_dot11::Mode::mcs);
    assert_eq!((rates.algorithm.name(), initial), ("minstrel", Some(4)));
    assert!(station(&world("", "rate_control = \"constant\"")).rates.is_none());
}

/// The control and first rate of a radio of `standard` with `keys`, in a cell with `cell`.
fn control(standard: &str, cell: &str, keys: &str) -> Option<(&'static str, Option<BitRate>)> {
    let text = format!(
        "[cell]\nstandard = \"{standard}\"\n{cell}\n[[node]]\nname = \"ap\"\n\
         kind = \"access-point\"\n[[node]]\nname = \"sta\"\nkind = \"station\"\n{keys}\n\
         [[flow]]\nname = \"up\"\nfrom = \"sta\"\nto = \"ap\"\n"
    );
    let scenario = Scenario::parse("control.toml", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let again = Scenario::parse("resolved.toml", &scenario.to_toml()).expect("it is right");
    assert_eq!(scenario, again);
    let world = scenario.to_world(1);
    let radio = world.nodes[1].radio.as_ref().expect("a station has a radio");
    radio.rates.as_ref().map(|rates| {
        let Chosen::Listed(algorithm) = &rates.algorithm else { panic!("{rates:?}") };
        (algorithm.name, rates.initial.map(fairwave_dot11::Mode::rate))
    })
}

/// Before 802.11n as from it on.
#[test]
fn without_a_rate_minstrel_chooses_in_every_standard() {
    for standard in ["802.11a", "802.11b", "802.11g", "802.11n", "802.11ac", "802.11ax"] {
        assert_eq!(control(standard, "", ""), Some(("minstrel", None)), "{standard}");
    }
    assert_eq!(control("802.11g", "dsss_stations = true", ""), Some(("minstrel", None)));
    assert_eq!(control("802.11a", "", "data_rate = \"24 Mbps\""), None);
}

/// Rate control learns from acknowledgements alone.
#[test]
fn without_acknowledgements_nothing_is_controlled() {
    assert_eq!(control("802.11b", "acknowledgements = false", ""), None);
    let modern = control("802.11ax", "acknowledgements = false", "");
    assert_eq!(modern, Some(("constant", None)));
}

/// A constant rate that is not named is the highest.
#[test]
fn constant_alone_is_the_highest_rate() {
    for (standard, mbps) in [("802.11a", 54), ("802.11b", 11), ("802.11g", 54)] {
        let text = format!("cell.standard = \"{standard}\"\n{CONSTANT}");
        let scenario = Scenario::parse("constant.toml", &text).unwrap_or_else(|e| panic!("{e}"));
        let world = scenario.to_world(1);
        let radio = world.nodes[0].radio.as_ref().expect("a station has a radio");
        assert_eq!((radio.rates.is_none(), radio.mode.rate()), (true, BitRate::mbps(mbps)));
    }
}

const CONSTANT: &str = r#"
[[node]]
name = "sta"
kind = "station"
rate_control = "constant"
[[node]]
name = "ap"
kind = "access-point"
[[flow]]
name = "up"
from = "sta"
to = "ap"
"#;

#[test]
fn a_path_takes_the_place_of_a_distance() {
    let keys = "path = [{ at = \"0 s\", position = [\"0 m\", \"3 m\"] }, \
                { at = \"10 s\", position = [\"20 m\", \"3 m\"] }]";
    let world = world("", keys);
    let path = station(&world).path.as_ref().expect("it goes somewhere");
    let half = Instant::ZERO + Duration::from_secs(5);
    assert_eq!(path.position(half), (Metres(10.0), Metres(3.0)));
}

#[test]
fn a_trace_lists_its_points() {
    let keys = "snr_trace = { points = [[\"0 s\", \"20 dB\"], [\"4 s\", \"-2 dB\"]] }";
    let world = world("", keys);
    let trace = station(&world).snr_trace.as_ref().expect("it has a trace");
    assert_eq!(trace.at(Instant::ZERO + Duration::from_secs(2)), Db(9.0));
}

#[test]
fn a_station_may_roam_among_all_access_points() {
    let keys = "[node.roaming]\nbegin = \"strongest\"\nhold = \"20 packets\"\n\
                handovers = [{ at = \"5 s\", to = \"ap2\", disconnection = \"2 s\" }]\n\
                by_signal = { hysteresis = \"3 dB\" }";
    let world = world("", keys);
    let roaming = station(&world).roaming.as_ref().expect("it roams");
    assert_eq!(roaming.candidates.len(), 2);
    assert!(roaming.begins_with_strongest && roaming.hold == 20);
    assert_eq!(roaming.handovers[0].to, roaming.candidates[1]);
    let by_signal = roaming.by_signal.expect("also by signal");
    assert_eq!((by_signal.hysteresis, by_signal.dwell), (Db(3.0), Duration::from_millis(500)));
}

#[test]
fn a_mac_waits_for_an_access_point_or_attempts() {
    for (keys, attempts) in [("", false), ("while_away = \"attempts\"\n", true)] {
        let world = world("", &format!("[node.roaming]\n{keys}"));
        let roaming = station(&world).roaming.as_ref().expect("it roams");
        assert_eq!(roaming.attempts, attempts);
    }
}

/// A cell of 802.11ax with these keys of the access point and the station.
fn modern(ap: &str, station: &str) -> Result<Scenario, String> {
    let text = format!(
        "[cell]\nstandard = \"802.11ax\"\n[[node]]\nname = \"sta\"\nkind = \"station\"\n{station}\n\
         [[node]]\nname = \"ap\"\nkind = \"access-point\"\n{ap}\n\
         [[flow]]\nname = \"down\"\nfrom = \"ap\"\nto = \"sta\"\n"
    );
    Scenario::parse("modern.toml", &text).map_err(|errors| errors.to_string())
}

/// Without a rate Minstrel chooses; a radio's streams and width are what it can, and survive the
/// resolved file.
#[test]
fn radios_without_a_rate_choose_among_what_both_can() {
    let scenario = modern("streams = 4", "streams = 2\nwidth = \"40 MHz\"").expect("it is right");
    let again = Scenario::parse("resolved.toml", &scenario.to_toml()).expect("it is right");
    assert_eq!(scenario, again);
    let world = scenario.to_world(1);
    let radio = |i: usize| world.nodes[i].radio.as_ref().expect("both have radios");
    for radio in [radio(0), radio(1)] {
        let rates = radio.rates.as_ref().expect("it chooses");
        assert_eq!((rates.algorithm.name(), rates.initial), ("minstrel", None));
    }
    let common = radio(0).capabilities.common(radio(1).capabilities);
    assert_eq!((common.streams, common.width.mhz()), (2, 40));
}

#[test]
fn a_set_mcs_is_for_receivers_that_have_as_much() {
    let constant = modern("streams = 2\nmcs = 9", "streams = 2").expect("it is right").to_world(1);
    let ap = constant.nodes[1].radio.as_ref().expect("it has a radio");
    assert!(ap.rates.is_none() && ap.mode.mcs() == 9 && ap.mode.streams() == 2);
    for (ap, station, why) in [
        ("streams = 4\nmcs = 9", "", "4 spatial streams, and it has 1"),
        ("mcs = 9", "width = \"20 MHz\"", "80 MHz, and it uses 20 MHz"),
        ("mcs = 9", "max_mcs = 7", "MCS 9, and its highest is 7"),
    ] {
        let refused = modern(ap, station).expect_err("it is refused");
        assert!(refused.contains(why), "{refused}");
    }
}
