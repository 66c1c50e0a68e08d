//! The receiving half: reassembly, the advertised window, and when to acknowledge.

mod opening;
mod pushed;
mod quick;
mod reassembly;
mod tuning;

use crate::{Config, DelayedAck, Payload, Store};
use fairwave_units::{Duration, Instant, Seq32};
use fairwave_wire::tcp::{Flags, SackBlocks};
use opening::Opening;
use pushed::Pushed;
use quick::QuickAcks;
pub use reassembly::Reassembly;
use tuning::Tuning;

/// Longest idle time after which a remembered timestamp is void (RFC 7323 section 5.5).
const PAWS_IDLE_MAX: Duration = Duration::from_secs(24 * 24 * 3600);
/// The same in ticks of the peer's clock: 24 days of 1 ms. From 2^31 ticks on, which are 24.9 days,
/// a later timestamp compares as older.
const PAWS_IDLE_MAX_TICKS: u64 = 24 * 24 * 3600 * 1000;
/// Receive buffer that pays for one chunk held out of order, about the cost of keeping one.
const BYTES_PER_CHUNK: u32 = 64;

/// The receiving half of a connection. Positions are stream offsets, as for the sender.
#[derive(Debug)]
pub(crate) struct Receiver<P: Payload> {
    /// In order, not read yet.
    ready: P::Store,
    held: Reassembly<P>,
    /// RCV.NXT, the FIN included once it is taken.
    next: u64,
    /// Right edge of the advertised window; it never moves left.
    edge: u64,
    /// RCV.NXT as last acknowledged (Last.ACK.sent).
    acked: u64,
    capacity: u32,
    /// Scale of the advertised window, once agreed on.
    shift: Option<u8>,
    /// Largest payload seen: the peer's "full-sized".
    full_size: u32,
    /// Maximum segment that this end would accept, for silly window avoidance.
    mss: u32,
    delayed: DelayedAck,
    quick: QuickAcks,
    pushed: Pushed,
    opening: Opening,
    /// Grows `capacity`, if it may grow.
    tuning: Option<Tuning>,
    /// D-SACK was agreed on.
    dsack: bool,
    /// Range of the last duplicate, until an ACK reports it.
    duplicate: Option<(u64, u64)>,
    ack_now: bool,
    ack_deadline: Option<Instant>,
    fin_at: Option<u64>,
    readable_reported: bool,
    ts_recent: u32,
    ts_recent_at: Option<Instant>,
    /// Age at which `ts_recent` is void.
    ts_recent_max_age: Duration,
    read: u64,
}

/// Changes by arrived data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// The application has something to read and was not notified yet.
    pub(crate) readable: bool,
    /// The peer's FIN is in order now.
    pub(crate) fin: bool,
}

impl<P: Payload> Receiver<P> {
    pub(crate) fn new(config: &Config) -> Self {
        let most = config.receive_buffer_max.unwrap_or(0).max(config.receive_buffer);
        Self {
            ready: P::Store::default(),
            held: Reassembly::new((most / BYTES_PER_CHUNK).max(64) as usize),
            next: 0,
            edge: 0,
            acked: 0,
            capacity: config.receive_buffer,
            shift: None,
            full_size: 1,
            mss: u32::from(config.mss),
            delayed: config.delayed_ack,
            quick: QuickAcks::new(config.quick_acks),
            pushed: Pushed::new(config.ack_on_read, config.delayed_ack.timeout),
            opening: Opening::new(config.rcv_ssthresh, config.receive_buffer, config.mss.into()),
            tuning: config.receive_buffer_max.map(|most| Tuning::new(most, config.mss)),
            dsack: false,
            duplicate: None,
            ack_now: false,
            ack_deadline: None,
            fin_at: None,
            readable_reported: false,
            ts_recent: 0,
            ts_recent_at: None,
            // The tick that counts is the peer's, which TCP never learns. Both ends of a simulated
            // connection have the same. A real peer with a faster clock is refused after a silence
            // of 2^31 of its ticks until this age; Linux assumes 1 us of any peer (TCP_PAWS_WRAP),
            // and so protects for 35 minutes only.
            ts_recent_max_age: PAWS_IDLE_MAX.min(config.timestamp_tick * PAWS_IDLE_MAX_TICKS),
            read: 0,
        }
    }

    /// The scale that the buffer asks for (RFC 7323 section 2.3).
    pub(crate) fn wanted_shift(&self) -> u8 {
        let most = self.tuning.as_ref().map_or(0, Tuning::most).max(self.capacity);
        (0..14).find(|s| most >> s <= 0xffff).unwrap_or(14)
    }

    /// Duplicates are to be reported.
    pub(crate) fn report_duplicates(&mut self) {
        self.dsack = true;
    }

    /// Silence of the peer for more than this is idleness.
    pub(crate) fn set_idle_after(&mut self, rto: Duration) {
        self.quick.set_idle_after(rto);
    }

    /// This end sent data: its ACKs may wait to ride on more of it.
    pub(crate) fn data_was_sent(&mut self, now: Instant) {
        self.quick.stop();
        self.pushed.data_was_sent(now);
    }

    /// A data segment echoed a timestamp of this age: a round trip.
    pub(crate) fn note_round_trip(&mut self, age: Duration) {
        if let Some(tuning) = &mut self.tuning {
            tuning.sample(age);
        }
    }

    /// `len` numbers of the sequence space from `start` on arrived that lie outside the window.
    pub(crate) fn note_outside(&mut self, start: i64, len: u32) {
        if len > 0 {
            self.note_duplicate(start, start + i64::from(len));
        }
    }

    /// Of `start..end`, data received before is a duplicate to report (RFC 2883 section 4).
    fn note_duplicate(&mut self, start: i64, end: i64) {
        let (from, to) = (start.max(0) as u64, end.max(0) as u64);
        let again = if from < self.next {
            Some((from, to.min(self.next)))
        } else {
            self.held.overlap(from, to)
        };
        if let Some((from, to)) = again.filter(|(from, to)| self.dsack && from < to) {
            self.duplicate = Some((from, to));
            self.ack_now = true;
        }
    }

    /// Window scaling was agreed on.
    pub(crate) fn set_shift(&mut self, shift: u8) {
        self.shift = Some(shift);
    }

    /// Whether window scaling was agreed on.
    pub(crate) fn is_scaling(&self) -> bool {
        self.shift.is_some()
    }

    /// Window of a SYN, which is never scaled; it opens the window.
    pub(crate) fn syn_window(&mut self) -> u16 {
        let window = self.capacity.min(0xffff) as u16;
        self.edge = self.edge.max(u64::from(window));
        window
    }

    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// RCV.WND.
    pub(crate) fn window(&self) -> u64 {
        self.edge - self.next
    }

    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    pub(crate) fn bytes_read(&self) -> u64 {
        self.read
    }

    pub(crate) fn bytes_ready(&self) -> u64 {
        self.ready.len()
    }

    pub(crate) fn fin_is_received(&self) -> bool {
        self.fin_at.is_some_and(|at| self.next > at)
    }

    /// Whether RFC 7323 section 5.3 (PAWS) rejects a segment with this timestamp.
    pub(crate) fn is_old(&self, now: Instant, value: u32) -> bool {
        let valid = self.ts_recent_at.is_some_and(|at| now.since(at) < self.ts_recent_max_age);
        valid && Seq32(value).before(Seq32(self.ts_recent))
    }

    /// Remembers the timestamp of a segment that begins at `start` (RFC 7323 section 4.3).
    pub(crate) fn note_timestamp(&mut self, now: Instant, value: u32, start: i64) {
        if self.ts_recent_at.is_none() || (start <= self.acked as i64 && !self.is_old(now, value)) {
            self.ts_recent = value;
            self.ts_recent_at = Some(now);
        }
    }

    /// Remembers the timestamp of received data that arrived again, `start..end`, if the last ACK
    /// sent ended there.
    pub(crate) fn note_copy_timestamp(&mut self, now: Instant, value: u32, start: i64, end: i64) {
        if end == self.acked as i64 {
            self.note_timestamp(now, value, start);
        }
    }

    /// TSecr for the next segment.
    pub(crate) fn ts_recent(&self) -> u32 {
        self.ts_recent
    }

    /// Takes the payload of an acceptable segment that begins at `start`, and its FIN.
    pub(crate) fn take(&mut self, now: Instant, start: i64, data: P, flags: Flags) -> Arrived {
        let (len, fin) = (data.len(), flags.fin);
        self.full_size = self.full_size.max(len);
        let end = start + i64::from(len);
        if self.dsack {
            self.note_duplicate(start, end + i64::from(fin));
        }
        if len > 0 {
            self.quick.arrived(now, self.edge - self.next, self.full_size);
            self.take_data(now, start, data, flags.psh);
            self.tune(now);
        }
        if fin {
            self.ack_now = true;
            self.take_fin(end);
        }
        let arrived = Arrived { readable: self.report_readable(), fin: self.end_stream() };
        self.check();
        arrived
    }

    /// A FIN at `at`. Beyond a gap it is held and reported by SACK like data, as it takes a number
    /// of the sequence space.
    fn take_fin(&mut self, at: i64) {
        if at > self.edge as i64 || at < self.next as i64 {
            return;
        }
        // The stream ends in one place, whatever a broken peer says later.
        let at = *self.fin_at.get_or_insert(at as u64);
        if at > self.next {
            self.held.insert_end(at);
        }
    }

    /// Takes the FIN, if it is the next in order. Whether it is.
    fn end_stream(&mut self) -> bool {
        let ends = self.fin_at == Some(self.next);
        if ends {
            self.next += 1;
            self.edge = self.edge.max(self.next);
            self.held.forget(self.next);
            self.ack_now = true;
        }
        ends
    }

    fn take_data(&mut self, now: Instant, start: i64, data: P, psh: bool) {
        let size = data.len();
        let end = start + i64::from(size);
        let from = start.max(self.next as i64);
        let to = end.min(self.edge as i64);
        if from >= to {
            self.ack_at_once();
            return;
        }
        let whole = from == start && to == end;
        let data =
            if whole { data } else { data.slice((from - start) as u32, (to - start) as u32) };
        let (from, len) = (from as u64, data.len());
        if self.opening.arrived(size, self.unused()) {
            self.quick.grant_one();
        }
        if from > self.next {
            self.held.insert(from, &data);
            self.ack_at_once();
            return;
        }
        self.next += u64::from(len);
        self.ready.push(data);
        self.pushed.arrived(now, size < self.full_size, psh);
        if self.held.is_empty() {
            self.delay_ack(now);
        } else {
            self.fill_gap();
        }
    }

    /// In-order data met held data: RFC 5681 section 4.2 wants an ACK at once.
    fn fill_gap(&mut self) {
        while let Some(data) = self.held.pop(self.next) {
            self.next += u64::from(data.len());
            self.ready.push(data);
        }
        self.held.forget(self.next);
        self.ack_at_once();
    }

    /// A gap or its end: the sender needs ACKs, so the next ones are quick too.
    fn ack_at_once(&mut self) {
        self.ack_now = true;
        self.pushed.end_interaction();
        self.quick.grant(self.edge - self.next, self.full_size);
    }

    fn tune(&mut self, now: Instant) {
        let Some(tuning) = &mut self.tuning else { return };
        let wanted = tuning.arrived(now, self.next, self.edge - self.next, self.read);
        self.capacity = self.capacity.max(wanted);
    }

    /// In-order data: an ACK for every `every` full-sized segments, or after the timeout.
    fn delay_ack(&mut self, now: Instant) {
        let due = u64::from(self.delayed.every) * u64::from(self.full_size);
        let quick = self.quick.spend();
        if quick || self.delayed.every <= 1 || self.next - self.acked >= due {
            self.ack_now = true;
        } else if self.ack_deadline.is_none() {
            self.ack_deadline = Some(now + self.delayed.timeout);
        }
    }

    fn report_readable(&mut self) -> bool {
        let report = !self.readable_reported && !self.ready.is_empty();
        self.readable_reported |= report;
        report
    }

    /// Takes up to `max` bytes of in-order data.
    pub(crate) fn read(&mut self, max: u32) -> Option<P> {
        let len = self.ready.len().min(u64::from(max)) as u32;
        if len == 0 {
            return None;
        }
        let data = self.ready.copy(0, len);
        self.ready.discard(u64::from(len));
        self.read += u64::from(len);
        self.readable_reported = false;
        self.ack_now |= self.update_due() || self.is_pushed();
        self.check();
        Some(data)
    }

    /// Frees the unread data.
    pub(crate) fn discard(&mut self) {
        self.read += self.ready.len();
        (self.ready, self.held) = (P::Store::default(), Reassembly::new(0));
        self.check();
    }

    /// Whether reading all that had come calls for the ACK that is delayed.
    fn is_pushed(&self) -> bool {
        let is_empty = self.ready.is_empty() && self.held.is_empty();
        is_empty && self.next > self.acked && self.pushed.wants_ack()
    }

    /// Returns whether reading has opened the window so far that the peer needs an update without
    /// an ACK being due: silly window avoidance of RFC 9293 section 3.8.6.2.2, and at least double
    /// the peer's view, lest every read send an update.
    fn update_due(&self) -> bool {
        let reported = self.window();
        let free = self.free();
        free >= reported + u64::from(self.step()) && free >= 2 * reported && !self.fin_is_received()
    }

    /// Minimum step by which the window's edge moves.
    fn step(&self) -> u32 {
        self.mss.min(self.capacity / 2).max(1)
    }

    /// Bytes of the buffer that are free.
    fn unused(&self) -> u64 {
        u64::from(self.capacity).saturating_sub(self.ready.len())
    }

    /// The window that may be advertised.
    fn free(&self) -> u64 {
        self.opening.bound(self.unused())
    }

    /// An ACK must leave at once.
    pub(crate) fn ack_now(&mut self) {
        self.ack_now = true;
    }

    /// Whether an ACK is due.
    pub(crate) fn wants_ack(&self) -> bool {
        self.ack_now
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.ack_deadline
    }

    /// The delayed ACK's time may have come.
    pub(crate) fn wake(&mut self, now: Instant) {
        if self.ack_deadline.is_some_and(|at| at <= now) {
            self.ack_now = true;
            self.pushed.end_interaction();
        }
    }

    /// Whether a data segment must leave SACK blocks to an ACK of its own.
    pub(crate) fn has_blocks(&self) -> bool {
        !self.held.is_empty() || self.duplicate.is_some()
    }

    /// A segment with ACK leaves. Its window field; the edge moves as far as it says.
    pub(crate) fn acknowledge(&mut self) -> u16 {
        // A duplicate ACK must repeat the window, or the sender will not count it
        // (RFC 5681 section 2): the edge moves only with progress or when it matters.
        let reported = self.window();
        let free = self.free();
        let may_move = self.next > self.acked || self.acked == 0 || self.update_due();
        let moves = may_move && free >= reported + u64::from(self.step());
        let shift = self.shift.unwrap_or(0);
        // RFC 7323 section 2.4: rounded up, lest the window retract, but not beyond the buffer.
        let up = (reported + (1 << shift) - 1) >> shift;
        let kept = if up << shift <= free.max(reported) { up } else { reported >> shift };
        let field = if moves { kept.max(free >> shift) } else { kept }.min(0xffff);
        self.edge = self.edge.max(self.next + (field << shift));
        self.acked = self.next;
        self.ack_now = false;
        self.ack_deadline = None;
        self.pushed.acknowledged();
        self.check();
        field as u16
    }

    fn check(&self) {
        let (next, edge, fin) = (self.next, self.edge, u64::from(self.fin_is_received()));
        debug_assert!(self.acked <= next, "acknowledged {} > RCV.NXT {next}", self.acked);
        debug_assert!(next <= edge, "RCV.NXT {next} beyond the window's edge {edge}");
        debug_assert_eq!(self.read + self.ready.len() + fin, next, "read, ready and FIN");
        let most = self.read + u64::from(self.capacity) + fin;
        debug_assert!(edge <= most, "a window up to {edge}, a buffer up to {most}");
        debug_assert!(self.held.overlap(0, next).is_none(), "held below RCV.NXT {next}");
    }

    /// SACK blocks for an ACK, a duplicate before the others (RFC 2883 section 4), those most
    /// recent first; `origin` is the sequence number of offset 0.
    pub(crate) fn sack_blocks(&mut self, origin: Seq32, max: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let duplicate = self.duplicate.take();
        for (left, right) in duplicate.into_iter().chain(self.held.ranges()).take(max) {
            blocks.push(origin + left as u32, origin + right as u32);
        }
        blocks
    }
}
