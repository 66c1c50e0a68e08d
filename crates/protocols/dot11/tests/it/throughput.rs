//! Throughput of one saturated station against the closed formula: a cycle is AIFS, a mean backoff
//! of CWmin/2 slots, the PPDU, SIFS and its response. Then several categories on one medium.

use fairwave_dot11::channel::{
    Channel, Config, ErrorModel, Input, Mpdu, Output, RadioConfig, RadioId,
};
use fairwave_dot11::{
    AccessCategory, DATA_OVERHEAD_BYTES, Format, GuardInterval, Mode, Phy, QOS_BYTES, Standard,
    Width,
};
use fairwave_machine::Machine;
use fairwave_units::{BitRate, Dbm, Instant, Metres, Seed};

/// UDP payload of an IP packet of 1500 bytes.
const PAYLOAD_BYTES: u32 = 1472;

fn radios(n: u32) -> Vec<RadioConfig> {
    let radio = |i| RadioConfig {
        name: format!("radio{i}"),
        position: (Metres(0.0), Metres(0.0)),
        power: Dbm(16.0),
        is_access_point: false,
        path: None,
        snr_trace: None,
        roams: false,
        rates: None,
        capabilities: fairwave_dot11::Capabilities::default(),
    };
    (0..n).map(radio).collect()
}

/// Frames from radio `i + 1` to radio 0 in category `categories[i]`, always as many as it takes.
/// Delivered Mbps of UDP payload of each sender.
fn saturated(config: &Config, mode: Mode, categories: &[AccessCategory], seconds: u64) -> Vec<f64> {
    let qos = if config.phy.is_qos() { QOS_BYTES } else { 0 };
    let bytes = 1500 + DATA_OVERHEAD_BYTES + qos;
    let config = Config { errors: ErrorModel::Rate { data: 0.0, control: 0.0 }, ..config.clone() };
    let radios = radios(categories.len() as u32 + 1);
    let mut channel: Channel<()> = Channel::new(config, &radios, Seed(1), "cell");
    let fill = |channel: &mut Channel<()>, now| {
        for (i, &category) in (1..).zip(categories) {
            let (own, to) = (RadioId(i), RadioId(0));
            while channel.is_ready(own, category) || channel.has_room(own, category, to, true) {
                let mpdu = Mpdu { to: Some(to), bytes, mode, category, payload: () };
                channel.handle(now, Input::Send(own, mpdu));
            }
        }
    };
    let mut delivered = vec![0_u64; categories.len()];
    let end = Instant::from_nanos(seconds * 1_000_000_000);
    fill(&mut channel, Instant::ZERO);
    while let Some(now) = channel.deadline().filter(|due| *due <= end) {
        channel.wake(now);
        while let Some(output) = channel.poll(now) {
            if let Output::Deliver { from, .. } = output {
                delivered[from.0 as usize - 1] += 1;
            }
        }
        fill(&mut channel, now);
    }
    let mbps = |frames| f64::from(8 * PAYLOAD_BYTES) * frames as f64 / (seconds as f64 * 1e6);
    delivered.into_iter().map(mbps).collect()
}

fn check(config: &Config, mode: Mode, expected: f64) {
    let got = saturated(config, mode, &[AccessCategory::BestEffort], 4)[0];
    assert!((got / expected - 1.0).abs() < 0.01, "{got} against {expected} Mbps");
}

fn mbps(frames: u32, cycle_us: f64) -> f64 {
    f64::from(8 * PAYLOAD_BYTES * frames) / cycle_us
}

/// Access takes AIFS of 43 us and 7.5 slots of 9 us; SIFS and BlockAck 48 us, in HE 56 us.
const ACCESS_US: f64 = 43.0 + 67.5;

/// 65 Mbps: 28 MPDUs, the most within 5.484 ms, are 36 us and 1331 symbols.
#[test]
fn ht_65_mbps() {
    let mode = Mode::new(Format::Ht, 7, 1, Width::Mhz20, GuardInterval::Ns800).unwrap();
    let cycle = ACCESS_US + 36.0 + 1331.0 * 4.0 + 48.0;
    check(&Config::new(Phy::new(Standard::N)), mode, mbps(28, cycle));
}

/// 780 Mbps: 64 MPDUs are 16 + 12 + 8 * 98814 bits, 254 symbols of 3120 after 44 us.
#[test]
fn vht_780_mbps() {
    let mode = Mode::new(Format::Vht, 9, 2, Width::Mhz80, GuardInterval::Ns800).unwrap();
    let cycle = ACCESS_US + 44.0 + 254.0 * 4.0 + 48.0;
    check(&Config::new(Phy::new(Standard::Ac)), mode, mbps(64, cycle));
}

/// 1201 Mbps: 256 MPDUs are 16 + 8 * 395262 bits, 194 symbols of 16333 after 52 us.
#[test]
fn he_1201_mbps() {
    let mode = Mode::new(Format::He, 11, 2, Width::Mhz80, GuardInterval::Ns800).unwrap();
    let cycle = ACCESS_US + 52.0 + 194.0 * 13.6 + 56.0;
    check(&Config::new(Phy::new(Standard::Ax)), mode, mbps(256, cycle));
}

/// DIFS 28, 7.5 slots of 9, data 254, SIFS 10, ACK 34: 29.93 Mbps.
#[test]
fn erp_alone() {
    let phy = Phy::new(Standard::G);
    check(&Config::new(phy), phy.mode(BitRate::mbps(54)).unwrap(), 29.93);
}

/// DIFS 50, 15.5 slots of 20, CTS 203, SIFS 10, data 254, SIFS 10, ACK 34: 13.52 Mbps.
#[test]
fn erp_among_stations_of_80211b() {
    let phy = Phy { with_dsss: true, ..Phy::new(Standard::G) };
    let protection = phy.mode(BitRate::mbps(11));
    let config = Config { protection, ..Config::new(phy) };
    check(&config, phy.mode(BitRate::mbps(54)).unwrap(), 13.52);
}

/// Each more urgent category has more of a medium that all want, and none has nothing.
#[test]
fn categories_differ_in_their_shares() {
    let mode = Mode::new(Format::Ht, 7, 1, Width::Mhz20, GuardInterval::Ns800).unwrap();
    let config = Config { aggregation: None, ..Config::new(Phy::new(Standard::N)) };
    let got = saturated(&config, mode, &AccessCategory::ALL, 20);
    // With the same TXOP time Voice would lead; Video has twice as long at each access.
    let [background, best_effort, video, voice] = got[..] else { panic!("{got:?}") };
    assert!(background > 0.0, "{got:?}");
    assert!(best_effort > 2.0 * background, "{got:?}");
    assert!(voice > 4.0 * best_effort && video > 2.0 * best_effort, "{got:?}");
}
