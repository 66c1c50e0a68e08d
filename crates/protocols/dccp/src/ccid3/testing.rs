//! A sender and a receiver with a test line between, without the connection around them.

use super::{Receiver, ReceiverConfig, Sender, SenderConfig};
use crate::ccid::{self, Arrived, Feedback, Handover, Permit, Sent};
use fairwave_machine::line::{End, Line, Wire};
use fairwave_units::{Duration, Instant, Seed};
use fairwave_wire::dccp::{Kind, Options, Seq48};
use fairwave_wire::ipv4::Ecn;

/// Bytes of headers on the line.
const HEADERS: u64 = 36;

#[derive(Clone, Debug)]
pub(super) enum Packet {
    Data { seq: Seq48, ccval: u8, bytes: u32 },
    Ack { seq: Seq48, ack: Seq48, options: Options },
}

/// Data of the application.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// As much as it may.
    Greedy,
    /// A packet at this interval; packets that may not go wait.
    Every(Duration),
}

/// Both ends, the line and the time.
pub(super) struct Pair {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) line: Line<Packet>,
    pub(super) now: Instant,
    pub(super) bytes_sent: u64,
    pub(super) feedbacks: u64,
    source: Source,
    bytes: u32,
    next_data: Instant,
    waiting: u64,
    seq: Seq48,
    reverse_seq: Seq48,
    greatest: Seq48,
}

impl Pair {
    pub(super) fn new(seed: u64, wire: Wire, source: Source, bytes: u32) -> Self {
        let sender = Sender::new(SenderConfig::default(), f64::from(bytes), Instant::ZERO);
        let receiver = Receiver::new(ReceiverConfig::default());
        Self::between(sender, receiver, Line::new(Seed(seed), wire, lossless(wire)), source, bytes)
    }

    pub(super) fn between(
        sender: Sender,
        receiver: Receiver,
        line: Line<Packet>,
        source: Source,
        bytes: u32,
    ) -> Self {
        Self {
            sender,
            receiver,
            line,
            now: Instant::ZERO,
            bytes_sent: 0,
            feedbacks: 0,
            source,
            bytes,
            next_data: Instant::ZERO,
            waiting: 0,
            // The numbers wrap during the test.
            seq: Seq48::new((1 << 48) - 100),
            reverse_seq: Seq48::new(7),
            greatest: Seq48::ZERO,
        }
    }

    /// Loses all packets of both directions, or none but those of `wire`.
    pub(super) fn set_wires(&mut self, from_a: Wire, from_b: Wire) {
        self.line.set_wire(End::A, from_a);
        self.line.set_wire(End::B, from_b);
    }

    pub(super) fn report(&mut self, handover: Handover) {
        ccid::Sender::on_handover(&mut self.sender, self.now, handover);
    }

    /// Runs up to `until`.
    pub(super) fn run(&mut self, until: Instant) {
        loop {
            self.offer();
            let send_at = self.transmit();
            let source_at = match self.source {
                Source::Greedy => None,
                Source::Every(_) => Some(self.next_data),
            };
            let timer = ccid::Sender::deadline(&self.sender);
            let next = [send_at, source_at, timer, self.line.next_arrival()];
            let next = next.into_iter().flatten().min().unwrap_or(until).max(self.now);
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
            ccid::Sender::wake(&mut self.sender, self.now);
            while let Some((end, packet)) = self.line.arrive(self.now) {
                self.arrive(end, packet);
            }
        }
    }

    fn offer(&mut self) {
        match self.source {
            Source::Greedy => self.waiting = 1,
            Source::Every(interval) => {
                while self.next_data <= self.now {
                    self.waiting += 1;
                    self.next_data += interval;
                }
            }
        }
    }

    /// Sends the packets that may go; returns the time of the next one.
    fn transmit(&mut self) -> Option<Instant> {
        while self.waiting > 0 {
            match ccid::Sender::permit(&mut self.sender, self.now, self.bytes) {
                Permit::Now => self.send(),
                Permit::At(at) if at <= self.now => self.send(),
                Permit::At(at) => return Some(at),
                Permit::Wait => return None,
            }
        }
        None
    }

    fn send(&mut self) {
        let (seq, bytes) = (self.seq, self.bytes);
        let ccval = ccid::Sender::ccval(&mut self.sender, self.now);
        let sent =
            Sent { seq, data: Some(bytes), wire_len: bytes + 16, ecn: Ecn::NotEct, more: false };
        ccid::Sender::on_sent(&mut self.sender, self.now, &sent);
        self.line.send(
            self.now,
            End::A,
            Packet::Data { seq, ccval, bytes },
            u64::from(bytes) + HEADERS,
        );
        self.seq = self.seq + 1;
        self.bytes_sent += u64::from(bytes);
        if !matches!(self.source, Source::Greedy) {
            self.waiting -= 1;
        }
    }

    fn arrive(&mut self, end: End, packet: Packet) {
        match (end, packet) {
            (End::B, Packet::Data { seq, ccval, bytes }) => self.data(seq, ccval, bytes),
            (End::A, Packet::Ack { seq, ack, options }) => {
                let kind = Kind::Ack { ack };
                let feedback = Feedback { seq, kind, ack, ecn: Ecn::NotEct, options: &options };
                ccid::Sender::on_feedback(&mut self.sender, self.now, &feedback);
            }
            _ => {}
        }
    }

    fn data(&mut self, seq: Seq48, ccval: u8, bytes: u32) {
        let options = Options::new();
        let arrived = Arrived {
            seq,
            kind: Kind::Data,
            data: Some(bytes),
            wire_len: bytes + 16,
            ccval,
            ecn: Ecn::NotEct,
            options: &options,
        };
        self.greatest = self.greatest.max(seq);
        if self.feedbacks == 0 {
            self.greatest = seq;
        }
        ccid::Receiver::on_packet(&mut self.receiver, self.now, &arrived);
        if ccid::Receiver::is_due(&self.receiver, self.now) {
            let mut options = Options::new();
            let ack = self.greatest;
            ccid::Receiver::acknowledge(&mut self.receiver, self.now, ack, &mut options);
            let size = options.len() as u64 + HEADERS;
            let packet = Packet::Ack { seq: self.reverse_seq, ack, options };
            self.line.send(self.now, End::B, packet, size);
            self.reverse_seq = self.reverse_seq + 1;
            self.feedbacks += 1;
        }
    }
}

/// The same wire without loss, for feedback.
pub(super) fn lossless(wire: Wire) -> Wire {
    Wire { loss: 0.0, ..wire }
}
