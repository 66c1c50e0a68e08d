//! From a transmission's start to its reception by each radio in range.

use super::air::{BROADCAST, Reception, Transmission};
use super::contention::Sensed;
use super::{Channel, Due, FrameKind};
use crate::Mode;
use fairwave_units::{Dbm, Instant};

impl<P: Copy> Channel<P> {
    /// Puts a frame on the air.
    pub(super) fn transmit(&mut self, mut tx: Transmission, now: Instant) {
        self.frames += 1;
        tx.id = self.frames;
        tx.start = now;
        let airtime = self.config.phy.tx_time(tx.mode, tx.bytes);
        tx.end = now + airtime;
        debug_assert!(
            tx.kind == FrameKind::Beacon || tx.end <= tx.reserved_until,
            "{tx:?} reserves too little"
        );
        self.note_sent(&tx, airtime);
        self.note_airtime(&tx, tx.from, tx.to);
        if self.air.begin(tx) {
            self.contention.set_reach(tx.from, &self.air.hearers()[tx.from as usize]);
        }
        self.contention.begin(tx.from, now);
        self.schedule(tx.end, Due::End(tx.id));
    }

    /// Ends a transmission: every radio in range gets its reception.
    pub(super) fn finish(&mut self, id: u64, now: Instant) {
        let tx = self.air.end(id);
        let hearers = self.air.take_hearers(tx.from);
        let received = if self.air.is_sure(&tx) {
            self.receive_all(&tx, &hearers, now)
        } else {
            self.receive_each(&tx, &hearers, now)
        };
        let signal = if self.reports_frames { self.signal(&tx, &hearers) } else { Dbm(0.0) };
        if received && tx.to != BROADCAST && tx.to != tx.from {
            self.note_snr(&tx);
            self.note_airtime(&tx, tx.to, tx.from);
        }
        self.air.return_hearers(tx.from, hearers);
        if self.reports_frames {
            self.report(&tx, signal, received);
        }
        self.sent(&tx, received, now);
        self.air.prune();
        self.give_up_overdue(now);
    }

    /// Every hearer decoded `tx`; whether the addressed one is among them.
    fn receive_all(&mut self, tx: &Transmission, hearers: &[u32], now: Instant) -> bool {
        let addressed = tx.to != BROADCAST && hearers.binary_search(&tx.to).is_ok();
        if addressed {
            if tx.kind == FrameKind::Data {
                self.take_all(self.macs[tx.from as usize].turn, tx.to);
            }
            self.accept(tx, now);
        } else if tx.to == BROADCAST && tx.kind != FrameKind::Beacon {
            for &radio in hearers {
                self.deliver_broadcast(tx, radio);
            }
        }
        let except = addressed.then_some((tx.to, Sensed::Addressed));
        self.contention.end(tx.from, tx.decoded(), except.into_iter(), now);
        let for_all = tx.to == BROADCAST || tx.to == tx.from;
        addressed || (for_all && !hearers.is_empty())
    }

    /// Decides the reception of `tx` at each radio in range; returns whether the addressed one
    /// decoded it, or for broadcast any.
    fn receive_each(&mut self, tx: &Transmission, hearers: &[u32], now: Instant) -> bool {
        let mut receptions = core::mem::take(&mut self.receptions);
        let macs = &mut self.macs;
        if tx.overlapped && self.contention.is_one_group() {
            let unit = |radio: u32| macs[radio as usize].errors.unit();
            if let Some(together) = self.air.receive_together(tx, unit) {
                self.contention.end_together(together, now);
            }
        }
        let chance = |radio: u32, p| macs[radio as usize].errors.chance(p);
        self.air.receive(tx, hearers, chance, &mut receptions);
        let mut received = false;
        for (radio, reception) in &mut receptions {
            let decoded = match reception {
                Reception::Decoded if tx.kind == FrameKind::Data && tx.to == *radio => {
                    self.take_all(self.macs[tx.from as usize].turn, tx.to);
                    true
                }
                Reception::Decoded => true,
                Reception::Errored => false,
                Reception::Aggregate => self.take_some(self.macs[tx.from as usize].turn, tx),
            };
            *reception = if decoded { Reception::Decoded } else { Reception::Errored };
            if decoded && tx.to == BROADCAST {
                self.deliver_broadcast(tx, *radio);
                received = true;
            } else if decoded && tx.to == *radio {
                self.accept(tx, now);
                received = true;
            } else if decoded && tx.to == tx.from {
                received = true;
            }
        }
        self.end_for_each(tx, hearers, &receptions, now);
        receptions.clear();
        self.receptions = receptions;
        received
    }

    /// Passes the receptions of `tx` to the contenders: the common one, and the exceptions.
    fn end_for_each(
        &mut self,
        tx: &Transmission,
        hearers: &[u32],
        receptions: &[(u32, Reception)],
        now: Instant,
    ) {
        let sensed = |&(radio, reception): &(u32, Reception)| match reception {
            Reception::Errored | Reception::Aggregate => (radio, Sensed::Errored),
            Reception::Decoded if radio == tx.to => (radio, Sensed::Addressed),
            Reception::Decoded => (radio, tx.decoded()),
        };
        if tx.overlapped {
            let except = receptions.iter().map(sensed);
            return self.contention.end(tx.from, Sensed::Energy, except, now);
        }
        let mut rest = receptions.iter().peekable();
        let except = hearers.iter().filter_map(|&radio| {
            let reception = rest.next_if(|(receiver, _)| *receiver == radio).map(sensed);
            let (radio, sensed) = reception.unwrap_or((radio, Sensed::Energy));
            (sensed != tx.decoded()).then_some((radio, sensed))
        });
        self.contention.end(tx.from, tx.decoded(), except, now);
    }

    /// The mode of the data that a radio's exchange is about.
    fn mode_of_turn(&self, radio: u32) -> Mode {
        let contender = self.macs[radio as usize].turn;
        self.contenders[contender as usize].batch.mode
    }

    /// `tx` was decoded by its receiver.
    fn note_snr(&mut self, tx: &Transmission) {
        // A response, a request and an RTS are sent over the whole width of the data frame that
        // they belong to, as duplicates in each 20 MHz, and share their power among them as data
        // does.
        let data = match tx.kind {
            FrameKind::Data | FrameKind::Beacon => tx.mode,
            FrameKind::Rts | FrameKind::BlockAckReq => self.mode_of_turn(tx.from),
            FrameKind::Ack | FrameKind::BlockAck | FrameKind::Cts => self.mode_of_turn(tx.to),
        };
        let snr = self.air.snr(tx.from, tx.to, tx.start) / data.width_ratio();
        self.macs[tx.to as usize].snr = snr;
        self.macs[tx.from as usize].peer_snr = snr;
        self.macs[tx.to as usize].note_peer(tx.from);
        self.macs[tx.from as usize].note_peer(tx.to);
    }
}
