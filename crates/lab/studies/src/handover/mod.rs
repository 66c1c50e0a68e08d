//! TFRC and DCCP across handovers: Otsuka, Tamura and Ishihara.

mod claims;
mod experiments;
mod figures;
mod friendly;
mod measure;
mod observation;
mod originals;
mod points;
mod remedies;
mod video;

use crate::declare::map;
use experiments::{EMULATED, EMULATED_AT_ONCE, EXPERIMENTS, HANDOVER, PAPERS, PROFILE, STEADY};
use fairwave_lab::results::FLOWS;
use fairwave_study::map::file::Source;
use fairwave_study::{Claim, Error, Experiment, Findings, Original, Results, Study};

/// The study.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TfrcHandover;

impl Study for TfrcHandover {
    fn name(&self) -> &'static str {
        "tfrc-handover"
    }

    fn paper(&self) -> &'static str {
        "Y. Otsuka, D. Tamura, S. Ishihara: Performance evaluation of TFRC focused on \
         disconnection period due to wireless LAN handover (in Japanese), Shizuoka University"
    }

    fn statement(&self) -> &'static str {
        "A mobile that sends video over DCCP CCID 3 comes to an access point where nine others do. \
         How long it takes to send as much as they depends on how long it had no access point: \
         after short times the packets that waited make its round-trip time long, and those lost \
         its loss interval short, so it is slow for more than 10 s; after more than 3 s the run of \
         losses counts as one event, the loss interval is far too long, and it is back in 2-3 s. \
         Four remedies are proposed and not tried."
    }

    fn experiments(&self) -> &'static [Experiment] {
        EXPERIMENTS
    }

    fn emulated(&self) -> &'static [Experiment] {
        EMULATED
    }

    fn not_emulated(&self) -> &'static [&'static str] {
        &[
            "The code of `fairwave dccp` carries the mobile's stream over UDP sockets of the \
             kernel, as Linux has had no DCCP since 6.16: packets are 8 bytes longer than in the \
             simulator. The residents are simulated in the same cell.",
            "Remedies act by notices of the kernel. A and A' are left out: no notice has the free \
             rate at the next access point. The others learn of a handover when it begins.",
            "HO-X1 and HO-X2 do not run in real time: the machine of the residents and of TCP \
             is the same.",
        ]
    }

    fn emulated_at_once(&self, _experiment: &str) -> usize {
        EMULATED_AT_ONCE
    }

    fn originals(&self) -> &'static [Original] {
        originals::ORIGINALS
    }

    fn limits(&self) -> &'static [&'static str] {
        &[
            "The curves of Figs 3 to 6 are not in the text; what is judged are the sentences about \
             them.",
            "The paper's OPNET model of DCCP is not described. CCID 3 is here RFC 4342 over RFC \
             3448 or RFC 5348, with the nofeedback timer of either; the send queue holds five \
             packets.",
            "The paper tells neither the delay of the wire nor the distances. With 25 ms each way \
             the MAC's buffer overflows in every gap, as the paper has it; below that the \
             nofeedback timer stops the sender before (table of wires).",
            "A sending rate is the rate that TFRC allows, but not more than the source makes, \
             every 100 ms; of other transports it is what arrived in the last half second.",
            "Scanning, authentication and association take no frames: the disconnection is set.",
            "Remedies are Fairwave's definitions of the paper's sentences \
             (docs/models/handover.md). What is free for remedy A the station estimates from the \
             load that the new access point measured, and knows 200 ms before it leaves.",
        ]
    }

    fn without_figure(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("HO-X1", "The table of one TFRC beside one TCP has the ratios."),
            ("HO-X2", "The table of the video has the times."),
            ("HO-X3", "The tables of round-trip times and loss intervals have the ratios."),
        ]
    }

    fn evaluate(&self, results: &Results) -> Result<Findings, Error> {
        let plain = points::points(results, HANDOVER, PROFILE)?;
        let remedies = remedies::Remedies::read(results)?;
        let friendly = friendly::Friendly::read(results);
        let mut claims = claims::all(&plain);
        let video = video::Video::read(results);
        claims.push(remedies.claim());
        claims.push(friendly.claim());
        claims.push(video.claim());
        claims.push(observation::claim(&remedies));
        let mut exhibits = figures::exhibits(&plain);
        exhibits.push(remedies.exhibit());
        let mut tables = vec![figures::by_disconnection(&plain)];
        tables.extend(remedies.tables());
        tables.extend(observation::tables(&remedies));
        tables.push(video.table());
        tables.extend(figures::others(results)?);
        tables.push(friendly.table());
        let mut explanations = claims::explanations(results, &plain)?;
        explanations.extend(remedies.explanations());
        Ok(Findings { claims, exhibits, tables, explanations })
    }

    /// The paper's own: those of ours have no map.
    fn claims(&self, results: &Results) -> Result<Vec<Claim>, Error> {
        Ok(claims::all(&points::points(results, HANDOVER, PROFILE)?))
    }

    fn tables(&self) -> Option<&'static [&'static str]> {
        Some(&[FLOWS.file])
    }

    fn quantities(&self, results: &Results) -> Vec<(&'static str, Option<f64>)> {
        let runs = results.select(STEADY, &[(PROFILE, PAPERS)]);
        let steady = points::point(results, &runs).ok().flatten();
        vec![("steady_deviation_kbps", steady.map(|point| point.steady_deviation))]
    }

    fn map(&self) -> Option<Source<'static>> {
        Some(map!("tfrc-handover"))
    }
}

#[cfg(test)]
mod tests;
