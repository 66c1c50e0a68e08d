//! The buffers of access points, measured by a probe: Ando, Murase and Oguchi, section 3.

mod claims;
mod experiments;
mod figures;
mod measure;
mod originals;

use crate::declare::map;
use experiments::{EMULATED, EXPERIMENTS};
use fairwave_study::map::file::Source;
use fairwave_study::{Claim, Error, Experiment, Findings, Original, Results, Study};

/// The study.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApBuffer;

impl Study for ApBuffer {
    fn name(&self) -> &'static str {
        "ap-buffer"
    }

    fn paper(&self) -> &'static str {
        "R. Ando, T. Murase, M. Oguchi: An evaluation of fairness of bandwidth affected by the \
         buffer size of access point in the wireless LAN environment (in Japanese), Ochanomizu \
         University and NEC"
    }

    fn statement(&self) -> &'static str {
        "A wired host sends numbered packets through an access point to a station, faster than \
         the radio carries them. The number just before the first that is missing is taken for \
         the access point's buffer. Six access points have from 30.9 to 255 packets so. Ours: \
         that number counts what the radio drained while the buffer filled; taking it off gives \
         the buffer, and the way in which packets are lost tells of which kind it is."
    }

    fn experiments(&self) -> &'static [Experiment] {
        EXPERIMENTS
    }

    fn emulated(&self) -> &'static [Experiment] {
        EMULATED
    }

    fn not_emulated(&self) -> &'static [&'static str] {
        &[
            "The probe's machines and sockets are real; the access point, its queue and its radio \
             are the emulator's, so that the size that is looked for is known.",
            "Nothing here runs over TCP, so that no stack of either host plays a part.",
            "Trains are shorter than the paper's 10,000 packets and fewer, as they take real time.",
        ]
    }

    fn originals(&self) -> &'static [Original] {
        originals::ORIGINALS
    }

    fn limits(&self) -> &'static [&'static str] {
        &[
            "The paper reports the naive count and has no second measurement of its access \
             points. Here its six numbers are taken for the buffers themselves, in whole packets \
             (171.8 as 172, 134.9 as 135, 48.8 as 49, 30.9 as 31), and the probe has to find them.",
            "The paper states neither the packets' size nor the wire's rate nor the radio's. \
             Assumed: 1500 bytes of IP, 100 Mbps, trains at 95 Mbps, 11 and 54 Mbps.",
            "The radio holds one frame beside the queue, which neither the configured size nor \
             the estimate counts. Real devices may hold more of them in hardware.",
            "Beside other traffic the estimate is what of the buffer was the probe's; with 0.5 \
             Mbps of others against 95 Mbps of the train that is nearly all of it. Heavier traffic \
             in the same buffer makes the estimate smaller by its share.",
            "The kinds of buffer, their criteria and their claim (BUF-X6) are ours, and so is \
             taking off what drained (BUF-X7). The map has four of the six sizes.",
        ]
    }

    fn claims(&self, results: &Results) -> Result<Vec<Claim>, Error> {
        Ok(claims::all(results))
    }

    fn map(&self) -> Option<Source<'static>> {
        Some(map!("ap-buffer"))
    }

    fn without_figure(&self) -> &'static [(&'static str, &'static str)] {
        &[("BUF-X6", "The table of findings counts the right, wrong and open ones.")]
    }

    fn evaluate(&self, results: &Results) -> Result<Findings, Error> {
        Ok(Findings {
            claims: claims::all(results),
            exhibits: figures::exhibits(results),
            tables: figures::tables(results),
            explanations: claims::explanations(results),
        })
    }
}

#[cfg(test)]
mod tests;
