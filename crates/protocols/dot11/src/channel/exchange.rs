//! One radio's frame exchange: attempt, response, retry (802.11-2020 clauses 10.3.2, 10.3.4,
//! 10.23.2).

use super::air::{BROADCAST, Transmission};
use super::mac::{Phase, Serving};
use super::outputs::Run;
use super::rates::Peer;
use super::{Channel, Due, Fate, FrameKind, RadioId};
use super::{Response, ResponseKind};
use crate::phy::{ACK_BYTES, BLOCK_ACK_BYTES, Format, RTS_BYTES};
use crate::{AccessCategory, Aggregation, Edca, Mode};
use fairwave_units::{Duration, Instant};

impl<P: Copy> Channel<P> {
    /// The contender of `radio` that frames of `category` belong to.
    pub(super) fn contender(&self, radio: u32, category: AccessCategory) -> u32 {
        match self.contention.categories() {
            1 => radio,
            categories => radio * categories + category as u32,
        }
    }

    pub(super) fn radio_of(&self, contender: u32) -> u32 {
        contender / self.contention.categories()
    }

    pub(super) fn edca(&self, contender: u32) -> Edca {
        self.edca[(contender % self.contention.categories()) as usize]
    }

    /// Whether this contender sends its radio's beacons: the highest priority.
    fn sends_beacons(&self, contender: u32) -> bool {
        let categories = self.contention.categories();
        contender % categories == categories - 1
    }

    /// Lets the contender contend for its next frame, if it has any and is free. A beacon that is
    /// due goes first. Frames that the rest of a TXOP has time for go at once.
    pub(super) fn load_next(&mut self, contender: u32, now: Instant) {
        let radio = self.radio_of(contender);
        let beacons = self.sends_beacons(contender);
        let own = &mut self.contenders[contender as usize];
        if own.serving != Serving::Nothing {
            return;
        }
        let mac = &mut self.macs[radio as usize];
        if mac.is_leaving {
            return;
        }
        if beacons && core::mem::take(&mut mac.beacon_due) {
            own.serving = Serving::Beacon;
            own.number();
        } else if own.batch.frames.is_empty() {
            return;
        } else {
            own.serving = Serving::Batch;
            let goes_on = !own.batch.asks && mac.has_txop(contender, now);
            if goes_on && self.continue_txop(contender, now) {
                return;
            }
        }
        // MPDUs of an A-MPDU are handed up as each ends (clause 10.25.6.6): what answers one finds
        // the medium busy with the next, though the host hears of all when the PPDU ends.
        let came_amid = self.macs[radio as usize].ampdu_end == Some(now);
        let own = &mut self.contenders[contender as usize];
        self.contention.request(contender, came_amid, now, || own.draw());
    }

    /// Sends the next frame SIFS after the last exchange, if the TXOP has time for it.
    fn continue_txop(&mut self, contender: u32, now: Instant) -> bool {
        let radio = self.radio_of(contender);
        let begin = now + self.config.phy.sifs();
        let txop_end = self.macs[radio as usize].txop_end;
        if txop_end <= begin {
            return false;
        }
        let left = txop_end.since(begin);
        self.choose_mode(contender, now);
        self.form(contender, Some(left));
        let fits = self.exchange_time(contender) <= left;
        // Until the PPDU begins, more frames may join it.
        let batch = &mut self.contenders[contender as usize].batch;
        batch.sending = 0;
        if !fits {
            return false;
        }
        let addressed = batch.to.is_some();
        self.contention.withdraw(contender);
        let mac = &mut self.macs[radio as usize];
        mac.phase = Phase::Sending;
        mac.attempt += 1;
        mac.collided = false;
        mac.stats.attempts += u64::from(addressed);
        self.follow(radio, now);
        true
    }

    /// Data begins SIFS after a CTS, or after the last exchange of the TXOP: then it is formed
    /// only now.
    fn transmit_following(&mut self, radio: u32, now: Instant) {
        let mac = &mut self.macs[radio as usize];
        debug_assert_eq!(mac.phase, Phase::Sending, "data of radio {radio} follow nothing");
        mac.phase = Phase::Sending;
        let (contender, txop_end) = (mac.turn, mac.txop_end);
        if self.contenders[contender as usize].batch.sending == 0 {
            self.form(contender, Some(txop_end.since(now)));
            self.contenders[contender as usize].number_formed();
        }
        self.transmit_data(radio, now);
    }

    /// The mode of the next PPDU, if that is for this radio to choose.
    fn choose_mode(&mut self, contender: u32, now: Instant) {
        let radio = self.radio_of(contender);
        if self.macs[radio as usize].rates.is_none() {
            return;
        }
        let batch = &mut self.contenders[contender as usize].batch;
        if core::mem::take(&mut batch.is_mode_chosen) {
            return;
        }
        let Some(to) = batch.to.map(|to| to.0) else { return };
        let (name, capabilities) = (self.air.name_of(to), self.macs[to as usize].capabilities);
        let peer = Peer { name, capabilities };
        if let Some(rates) = &mut self.macs[radio as usize].rates {
            (batch.mode, batch.choice) = rates.choose(to, peer, batch.failures, now);
        }
    }

    /// Chooses the contents of the next PPDU, so that it and its response end within `left`.
    fn form(&mut self, contender: u32, left: Option<Duration>) {
        let (phy, limits) = (self.config.phy, self.config.aggregation);
        let mode = self.contenders[contender as usize].batch.mode;
        let response = || self.response_time(mode, limits.map_or(1, |limits| limits.mpdus));
        let longest = left.map(|left| left.saturating_sub(response()));
        self.contenders[contender as usize].form(phy, longest, limits);
    }

    /// Time from the start of an RTS or CTS to itself to that of the data, where such may come
    /// first.
    fn time_before_data(&self, mode: Mode) -> Duration {
        match (self.config.rts_threshold, self.config.protection) {
            (Some(_), _) => self.rts_time(mode),
            (None, Some(mode)) => self.cts_time(mode),
            (None, None) => Duration::ZERO,
        }
    }

    /// Time from the start of the RTS for data in `mode` to that of the data.
    fn rts_time(&self, mode: Mode) -> Duration {
        let phy = self.config.phy;
        let mode = phy.response_mode(mode);
        phy.tx_time(mode, RTS_BYTES) + phy.sifs() + self.cts_time(mode)
    }

    /// Time from the start of a CTS in `mode` to that of the data.
    fn cts_time(&self, mode: Mode) -> Duration {
        self.config.phy.tx_time(mode, ACK_BYTES) + self.config.phy.sifs()
    }

    /// Time of the formed data frame and its response.
    fn exchange_time(&self, contender: u32) -> Duration {
        let batch = &self.contenders[contender as usize].batch;
        self.config.phy.tx_time(batch.mode, batch.psdu_bytes) + self.response_time_of(contender)
    }

    /// Data follows by SIFS, after a CTS or within a TXOP.
    fn follow(&mut self, radio: u32, now: Instant) {
        let contender = self.macs[radio as usize].turn;
        let mode = self.contenders[contender as usize].batch.mode;
        let kind = ResponseKind::Data;
        let data = Response { from: radio, to: radio, kind, mode, reserved_until: now };
        self.schedule(now + self.config.phy.sifs(), Due::Respond(data));
    }

    /// Handles ended backoffs: of each radio the contender of the highest priority sends, and for
    /// the others that is a collision (clause 10.23.2.4), unless none of the radio can send now.
    /// Contenders come in order.
    pub(super) fn start(&mut self, contenders: &[u32], now: Instant) {
        debug_assert!(contenders.windows(2).all(|two| two[0] < two[1]), "{contenders:?}");
        for (i, &contender) in contenders.iter().enumerate() {
            let radio = self.radio_of(contender);
            let next = contenders.get(i + 1).map(|&next| self.radio_of(next));
            let mac = &self.macs[radio as usize];
            if mac.is_leaving {
                self.contention.withdraw(contender);
            } else if mac.phase != Phase::Waiting {
                // Another category waits for its response: for this one that is a busy medium. No
                // frame makes it busy, so a backoff of no slots would end again at once.
                let own = &mut self.contenders[contender as usize];
                let slots = own.draw().max(u32::from(own.cw == 0));
                self.contention.back_off(contender, slots, now);
                self.contention.contend(contender);
            } else if next == Some(radio) {
                self.contention.withdraw(contender);
                self.retry(contender, false, now);
            } else {
                self.transmit_own(contender, now);
            }
        }
    }

    /// Sends the contender's frames, or the RTS or CTS that goes before them.
    fn transmit_own(&mut self, contender: u32, now: Instant) {
        self.contention.withdraw(contender);
        let (radio, txop) = (self.radio_of(contender), self.edca(contender).txop);
        let mac = &mut self.macs[radio as usize];
        mac.turn = contender;
        mac.phase = Phase::Sending;
        mac.attempt += 1;
        mac.collided = false;
        mac.txop_end = now + txop;
        if self.contenders[contender as usize].serving == Serving::Beacon {
            return self.transmit(self.beacon(radio, now), now);
        }
        if self.contenders[contender as usize].batch.asks {
            return self.transmit_request(radio, now);
        }
        self.choose_mode(contender, now);
        let before = self.time_before_data(self.contenders[contender as usize].batch.mode);
        let left = txop.saturating_sub(before);
        self.form(contender, (!txop.is_zero()).then_some(left));
        self.contenders[contender as usize].number_formed();
        let batch = &self.contenders[contender as usize].batch;
        let addressed = batch.to.is_some() && self.config.acknowledges;
        self.macs[radio as usize].stats.attempts += u64::from(batch.to.is_some());
        let is_ofdm = batch.mode.format() != Format::Dsss;
        if addressed && self.uses_rts(contender) {
            self.transmit_rts(radio, now);
        } else if let Some(mode) = self.config.protection.filter(|_| is_ofdm) {
            self.transmit_cts_to_self(radio, mode, now);
        } else {
            self.transmit_data(radio, now);
        }
    }

    pub(super) fn uses_rts(&self, contender: u32) -> bool {
        let batch = &self.contenders[contender as usize].batch;
        let long = |limit: u32| batch.psdu_bytes >= limit;
        batch.to.is_some() && self.config.rts_threshold.is_some_and(long)
    }

    fn transmit_rts(&mut self, radio: u32, now: Instant) {
        let contender = self.macs[radio as usize].turn;
        let batch = &self.contenders[contender as usize].batch;
        let mode = self.config.phy.response_mode(batch.mode);
        let to = batch.to.map_or(BROADCAST, |to| to.0);
        let mut tx = self.frame(FrameKind::Rts, radio, to, mode, RTS_BYTES, now);
        tx.reserved_until = now + self.rts_time(batch.mode) + self.exchange_time(contender);
        self.transmit(tx, now);
    }

    fn transmit_cts_to_self(&mut self, radio: u32, mode: Mode, now: Instant) {
        let contender = self.macs[radio as usize].turn;
        let mut tx = self.frame(FrameKind::Cts, radio, radio, mode, ACK_BYTES, now);
        tx.reserved_until = now + self.cts_time(mode) + self.exchange_time(contender);
        self.transmit(tx, now);
    }

    fn transmit_data(&mut self, radio: u32, now: Instant) {
        let contender = self.macs[radio as usize].turn;
        let batch = &self.contenders[contender as usize].batch;
        let to = batch.to.map_or(BROADCAST, |to| to.0);
        let mut tx = self.frame(FrameKind::Data, radio, to, batch.mode, batch.psdu_bytes, now);
        tx.mpdus = batch.ends.len() as u32;
        tx.reserved_until = now + self.exchange_time(contender);
        self.transmit(tx, now);
    }

    /// SIFS and the ACK or BlockAck that answers the formed data frame; nothing for a broadcast.
    fn response_time_of(&self, contender: u32) -> Duration {
        let batch = &self.contenders[contender as usize].batch;
        if batch.to.is_none() || !self.config.acknowledges {
            return Duration::ZERO;
        }
        self.response_time(batch.mode, batch.ends.len() as u32)
    }

    fn response_time(&self, mode: Mode, mpdus: u32) -> Duration {
        let phy = self.config.phy;
        let bytes = if mpdus > 1 { self.block_ack_bytes() } else { ACK_BYTES };
        phy.sifs() + phy.tx_time(phy.response_mode(mode), bytes)
    }

    pub(super) fn block_ack_bytes(&self) -> u32 {
        self.config.aggregation.map_or(BLOCK_ACK_BYTES, Aggregation::block_ack_bytes)
    }

    /// Sends an ACK, a BlockAck, a CTS, or data that follows by SIFS.
    pub(super) fn respond(&mut self, response: Response, now: Instant) {
        let (kind, bytes) = match response.kind {
            ResponseKind::Ack => (FrameKind::Ack, ACK_BYTES),
            ResponseKind::BlockAck => {
                self.note_scoreboard(response.from, response.to);
                (FrameKind::BlockAck, self.block_ack_bytes())
            }
            ResponseKind::Cts => (FrameKind::Cts, ACK_BYTES),
            ResponseKind::Data => return self.transmit_following(response.from, now),
        };
        let mode = self.config.phy.response_mode(response.mode);
        let mut tx = self.frame(kind, response.from, response.to, mode, bytes, now);
        tx.reserved_until = response.reserved_until;
        self.transmit(tx, now);
    }

    /// The addressed receiver decoded `tx`; of an A-MPDU whatever [`Channel::take_some`] took.
    pub(super) fn accept(&mut self, tx: &Transmission, now: Instant) {
        let after_sifs = now + self.config.phy.sifs();
        let answer = |kind, reserved_until| {
            let (from, to, mode) = (tx.to, tx.from, tx.mode);
            Due::Respond(Response { from, to, kind, mode, reserved_until })
        };
        let phase = self.macs[tx.to as usize].phase;
        match tx.kind {
            // An ACK follows by SIFS whether or not the medium is busy (clause 10.3.2.11).
            FrameKind::Data if self.config.acknowledges => {
                if tx.mpdus > 1 {
                    self.macs[tx.to as usize].ampdu_end = Some(now);
                }
                let kind = if tx.mpdus > 1 { ResponseKind::BlockAck } else { ResponseKind::Ack };
                // The data reserved the medium until the end of this answer, and no longer.
                debug_assert_eq!(tx.reserved_until, now + self.response_time(tx.mode, tx.mpdus));
                self.schedule(after_sifs, answer(kind, tx.reserved_until));
            }
            FrameKind::BlockAckReq => {
                self.hand_up(self.macs[tx.from as usize].turn, tx.to);
                self.schedule(after_sifs, answer(ResponseKind::BlockAck, tx.reserved_until));
            }
            FrameKind::Rts if self.contention.nav_is_idle(tx.to, now) => {
                self.schedule(after_sifs, answer(ResponseKind::Cts, tx.reserved_until));
            }
            FrameKind::Cts if phase == Phase::AwaitingCts => {
                let mac = &mut self.macs[tx.to as usize];
                mac.phase = Phase::Sending;
                // The RTS's timer may end later than the data, which would count as unanswered.
                mac.attempt += 1;
                self.follow(tx.to, now);
            }
            FrameKind::Ack | FrameKind::BlockAck if phase == Phase::AwaitingAck => {
                self.succeed(tx.to, now);
            }
            _ => {}
        }
    }

    /// Handles the end of the radio's own frame: chooses the response to wait for.
    pub(super) fn sent(&mut self, tx: &Transmission, received: bool, now: Instant) {
        let await_response = match tx.kind {
            FrameKind::Cts if tx.to == tx.from => return self.follow(tx.from, now),
            FrameKind::Ack | FrameKind::BlockAck | FrameKind::Cts => return,
            FrameKind::Beacon => return self.complete(tx.from, now),
            FrameKind::Data if tx.to == BROADCAST || !self.config.acknowledges => {
                return self.conclude_unanswered(tx.from, now);
            }
            FrameKind::Data | FrameKind::BlockAckReq => Phase::AwaitingAck,
            FrameKind::Rts => {
                let timeout = self.config.phy.nav_timeout(tx.mode);
                self.schedule(now + timeout, Due::NavReset(tx.id));
                Phase::AwaitingCts
            }
        };
        let mac = &mut self.macs[tx.from as usize];
        debug_assert_eq!(mac.phase, Phase::Sending, "{:?} of radio {}", tx.kind, tx.from);
        mac.phase = await_response;
        mac.collided |= tx.overlapped && !received;
        let attempt = mac.attempt;
        let timeout = self.response_timeout;
        self.schedule(now + timeout, Due::Timeout(tx.from, attempt));
    }

    /// `to` decoded a broadcast frame. A beacon is not reported to the host.
    pub(super) fn deliver_broadcast(&mut self, tx: &Transmission, to: u32) {
        if tx.kind != FrameKind::Data {
            return;
        }
        let turn = self.macs[tx.from as usize].turn;
        let batch = &self.contenders[turn as usize].batch;
        let Some(payload) = batch.payloads.get(batch.first_open(0)) else { return };
        let (to, from) = (RadioId(to), RadioId(tx.from));
        self.outputs.push(Run::Deliver { to, from }, *payload);
    }

    /// No response began in time. A frame that is just being received may still be it, so the
    /// verdict waits for its end.
    pub(super) fn time_out(&mut self, radio: u32, attempt: u64, now: Instant) {
        let mac = &self.macs[radio as usize];
        if !mac.awaits_response() || mac.attempt != attempt {
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
            let waiting = self.macs[radio as usize].awaits_response();
            let quiet = self.contention.is_quiet(radio);
            if waiting && quiet {
                self.fail(radio, now);
            }
            waiting && !quiet
        });
        self.overdue = overdue;
    }

    /// The response came.
    fn succeed(&mut self, radio: u32, now: Instant) {
        let contender = self.macs[radio as usize].turn;
        // Attempts are those at data.
        if self.contenders[contender as usize].batch.asks {
            return self.end_request(contender, now);
        }
        let mac = &mut self.macs[radio as usize];
        mac.stats.successes += 1;
        debug_assert!(mac.ends_fit_attempts(), "{:?}", mac.stats);
        self.report_to_rate_control(contender, true, now);
        // The exchange succeeded, but the MPDUs that the BlockAck lacks have failed.
        let given_up = match self.note_received(contender) {
            true => 0,
            false => self.count_failures(contender, self.uses_rts(contender)),
        };
        self.contenders[contender as usize].batch.asks =
            given_up > 0 && self.reports_drops(contender);
        self.slide(contender);
        self.complete(radio, now);
    }

    /// Reports to the rate control the number of MPDUs of the present PPDU that arrived, as far as
    /// its sender knows.
    fn report_to_rate_control(&mut self, contender: u32, answered: bool, now: Instant) {
        let radio = self.radio_of(contender);
        let mac = &mut self.macs[radio as usize];
        let batch = &self.contenders[contender as usize].batch;
        let (Some(rates), Some(to)) = (&mut mac.rates, batch.to) else { return };
        let sent = batch.ends.len() as u32;
        let is_first = |place: &usize| batch.received.has(*place) && !batch.frames[*place].joined;
        let arrived = batch.on_air().flatten().filter(is_first).count();
        let arrived = if answered { arrived as u32 } else { 0 };
        rates.on_attempt(to.0, batch.choice.rate, sent, arrived, now);
    }

    /// Ends a frame that needs no acknowledgement.
    fn conclude_unanswered(&mut self, radio: u32, now: Instant) {
        let contender = self.macs[radio as usize].turn;
        let batch = &mut self.contenders[contender as usize].batch;
        let run = Run::Done { radio: RadioId(radio), fate: Fate::Sent };
        self.outputs.extend(run, &batch.payloads, batch.on_air());
        batch.settled.add(0..batch.sending, |_| u64::MAX);
        self.slide(contender);
        self.complete(radio, now);
    }

    /// An attempt failed.
    fn fail(&mut self, radio: u32, now: Instant) {
        let mac = &mut self.macs[radio as usize];
        debug_assert!(mac.awaits_response(), "radio {radio} fails in {:?}", mac.phase);
        let (contender, was_long) = (mac.turn, mac.phase == Phase::AwaitingAck);
        mac.phase = Phase::Waiting;
        // A failed exchange ends the TXOP: the contender must win the medium again.
        mac.txop_end = now;
        if self.contenders[contender as usize].batch.asks {
            return self.fail_request(contender, now);
        }
        mac.stats.failures += 1;
        mac.stats.collisions += u64::from(mac.collided);
        debug_assert!(mac.ends_fit_attempts(), "{:?}", mac.stats);
        let is_long = was_long && self.uses_rts(contender);
        if was_long {
            self.note_failure(contender);
            self.report_to_rate_control(contender, false, now);
            self.contenders[contender as usize].batch.failures += 1;
        } else {
            // A missing CTS says nothing about the data rate.
            self.contenders[contender as usize].batch.is_mode_chosen = true;
        }
        if was_long && self.requests_missing(contender) {
            // The answer decides which MPDUs have failed.
            self.contenders[contender as usize].batch.asks = true;
            return self.double_cw(contender, now);
        }
        self.retry(contender, is_long, now);
    }

    /// Doubles CW and tries again, or drops frames at either retry limit (clause 10.3.4.4). The
    /// rest of a batch then begins as after a success (clause 10.23.2.2).
    fn retry(&mut self, contender: u32, is_long: bool, now: Instant) {
        // After an internal collision nothing was sent, so no frame of the batch has failed.
        let own = &self.contenders[contender as usize];
        if own.serving == Serving::Batch && own.batch.sending > 0 && !own.batch.asks {
            let given_up = self.count_failures(contender, is_long);
            self.contenders[contender as usize].batch.asks =
                given_up > 0 && self.reports_drops(contender);
            self.slide(contender);
            if given_up > 0 {
                return self.release(contender, now);
            }
        }
        self.double_cw(contender, now);
    }

    /// Doubles CW and contends for the present frames.
    pub(super) fn double_cw(&mut self, contender: u32, now: Instant) {
        let Edca { cw_min, cw_max, .. } = self.edca(contender);
        let own = &mut self.contenders[contender as usize];
        // CW is one less than a power of two.
        own.cw = (2 * own.cw + 1).min(cw_max);
        debug_assert!((cw_min..=cw_max).contains(&own.cw), "CW {}", own.cw);
        let slots = own.draw();
        self.contention.back_off(contender, slots, now);
        self.contention.contend(contender);
    }

    /// The exchange is over.
    pub(super) fn complete(&mut self, radio: u32, now: Instant) {
        let mac = &mut self.macs[radio as usize];
        mac.phase = Phase::Waiting;
        mac.exchange_end = now;
        let turn = mac.turn;
        self.release(turn, now);
    }

    /// Ends the service of frames, one way or the other: CW goes back to its minimum, and a backoff
    /// follows even if nothing waits (clause 10.3.4.3).
    pub(super) fn release(&mut self, contender: u32, now: Instant) {
        let cw_min = self.edca(contender).cw_min;
        let own = &mut self.contenders[contender as usize];
        debug_assert_eq!(own.batch.sending, 0, "a PPDU of {contender} is still on the air");
        own.serving = Serving::Nothing;
        own.cw = cw_min;
        own.batch.failures = 0;
        own.batch.is_mode_chosen = false;
        let slots = own.draw();
        self.contention.back_off(contender, slots, now);
        self.load_next(contender, now);
    }
}
