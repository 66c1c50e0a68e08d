//! Arriving segments in synchronised states (RFC 9293 section 3.10.7.4, RFC 5961, RFC 7323).

use super::{Connection, Event, Segment, State};
use crate::Payload;
use crate::sender::{Ack, Observed};
use fairwave_units::{Duration, Instant, Seq32};
use fairwave_wire::ipv4::Ecn;
use fairwave_wire::tcp::{Header, SackBlocks};

/// Maximum number of answers in five seconds to unacceptable segments without data, SYN or FIN: as
/// many as in Linux, where 500 ms lie between two (`tcp_invalid_ratelimit`).
const ANSWERS: u32 = 10;

impl<P: Payload> Connection<P> {
    pub(super) fn on_segment(&mut self, now: Instant, segment: Segment<P>) {
        match self.state {
            State::Closed => self.refuse(&segment),
            State::Listen => self.on_listening(now, &segment),
            State::SynSent => self.on_syn_sent(now, &segment),
            _ => self.on_synchronised(now, segment),
        }
    }

    fn on_synchronised(&mut self, now: Instant, mut segment: Segment<P>) {
        if !self.strip_syn(&mut segment.header) {
            return;
        }
        let flags = segment.header.flags;
        let start = self.rx_offset(segment.header.seq);
        let timestamps_pass = self.timestamps_pass(now, &segment.header);
        if !timestamps_pass || !self.is_acceptable(start, &segment) {
            if timestamps_pass {
                self.note_copy(now, start, &segment);
            }
            self.rx.note_outside(start, segment.payload.len() + u32::from(flags.fin));
            self.on_unacceptable(now, &segment);
        } else if flags.rst {
            self.on_reset(now, start);
        } else if flags.syn {
            // RFC 5961 section 4.2: a SYN in a synchronised state earns a challenge ACK.
            self.challenge(now);
        } else if flags.ack && self.on_acknowledgement(now, start, &segment) {
            self.on_text(now, start, segment);
        }
    }

    /// In SYN-RECEIVED the peer's SYN may come again: alone, it is answered by ours; with an
    /// ACK (simultaneous open), the rest of the segment counts. False if nothing is left.
    fn strip_syn(&mut self, header: &mut Header) -> bool {
        let again = self.state == State::SynReceived && header.flags.syn && header.seq == self.irs;
        if !again || header.flags.rst {
            return true;
        }
        if !header.flags.ack {
            self.syn.pending = true;
            self.syn.retransmissions += 1;
            return false;
        }
        header.flags.syn = false;
        header.seq = header.seq + 1;
        // A window in a SYN is not scaled; what follows will scale it.
        header.window >>= self.agreed.peer_shift;
        true
    }

    /// Offset of the peer's sequence number, near RCV.NXT; the SYN has -1.
    fn rx_offset(&self, seq: Seq32) -> i64 {
        let next = self.rx.next();
        next as i64 + i64::from(seq.distance(self.rx_seq(next)) as i32)
    }

    /// PAWS, and the rule that a connection with timestamps drops segments without
    /// (RFC 7323 sections 3.2 and 5.3). Resets pass.
    fn timestamps_pass(&self, now: Instant, header: &Header) -> bool {
        if !self.agreed.timestamps || header.flags.rst {
            return true;
        }
        header.options.timestamps.is_some_and(|t| !self.rx.is_old(now, t.value))
    }

    /// The acceptability test of RFC 9293 section 3.4, table 6. Where the window is zero, data
    /// at its edge passes so that its ACK counts; the data itself will not fit.
    fn is_acceptable(&self, start: i64, segment: &Segment<P>) -> bool {
        let flags = segment.header.flags;
        let len = i64::from(segment.payload.len()) + i64::from(flags.syn) + i64::from(flags.fin);
        let next = self.rx.next() as i64;
        let edge = next + self.rx.window() as i64;
        let inside = |at: i64| next <= at && at < edge;
        start == next || inside(start) || (len > 0 && inside(start + len - 1))
    }

    /// Echoes the timestamp of a copy of the data acknowledged last, as Linux does: `tcp_sequence`
    /// passes a segment that does not end before the last ACK sent, and `tcp_replace_ts_recent`
    /// takes its timestamp. RFC 7323 section 5.3 rejects what lies outside the window (R2) before
    /// it looks at the timestamp (R3).
    fn note_copy(&mut self, now: Instant, start: i64, segment: &Segment<P>) {
        let (flags, options) = (segment.header.flags, &segment.header.options);
        let end = start + i64::from(segment.payload.len()) + i64::from(flags.fin);
        let is_data = end > start && flags.ack && !flags.syn && !flags.rst;
        // As for other segments, a forged ACK field must not move the timestamp that PAWS uses.
        if !is_data || self.ack_offset(&segment.header).is_none() {
            return;
        }
        // The ACK of the original was lost, or is late. With the original's timestamp in the answer
        // to the copy, the peer's timeout would be part of its round-trip sample, and with each
        // lost ACK its next timeout would be longer. Data whose ACK is still delayed keep the
        // original's, unlike in Linux: the peer's timeout must cover the delay.
        if let Some(timestamps) = options.timestamps.filter(|_| self.agreed.timestamps) {
            self.rx.note_copy_timestamp(now, timestamps.value, start, end);
        }
    }

    fn on_unacceptable(&mut self, now: Instant, segment: &Segment<P>) {
        let flags = segment.header.flags;
        if flags.rst {
            return;
        }
        // The peer may find the answer unacceptable too, and answer it: two ends that refuse each
        // other's ACKs would never stop (Linux, tcp_oow_rate_limited). The same limit holds one
        // below RCV.NXT, where keep-alives and probes of a closed window lie: a single byte that
        // both ends miss brings their ACKs there. Such probes come more rarely than it allows. Its
        // count is not that of challenges, so that neither uses up the other's; as in Linux,
        // forged ACKs can use it up.
        let takes_numbers = !segment.payload.is_empty() || flags.syn || flags.fin;
        if takes_numbers || self.answers.admit(now, ANSWERS) {
            self.rx.ack_now();
        }
        if self.state == State::TimeWait && flags.fin {
            self.time_wait = Some(now + self.config.time_wait);
        }
    }

    /// Answers segments that a blind attacker may have sent, but not without end (RFC 5961 section
    /// 7): the limit holds for five seconds from the first challenge on.
    fn challenge(&mut self, now: Instant) {
        if self.challenges.admit(now, self.config.challenge_acks) {
            self.rx.ack_now();
        }
    }

    /// RFC 5961 section 3.2: only a reset at RCV.NXT exactly is obeyed.
    fn on_reset(&mut self, now: Instant, start: i64) {
        if start != self.rx.next() as i64 {
            self.challenge(now);
        } else if self.state == State::SynReceived && self.passive {
            self.return_to_listen();
        } else {
            let good = matches!(self.state, State::TimeWait | State::LastAck | State::Closing);
            self.end(if good { Event::Closed } else { Event::Reset });
        }
    }

    /// Offset of the ACK field; `None` if it is too old, or beyond what was sent (RFC 5961 section
    /// 5.2).
    fn ack_offset(&self, header: &Header) -> Option<i64> {
        let una = self.tx.una();
        let ack = una as i64 + i64::from(header.ack.distance(self.tx_seq(una)) as i32);
        let oldest = una as i64 - i64::from(self.tx.max_window());
        (oldest <= ack && ack <= self.tx.next() as i64).then_some(ack)
    }

    /// Takes the ACK field; false if the segment must be dropped.
    fn on_acknowledgement(&mut self, now: Instant, start: i64, segment: &Segment<P>) -> bool {
        let header = &segment.header;
        if self.state == State::SynReceived {
            if header.ack != self.tx_seq(0) {
                self.refuse(segment);
                return false;
            }
            self.establish(now, header);
        }
        let Some(ack) = self.ack_offset(header) else {
            self.challenge(now);
            return false;
        };
        if let Some(timestamps) = header.options.timestamps.filter(|_| self.agreed.timestamps) {
            self.rx.note_timestamp(now, timestamps.value, start);
        }
        if ack >= self.tx.una() as i64 {
            self.on_current_ack(now, ack as u64, segment);
        }
        self.state != State::Closed
    }

    /// An ACK of SND.UNA or later.
    fn on_current_ack(&mut self, now: Instant, una: u64, segment: &Segment<P>) {
        let header = &segment.header;
        let window = u32::from(header.window) << self.agreed.peer_shift;
        let same_window = window == self.tx.window();
        if !header.seq.before(self.window_seq)
            && (header.seq != self.window_seq || !header.ack.before(self.window_ack))
        {
            self.set_window(header, window);
        }
        let ece = header.flags.ece && self.agreed.ecn;
        if !ece && self.tx.take_idle_ack() {
            return;
        }
        let mut ranges = [(0, 0); 4];
        let blocks = self.outstanding_blocks(una, &header.options.sack, &mut ranges);
        let ack = Ack {
            una,
            blocks,
            dsack: self.dsack(una, &header.options.sack),
            advances: una > self.tx.una(),
            may_be_duplicate: same_window && segment.is_pure_ack(),
            echo: self.echo(now, header),
            ece,
        };
        let observed = self.tx.on_ack(now, &ack);
        self.report(observed);
        if self.tx.fin_is_acked() {
            self.on_fin_acked(now);
        }
    }

    fn report(&mut self, observed: Observed) {
        if observed.recovery_ended {
            self.events.push_back(Event::RecoveryEnded);
        }
        if observed.recovery_began {
            self.events.push_back(Event::RecoveryBegan);
        }
        if observed.space {
            self.events.push_back(Event::SendSpace);
        }
    }

    /// The SACK blocks that lie within the outstanding data; a D-SACK block does not.
    fn outstanding_blocks<'a>(
        &self,
        una: u64,
        sack: &SackBlocks,
        ranges: &'a mut [(u64, u64); 4],
    ) -> &'a [(u64, u64)] {
        let (origin, span) = (self.tx_seq(una), self.tx.next() - una);
        let mut count = 0;
        for (left, right) in sack.as_slice() {
            let (left, right) = (left.distance(origin), right.distance(origin));
            if left < right && u64::from(right) <= span {
                ranges[count] = (una + u64::from(left), una + u64::from(right));
                count += 1;
            }
        }
        &ranges[..count]
    }

    /// Returns the block that reports a duplicate: the first, if it lies below the cumulative
    /// acknowledgement or inside the second (RFC 2883 section 4).
    fn dsack(&self, una: u64, sack: &SackBlocks) -> Option<(u64, u64)> {
        let offset = |seq: Seq32| una as i64 + i64::from(seq.distance(self.tx_seq(una)) as i32);
        let mut blocks = sack.as_slice().iter().map(|(l, r)| (offset(*l), offset(*r)));
        let (left, right) = blocks.next().filter(|(l, r)| self.agreed.sack && 0 <= *l && l < r)?;
        let again =
            right <= una as i64 || blocks.next().is_some_and(|(l, r)| l <= left && right <= r);
        again.then_some((left as u64, right as u64))
    }

    /// The echoed timestamp and how old it is; void if it lies in the future.
    fn echo(&self, now: Instant, header: &Header) -> Option<(u32, Duration)> {
        let timestamps = header.options.timestamps.filter(|_| self.agreed.timestamps)?;
        let ticks = self.clock(now).wrapping_sub(timestamps.echo);
        let age = self.config.timestamp_tick * u64::from(ticks);
        (ticks < 1 << 31).then_some((timestamps.echo, age))
    }

    fn on_fin_acked(&mut self, now: Instant) {
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.enter_time_wait(now),
            State::LastAck => self.end(Event::Closed),
            _ => {}
        }
    }

    fn enter_time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        self.time_wait = Some(now + self.config.time_wait);
    }

    /// RFC 3168 section 6.1.3: marks on data are echoed until the sender says CWR, and again if
    /// that segment itself is marked.
    fn note_marks(&mut self, segment: &Segment<P>) {
        if self.agreed.ecn && !segment.payload.is_empty() {
            self.echo_marks &= !segment.header.flags.cwr;
            self.echo_marks |= segment.ecn == Ecn::Ce;
            if segment.header.flags.cwr && self.config.ack_cwr {
                self.rx.ack_now();
            }
        }
    }

    /// Payload and FIN.
    fn on_text(&mut self, now: Instant, start: i64, segment: Segment<P>) {
        let flags = segment.header.flags;
        let receives = matches!(self.state, State::Established | State::FinWait1 | State::FinWait2);
        if !receives || (segment.payload.is_empty() && !flags.fin) {
            return;
        }
        self.note_marks(&segment);
        if self.config.receive_buffer_max.is_some()
            && let Some((_, age)) = self.echo(now, &segment.header)
        {
            self.rx.note_round_trip(age);
        }
        let arrived = self.rx.take(now, start, segment.payload, flags);
        if arrived.readable {
            self.events.push_back(Event::Readable);
        }
        if arrived.fin {
            self.on_fin(now);
        }
    }

    fn on_fin(&mut self, now: Instant) {
        self.events.push_back(Event::RemoteClosed);
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
    }
}
