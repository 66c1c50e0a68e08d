//! The load from which FIFO is uneven between hosts with good links for voice (SOC-3 would need
//! it), and the load from which weights raise the total beside a host with a bad link (SOC-4 would
//! need it). No claims of the paper's.

use super::claims::beside_fifo;
use super::experiments::{
    ARQ, BAD_LOAD, FIFO, JITTER, LOAD, PERIOD, VARIANT, VOICE_BITS, WEIGHTED,
};
use super::measure::{Profile, ap_airtime, ratio, relative_deviation, spread};
use fairwave_lab::plot::{Content, Curve, Figure, Interval, Mark};
use fairwave_lab::run::Run;
use fairwave_study::measure::{over, show, total_mbps};
use fairwave_study::{Evidence, Exhibit, ResultTable, Results, Verdict};

const SCHEMES: [&str; 2] = [FIFO, "pw"];

fn runs<'r>(
    results: &'r Results,
    scheme: &str,
    period: &str,
    jitter: &str,
    profile: Profile,
) -> Vec<&'r Run> {
    let axes = [(VARIANT, scheme), (PERIOD, period), (JITTER, jitter), (ARQ, profile.key())];
    results.select(LOAD, &axes)
}

/// Offered load when every host gets a packet each `period`, in Mbps.
fn offered(period: &str) -> f64 {
    let millis: f64 = period.trim_end_matches(" ms").parse().unwrap_or(f64::NAN);
    8.0 * VOICE_BITS / millis / 1e3
}

pub(super) fn table(results: &Results) -> ResultTable {
    let mut rows = Vec::new();
    for profile in Profile::ALL {
        for period in results.axis(LOAD, PERIOD) {
            for jitter in results.axis(LOAD, JITTER) {
                let of = |scheme| runs(results, scheme, &period, &jitter, profile);
                let (fifo, pw) = (of(FIFO), of("pw"));
                let mut row = vec![profile.name().to_owned(), period.clone(), jitter.clone()];
                row.push(format!("{:.3}", offered(&period)));
                row.push(show(over(&fifo, total_mbps), 3));
                row.push(show(ap_airtime(&fifo), 3));
                row.extend([&fifo, &pw].map(|runs| show(over(runs, spread), 3)));
                row.extend([&fifo, &pw].map(|runs| show(over(runs, relative_deviation), 3)));
                rows.push(row);
            }
        }
    }
    let header = [
        "Profile",
        "Packet each",
        "Jitter",
        "Offered (Mbps)",
        "FIFO carries",
        "On the air",
        "Spread, FIFO",
        "Spread, PW",
        "Deviation, FIFO",
        "Deviation, PW",
    ];
    ResultTable {
        title: "Voice by load, Env_g: best host less worst over the mean, and deviation of 3 s \
                bins over the mean"
            .into(),
        header: header.map(str::to_owned).into(),
        rows,
    }
}

pub(super) fn exhibit(results: &Results) -> Exhibit {
    let mut curves = Vec::new();
    for scheme in SCHEMES {
        for jitter in results.axis(LOAD, JITTER) {
            let point = |period: &String| {
                let runs = runs(results, scheme, period, &jitter, Profile::WaveLan);
                Some((offered(period), Interval::from(over(&runs, spread)?)))
            };
            let points = results.axis(LOAD, PERIOD).iter().filter_map(point).collect();
            let label = format!("{}, jitter {jitter}", super::figures::label(scheme));
            curves.push(Curve { label, points, mark: Mark::DottedLine });
        }
    }
    Exhibit {
        id: "load-voip".into(),
        claims: &["SOC-3"],
        paper: "Not in the paper, whose voice is 0.69 Mbps of payload (Fig. 15).".into(),
        ours: "How much of the mean the best host has more than the worst, without ARQ, by what \
               is offered. Below what the cell carries no packet is dropped; above, streams of one \
               period keep their places at a full queue, so that the same ones lose all the time, \
               unless jitter moves them."
            .into(),
        figure: Figure {
            title: "Unevenness of voice by load, Env_g".into(),
            x_label: "Offered (Mbps)".into(),
            y_label: "Best less worst, over the mean".into(),
            y_range: None,
            content: Content::Curves(curves),
        },
    }
}

/// Place of SOC-3's picture.
pub(super) fn explanation(results: &Results) -> String {
    let one = |period: &String| {
        let of = |scheme| over(&runs(results, scheme, period, "0 s", Profile::WaveLan), spread);
        format!("{:.2} Mbps: FIFO {}, PW {}", offered(period), show(of(FIFO), 3), show(of("pw"), 3))
    };
    let all: Vec<String> = results.axis(LOAD, PERIOD).iter().map(one).collect();
    format!(
        "SOC-3 by load, without ARQ and jitter: best host less worst over the mean when so much \
         is offered. {}. A queue that never fills treats all alike.",
        all.join("; ")
    )
}

fn bad_runs<'r>(
    results: &'r Results,
    scheme: &str,
    period: &str,
    profile: Profile,
) -> Vec<&'r Run> {
    let axes = [(VARIANT, scheme), (PERIOD, period), (ARQ, profile.key())];
    results.select(BAD_LOAD, &axes)
}

/// Whether SOC-4's criterion is met when a packet is sent each `period`.
fn raised(results: &Results, period: &str, profile: Profile) -> bool {
    let evidence = Evidence::of(results, &[BAD_LOAD]);
    let tested = beside_fifo(evidence, |scheme| bad_runs(results, scheme, period, profile));
    Verdict::of(&tested.conditions) == Verdict::Holds
}

/// Env_b by load: totals over FIFO's.
pub(super) fn bad_table(results: &Results) -> ResultTable {
    let mut rows = Vec::new();
    for profile in Profile::ALL {
        for period in results.axis(BAD_LOAD, PERIOD) {
            let of = |scheme| bad_runs(results, scheme, &period, profile);
            let fifo = of(FIFO);
            let mut row = vec![profile.name().to_owned(), period.clone()];
            row.push(format!("{:.3}", offered(&period)));
            row.push(show(over(&fifo, total_mbps), 3));
            row.push(show(ap_airtime(&fifo), 3));
            row.extend(WEIGHTED.map(|scheme| show(ratio(&of(scheme), &fifo, total_mbps), 3)));
            row.push(if raised(results, &period, profile) { "yes" } else { "no" }.to_owned());
            rows.push(row);
        }
    }
    let header = [
        "Profile",
        "Packet each",
        "Offered (Mbps)",
        "FIFO carries",
        "On the air",
        "GB1 / FIFO",
        "GB2 / FIFO",
        "GB3 / FIFO",
        "PW / FIFO",
        "As SOC-4 asks",
    ];
    ResultTable {
        title: "Voice by load, Env_b, jitter 10 ms: total over FIFO's".into(),
        header: header.map(str::to_owned).into(),
        rows,
    }
}

/// Place of SOC-4's picture.
pub(super) fn bad_explanation(results: &Results) -> String {
    let one = |profile: Profile| {
        let periods = results.axis(BAD_LOAD, PERIOD);
        let met = periods.iter().filter(|period| raised(results, period, profile));
        let met: Vec<String> = met.map(|period| format!("{:.2}", offered(period))).collect();
        let met = if met.is_empty() { "no load".to_owned() } else { met.join(", ") + " Mbps" };
        format!("{}: {met}", profile.name())
    };
    format!(
        "SOC-4 by load: the offered loads, of those tried, at which its criterion is met. {}. The \
         verdict is for the paper's packet each 30 ms; weights pay where more is offered than the \
         cell carries, since only then somebody wants the air that is spared on C1.",
        Profile::ALL.map(one).join("; ")
    )
}
