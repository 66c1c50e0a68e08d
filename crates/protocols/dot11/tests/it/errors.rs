//! SNR at which a tenth of the frames is lost, by each model: `results/frame-errors.md`.

use fairwave_dot11::{Format, GuardInterval, Mode, Modulation, Width, success, table_success};
use fairwave_units::math::db_to_linear;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Length of the reference frames.
const BITS: f64 = 8.0 * 1458.0;

/// SNR in dB at which ns-3 3.37 loses a tenth of such frames by its table, for MCS 0 to 11, by
/// interpolation of the PER between its points as it does itself; convolutional code, then LDPC.
const NS3_BCC: [f64; 10] = [0.92, 3.94, 6.43, 9.70, 12.80, 17.04, 18.38, 19.63, 23.71, 25.15];
const NS3_LDPC: [f64; 12] =
    [-0.62, 2.39, 4.86, 7.92, 10.93, 15.13, 16.48, 18.00, 21.68, 23.48, 26.80, 28.89];

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../results/frame-errors.md")
}

fn mode(mcs: u8, width: Width) -> Mode {
    Mode::new(Format::He, mcs, 1, width, GuardInterval::Ns800).expect("the standard has the mode")
}

/// SNR in dB at which a tenth of the frames is lost, by halving.
fn snr_at_a_tenth(decodes: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (-10.0, 60.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if decodes(db_to_linear(middle)) < 0.9 { low = middle } else { high = middle }
    }
    high
}

/// By hard decisions, and by the table with the convolutional code (20 MHz, up to MCS 9) and LDPC.
fn row(mcs: u8) -> (f64, Option<f64>, f64) {
    let by_table = |mode| snr_at_a_tenth(|sinr| table_success(mode, sinr, BITS));
    let ldpc = mode(mcs, Width::Mhz80);
    let hard = snr_at_a_tenth(|sinr| success(ldpc.modulation(), sinr, BITS));
    (hard, (mcs < 10).then(|| by_table(mode(mcs, Width::Mhz20))), by_table(ldpc))
}

fn text() -> String {
    let mut text = include_str!("errors.md").to_owned();
    for mcs in 0..12 {
        let Modulation::Ofdm { points, code } = mode(mcs, Width::Mhz80).modulation() else {
            unreachable!("HE is OFDM")
        };
        let (hard, bcc, ldpc) = row(mcs);
        let place = usize::from(mcs);
        let bcc = bcc.map_or("-".to_owned(), |bcc| format!("{bcc:.1}"));
        let theirs = NS3_BCC.get(place).map_or("-".to_owned(), |theirs| format!("{theirs:.1}"));
        let (numerator, denominator) = code;
        let (theirs_ldpc, gain) = (NS3_LDPC[place], hard - ldpc);
        _ = writeln!(
            text,
            "| {mcs} | {points}, {numerator}/{denominator} | {hard:.1} | {bcc} | {theirs} \
             | {ldpc:.1} | {theirs_ldpc:.1} | {gain:.1} |"
        );
    }
    text
}

#[test]
fn the_page_of_frame_errors_is_up_to_date() {
    let found = fs::read_to_string(page()).unwrap_or_default();
    assert!(found == text(), "results/frame-errors.md: `cargo xtask golden` rewrites it");
}

#[test]
#[ignore = "rewrites the golden page"]
fn bless() {
    fs::write(page(), text()).expect("a writable folder");
}

/// Within 0.1 dB of ns-3, whose interpolation is linear in PER.
#[test]
fn a_tenth_is_lost_where_ns3_loses_it() {
    for (mcs, theirs) in (0..).zip(NS3_LDPC) {
        let (_, bcc, ldpc) = row(mcs);
        assert!((ldpc - theirs).abs() < 0.1, "LDPC, MCS {mcs}: {ldpc} dB, ns-3 {theirs} dB");
        let bcc = bcc.zip(NS3_BCC.get(usize::from(mcs)));
        let is_near = bcc.is_none_or(|(bcc, theirs)| (bcc - theirs).abs() < 0.1);
        assert!(is_near, "convolutional code, MCS {mcs}: {bcc:?}");
    }
}

/// Hard decisions need 2 to 8 dB more, in every modulation.
#[test]
fn soft_decisions_and_ldpc_gain_decibels() {
    for mcs in 0..12 {
        let (hard, bcc, ldpc) = row(mcs);
        assert!((3.0..8.0).contains(&(hard - ldpc)), "MCS {mcs}: {hard} {ldpc} dB");
        assert!(bcc.is_none_or(|bcc| bcc < hard - 1.5 && bcc > ldpc), "MCS {mcs}: {hard} {bcc:?}");
    }
}
