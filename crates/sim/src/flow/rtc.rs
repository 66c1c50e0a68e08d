//! A flow of real-time media: frames of an encoder over RTP, whose rate follows its congestion
//! control.
//!
//! The simulated network carries lengths. Headers and feedback wait here, by the number of the
//! datagram that carries them, while that is under way.

use super::carried::{Carried, UnderWay};
use super::feed::Feed;
use super::reception::Reception;
use super::screen::Screen;
use super::{Delivery, End, contents};
use crate::handover::Notice;
use crate::packet::Packet;
use crate::world::RtcFlow;
use fairwave_machine::Machine;
use fairwave_rtc::{
    Frame, Receiver, ReceiverConfig, Sender, SenderConfig, SenderEvent, SenderInput, SenderStats,
};
use fairwave_trace::{FlowSample, NodeId, RateSample};
use fairwave_units::{Instant, Stream};
use fairwave_wire::datagram::Contents;
use fairwave_wire::rtp::{HEADER_LEN, Header};

/// A dynamic payload type (RFC 3551 section 6).
const PAYLOAD_TYPE: u8 = 96;

/// Media under way.
#[derive(Clone, Copy, Debug)]
struct Media {
    header: Header,
    payload_bytes: u32,
    unit: u64,
    /// When its frame was made.
    made: Instant,
}

/// The two ends, and what is between them.
#[derive(Debug)]
pub(crate) struct Rtc {
    pub(super) ports: (u16, u16),
    sender: Sender,
    receiver: Receiver,
    feed: Option<Box<Feed>>,
    /// Whether the encoder follows the congestion control.
    adapts: bool,
    hears_of_handovers: bool,
    media: Carried<Media>,
    feedback: Carried<Vec<u8>>,
    pub(super) reception: Reception,
}

impl Rtc {
    pub(super) fn new(
        ports: (u16, u16),
        flow: &RtcFlow,
        mut feed: Feed,
        mut random: Stream,
    ) -> Self {
        let mut draw = || random.next_u64() as u32;
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
            ports,
            sender,
            receiver,
            feed: Some(Box::new(feed)),
            adapts: flow.adapts,
            hears_of_handovers: flow.hears_of_handovers,
            media: Carried::default(),
            feedback: Carried::default(),
            reception: Reception::default(),
        }
    }

    /// The encoder gives what is due.
    pub(super) fn encode(&mut self, now: Instant, mut screen: Option<&mut Screen>) {
        while let Some(feed) = &mut self.feed
            && let Some(frame) = feed.next_cut(now, screen.as_deref_mut())
        {
            // 90 kHz is nine ticks in 100 us.
            let timestamp = (frame.at.as_micros() * 9 / 100) as u32;
            let frame = Frame { bytes: frame.bytes, timestamp };
            self.sender.handle(now, SenderInput::Frame(frame));
        }
    }

    pub(super) fn stop(&mut self) {
        self.feed = None;
    }

    /// When the encoder has the next frame.
    pub(super) fn feed_deadline(&self) -> Option<Instant> {
        self.feed.as_ref()?.deadline()
    }

    pub(super) fn wake(&mut self, end: End, now: Instant) {
        match end {
            End::Source => self.sender.wake(now),
            End::Sink => self.receiver.wake(now),
        }
        self.follow();
    }

    pub(super) fn deadline(&self, end: End) -> Option<Instant> {
        match end {
            End::Source => self.sender.deadline(),
            End::Sink => self.receiver.deadline(),
        }
    }

    /// Length of the UDP payload that `end`, at `node`, sends next, in the datagram with this
    /// number.
    pub(super) fn poll(
        &mut self,
        (end, node): (End, NodeId),
        number: u32,
        now: Instant,
    ) -> Option<u32> {
        match end {
            End::Source => {
                let packet = self.sender.poll(now)?;
                let fairwave_rtc::Packet { header, payload_bytes, unit, made } = packet;
                self.media.push(number, node, Media { header, payload_bytes, unit, made });
                Some(HEADER_LEN as u32 + payload_bytes)
            }
            End::Sink => {
                let feedback = self.receiver.poll(now)?;
                let len = feedback.len() as u32;
                self.feedback.push(number, node, feedback);
                Some(len)
            }
        }
    }

    /// The packet that `end` has sent last, whose datagram has this identification, as bytes.
    pub(super) fn last_contents(&self, end: End, id: u16) -> Option<Contents> {
        match end {
            End::Source => {
                let Media { header, payload_bytes, .. } = self.media.newest()?;
                Some(contents::media(header, *payload_bytes, id))
            }
            End::Sink => self.feedback.newest().cloned().map(Contents::bytes),
        }
    }

    /// The packets of `end` that are under way.
    pub(super) fn under_way(&mut self, end: End) -> &mut dyn UnderWay {
        match end {
            End::Source => &mut self.media,
            End::Sink => &mut self.feedback,
        }
    }

    /// A datagram of the other end came to `end`.
    pub(super) fn receive(
        &mut self,
        end: End,
        packet: &Packet,
        delivery: &mut Delivery,
        screen: Option<&mut Screen>,
        now: Instant,
    ) {
        match end {
            End::Source => {
                let Some(feedback) = self.feedback.take(packet.number) else { return };
                self.sender.handle(now, SenderInput::Feedback(feedback));
                self.follow();
            }
            End::Sink => {
                let Some(media) = self.media.take(packet.number) else { return };
                self.reception.take(packet.number, media.made, now);
                self.receiver.handle(now, media.header);
                while self.receiver.event().is_some() {}
                delivery.take(media.payload_bytes, now);
                if let Some(screen) = screen {
                    screen.datagram(media.unit, now);
                }
            }
        }
    }

    /// Tells the sender, if it wants to know, that its station changes its access point.
    pub(super) fn notice(&mut self, end: End, notice: Notice, now: Instant) {
        if end == End::Source && self.hears_of_handovers {
            self.sender.handle(
                now,
                match notice {
                    Notice::Leaves { .. } => SenderInput::LinkLost,
                    Notice::Arrives { .. } => SenderInput::LinkFound,
                },
            );
            self.follow();
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

    /// Its state, but for what was delivered.
    pub(super) fn sample(&self) -> FlowSample {
        let SenderStats { packets, target, rtt, .. } = self.sender.stats();
        let rate = RateSample { allowed: target, loss_event_rate: None, mean_loss_interval: None };
        FlowSample { sent_packets: packets, srtt: rtt, rate: Some(rate), ..FlowSample::default() }
    }
}
