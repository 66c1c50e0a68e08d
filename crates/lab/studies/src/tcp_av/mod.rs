//! TCP-AV through a proxy on a wireless LAN: Ando, Murase and Oguchi, section 6.

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
pub(crate) struct TcpAv;

impl Study for TcpAv {
    fn name(&self) -> &'static str {
        "tcp-av"
    }

    fn paper(&self) -> &'static str {
        "R. Ando, T. Murase, M. Oguchi: An evaluation of fairness of bandwidth affected by the \
         buffer size of access point in the wireless LAN environment (in Japanese), Ochanomizu \
         University and NEC; section 6"
    }

    fn statement(&self) -> &'static str {
        "Five terminals upload through one access point. A TCP proxy between one of them and its \
         Ethernet converter goes on with TCP-AV, whose window aims at a target bandwidth; the \
         others have plain TCP. The target is reached in every interval of 5 s, also where it is \
         a little above the fair share, and with twice the delay."
    }

    fn experiments(&self) -> &'static [Experiment] {
        EXPERIMENTS
    }

    fn emulated(&self) -> &'static [Experiment] {
        EMULATED
    }

    fn not_emulated(&self) -> &'static [&'static str] {
        &[
            "The terminal with the target asks `fairwave proxy` by HTTP CONNECT, as it runs in the \
             node before its converter with the algorithm fw_tcp_av towards the server; the \
             paper's proxy is transparent.",
            "All terminals have this machine's TCP instead of Linux 2.4 and Windows XP.",
            "Larger windows, other settings of the algorithm, longer delays, background load and \
             several targets (AV-X1) are simulated only.",
        ]
    }

    fn originals(&self) -> &'static [Original] {
        originals::ORIGINALS
    }

    fn limits(&self) -> &'static [&'static str] {
        &[
            "The curves of Figs 26 and 27 are not in the text, only that AVR is 100 % for a target \
             a little above the fair share.",
            "TCP-AV's equations are not public: the algorithm is Fairwave's reading of the six \
             points of US 2009/0147676 (docs/models/tcp-av.md).",
            "The paper does not say which terminals run Linux 2.4 and which Windows XP (here 1, 2 \
             and 4 are Linux), what the proxy and the server run (Linux 2.4 here), nor the queues \
             of the converters (100 packets).",
            "Sockets of 64 KB are taken as windows of 64 KiB. Linux 2.4 doubles what is asked for \
             and offers three quarters as window, 96 KiB: larger windows are an experiment of \
             their own.",
            "The radio is without errors, and no terminal is hidden from another.",
            "Long delays, high load, several targets, margins and tolerances are not in the paper: \
             it names the first two as future work.",
        ]
    }

    fn without_figure(&self) -> &'static [(&'static str, &'static str)] {
        &[("AV-X1", "The table of larger windows has the achievement of each target.")]
    }

    fn evaluate(&self, results: &Results) -> Result<Findings, Error> {
        Ok(Findings {
            claims: claims::all(results),
            exhibits: figures::exhibits(results),
            tables: figures::tables(results),
            explanations: claims::explanations(results),
        })
    }

    fn claims(&self, results: &Results) -> Result<Vec<Claim>, Error> {
        Ok(claims::all(results))
    }

    fn map(&self) -> Option<Source<'static>> {
        Some(map!("tcp-av"))
    }
}

#[cfg(test)]
mod tests;
