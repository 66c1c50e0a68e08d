//! Does the paper's threshold follow if its probe read the buffer too large?

use super::experiments::{CORRECTED, LARGE, QUEUE};
use super::measure::{OVERFLOWS, onset, unfair, with_terminals};
use core::ops::RangeInclusive;
use fairwave_lab::run::Run;
use fairwave_study::measure::{ack_drop_share, jain, over, show, show_share};
use fairwave_study::{Claim, Criterion, Evidence, Reading, Results};

/// The buffer in packets after a reading of 255 packets at 100 Mbps is corrected by the 29.8 Mbps
/// that the radio carried away meanwhile.
const BUFFER: &str = "179 packets";

fn at<'r>(results: &'r Results, queue: &str, counts: RangeInclusive<usize>) -> Vec<&'r Run> {
    with_terminals(results, CORRECTED, &[(QUEUE, queue)], counts)
}

/// The smallest number of terminals that drop more than [`OVERFLOWS`] of the ACKs.
fn first_overflow(results: &Results, queue: &str) -> Option<usize> {
    let overflows = |n: &usize| {
        over(&at(results, queue, *n..=*n), ack_drop_share).is_some_and(|e| e.mean > OVERFLOWS)
    };
    (2..=7).find(overflows)
}

/// Share of ACKs dropped, unfair runs and Jain's index by the number of terminals.
fn by_count(results: &Results, queue: &str) -> String {
    let line = |n: usize| {
        let runs = at(results, queue, n..=n);
        format!(
            "{n} terminals: ACKs dropped {}, unfair {}, Jain {}",
            show(over(&runs, ack_drop_share), 3),
            show_share(unfair(&runs)),
            show(over(&runs, jain), 3),
        )
    };
    (2..=7).map(line).collect::<Vec<_>>().join("; ")
}

pub(super) fn claim(results: &Results) -> Claim {
    let mut measured = Evidence::of(results, &[CORRECTED]);
    let dropped = |counts| over(&at(results, BUFFER, counts), ack_drop_share);
    let few = measured.estimate("dropped_2_to_4", dropped(2..=4));
    let each = (5..=7).map(|n| Reading::mean(dropped(n..=n)));
    let minimum = measured.number("least_dropped_5_to_7", Reading::extreme(each, f64::min));
    measured.fact("overflow_from_corrected", first_overflow(results, BUFFER));
    measured.fact("overflow_from_as_read", first_overflow(results, LARGE));
    let note = format!(
        "Windows of ACKs exceed {BUFFER} from {:.1} terminals on, {LARGE} from {:.1}. With \
         {BUFFER}: {}. The threshold of BUF-2 is where ACKs begin to be dropped; that they are \
         dropped does not yet starve anybody here.",
        onset(BUFFER, "off"),
        onset(LARGE, "off"),
        by_count(results, BUFFER),
    );
    Claim::judge(
        Criterion {
            id: "BUF-X4",
            statement: "Ours: if the paper's probe read 255 packets of a buffer that holds 179, \
                        for what drained meanwhile, and its host acknowledged every segment, ACKs \
                        overflow from 5 terminals on and not with 2 to 4, as BUF-2 has it",
            meaning: "Mean shares of ACKs dropped, over runs with the corrected buffer; \
                      overflow_from is the least number of terminals with more than 1 %, with the \
                      corrected buffer and as read",
        },
        measured.tested([few.high.below(OVERFLOWS), minimum.above(OVERFLOWS)]),
        note,
    )
    .ours()
}
