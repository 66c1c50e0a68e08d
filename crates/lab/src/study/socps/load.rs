//! From which load on FIFO is uneven between hosts that all hear voice well: what SOC-3 would
//! need. No claim of the paper's.

use super::measure::{Profile, ap_airtime, relative_deviation, spread};
use super::{ARQ, FIFO, JITTER, LOAD, PERIOD, VARIANT};
use crate::plot::{Content, Curve, Figure, Interval, Mark};
use crate::run::Run;
use crate::study::measure::{over, show, total_mbps};
use crate::study::{Exhibit, ResultTable, Results};

/// Eight hosts with 322 bytes of payload in each packet.
const PAYLOAD_BITS: f64 = 8.0 * 322.0 * 8.0;
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

/// What is offered when every host gets a packet each `period`, in Mbps.
fn offered(period: &str) -> f64 {
    let millis: f64 = period.trim_end_matches(" ms").parse().unwrap_or(f64::NAN);
    PAYLOAD_BITS / millis / 1e3
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

/// Where SOC-3's picture is to be found.
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
