//! Control on ACK losses: Hashimoto, Hasegawa and Murata (2008).

mod claims;
mod experiments;
mod figures;
mod measure;
mod originals;
mod remedies;

use crate::declare::map;
use experiments::{EMULATED, EXPERIMENTS};
use fairwave_lab::results::{DROPS, FLOWS, QUEUES};
use fairwave_study::map::file::Source;
use fairwave_study::{Claim, Error, Experiment, Findings, Original, Results, Study};

/// The study.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckLoss;

impl Study for AckLoss {
    fn name(&self) -> &'static str {
        "ack-loss"
    }

    fn paper(&self) -> &'static str {
        "M. Hashimoto, G. Hasegawa, M. Murata: Fairness Improvement of Hybrid TCP Congestion \
         Control Mechanisms in Wireless LAN Environment (in Japanese), Osaka University, 2008"
    }

    fn statement(&self) -> &'static str {
        "Many uploads share one access point whose queue fills with ACKs and drops them. A sender \
         with a large window survives lost ACKs, because a later one acknowledges the same data, \
         and keeps growing. A sender with a window of about one segment loses its only ACK, times \
         out, and starves. The remedy: the sender halves its window when it sees from the \
         acknowledgement numbers that ACKs were lost."
    }

    fn experiments(&self) -> &'static [Experiment] {
        EXPERIMENTS
    }

    fn emulated(&self) -> &'static [Experiment] {
        EMULATED
    }

    fn not_emulated(&self) -> &'static [&'static str] {
        &[
            "Remedies at the access point (ACK-X1, ACK-X2) are simulated only: 720 runs of two \
             minutes each would take a day in real time.",
            "Where ACKs are delayed, ack-loss-timestamps stands for the remedy and is told, not \
             judged: the paper's receivers acknowledge every segment.",
        ]
    }

    fn originals(&self) -> &'static [Original] {
        originals::ORIGINALS
    }

    fn limits(&self) -> &'static [&'static str] {
        &[
            "The paper's figures are known from its text only: the scan has no pictures, so no \
             number can be read off its curves.",
            "The paper leaves open when a reaction is decided, whether a pause follows it, and \
             which lost ACKs count. Here the decision falls at the end of each round, without \
             pauses and exclusions; the maps of ACK-2 and ACK-3 have the other readings.",
            "The paper names neither ns-2's version nor its TCP parameters. Assumed: SACK on, no \
             timestamps, initial window of 3 segments, RTO of at least 1 s, starts spread over \
             1 s, 54 Mbps data rate, no RTS/CTS, no beacons. Congestion avoidance counts ACKs, not \
             bytes, as ns-2's TCP does.",
            "The paper does not say whether a packet error is repaired by the MAC. The claims \
             are judged with a MAC that does, as 802.11's does: each attempt is lost \
             independently, and there are up to 7 attempts. Beside them stand runs with one \
             attempt, where errors and collisions reach TCP.",
            "The paper does not say what a low and a high packet error rate are. Here they are \
             0.001 and 0.3; the tables show others.",
            "Remedies other than the paper's are not from the paper: their comparison is ours. \
             Split queues have the stated room for ACKs and for data each, the others for both. \
             The stations' queues are drop-tail.",
            "No rate adaptation, no fading, no hidden stations: all stations hear one another.",
        ]
    }

    fn evaluate(&self, results: &Results) -> Result<Findings, Error> {
        Ok(Findings {
            claims: claims::all(results),
            exhibits: [figures::exhibits(results)?, remedies::exhibits(results)].concat(),
            tables: [figures::tables(results), remedies::tables(results)].concat(),
            explanations: claims::explanations(results),
        })
    }

    fn claims(&self, results: &Results) -> Result<Vec<Claim>, Error> {
        Ok(claims::all(results))
    }

    fn tables(&self) -> Option<&'static [&'static str]> {
        Some(&[FLOWS.file, QUEUES.file, DROPS.file])
    }

    fn map(&self) -> Option<Source<'static>> {
        Some(map!("ack-loss"))
    }
}

#[cfg(test)]
mod report_tests;
#[cfg(test)]
mod tests;
