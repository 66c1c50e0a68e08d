//! Reports of single frames, for hosts that want them.

use super::air::{BROADCAST, Transmission};
use super::{Channel, FrameKind, FrameReport, RadioId};
use crate::phy::Format;
use crate::{AccessCategory, Aggregation};
use fairwave_trace::{Place, Scoreboard};
use fairwave_units::Dbm;

impl<P: Copy> Channel<P> {
    /// Whether every frame is to be reported as an event; off by default.
    pub fn report_frames(&mut self, on: bool) {
        self.reports_frames = on;
        let radios = if on { self.macs.len() } else { 0 };
        self.scoreboards.resize(radios, Scoreboard::default());
    }

    /// The level to report for `tx`.
    pub(super) fn signal(&mut self, tx: &Transmission, hearers: &[u32]) -> Dbm {
        let for_all = tx.to == BROADCAST || tx.to == tx.from;
        let to = hearers.binary_search(&tx.to).map(|index| &hearers[index..=index]);
        let receivers = if for_all { hearers } else { to.unwrap_or_default() };
        let levels = receivers.iter().map(|&r| self.air.level_dbm(tx.from, r, tx.start).0);
        Dbm(levels.fold(f64::NEG_INFINITY, f64::max).max(-200.0))
    }

    /// Records the content of the BlockAck that `from` is about to send on the MPDUs of `to`: when
    /// that is reported, `to` has processed it and moved on.
    pub(super) fn note_scoreboard(&mut self, from: u32, to: u32) {
        if !self.reports_frames {
            return;
        }
        let own = &self.contenders[self.macs[to as usize].turn as usize];
        let start = own.window_start();
        let mut arrived = [0; 4];
        let batch = &own.batch;
        for place in (batch.first_open(0)..batch.frames.len()).filter(|i| batch.received.has(*i)) {
            let Some(sequence) = batch.frames[place].sequence else { continue };
            let bit = usize::from((sequence + 4096 - start) % 4096);
            debug_assert!(bit < 256, "MPDU {sequence} is {bit} after the window's start");
            if let Some(word) = arrived.get_mut(bit / 64) {
                *word |= 1u64 << (bit % 64);
            }
        }
        let is_long = self.config.aggregation.is_some_and(Aggregation::has_long_bitmap);
        self.scoreboards[from as usize] = Scoreboard { start, arrived, is_long };
    }

    /// Reports the frames of `tx`.
    pub(super) fn report(&mut self, tx: &Transmission, signal: Dbm, received: bool) {
        let of_turn = |radio: u32| self.macs[radio as usize].turn;
        let beacon = self.contenders[of_turn(tx.from) as usize].sequence + 4095;
        let is_beacon = tx.kind == FrameKind::Beacon;
        let scoreboard = (tx.kind == FrameKind::BlockAck).then(|| of_turn(tx.to));
        let mut report = FrameReport {
            start: tx.start,
            airtime: tx.end.since(tx.start),
            kind: tx.kind,
            from: RadioId(tx.from),
            to: (tx.to != BROADCAST).then_some(RadioId(tx.to)),
            mode: tx.mode,
            signal,
            reserved: tx.reserved_until.since(tx.end),
            sequence: if is_beacon { beacon % 4096 } else { 0 },
            retry: false,
            received,
            payload: None,
            category: scoreboard.and_then(|contender| self.category(contender)),
            place: None,
            scoreboard: scoreboard.map(|_| self.scoreboards[tx.from as usize]),
        };
        let contender = of_turn(tx.from);
        match tx.kind {
            FrameKind::Data => {
                report.category = self.category(contender);
                return self.report_data(tx, contender, report);
            }
            FrameKind::BlockAckReq => {
                let start = self.contenders[contender as usize].window_start();
                report.category = self.category(contender);
                report.scoreboard = Some(Scoreboard { start, ..Scoreboard::default() });
            }
            _ => {}
        }
        self.reports.push_back(report);
    }

    fn category(&self, contender: u32) -> Option<AccessCategory> {
        self.config.edca?;
        let index = contender % self.contention.categories();
        AccessCategory::ALL.get(index as usize).copied()
    }

    /// Reports every payload of a data PPDU; `report` holds the common fields.
    fn report_data(&mut self, tx: &Transmission, contender: u32, mut report: FrameReport<P>) {
        let batch = &self.contenders[contender as usize].batch;
        let mpdus = batch.ends.len();
        let any = report.received;
        let mut from = 0;
        for (i, &(end, _)) in batch.ends.iter().enumerate() {
            report.received = any && self.arrivals.get(i).copied().unwrap_or(true);
            for place in batch.first_open(from)..end {
                let (frame, goes_on) = (&batch.frames[place], place + 1 < end);
                report.sequence = frame.sequence.unwrap_or(0);
                report.retry = place < batch.sent_before;
                report.payload = Some(batch.payloads[place]);
                report.place = Some(Place {
                    ppdu: tx.id,
                    is_ampdu: mpdus > 1 || tx.mode.format() >= Format::Vht,
                    is_alone: mpdus == 1,
                    is_last: i + 1 == mpdus,
                    is_amsdu: goes_on || frame.joined,
                    goes_on,
                });
                self.reports.push_back(report);
            }
            from = end;
        }
        self.arrivals.clear();
    }
}

#[cfg(test)]
mod tests;
