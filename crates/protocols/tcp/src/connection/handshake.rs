//! Opening: LISTEN, SYN-SENT and SYN-RECEIVED (RFC 9293 sections 3.5 and 3.10.7).

use super::{Connection, Event, Segment, State, Syn};
use crate::Payload;
use crate::agreed::Agreed;
use crate::receiver::Receiver;
use fairwave_cc::Initial;
use fairwave_units::{Duration, Instant, Seq32};
use fairwave_wire::tcp::{Flags, Header};

/// Segment size where the peer states none (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u16 = 536;
/// Minimum segment size that is accepted from the peer: every IPv4 path carries 68 bytes (RFC 791
/// section 3.2), 40 of which are headers. With a smaller size, a peer could force a segment, and a
/// record of it, for every byte.
const MIN_MSS: u16 = 28;
/// Minimum RTO for data after a SYN was lost (RFC 6298 (5.7)).
const RTO_AFTER_LOST_SYN: Duration = Duration::from_secs(3);
/// Bytes that the timestamps option takes off every segment (RFC 7323 appendix A).
const TIMESTAMPS_LEN: u32 = 12;

/// Whether a SYN, or a SYN-ACK, sets up ECN (RFC 3168 section 6.1.1).
fn sets_up_ecn(flags: &Flags) -> bool {
    flags.ece && flags.cwr != flags.ack
}

impl<P: Payload> Connection<P> {
    /// Active open.
    pub(super) fn open(&mut self, now: Instant) {
        if self.state != State::Closed || self.used {
            return;
        }
        self.used = true;
        self.state = State::SynSent;
        self.syn.pending = true;
        self.tx.start_timer(now);
    }

    /// Passive open.
    pub(super) fn listen(&mut self) {
        if self.state != State::Closed || self.used {
            return;
        }
        self.used = true;
        self.passive = true;
        self.state = State::Listen;
    }

    /// Returns to LISTEN after a passive open was refused (RFC 9293 section 3.10.7.4, SYN-RECEIVED
    /// and RST). After a close there is no listener to return to (section 3.10.4).
    pub(super) fn return_to_listen(&mut self) {
        if self.close_requested {
            return self.end(Event::Closed);
        }
        self.state = State::Listen;
        if self.syn.learned_port {
            self.config.remote_port = 0;
        }
        self.tx.start_over(&self.config);
        self.rx = Receiver::new(&self.config);
        self.syn = Syn::default();
        self.agreed = Agreed::default();
        self.echo_marks = false;
    }

    /// Handles a segment in LISTEN (section 3.10.7.2).
    pub(super) fn on_listening(&mut self, now: Instant, segment: &Segment<P>) {
        let header = &segment.header;
        if header.flags.rst {
            return;
        }
        if header.flags.ack {
            self.refuse(segment);
        } else if header.flags.syn {
            if self.config.remote_port == 0 {
                self.config.remote_port = header.source_port;
                self.syn.learned_port = true;
            }
            self.agree(now, header);
            self.state = State::SynReceived;
            self.syn.pending = true;
            self.tx.start_timer(now);
        }
    }

    /// Handles a segment in SYN-SENT (section 3.10.7.3).
    pub(super) fn on_syn_sent(&mut self, now: Instant, segment: &Segment<P>) {
        let header = &segment.header;
        let acks_syn = header.flags.ack && header.ack == self.tx_seq(0);
        if header.flags.ack && !acks_syn {
            if !header.flags.rst {
                self.refuse(segment);
            }
            return;
        }
        if header.flags.rst {
            if acks_syn {
                self.end(Event::Reset);
            }
            return;
        }
        if !header.flags.syn {
            return;
        }
        self.agree(now, header);
        if acks_syn {
            self.rx.ack_now();
            self.establish(now, header);
        } else {
            self.state = State::SynReceived;
            self.syn.pending = true;
            self.tx.start_timer(now);
        }
    }

    /// Handles the peer's SYN: its sequence number, options and window.
    fn agree(&mut self, now: Instant, header: &Header) {
        let options = &header.options;
        self.irs = header.seq;
        self.agreed.timestamps = self.config.timestamps && options.timestamps.is_some();
        self.agreed.sack = self.config.sack && options.sack_permitted;
        if self.agreed.sack && self.config.dsack {
            self.rx.report_duplicates();
        }
        self.agreed.ecn = self.config.ecn && sets_up_ecn(&header.flags);
        if let Some(shift) = options.window_scale.filter(|_| self.config.window_scaling) {
            self.agreed.peer_shift = shift.min(14);
            self.rx.set_shift(self.rx.wanted_shift());
        }
        if let Some(timestamps) = options.timestamps.filter(|_| self.agreed.timestamps) {
            self.rx.note_timestamp(now, timestamps.value, 0);
        }
        let wanted = options.mss.unwrap_or(DEFAULT_MSS).max(MIN_MSS);
        let mss = u32::from(self.config.mss.min(wanted));
        let taken = if self.agreed.timestamps { TIMESTAMPS_LEN } else { 0 };
        self.agreed.smss = mss.saturating_sub(taken).max(1);
        self.set_window(header, u32::from(header.window));
    }

    /// Handles the acknowledgement of the SYN: creates the congestion controller, and permits data.
    pub(super) fn establish(&mut self, now: Instant, header: &Header) {
        self.syn.pending = false;
        let is_early = self.first_syn_arrived(header);
        self.time_handshake(now, is_early);
        // RFC 5681 section 3.1: after a lost SYN, the initial window is one segment.
        let lost = self.syn.retransmissions > u32::from(self.config.tolerant_handshake);
        let segments = if lost && !is_early { 1 } else { self.config.initial_window_segments };
        let initial = Initial {
            mss: self.agreed.smss,
            cwnd: segments.max(1).saturating_mul(self.agreed.smss),
            ssthresh: self.config.initial_ssthresh.unwrap_or(u32::MAX),
            byte_counting: self.config.byte_counting,
            slow_start_segments: self.config.slow_start_segments.unwrap_or(u32::MAX),
            av: self.config.av,
            ack_loss: self.config.ack_loss(),
        };
        let build = self.build.take().expect("a connection is established once");
        self.tx.establish(build(initial), &self.agreed);
        self.rx.set_idle_after(self.tx.rto());
        self.state = State::Established;
        self.events.push_back(Event::Established);
        let shift = if header.flags.syn { 0 } else { self.agreed.peer_shift };
        self.set_window(header, u32::from(header.window) << shift);
        if self.close_requested {
            self.send_fin(State::FinWait1);
        }
    }

    /// Whether the peer's timestamp echo shows that the SYN had arrived before it was
    /// retransmitted.
    fn first_syn_arrived(&self, header: &Header) -> bool {
        let first = self.syn.first.map(|at| self.clock(at));
        let echo = header.options.timestamps.map(|timestamps| timestamps.echo);
        let counts = self.config.tolerant_handshake && self.agreed.timestamps;
        counts && self.syn.retransmissions > 0 && echo == first
    }

    /// Takes the round-trip time of the SYN as a sample, if it is known which SYN was answered.
    fn time_handshake(&mut self, now: Instant, is_early: bool) {
        let is_timed = self.config.tolerant_handshake && self.agreed.timestamps;
        let sent = if is_early { self.syn.first } else { self.syn.sent };
        if self.syn.retransmissions > 0 && !is_timed {
            self.tx.restart_rtt(RTO_AFTER_LOST_SYN);
        } else if let Some(sent) = sent {
            self.tx.rtt_sample(now.since(sent));
        }
    }

    /// Records the peer's window and the segment that reported it.
    pub(super) fn set_window(&mut self, header: &Header, window: u32) {
        self.window_seq = header.seq;
        self.window_ack = header.ack;
        self.tx.set_window(window);
    }

    /// Answers a segment that belongs to no connection (section 3.10.7.1).
    pub(super) fn refuse(&mut self, segment: &Segment<P>) {
        let header = &segment.header;
        if header.flags.rst {
            return;
        }
        let mut reply = Header {
            source_port: header.destination_port,
            destination_port: header.source_port,
            ..Header::default()
        };
        reply.flags.rst = true;
        if header.flags.ack {
            reply.seq = header.ack;
        } else {
            reply.flags.ack = true;
            reply.seq = Seq32(0);
            let controls = u32::from(header.flags.syn) + u32::from(header.flags.fin);
            reply.ack = header.seq + segment.payload.len() + controls;
        }
        self.reply = Some(reply);
    }
}
