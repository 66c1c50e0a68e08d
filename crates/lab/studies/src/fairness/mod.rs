//! Fairness among uploads by the buffer of the access point: Ando, Murase and Oguchi.

mod claims;
mod converter;
mod corrected;
mod experiments;
mod figures;
mod map;
mod measure;
mod originals;
mod spells;
mod split;
mod traces;

use crate::declare::map;
use experiments::{EMULATED, EXPERIMENTS};
use fairwave_lab::results::FLOWS;
use fairwave_study::map::file::Source;
use fairwave_study::{Claim, Error, Experiment, Findings, Original, Results, Study};

/// The study.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fairness;

impl Study for Fairness {
    fn name(&self) -> &'static str {
        "fairness"
    }

    fn paper(&self) -> &'static str {
        "R. Ando, T. Murase, M. Oguchi: An evaluation of fairness of bandwidth affected by the \
         buffer size of access point in the wireless LAN environment (in Japanese), Ochanomizu \
         University and NEC"
    }

    fn statement(&self) -> &'static str {
        "Terminals upload by TCP through one access point. It wins the medium as often as one \
         terminal, so ACKs for all of them pile up in its buffer and overflow. A terminal with a \
         large window hardly notices lost ACKs; one with a small window loses them all, times \
         out, and stays near 0 Mbps while others get more than their share. With a buffer of 255 \
         packets this begins at 5 terminals; with 31 packets some mixes are unfair from 3 on, \
         others are fair with 7, and 6 terminals tend to split into two groups, for which the \
         paper has no explanation."
    }

    fn experiments(&self) -> &'static [Experiment] {
        EXPERIMENTS
    }

    fn emulated(&self) -> &'static [Experiment] {
        EMULATED
    }

    fn not_emulated(&self) -> &'static [&'static str] {
        &[
            "Linux 2.4 and Windows XP are stacks of the simulator: with a kernel all \
             terminals have this machine's.",
            "What switches properties of those stacks one by one, and the map of buffers \
             (BUF-3, BUF-X1 to BUF-X4), is simulated only.",
            "Datagrams sent as fast as the interface takes them are saturated sources of the \
             simulator (BUF-5, BUF-6).",
        ]
    }

    fn originals(&self) -> &'static [Original] {
        originals::ORIGINALS
    }

    fn limits(&self) -> &'static [&'static str] {
        &[
            "The paper's figures are known from its text only: the scan has no pictures, so no \
             number can be read off its bars.",
            "The paper does not name the wired host's system. It acknowledges here as Linux 2.4 \
             does: every second segment, or after 40 ms, the first 16 segments at once. The maps \
             show both that and an ACK for every segment.",
            "Buffers are 64 KB at both ends as Iperf was asked for, which overrides the 17,520 \
             bytes that Windows XP would offer. Linux doubles what an application asks for; how \
             much of it becomes window the paper does not say.",
            "The access point's buffer is taken to be what the paper measured, in packets, for \
             traffic to the terminals alone. The converters' buffers are large.",
            "Converters and radio are alike for all terminals: 3 m, 54 Mbps, no loss but by \
             collision, no rate adaptation, no hidden stations. The paper's room is unknown.",
            "Near 0 Mbps means below 5 % of the equal share; the paper gives no number, its \
             examples have 2.9 % and 3.7 %. A split means two groups of at least two terminals, \
             apart by a factor of 1.5 and more sharply than 19 of 20 normal samples.",
            "What Iperf offered as UDP in section 5 is not stated: the share that arrives is shown \
             over all loads, and packets over time at 54 Mbps, the rate in the name of 802.11g. \
             Room in the converter is taken to be 100 packets, its processor to take no time.",
        ]
    }

    fn without_figure(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "BUF-X2",
                "The table of mixes has these runs, as those with an ACK for every segment.",
            ),
            ("BUF-X4", "The note has the shares by the number of terminals."),
        ]
    }

    fn evaluate(&self, results: &Results) -> Result<Findings, Error> {
        let pair = traces::read(results)?;
        let spells = spells::read(results)?;
        let converter = converter::findings(results)?;
        let mut exhibits = figures::repetitions(results);
        exhibits.extend(traces::exhibits(pair.as_ref()));
        exhibits.extend(map::exhibits(results));
        exhibits.extend(spells::exhibits(results, &spells)?);
        exhibits.extend(converter.exhibits);
        let mut tables = figures::tables(results);
        tables.extend(map::tables(results));
        tables.extend([split::table(results), spells::table(&spells)]);
        tables.extend(converter.tables);
        let mut explanations: Vec<String> = spells.iter().map(spells::Spells::in_words).collect();
        explanations.extend(split::in_words(results));
        explanations.extend(converter.explanations);
        let mut claims = claims::all(results, pair.as_ref());
        claims.extend(converter.claims);
        Ok(Findings { claims, exhibits, tables, explanations })
    }

    fn claims(&self, results: &Results) -> Result<Vec<Claim>, Error> {
        let mut claims = claims::all(results, traces::read(results)?.as_ref());
        claims.extend(converter::findings(results)?.claims);
        Ok(claims)
    }

    fn quantities(&self, results: &Results) -> Vec<(&'static str, Option<f64>)> {
        vec![("captured_least_share", traces::min_share(results))]
    }

    fn tables(&self) -> Option<&'static [&'static str]> {
        Some(&[FLOWS.file])
    }

    fn map(&self) -> Option<Source<'static>> {
        Some(map!("fairness"))
    }
}

#[cfg(test)]
mod tests;
