//! A flow of real-time media: frames of an encoder over RTP, whose rate follows its congestion
//! control.
//!
//! The simulated network carries lengths. Headers and feedback wait here, by the number of the
//! datagram that carries them, while that is under way.

use crate::flow::carried::{Carried, UnderWay};
use crate::flow::description::{Description, Setup};
use crate::flow::ends::{Both, End};
use crate::flow::feed::Feed;
use crate::flow::reception::Reception;
use crate::flow::transport::{Host, Notice, Transport};
use crate::outcome::FlowOutcome;
use crate::packet::Packet;
use fairwave_machine::Machine;
pub use fairwave_rtc::gcc::Bounds as RtcBounds;
pub use fairwave_rtc::gcc::trend::Threshold;
use fairwave_rtc::{
    Frame, Receiver, ReceiverConfig, Sender, SenderConfig, SenderEvent, SenderInput, SenderStats,
};
use fairwave_trace::{FlowSample, RateSample};
use fairwave_traffic::Source;
use fairwave_units::{Duration, Instant};
use fairwave_wire::datagram::{Contents, Piece};
use fairwave_wire::rtp::{HEADER_LEN, Header};

/// A dynamic payload type (RFC 3551 section 6).
const PAYLOAD_TYPE: u8 = 96;

/// A flow of real-time media.
#[derive(Clone, Debug)]
pub struct RtcFlow {
    /// Output of the encoder; its payload is a packet's part of a frame.
    pub source: Source,
    /// Whether the encoder follows the congestion control; only a video can.
    pub adapts: bool,
    /// Between which rates the congestion control stays, headers included.
    pub bounds: RtcBounds,
    /// Adaptation speed of the threshold of its delays.
    pub threshold: Threshold,
    /// Time from the first unreported packet to the feedback that reports it.
    pub feedback_interval: Duration,
    /// Whether the sender gets handovers of its station, and leaves out earlier observations.
    pub uses_handovers: bool,
}

/// Media under way.
#[derive(Clone, Copy, Debug)]
struct Media {
    header: Header,
    payload_bytes: u32,
    unit: u64,
    /// Time at which its frame was made.
    made: Instant,
}

/// The two ends, and the state between them.
#[derive(Debug)]
struct Rtc {
    ports: Both<u16>,
    sender: Sender,
    receiver: Receiver,
    feed: Option<Box<Feed>>,
    /// Whether the encoder follows the congestion control.
    adapts: bool,
    uses_handovers: bool,
    media: Carried<Media>,
    feedback: Carried<Vec<u8>>,
    reception: Reception,
}

impl Description for RtcFlow {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Transport> {
        Box::new(Rtc::new(self, setup))
    }

    fn payload_bytes(&self) -> u32 {
        self.source.largest_payload_bytes()
    }

    fn datagram_bytes(&self) -> Option<u32> {
        Some(self.payload_bytes().saturating_add(HEADER_LEN as u32))
    }

    fn source(&self) -> Option<&Source> {
        Some(&self.source)
    }

    fn needs_handovers(&self) -> bool {
        self.uses_handovers
    }
}

impl Rtc {
    fn new(flow: &RtcFlow, setup: &Setup<'_>) -> Self {
        let (mut feed, mut ids) = (setup.feed(&flow.source), setup.stream("rtp"));
        let mut draw = || ids.next_u64() as u32;
        let sender = Sender::new(SenderConfig {
            ssrc: draw(),
            payload_type: PAYLOAD_TYPE,
            first_sequence: draw() as u16,
            payload_bytes: flow.source.largest_payload_bytes(),
            bounds: flow.bounds,
            threshold: flow.threshold,
        });
        let receiver =
            Receiver::new(ReceiverConfig { ssrc: draw(), interval: flow.feedback_interval });
        if flow.adapts {
            feed.set_rate(sender.encoder_rate());
        }
        Self {
            ports: setup.ports(),
            sender,
            receiver,
            feed: Some(Box::new(feed)),
            adapts: flow.adapts,
            uses_handovers: flow.uses_handovers,
            media: Carried::default(),
            feedback: Carried::default(),
            reception: Reception::default(),
        }
    }

    /// Lets the encoder follow the sender.
    fn follow(&mut self) {
        while let Some(SenderEvent::Encode(rate)) = self.sender.event() {
            if let Some(feed) = self.feed.as_mut().filter(|_| self.adapts) {
                feed.set_rate(rate);
            }
        }
    }

    /// Passes the arrivals that the datagram with this number reports to the sender.
    fn take_feedback(&mut self, number: u32, now: Instant) {
        let Some(feedback) = self.feedback.take(number) else { return };
        self.sender.handle(now, SenderInput::Feedback(feedback));
        self.follow();
    }

    /// The receiver gets the media that the datagram with this number carries.
    fn take_media(&mut self, number: u32, host: &mut Host<'_>) {
        let Some(media) = self.media.take(number) else { return };
        self.reception.take(number, media.made, host.now, &mut host.delivery.delays);
        self.receiver.handle(host.now, media.header);
        while self.receiver.event().is_some() {}
        host.deliver(media.payload_bytes);
        host.show_datagram(media.unit);
    }
}

impl Transport for Rtc {
    fn start(&mut self, host: &mut Host<'_>) {
        self.step(host);
    }

    fn stop(&mut self, _host: &mut Host<'_>) {
        self.feed = None;
    }

    /// Takes the frames that are due from the encoder.
    fn step(&mut self, host: &mut Host<'_>) {
        while let Some(feed) = &mut self.feed
            && let Some(frame) = feed.next_cut(host.now, host.screen.as_deref_mut())
        {
            // 90 kHz is nine ticks in 100 us.
            let timestamp = (frame.at.as_micros() * 9 / 100) as u32;
            let frame = Frame { bytes: frame.bytes, timestamp };
            self.sender.handle(host.now, SenderInput::Frame(frame));
        }
    }

    fn source_deadline(&self) -> Option<Instant> {
        self.feed.as_ref()?.deadline()
    }

    fn poll(&mut self, end: End, host: &mut Host<'_>) -> Option<Packet> {
        match end {
            End::Source => {
                let packet = self.sender.poll(host.now)?;
                let fairwave_rtc::Packet { header, payload_bytes, unit, made } = packet;
                let packet = host.udp(end, self.ports, HEADER_LEN as u32 + payload_bytes);
                let media = Media { header, payload_bytes, unit, made };
                self.media.push(packet.number, packet.source, media);
                Some(packet)
            }
            End::Sink => {
                let feedback = self.receiver.poll(host.now)?;
                let packet = host.udp(end, self.ports, feedback.len() as u32);
                self.feedback.push(packet.number, packet.source, feedback);
                Some(packet)
            }
        }
    }

    fn receive(&mut self, end: End, packet: &Packet, host: &mut Host<'_>) {
        match end {
            End::Source => self.take_feedback(packet.number, host.now),
            End::Sink => self.take_media(packet.number, host),
        }
    }

    fn wake(&mut self, end: End, host: &mut Host<'_>) {
        match end {
            End::Source => self.sender.wake(host.now),
            End::Sink => self.receiver.wake(host.now),
        }
        self.follow();
    }

    fn deadline(&self, end: End) -> Option<Instant> {
        match end {
            End::Source => self.sender.deadline(),
            End::Sink => self.receiver.deadline(),
        }
    }

    fn notice(&mut self, end: End, notice: Notice, host: &mut Host<'_>) {
        if end == End::Source && self.uses_handovers {
            let input = match notice {
                Notice::Expects { .. } => return,
                Notice::Leaves => SenderInput::LinkLost,
                Notice::Arrives { .. } => SenderInput::LinkFound,
            };
            self.sender.handle(host.now, input);
            self.follow();
        }
    }

    fn under_way(&mut self, end: End) -> Option<&mut dyn UnderWay> {
        match end {
            End::Source => Some(&mut self.media),
            End::Sink => Some(&mut self.feedback),
        }
    }

    fn last_contents(&mut self, end: End, packet: &Packet) -> Option<Contents> {
        match end {
            End::Source => {
                let Media { header, payload_bytes, .. } = self.media.newest()?;
                Some(contents(header, *payload_bytes, packet.datagram.id))
            }
            End::Sink => self.feedback.newest().cloned().map(Contents::bytes),
        }
    }

    fn sample(&self) -> FlowSample {
        let SenderStats { packets, target, rtt, .. } = self.sender.stats();
        let rate = RateSample { allowed: target, loss_event_rate: None, mean_loss_interval: None };
        FlowSample { sent_packets: packets, srtt: rtt, rate: Some(rate), ..FlowSample::default() }
    }

    fn restart_statistics(&mut self) {
        self.reception.restart();
    }

    fn fill(&self, outcome: &mut FlowOutcome) {
        outcome.datagrams = Some(self.reception.outcome());
    }
}

/// An RTP packet: its header, and the pattern where the datagram with this identification has it.
fn contents(header: &Header, payload_bytes: u32, id: u16) -> Contents {
    let position = (u32::from(id) << 16) + HEADER_LEN as u32;
    let payload = Piece::Pattern { position, len: payload_bytes };
    Contents::Payload(vec![Piece::Bytes(header.bytes().to_vec()), payload])
}
