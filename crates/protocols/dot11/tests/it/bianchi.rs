//! Saturation throughput against Bianchi's model (JSAC 2000) with the correction of Tinnirello,
//! Bianchi and Xiao (2010): a station that has just sent may send again at once, the others
//! cannot, as their counters are frozen above zero.
//!
//! Run in release for speed: `cargo test --release -p fairwave-dot11 --test it bianchi::`.

use fairwave_dot11::channel::{
    Channel, Config, ErrorModel, Input, Mpdu, Output, RadioConfig, RadioId,
};
use fairwave_dot11::{ACK_BYTES, AccessCategory, DATA_OVERHEAD_BYTES, Edca, Mode, Phy, Standard};
use fairwave_machine::Machine;
use fairwave_units::{BitRate, Db, Dbm, Duration, Instant, Metres, Seed, math};

const PAYLOAD_BYTES: u32 = 1500;

/// What follows a collision for those who only heard it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum After {
    /// No preamble was detected: DIFS.
    Difs,
    /// A preamble was detected but the frame was not decoded: EIFS.
    Eifs,
}

/// tau and p of Bianchi's Markov chain for window `w` and `m` doublings.
fn fixed_point(n: u32, w: f64, m: i32) -> (f64, f64) {
    let tau = |p: f64| {
        let sum: f64 = (0..m).map(|i| math::pow(2.0 * p, f64::from(i))).sum();
        2.0 / (1.0 + w + p * w * sum)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let p = (low + high) / 2.0;
        let implied = 1.0 - math::pow(1.0 - tau(p), f64::from(n - 1));
        if implied > p { low = p } else { high = p }
    }
    (tau(low), low)
}

/// Saturation throughput in Mbps of `PAYLOAD_BYTES` in `mode`.
fn model_mbps(phy: Phy, mode: Mode, n: u32, after: After, edca: Edca) -> f64 {
    let us = |d: Duration| d.as_nanos() as f64 / 1e3;
    let w = f64::from(phy.cw_min() + 1);
    let doublings = ((phy.cw_max() + 1) / (phy.cw_min() + 1)).ilog2() as i32;
    let (tau, _) = fixed_point(n, w, doublings);
    let idle = math::pow(1.0 - tau, f64::from(n));
    let success = f64::from(n) * tau * math::pow(1.0 - tau, f64::from(n - 1));
    let collision = 1.0 - idle - success;
    let data = us(phy.tx_time(mode, PAYLOAD_BYTES + DATA_OVERHEAD_BYTES));
    let ack = us(phy.tx_time(phy.response_mode(mode), ACK_BYTES));
    let slot = us(phy.slot());
    // After a success the same station goes again with probability 1/w, without a slot between.
    let repeats = 1.0 / (1.0 - 1.0 / w);
    let t_success = (data + us(phy.sifs()) + ack + us(edca.aifs(phy))) * repeats + slot;
    let ifs = if after == After::Difs { edca.aifs(phy) } else { phy.eifs() };
    let t_collision = data + us(ifs) + slot;
    let bits = f64::from(8 * PAYLOAD_BYTES) * repeats;
    success * bits / (idle * slot + success * t_success + collision * t_collision)
}

fn config(phy: Phy, after: After) -> Config {
    Config {
        preamble_detection: if after == After::Difs { Some(Db(4.0)) } else { None },
        errors: ErrorModel::Rate { data: 0.0, control: 0.0 },
        // Bianchi's stations never give a frame up.
        short_retry_limit: u32::MAX,
        long_retry_limit: u32::MAX,
        ..Config::new(phy)
    }
}

/// All stations at one point, so that every level is equal and nothing is captured.
fn radios(n: u32) -> Vec<RadioConfig> {
    let radio = |i| RadioConfig {
        name: format!("radio{i}"),
        position: (Metres(0.0), Metres(0.0)),
        power: Dbm(16.0),
        is_access_point: i == 0,
        path: None,
        snr_trace: None,
        roams: false,
        rates: None,
        capabilities: fairwave_dot11::Capabilities::default(),
    };
    (0..=n).map(radio).collect()
}

/// Simulated saturation throughput in Mbps of `n` stations sending to radio 0.
fn simulated_mbps(config: Config, mode: Mode, n: u32, seconds: u64) -> f64 {
    let mut channel: Channel<()> = Channel::new(config, &radios(n), Seed(1), "cell");
    let bytes = PAYLOAD_BYTES + DATA_OVERHEAD_BYTES;
    let mpdu = Mpdu {
        to: Some(RadioId(0)),
        bytes,
        mode,
        category: AccessCategory::BestEffort,
        payload: (),
    };
    for station in 1..=n {
        channel.handle(Instant::ZERO, Input::Send(RadioId(station), mpdu));
    }
    while channel.poll(Instant::ZERO).is_some() {}
    let end = Instant::ZERO + Duration::from_secs(seconds);
    let mut delivered = 0u64;
    while let Some(now) = channel.deadline().filter(|due| *due <= end) {
        channel.wake(now);
        while let Some(output) = channel.poll(now) {
            match output {
                Output::Deliver { .. } => delivered += 1,
                Output::Done { radio, .. } => channel.handle(now, Input::Send(radio, mpdu)),
            }
        }
    }
    (delivered * u64::from(8 * PAYLOAD_BYTES)) as f64 / seconds as f64 / 1e6
}

/// Checks simulation against the model for 5, 10, 20 and 50 stations.
fn check(standard: Standard, rate: BitRate, after: After, tolerance: f64) {
    let phy = Phy::new(standard);
    let mode = phy.mode(rate).unwrap();
    for n in [5, 10, 20, 50] {
        let model = model_mbps(phy, mode, n, after, Edca::dcf(phy));
        let simulated = simulated_mbps(config(phy, after), mode, n, 60);
        let error = simulated / model - 1.0;
        assert!(error.abs() < tolerance, "n = {n}: {simulated} against {model} Mbps");
    }
}

#[test]
fn dsss_11_mbps() {
    check(Standard::B, BitRate::mbps(11), After::Difs, 0.02);
}

/// The model makes everybody wait EIFS after a collision. The stations that collided never
/// received the broken frame: they go on after their ACK timeout, earlier than the others, so
/// the simulation is a little above the model, the more so the more collisions there are.
#[test]
fn dsss_11_mbps_with_eifs() {
    check(Standard::B, BitRate::mbps(11), After::Eifs, 0.02);
}

#[test]
fn ofdm_54_mbps() {
    check(Standard::A, BitRate::mbps(54), After::Difs, 0.02);
}

/// As above; EIFS is six slots longer than the ACK timeout here.
#[test]
fn ofdm_54_mbps_with_eifs() {
    check(Standard::A, BitRate::mbps(54), After::Eifs, 0.06);
}

/// Best effort alone: AIFS has a slot more than DIFS, and all else is as under DCF.
#[test]
fn best_effort_54_mbps() {
    let phy = Phy::new(Standard::A);
    let mode = phy.mode(BitRate::mbps(54)).unwrap();
    let edca = Edca::defaults(phy);
    for n in [5, 10, 20, 50] {
        let model = model_mbps(phy, mode, n, After::Difs, edca[1]);
        let config = Config { edca: Some(edca), ..config(phy, After::Difs) };
        let simulated = simulated_mbps(config, mode, n, 60);
        let error = simulated / model - 1.0;
        assert!(error.abs() < 0.02, "n = {n}: {simulated} against {model} Mbps");
    }
}

/// The published tables (Mbps) that ns-3's `wifi-bianchi` example is checked against. They
/// leave out the rounding of OFDM frames to whole symbols.
#[test]
fn published_reference_values() {
    let tables = [
        (Standard::B, 11, [6.4734, 6.1774, 5.7819, 5.1745]),
        (Standard::A, 54, [29.8324, 28.1519, 26.2925, 23.5618]),
    ];
    for (standard, mbps, expected) in tables {
        for (n, expected) in [5, 10, 20, 50].into_iter().zip(expected) {
            let phy = Phy::new(standard);
            let mode = phy.mode(BitRate::mbps(mbps)).unwrap();
            let got = simulated_mbps(config(phy, After::Difs), mode, n, 60);
            assert!((got / expected - 1.0).abs() < 0.02, "{standard:?} n = {n}: {got}, {expected}");
        }
    }
}
