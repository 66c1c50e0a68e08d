//! From a transmission's start to what each radio in range made of it.

use super::air::{BROADCAST, Reception, Transmission};
use super::{Channel, Due, FrameKind, FrameReport, RadioId};
use fairwave_units::{Dbm, Instant};

impl<P: Copy> Channel<P> {
    /// Puts a frame on the air.
    pub(super) fn transmit(&mut self, mut tx: Transmission, now: Instant) {
        self.frames += 1;
        tx.id = self.frames;
        tx.start = now;
        let airtime = self.config.phy.tx_time(tx.mode, tx.bytes);
        tx.end = now + airtime;
        let stats = &mut self.macs[tx.from as usize].stats;
        match tx.kind {
            FrameKind::Data | FrameKind::Rts | FrameKind::Beacon => stats.airtime += airtime,
            FrameKind::Ack | FrameKind::Cts => stats.control_airtime += airtime,
        }
        self.air.begin(tx);
        let hearers = self.air.take_hearers(tx.from);
        self.contention.begin_busy(&hearers, now);
        self.air.return_hearers(tx.from, hearers);
        self.contention.begin_busy(&[tx.from], now);
        self.schedule(tx.end, Due::End(tx.id));
    }

    /// A transmission ends: every radio in range learns what it was.
    pub(super) fn finish(&mut self, id: u64, now: Instant) {
        let tx = self.air.end(id);
        let hearers = self.air.take_hearers(tx.from);
        let received = if self.air.is_sure(&tx) {
            let received = self.receive_all(&tx, &hearers, now);
            self.contention.end_decoded(&hearers, tx.to, tx.reservation(), now);
            received
        } else {
            self.receive_each(&tx, &hearers, now)
        };
        self.contention.end_busy(tx.from, now);
        let signal = self.signal(&tx, &hearers);
        if received && tx.to != BROADCAST {
            self.note_snr(&tx);
        }
        self.air.return_hearers(tx.from, hearers);
        self.report(&tx, signal, received);
        self.sent(&tx, received, now);
        self.air.prune();
        self.give_up_overdue(now);
    }

    /// Every hearer decoded `tx`; whether the addressed one is among them.
    fn receive_all(&mut self, tx: &Transmission, hearers: &[u32], now: Instant) -> bool {
        if tx.to == BROADCAST {
            for &radio in hearers {
                self.deliver_broadcast(tx, radio);
            }
            return !hearers.is_empty();
        }
        let addressed = hearers.binary_search(&tx.to).is_ok();
        if addressed {
            self.accept(tx, now);
        }
        addressed
    }

    /// Decides for each hearer what `tx` was to it; whether the addressed one decoded it, or
    /// for broadcast any.
    fn receive_each(&mut self, tx: &Transmission, hearers: &[u32], now: Instant) -> bool {
        let mut receptions = core::mem::take(&mut self.receptions);
        let macs = &mut self.macs;
        let chance = |radio: u32, p| macs[radio as usize].errors.chance(p);
        self.air.receive(tx, hearers, chance, &mut receptions);
        let mut received = false;
        for &(radio, reception) in &receptions {
            self.contention.extend(radio, reception == Reception::Errored);
            if reception == Reception::Decoded {
                received |= self.take(tx, radio, now);
            }
        }
        for &radio in hearers {
            self.contention.end_busy(radio, now);
        }
        receptions.clear();
        self.receptions = receptions;
        received
    }

    /// `radio` decoded `tx`; whether it was for it.
    fn take(&mut self, tx: &Transmission, radio: u32, now: Instant) -> bool {
        if tx.to == radio {
            self.accept(tx, now);
            return true;
        }
        let (until, rts) = tx.reservation();
        self.contention.set_nav(radio, until, rts);
        if tx.to == BROADCAST {
            self.deliver_broadcast(tx, radio);
        }
        tx.to == BROADCAST
    }

    /// `tx` was decoded by its receiver.
    fn note_snr(&mut self, tx: &Transmission) {
        let snr = self.air.snr(tx.from, tx.to, tx.start);
        self.macs[tx.to as usize].snr = snr;
        self.macs[tx.from as usize].peer_snr = snr;
    }

    fn signal(&mut self, tx: &Transmission, hearers: &[u32]) -> Dbm {
        if !self.reports_frames {
            return Dbm(0.0);
        }
        let receivers = hearers.iter().filter(|r| tx.to == BROADCAST || **r == tx.to);
        let levels = receivers.map(|&r| self.air.level_dbm(tx.from, r, tx.start).0);
        Dbm(levels.fold(f64::NEG_INFINITY, f64::max).max(-200.0))
    }

    fn report(&mut self, tx: &Transmission, signal: Dbm, received: bool) {
        if !self.reports_frames {
            return;
        }
        let own = self.macs[tx.from as usize].current.as_ref();
        let own = own.filter(|_| matches!(tx.kind, FrameKind::Data | FrameKind::Beacon));
        self.reports.push_back(FrameReport {
            start: tx.start,
            airtime: tx.end.since(tx.start),
            kind: tx.kind,
            from: RadioId(tx.from),
            to: (tx.to != BROADCAST).then_some(RadioId(tx.to)),
            mode: tx.mode,
            signal,
            reserved: tx.reserved_until.since(tx.end),
            sequence: own.map_or(0, |own| own.sequence),
            retry: own.is_some_and(|own| own.retry),
            received,
            payload: own.and_then(|own| own.mpdu.map(|mpdu| mpdu.payload)),
        });
    }
}
