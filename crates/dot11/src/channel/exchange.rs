//! One radio's frame exchange: attempt, response, retry (802.11-2020 clauses 10.3.2, 10.3.4).

use super::air::{BROADCAST, Transmission};
use super::rates::Rates;
use super::{Channel, Due, Fate, FrameKind, Mpdu, Output, RadioConfig, RadioId};
use super::{Response, ResponseKind};
use crate::phy::{ACK_BYTES, RTS_BYTES};
use crate::{Mode, Phy};
use fairwave_trace::StationSample;
use fairwave_units::{Duration, Instant, Seed, Stream};

/// Where a radio stands with its current frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing to send, or counting its backoff down.
    Waiting,
    /// Sending a data frame, an RTS or a beacon.
    Sending,
    /// Waiting for the CTS.
    AwaitingCts,
    /// Waiting for the ACK.
    AwaitingAck,
}

/// The frame a radio is busy with: an MPDU, or a beacon where `mpdu` is `None`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current<P> {
    pub(super) mpdu: Option<Mpdu<P>>,
    pub(super) sequence: u16,
    pub(super) retry: bool,
    /// Failed attempts without RTS, and failed RTS (short retry count).
    short_failures: u32,
    /// Failed attempts at the data after a CTS (long retry count).
    long_failures: u32,
    /// Whether the receiver has decoded it before. This is what its cache of (transmitter,
    /// sequence number) pairs would say, as a radio has one frame in the air at a time.
    delivered: bool,
    /// Whether the RTS or data frame of this attempt met another transmission.
    collided: bool,
}

/// The MAC state of one radio.
#[derive(Debug)]
pub(super) struct Mac<P> {
    pub(super) current: Option<Current<P>>,
    /// A frame taken over while a beacon is under way.
    pub(super) next: Option<Mpdu<P>>,
    pub(super) beacon_due: bool,
    pub(super) phase: Phase,
    pub(super) cw: u32,
    pub(super) stats: StationSample,
    /// Level over noise of the last frame received, and of the last one sent, at its receiver;
    /// zero before the first.
    pub(super) snr: f64,
    pub(super) peer_snr: f64,
    pub(super) errors: Stream,
    backoff: Stream,
    sequence: u16,
    /// Number of the current attempt, so that a stale timeout is recognised.
    attempt: u64,
    /// Chooses modes of data frames; `None` takes those that the host sets.
    rates: Option<Rates>,
}

impl<P> Mac<P> {
    pub(super) fn new(seed: Seed, channel: &str, radio: &RadioConfig, phy: Phy) -> Self {
        let name = format!("{channel}/{}", radio.name);
        let rates = radio.rates.clone();
        Self {
            current: None,
            next: None,
            beacon_due: false,
            phase: Phase::Waiting,
            cw: phy.cw_min(),
            stats: StationSample::default(),
            snr: 0.0,
            peer_snr: 0.0,
            errors: seed.stream(&format!("errors/{name}")),
            backoff: seed.stream(&format!("backoff/{name}")),
            sequence: 0,
            attempt: 0,
            rates: rates.map(|choice| Rates::new(choice, phy, seed, name)),
        }
    }

    pub(super) fn is_beaconing(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.mpdu.is_none())
    }

    /// Slots of a new backoff.
    fn draw(&mut self) -> u32 {
        self.backoff.below(u64::from(self.cw) + 1) as u32
    }

    /// Sets the mode of an attempt at `mpdu`, the current frame, if that is for this radio to
    /// choose.
    fn choose_mode(&mut self, mut mpdu: Mpdu<P>, now: Instant) -> Mpdu<P>
    where
        P: Copy,
    {
        let (Some(rates), Some(current), Some(to)) = (&mut self.rates, &mut self.current, mpdu.to)
        else {
            return mpdu;
        };
        let attempt = current.short_failures + current.long_failures;
        mpdu.mode = rates.choose(to.0, attempt, now);
        current.mpdu = Some(mpdu);
        mpdu
    }

    /// Tells the rate control what became of the data frame that was sent.
    fn hear(&mut self, acknowledged: bool, now: Instant) {
        let to = self.current.as_ref().and_then(|current| current.mpdu.as_ref()?.to);
        if let (Some(rates), Some(to)) = (&mut self.rates, to) {
            rates.hear(to.0, 1, u32::from(acknowledged), now);
        }
    }

    /// Makes the next frame current: a beacon that is due goes first.
    fn load(&mut self) -> bool {
        if self.current.is_some() {
            return false;
        }
        let mpdu = if core::mem::take(&mut self.beacon_due) {
            None
        } else if let Some(mpdu) = self.next.take() {
            Some(mpdu)
        } else {
            return false;
        };
        let sequence = self.sequence;
        self.sequence = (self.sequence + 1) % 4096;
        self.current = Some(Current {
            mpdu,
            sequence,
            retry: false,
            short_failures: 0,
            long_failures: 0,
            delivered: false,
            collided: false,
        });
        true
    }
}

impl<P: Copy> Channel<P> {
    /// Lets the radio contend for its next frame, if it has one and is free.
    pub(super) fn load_next(&mut self, radio: u32, now: Instant) {
        let mac = &mut self.macs[radio as usize];
        if mac.load() {
            self.contention.request(radio, now, || mac.draw());
        }
    }

    /// The radio's backoff ended: sends its frame, or the RTS for it.
    pub(super) fn transmit_own(&mut self, radio: u32, now: Instant) {
        self.contention.withdraw(radio);
        let mac = &mut self.macs[radio as usize];
        mac.phase = Phase::Sending;
        mac.attempt += 1;
        let current = mac.current.as_mut().expect("only a radio with a frame contends");
        current.collided = false;
        let Some(mpdu) = current.mpdu else {
            return self.transmit(self.beacon(radio, now), now);
        };
        mac.stats.attempts += u64::from(mpdu.to.is_some());
        let mpdu = mac.choose_mode(mpdu, now);
        if self.uses_rts(&mpdu) {
            self.transmit_rts(radio, &mpdu, now);
        } else {
            self.transmit_data(radio, now);
        }
    }

    fn uses_rts(&self, mpdu: &Mpdu<P>) -> bool {
        mpdu.to.is_some() && self.config.rts_threshold.is_some_and(|limit| mpdu.bytes >= limit)
    }

    fn transmit_rts(&mut self, radio: u32, mpdu: &Mpdu<P>, now: Instant) {
        let phy = self.config.phy;
        let mode = phy.response_mode(mpdu.mode);
        let to = mpdu.to.map_or(BROADCAST, |to| to.0);
        let mut tx = self.frame(FrameKind::Rts, radio, to, mode, RTS_BYTES, now);
        let exchange =
            phy.sifs() * 3 + phy.tx_time(mode, ACK_BYTES) * 2 + phy.tx_time(mpdu.mode, mpdu.bytes);
        tx.reserved_until = now + phy.tx_time(mode, RTS_BYTES) + exchange;
        self.transmit(tx, now);
    }

    fn transmit_data(&mut self, radio: u32, now: Instant) {
        let current = self.macs[radio as usize].current.as_ref();
        let mpdu = current.and_then(|current| current.mpdu).expect("a data frame is current");
        let to = mpdu.to.map_or(BROADCAST, |to| to.0);
        let mut tx = self.frame(FrameKind::Data, radio, to, mpdu.mode, mpdu.bytes, now);
        let end = now + self.config.phy.tx_time(mpdu.mode, mpdu.bytes);
        let response =
            if mpdu.to.is_some() { self.response_time(mpdu.mode) } else { Duration::ZERO };
        tx.reserved_until = end + response;
        self.transmit(tx, now);
    }

    /// SIFS and the ACK or CTS that answers a frame in `mode`.
    fn response_time(&self, mode: Mode) -> Duration {
        let phy = self.config.phy;
        phy.sifs() + phy.tx_time(phy.response_mode(mode), ACK_BYTES)
    }

    /// Sends an ACK, a CTS, or the data that follows a CTS.
    pub(super) fn respond(&mut self, response: Response, now: Instant) {
        let kind = match response.kind {
            ResponseKind::Ack => FrameKind::Ack,
            ResponseKind::Cts => FrameKind::Cts,
            ResponseKind::Data => {
                self.macs[response.from as usize].phase = Phase::Sending;
                return self.transmit_data(response.from, now);
            }
        };
        let mode = self.config.phy.response_mode(response.mode);
        let mut tx = self.frame(kind, response.from, response.to, mode, ACK_BYTES, now);
        tx.reserved_until = response.reserved_until;
        self.transmit(tx, now);
    }

    /// The addressed receiver decoded `tx`.
    pub(super) fn accept(&mut self, tx: &Transmission, now: Instant) {
        let after_sifs = now + self.config.phy.sifs();
        let answer = |kind, reserved_until| {
            let (from, to, mode) = (tx.to, tx.from, tx.mode);
            Due::Respond(Response { from, to, kind, mode, reserved_until })
        };
        match tx.kind {
            FrameKind::Data => {
                self.deliver(tx.from, tx.to);
                let end = now + self.response_time(tx.mode);
                self.schedule(after_sifs, answer(ResponseKind::Ack, end));
            }
            FrameKind::Rts if self.contention.nav_is_idle(tx.to, now) => {
                self.schedule(after_sifs, answer(ResponseKind::Cts, tx.reserved_until));
            }
            FrameKind::Cts if *self.phase(tx.to) == Phase::AwaitingCts => {
                self.schedule(after_sifs, answer(ResponseKind::Data, tx.reserved_until));
                *self.phase(tx.to) = Phase::Sending;
            }
            FrameKind::Ack if *self.phase(tx.to) == Phase::AwaitingAck => self.succeed(tx.to, now),
            _ => {}
        }
    }

    fn deliver(&mut self, from: u32, to: u32) {
        let Some(current) = &mut self.macs[from as usize].current else { return };
        let Some(mpdu) = current.mpdu.filter(|_| !current.delivered) else { return };
        current.delivered = true;
        let (to, from) = (RadioId(to), RadioId(from));
        self.outputs.push_back(Output::Deliver { to, from, payload: mpdu.payload });
    }

    /// The radio's own frame left the air: what does it wait for now?
    pub(super) fn sent(&mut self, tx: &Transmission, received: bool, now: Instant) {
        let await_response = match tx.kind {
            FrameKind::Ack | FrameKind::Cts => return,
            FrameKind::Beacon => return self.complete(tx.from, now),
            FrameKind::Data if tx.to == BROADCAST => {
                return self.conclude(tx.from, Fate::Sent, now);
            }
            FrameKind::Data => Phase::AwaitingAck,
            FrameKind::Rts => {
                let timeout = self.config.phy.nav_timeout(tx.mode);
                self.schedule(now + timeout, Due::NavReset(tx.id));
                Phase::AwaitingCts
            }
        };
        let mac = &mut self.macs[tx.from as usize];
        mac.phase = await_response;
        if let Some(current) = &mut mac.current {
            current.collided |= tx.overlapped && !received;
        }
        let attempt = mac.attempt;
        let timeout = self.config.phy.response_timeout();
        self.schedule(now + timeout, Due::Timeout(tx.from, attempt));
    }

    /// `to` decoded a broadcast frame. A beacon tells the host nothing.
    pub(super) fn deliver_broadcast(&mut self, tx: &Transmission, to: u32) {
        let current = self.macs[tx.from as usize].current.as_ref();
        let Some(mpdu) = current.and_then(|current| current.mpdu) else { return };
        let (to, from) = (RadioId(to), RadioId(tx.from));
        self.outputs.push_back(Output::Deliver { to, from, payload: mpdu.payload });
    }

    /// No response began in time. A frame that is just being received may still be it, so the
    /// verdict waits for its end.
    pub(super) fn time_out(&mut self, radio: u32, attempt: u64, now: Instant) {
        let mac = &self.macs[radio as usize];
        let waiting = matches!(mac.phase, Phase::AwaitingCts | Phase::AwaitingAck);
        if !waiting || mac.attempt != attempt {
            return;
        }
        if self.contention.is_quiet(radio) {
            self.fail(radio, now);
        } else {
            self.overdue.push(radio);
        }
    }

    /// Radios whose response is overdue give up once the medium is quiet.
    pub(super) fn give_up_overdue(&mut self, now: Instant) {
        if self.overdue.is_empty() {
            return;
        }
        let mut overdue = core::mem::take(&mut self.overdue);
        overdue.retain(|&radio| {
            let waiting = matches!(*self.phase(radio), Phase::AwaitingCts | Phase::AwaitingAck);
            let quiet = self.contention.is_quiet(radio);
            if waiting && quiet {
                self.fail(radio, now);
            }
            waiting && !quiet
        });
        self.overdue = overdue;
    }

    fn succeed(&mut self, radio: u32, now: Instant) {
        let mac = &mut self.macs[radio as usize];
        mac.stats.successes += 1;
        mac.hear(true, now);
        self.conclude(radio, Fate::Sent, now);
    }

    /// An attempt failed: doubles CW and tries again, or gives up at either retry limit (clause
    /// 10.3.4.4).
    fn fail(&mut self, radio: u32, now: Instant) {
        let mac = &mut self.macs[radio as usize];
        if mac.phase == Phase::AwaitingAck {
            mac.hear(false, now);
        }
        if self.count_failure(radio) {
            self.macs[radio as usize].stats.retry_drops += 1;
            return self.conclude(radio, Fate::RetryLimit, now);
        }
        let mac = &mut self.macs[radio as usize];
        mac.cw = (2 * mac.cw + 1).min(self.config.phy.cw_max());
        let slots = mac.draw();
        self.contention.back_off(radio, slots, now);
        self.contention.contend(radio);
    }

    /// Counts a failed attempt; whether it was the last one allowed.
    fn count_failure(&mut self, radio: u32) -> bool {
        let mac = &self.macs[radio as usize];
        let current = mac.current.as_ref().expect("only a radio with a frame can fail");
        let with_rts = current.mpdu.is_some_and(|mpdu| self.uses_rts(&mpdu));
        let is_long = with_rts && mac.phase == Phase::AwaitingAck;
        let mac = &mut self.macs[radio as usize];
        mac.phase = Phase::Waiting;
        mac.stats.failures += 1;
        let current = mac.current.as_mut().expect("it was there above");
        mac.stats.collisions += u64::from(current.collided);
        current.retry = true;
        let (count, limit) = if is_long {
            (&mut current.long_failures, self.config.long_retry_limit)
        } else {
            (&mut current.short_failures, self.config.short_retry_limit)
        };
        *count += 1;
        *count >= limit
    }

    /// Tells the host what became of its frame and goes on to the next.
    fn conclude(&mut self, radio: u32, fate: Fate, now: Instant) {
        let current = self.macs[radio as usize].current.as_ref();
        if let Some(mpdu) = current.and_then(|current| current.mpdu) {
            let (radio, payload) = (RadioId(radio), mpdu.payload);
            self.outputs.push_back(Output::Done { radio, payload, fate });
        }
        self.complete(radio, now);
    }

    /// The frame is over, one way or the other: CW goes back to its least, and a backoff
    /// follows even if nothing waits (clause 10.3.4.3).
    fn complete(&mut self, radio: u32, now: Instant) {
        let cw_min = self.config.phy.cw_min();
        let mac = &mut self.macs[radio as usize];
        mac.phase = Phase::Waiting;
        mac.current = None;
        mac.cw = cw_min;
        let slots = mac.draw();
        self.contention.back_off(radio, slots, now);
        self.load_next(radio, now);
    }
}
