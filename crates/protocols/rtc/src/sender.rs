//! The sending end: frames in, RTP packets out, feedback in, a target rate out.

use crate::HEADER_BYTES;
use crate::gcc::trend::Threshold;
use crate::gcc::{Bounds, Gcc};
use crate::history::History;
use crate::pacer::{Pacer, Waiting};
use fairwave_machine::Machine;
use fairwave_units::{BitRate, Duration, Instant};
use fairwave_wire::rtp::{Feedback, HEADER_LEN, Header};

/// Configuration of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderConfig {
    /// Its synchronisation source.
    pub ssrc: u32,
    /// Payload type of its packets, 0..128.
    pub payload_type: u8,
    /// Sequence number of its first packet.
    pub first_sequence: u16,
    /// Maximum bytes of a frame in a packet; at least one.
    pub payload_bytes: u32,
    /// Bounds of the target rate.
    pub bounds: Bounds,
    /// Speed with which the threshold of its delays adapts.
    pub threshold: Threshold,
}

/// A frame to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its size.
    pub bytes: u64,
    /// Its media time in 90 kHz.
    pub timestamp: u32,
}

/// Inputs of a sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SenderInput {
    /// The encoder has a frame.
    Frame(Frame),
    /// An RTCP packet arrived.
    Feedback(Vec<u8>),
    /// The host has lost its link: feedback is ignored until it has one again.
    LinkLost,
    /// The host has a link again. Delays are measured anew, from packets sent from now on.
    LinkFound,
}

/// A packet to transmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its RTP header.
    pub header: Header,
    /// Bytes of the frame behind it.
    pub payload_bytes: u32,
    /// Its index among all packets of all frames, counting from zero.
    pub unit: u64,
    /// Time at which the encoder gave its frame.
    pub made: Instant,
}

/// Events of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderEvent {
    /// The encoder is to aim at this rate, in bits of RTP payload per second.
    Encode(BitRate),
}

/// Counters and state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Packets sent.
    pub packets: u64,
    /// Packets that feedback reported missing.
    pub missing: u64,
    /// The rate to be sent at, in bits of IP packets per second.
    pub target: BitRate,
    /// Smoothed time from a packet's departure to feedback about it.
    pub rtt: Option<Duration>,
    /// Bytes of frames that wait for their turn.
    pub waiting_bytes: u64,
    /// Packets dropped because too many waited.
    pub dropped: u64,
}

/// The sending end.
#[derive(Clone, Debug)]
pub struct Sender {
    config: SenderConfig,
    gcc: Gcc,
    pacer: Pacer,
    history: History,
    sequence: u16,
    units: u64,
    stats: SenderStats,
    encode: BitRate,
    reported: Option<BitRate>,
    link: Link,
    /// Time since which nothing was received while something was unanswered.
    silent_since: Option<Instant>,
}

/// State of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Up,
    Lost,
    /// Found again at this time: feedback on packets sent before it is ignored.
    Found(Instant),
}

impl Sender {
    /// Creates a sender.
    pub fn new(config: SenderConfig) -> Self {
        let config = SenderConfig { payload_bytes: config.payload_bytes.max(1), ..config };
        let gcc = Gcc::new(config.bounds, config.threshold);
        let mut sender = Self {
            sequence: config.first_sequence,
            config,
            gcc,
            pacer: Pacer::new(Self::overhead()),
            history: History::default(),
            units: 0,
            stats: SenderStats::default(),
            encode: BitRate(0),
            reported: None,
            link: Link::Up,
            silent_since: None,
        };
        sender.note_target();
        sender
    }

    /// Counters and state.
    pub fn stats(&self) -> SenderStats {
        SenderStats {
            target: self.gcc.target(),
            waiting_bytes: self.pacer.waiting_bytes(),
            dropped: self.pacer.dropped,
            ..self.stats
        }
    }

    /// Target of the encoder, in bits of RTP payload per second.
    pub const fn encoder_rate(&self) -> BitRate {
        self.encode
    }

    /// Bytes of all headers of a packet.
    const fn overhead() -> u32 {
        HEADER_BYTES + HEADER_LEN as u32
    }

    /// The encoder's part of the target: without the headers of full packets.
    fn note_target(&mut self) {
        let payload = u64::from(self.config.payload_bytes);
        let whole = payload + u64::from(Self::overhead());
        let encode = BitRate(
            (u128::from(self.gcc.target().0) * u128::from(payload) / u128::from(whole)) as u64,
        );
        if encode != self.encode {
            self.encode = encode;
            self.reported = Some(encode);
        }
    }

    fn take_frame(&mut self, now: Instant, frame: Frame) {
        let mut left = frame.bytes.max(1);
        while left > 0 {
            let payload_bytes = left.min(self.config.payload_bytes.into()) as u32;
            left -= u64::from(payload_bytes);
            let (timestamp, marker, unit) = (frame.timestamp, left == 0, self.units);
            self.units += 1;
            self.pacer.push(Waiting { payload_bytes, timestamp, marker, unit, since: now });
        }
    }

    fn take_feedback(&mut self, now: Instant, bytes: &[u8]) {
        let Ok((feedback, _)) = Feedback::parse(bytes) else { return };
        if feedback.media_ssrc != self.config.ssrc {
            return;
        }
        let mut reports = self.history.take(now, &feedback);
        self.silent_since = (self.history.unanswered() > 0).then_some(now);
        match self.link {
            Link::Up => {}
            Link::Lost => return,
            Link::Found(at) => {
                // Earlier packets met the handover, or the link before it.
                reports.fates.retain(|fate| fate.sent >= at);
                if reports.fates.is_empty() {
                    return;
                }
            }
        }
        if let Some(sample) = reports.rtt {
            let rtt = self.stats.rtt.map_or(sample, |rtt| (rtt * 7 + sample) / 8);
            self.stats.rtt = Some(rtt);
        }
        let missing = reports.fates.iter().filter(|fate| fate.arrived.is_none()).count();
        self.stats.missing += missing as u64;
        self.gcc.on_feedback(now, &reports.fates, self.stats.rtt.unwrap_or_default());
        self.note_target();
    }

    /// Lowers the rate while there is no feedback.
    fn mind_silence(&mut self, now: Instant) {
        while let Some(at) = self.silence_ends()
            && now >= at
        {
            self.silent_since = Some(at);
            self.gcc.on_silence();
            self.note_target();
        }
    }

    fn silence_ends(&self) -> Option<Instant> {
        let is_worth_it = self.gcc.target() > self.config.bounds.min;
        let since = self.silent_since.filter(|_| is_worth_it && self.link != Link::Lost)?;
        Some(since + Gcc::SILENCE)
    }

    fn send(&mut self, now: Instant, waiting: &Waiting) -> Packet {
        let header = Header {
            payload_type: self.config.payload_type,
            marker: waiting.marker,
            sequence: self.sequence,
            timestamp: waiting.timestamp,
            ssrc: self.config.ssrc,
            transport_sequence: Some(self.history.next() as u16),
        };
        self.sequence = self.sequence.wrapping_add(1);
        self.stats.packets += 1;
        self.history.push(now, waiting.payload_bytes + Self::overhead());
        // Silence counts from the first packet that awaits feedback; later ones do not restart it.
        self.silent_since.get_or_insert(now);
        let Waiting { payload_bytes, unit, since, .. } = *waiting;
        Packet { header, payload_bytes, unit, made: since }
    }
}

impl Machine for Sender {
    type Input = SenderInput;
    type Output = Packet;
    type Event = SenderEvent;

    fn handle(&mut self, now: Instant, input: SenderInput) {
        match input {
            SenderInput::Frame(frame) => self.take_frame(now, frame),
            SenderInput::Feedback(bytes) => self.take_feedback(now, &bytes),
            SenderInput::LinkLost => self.link = Link::Lost,
            SenderInput::LinkFound => {
                self.link = Link::Found(now);
                // The time without a link does not count as silence: the path is not congested.
                self.silent_since = self.silent_since.map(|_| now);
                self.gcc.forget_delays();
            }
        }
    }

    fn wake(&mut self, now: Instant) {
        self.mind_silence(now);
    }

    fn poll(&mut self, now: Instant) -> Option<Packet> {
        let waiting = self.pacer.pop(now, self.gcc.target())?;
        Some(self.send(now, &waiting))
    }

    fn deadline(&self) -> Option<Instant> {
        [self.pacer.next(), self.silence_ends()].into_iter().flatten().min()
    }

    fn event(&mut self) -> Option<SenderEvent> {
        self.reported.take().map(SenderEvent::Encode)
    }
}
