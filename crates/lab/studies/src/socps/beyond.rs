//! SOC-X1, which the paper leaves to later work: weights for some kinds of traffic only.
//!
//! The criterion, set before the first run, for the groups of section 5.1 (C1, whose link is bad,
//! receives voice) and for those of section 5.3.3 (C1 uses TCP): with `socps-traffic` over PW the
//! hosts with TCP together get at least their goodput behind the FIFO, and those with voice at
//! least theirs under PW, each less the 5 % that this study counts as equal.

use super::experiments::{BAD_MIXED, FIFO, SWAPPED};
use super::measure::{Profile, goodput, judge, of, ratio};
use fairwave_lab::run::Run;
use fairwave_study::measure::{over, show};
use fairwave_study::{Bound, Claim, Criterion, Evidence, ResultTable, Results};

const PW: &str = "pw";
/// PW for hosts that are sent datagrams.
const BY_TRAFFIC: &str = "pw-traffic";
const NOT_LESS: Bound = Bound::AtLeast(0.95);

/// Goodput of the hosts with TCP, and of those with voice, in Mbps.
type Groups = (fn(&Run) -> f64, fn(&Run) -> f64);

fn first_four(run: &Run) -> f64 {
    goodput(run, |host| host <= 4)
}

fn last_four(run: &Run) -> f64 {
    goodput(run, |host| host > 4)
}

const READINGS: [(&str, &str, Groups); 2] =
    [(BAD_MIXED, "paper", (last_four, first_four)), (SWAPPED, "swapped", (first_four, last_four))];

pub(super) fn claim(results: &Results) -> Claim {
    let measure = |profile| {
        let mut map = Evidence::of(results, &[BAD_MIXED, SWAPPED]);
        let mut conditions = Vec::new();
        for (experiment, reading, (tcp, voice)) in READINGS {
            let runs = |scheme: &str| of(results, experiment, scheme, profile);
            let switched = runs(BY_TRAFFIC);
            let tcp_ratio = ratio(&switched, &runs(FIFO), tcp);
            let over_fifo = map.estimate(format!("{reading}_tcp_over_fifo"), tcp_ratio);
            map.estimate(format!("{reading}_tcp_over_pw"), ratio(&switched, &runs(PW), tcp));
            let voice_ratio = ratio(&switched, &runs(PW), voice);
            let over_pw = map.estimate(format!("{reading}_voice_over_pw"), voice_ratio);
            conditions.extend([over_fifo.mean.is(NOT_LESS), over_pw.mean.is(NOT_LESS)]);
        }
        map.tested(conditions)
    };
    let criterion = Criterion {
        id: "SOC-X1",
        statement: "Ours: weighing by PW only those hosts that are sent datagrams gives hosts \
                    with TCP at least what a FIFO gives them, and hosts with voice at least what \
                    PW does (Env_b, Tr_tv; section 6 of the paper)",
        meaning: "paper: C1 to C4 hear voice, as section 5.1 defines; swapped: C1 to C4 use TCP, \
                  as section 5.3.3 has it; C1 is the bad host in both. Ratios of a group's total \
                  goodput, mean over seeds",
    };
    judge(criterion, measure, note(results)).ours()
}

fn note(results: &Results) -> String {
    let c1 = |run: &Run| goodput(run, |host| host == 1);
    let parts = READINGS.iter().flat_map(|(experiment, reading, (tcp, voice))| {
        [FIFO, PW, BY_TRAFFIC].map(|scheme| {
            let runs = of(results, experiment, scheme, Profile::WaveLan);
            format!(
                "{scheme}, {reading}: TCP {}, voice {}, C1 {} Mbps.",
                show(over(&runs, tcp), 3),
                show(over(&runs, voice), 3),
                show(over(&runs, c1), 3),
            )
        })
    });
    let parts: Vec<String> = parts.collect();
    parts.join(" ")
}

pub(super) fn table(results: &Results) -> ResultTable {
    let mut rows = Vec::new();
    for profile in Profile::ALL {
        for (experiment, reading, (tcp, voice)) in READINGS {
            for scheme in [FIFO, PW, BY_TRAFFIC] {
                let runs = of(results, experiment, scheme, profile);
                rows.push(vec![
                    profile.name().to_owned(),
                    if reading == "paper" { "voice" } else { "TCP" }.to_owned(),
                    scheme.to_owned(),
                    show(over(&runs, tcp), 3),
                    show(over(&runs, voice), 3),
                    show(over(&runs, |run| goodput(run, |host| host == 1)), 3),
                ]);
            }
        }
    }
    ResultTable {
        title: "Weighing by traffic (Env_b, Tr_tv)".into(),
        header: ["Profile", "C1 has", "Scheme", "TCP (Mbps)", "Voice (Mbps)", "C1 (Mbps)"]
            .map(str::to_owned)
            .into(),
        rows,
    }
}

#[cfg(test)]
mod tests;
