//! TCP SHAKE, one connection over the links of several hosts: Iida, Ishihara and Mizuno.
//!
//! The criteria of the claims are in [`repetition`], [`transfers`], [`bursts`], [`windows`],
//! [`changes`], [`today`], [`policy`] and [`coupled`], and were written before anything was run;
//! those of SHK-2, SHK-3, SHK-4 and SHK-6 were changed on 2026-11-25, after runs, by what the paper
//! says (`docs/maps.md`).
//! Whether the paper's paths lost acknowledgements is not said: verdicts are for paths that lose
//! packets both ways, and the same criteria are applied where they lose data only.

mod bursts;
mod changes;
mod coupled;
mod experiments;
mod measure;
mod originals;
mod policy;
mod repetition;
mod today;
mod transfers;
mod windows;

use crate::declare::map;
use experiments::{EMULATED, EXPERIMENTS, QUICK_WARNING};
use fairwave_lab::results::{FLOWS, PATHS};
use fairwave_study::map::file::Source;
use fairwave_study::{Claim, Error, Experiment, Findings, Original, Results, Study};

/// The study.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shake;

impl Study for Shake {
    fn name(&self) -> &'static str {
        "shake"
    }

    fn paper(&self) -> &'static str {
        "M. Iida, S. Ishihara, T. Mizuno: Performance Evaluation of the method of connection-type \
         communication on multiple wireless links (in Japanese), Shizuoka University"
    }

    fn statement(&self) -> &'static str {
        "Mobile hosts near each other form a cluster and lend each other their uplinks. TCP SHAKE \
         is one connection over all of them: one sequence space and pair of buffers, a window, a \
         timer and a round-trip time for each path, lowest numbers on the path of the largest \
         window. What is lost is repeated on the widest path, and SACK tells what arrived. Times \
         then depend little on which path loses; several TCP connections do as well only if the \
         application knows the bandwidths and they stay."
    }

    fn experiments(&self) -> &'static [Experiment] {
        EXPERIMENTS
    }

    fn emulated(&self) -> &'static [Experiment] {
        EMULATED
    }

    fn not_emulated(&self) -> &'static [&'static str] {
        &[
            "The code of `fairwave shake` carries the transfers over UDP sockets of the kernel, \
             each end in a thread of its own. A transfer begins when a handshake and a first \
             answer of a path are there, three round trips after the start, and a record has 97 \
             bytes of heads. The simulator beside has the same lengths of payload and heads of 80 \
             bytes.",
            "Sizes of 100, 500 and 1000 KB and bursts of 2 and 5 stand for SHK-3, SHK-4 and SHK-6, \
             with fewer seeds than in the simulator's own study: real time allows no more.",
            "SHK-X2 and SHK-X3 do not run in real time: they compare choices of the path and \
             coupled growth, in which the machine is the same.",
        ]
    }

    fn emulated_at_once(&self, experiment: &str) -> usize {
        experiments::emulated_at_once(experiment)
    }

    fn originals(&self) -> &'static [Original] {
        originals::ORIGINALS
    }

    fn limits(&self) -> &'static [&'static str] {
        &[
            "The curves of Figs 6 to 11 are not in the text; what is judged are the sentences \
             about them. One transfer of the paper's Figs 6, 7 and 10 is 50 seeds here.",
            "The cluster's own network is three fast wires without loss, and the uplinks are wires \
             whose delay is fixed and one way: the paper gives mean delays, neither their \
             distribution nor whether they are of a round trip, both axes of the maps. Their \
             queues hold 50 packets, more than the buffers send.",
            "Packet loss and bit errors both lose whole packets, one by one, whatever their \
             length: an acknowledgement is as likely to be lost as a segment where paths lose both \
             ways.",
            "Bursts are counted in packets, of data and of acknowledgements for themselves; each \
             path and direction has runs of its own.",
            "What the paper leaves open of TCP SHAKE is Fairwave's choice (docs/models/shake.md): \
             fast recovery without inflation, timers in ticks of 500 ms and 6 s at first, death of \
             a path after five timeouts. By its counts of segments and acknowledgements a loss \
             stays open until the timer expires, even if fast retransmit has repaired it; the \
             paper says nothing else.",
            "SHAKE has the headers of TCP in SHK-1 to SHK-7 and SHK-X4: 40 bytes and the SACK \
             option. Round-trip times rest on an echo for which TCP has no field. In SHK-X1 to \
             SHK-X3 it has Fairwave's format over UDP, with 80 bytes.",
            "1000 KB are 1,000,000 bytes, as Table 4 writes 500 KB in bytes.",
            "SHK-7 and SHK-X1 to SHK-X4 are Fairwave's own. At today's rates nothing is random but \
             losses, so experiments without loss have one run.",
        ]
    }

    fn evaluate(&self, results: &Results) -> Result<Findings, Error> {
        let courses = repetition::read(results)?;
        let seen = windows::read(results)?;
        let mut claims = repetition::claims(results, &courses);
        let [shk_3, shk_6] = transfers::claims(results);
        claims.extend([shk_3, bursts::claim(results), windows::claim(&seen), shk_6]);
        let [shk_7, shk_x4] = changes::claims(results);
        claims.extend([shk_7, today::claim(results), policy::claim(results)]);
        claims.extend([coupled::claim(results), shk_x4]);
        let mut exhibits = repetition::exhibits(&courses);
        exhibits.extend(transfers::exhibits(results));
        exhibits.extend([bursts::exhibit(results), windows::exhibit(&seen)]);
        exhibits.extend(changes::exhibits(results));
        exhibits.extend(today::exhibits(results));
        exhibits.extend([policy::exhibit(results), coupled::exhibit(results)]);
        let mut tables = vec![repetition::table(results, &courses)];
        tables.extend(transfers::tables(results));
        tables.extend([bursts::table(results), windows::table(&seen), changes::table(results)]);
        tables.extend(today::tables(results));
        tables.extend(policy::tables(results));
        tables.push(coupled::table(results));
        let explanations = [
            repetition::explanation(results),
            today::explanation(results),
            results.quick.then(|| QUICK_WARNING.to_owned()),
        ];
        let explanations = explanations.into_iter().flatten().collect();
        Ok(Findings { claims, exhibits, tables, explanations })
    }

    fn claims(&self, results: &Results) -> Result<Vec<Claim>, Error> {
        let mut claims = repetition::claims(results, &repetition::read(results)?);
        claims.extend(transfers::claims(results));
        claims.extend([bursts::claim(results), windows::claim(&windows::read(results)?)]);
        Ok(claims)
    }

    fn tables(&self) -> Option<&'static [&'static str]> {
        Some(&[FLOWS.file, PATHS.file])
    }

    fn map(&self) -> Option<Source<'static>> {
        Some(map!("shake"))
    }
}

#[cfg(test)]
mod tests;
