//! The two ends of a flow and the application behind each.

mod carried;
mod contents;
mod datagrams;
mod dccp;
mod delivery;
mod feed;
mod multi;
mod probe;
mod reception;
mod rtc;
mod screen;
mod shake;
mod tcp;
mod transport;
mod web;

use crate::Error;
use crate::handover::Notice;
use crate::outcome::{DatagramOutcome, ProbeOutcome, ShakeOutcome, VideoOutcome, WebOutcome};
use crate::packet::{Packet, address};
use crate::world::{Flow, Traffic};
use dccp::User;
pub(crate) use delivery::Delivery;
use fairwave_dccp::Payload;
use fairwave_machine::Machine;
use fairwave_probe::Account;
use fairwave_tcp::{Input, Segment, Virtual};
use fairwave_trace::{FlowId, FlowSample, NodeId, PathSample};
use fairwave_traffic::Source;
use fairwave_units::{Instant, Seed};
use fairwave_wire::datagram::{Datagram, Transport};
pub(crate) use multi::check as check_multi;
use screen::Screen;
pub(crate) use tcp::{check_law, law};
use transport::TransportState;
pub(crate) use transport::ports;

/// Which end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Where the data comes from.
    Source,
    /// Where the data goes.
    Sink,
}

/// Where a flow's application is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    Running,
    Stopped,
}

/// A flow under way.
#[derive(Debug)]
pub(crate) struct FlowState {
    pub(crate) id: FlowId,
    source: NodeId,
    sink: NodeId,
    start: Instant,
    stop: Option<Instant>,
    phase: Phase,
    /// Whether it keeps the queue of its source's radio from being empty.
    pub(crate) saturates: bool,
    transport: TransportState,
    pub(crate) delivery: Delivery,
    /// Pure ACKs dropped on their way.
    pub(crate) acks_dropped: u64,
    /// Pure ACKs that gave way to later ones.
    pub(crate) acks_filtered: u64,
    /// How many datagrams each end has made.
    made: [u32; 2],
    /// Who looks at what arrives, if its quality as a video is wanted.
    screen: Option<Box<Screen>>,
}

/// Ports of what `end` sends, which are those of a client, the source, and a server.
const fn udp(end: End, (client, server): (u16, u16)) -> Transport {
    let (source_port, destination_port) = match end {
        End::Source => (client, server),
        End::Sink => (server, client),
    };
    Transport::Udp { source_port, destination_port }
}

/// Who gets what a flow delivers.
fn user<'a>(delivery: &'a mut Delivery, screen: &'a mut Option<Box<Screen>>) -> User<'a> {
    User { delivery, screen: screen.as_deref_mut() }
}

/// The viewer of a flow whose source has frames, if there is one.
fn screen(flow: &Flow) -> Option<Screen> {
    let source = flow.traffic.source()?;
    Some(Screen::new(flow.playout?, source.frame_interval()))
}

impl FlowState {
    /// A flow that has not begun. `paced` is what a saturating source sends instead, where its
    /// interface is no radio.
    pub(crate) fn new(
        id: FlowId,
        flow: &Flow,
        paced: Option<&Source>,
        seed: Seed,
    ) -> Result<Self, Error> {
        Ok(Self {
            id,
            source: flow.source,
            sink: flow.sink,
            start: flow.start,
            stop: flow.stop,
            phase: Phase::Waiting,
            saturates: matches!(flow.traffic, Traffic::Saturate { .. }) && paced.is_none(),
            transport: TransportState::new(id, flow, paced, seed)?,
            delivery: Delivery::new(),
            acks_dropped: 0,
            acks_filtered: 0,
            made: [0; 2],
            screen: screen(flow).map(Box::new),
        })
    }

    /// Wraps a transport unit of `end` into a datagram to the other end.
    fn packet(&mut self, end: End, transport: Transport, bytes: u32, now: Instant) -> Packet {
        let (source, destination) = match end {
            End::Source => (self.source, self.sink),
            End::Sink => (self.sink, self.source),
        };
        let number = self.made[end as usize];
        self.made[end as usize] = number.wrapping_add(1);
        let datagram = Datagram {
            source: address(source),
            destination: address(destination),
            id: number as u16,
            ttl: 64,
            tos: 0,
            transport,
            payload_len: bytes,
        };
        let (flow, sent, via) = (self.id, now, destination);
        Packet { flow, source, destination, via, number, sent, datagram, report: 0 }
    }

    /// The next segment or message that `end` has to send.
    pub(crate) fn poll(&mut self, end: End, now: Instant) -> Option<Packet> {
        let node = if end == End::Source { self.source } else { self.sink };
        if let TransportState::Probe(probe) = &mut self.transport {
            let bytes = probe.poll(end, self.made[end as usize], now)?;
            let transport = udp(end, probe.ports);
            return Some(self.packet(end, transport, bytes, now));
        }
        if let TransportState::Rtc(rtc) = &mut self.transport {
            let bytes = rtc.poll((end, node), self.made[end as usize], now)?;
            let transport = udp(end, rtc.ports);
            return Some(self.packet(end, transport, bytes, now));
        }
        if let TransportState::Dccp(dccp) = &mut self.transport {
            let sent = dccp.poll((end, node), self.made[end as usize], now)?;
            let bytes = sent.payload.map_or(0, |made| made.len());
            let mut packet = self.packet(end, Transport::Dccp(sent.header), bytes, now);
            packet.datagram.tos = sent.ecn.put(packet.datagram.tos);
            return Some(packet);
        }
        if let TransportState::Shake(shake) = &mut self.transport {
            let message = shake.poll((end, node), self.made[end as usize], now)?;
            let transport = udp(end, shake.ports);
            let packet = self.packet(end, transport, message.bytes, now);
            return Some(Packet { via: message.via, ..packet });
        }
        if let TransportState::MultiTcp(multi) = &mut self.transport {
            let (via, segment) = multi.poll(end, now)?;
            return Some(Packet { via, ..self.wrap(end, &segment, now) });
        }
        let segment = match &mut self.transport {
            TransportState::Tcp(tcp) => tcp.end(end).poll(now)?,
            TransportState::Web(web) => web.poll(end, now)?,
            _ => return None,
        };
        Some(self.wrap(end, &segment, now))
    }

    /// A segment of `end`, or of a proxy that stands for it, as a datagram to the other end.
    pub(crate) fn wrap(&mut self, end: End, segment: &Segment<Virtual>, now: Instant) -> Packet {
        let Segment { header, ecn, payload } = segment;
        let mut packet = self.packet(end, Transport::Tcp(*header), payload.0, now);
        packet.datagram.tos = ecn.put(packet.datagram.tos);
        packet
    }

    /// The next datagram of a source that is due, or that saturates.
    pub(crate) fn next_datagram(&mut self, now: Instant) -> Option<Packet> {
        let TransportState::Datagrams(datagrams) = &mut self.transport else { return None };
        let bytes = datagrams.next_payload(now, self.screen.as_deref_mut())?;
        datagrams.sent += 1;
        let (source_port, destination_port) = datagrams.ports;
        let transport = Transport::Udp { source_port, destination_port };
        Some(self.packet(End::Source, transport, bytes, now))
    }

    /// A packet of this flow reached `node`, which is one of its ends. Returns which.
    pub(crate) fn receive(&mut self, node: NodeId, packet: &Packet, now: Instant) -> End {
        let end = if node == self.sink { End::Sink } else { End::Source };
        let payload = Virtual(packet.datagram.payload_len);
        let ecn = packet.datagram.ecn();
        match (&mut self.transport, packet.datagram.transport) {
            (TransportState::Tcp(tcp), Transport::Tcp(header)) => {
                tcp.end(end).handle(now, Input::Segment(Segment { header, ecn, payload }));
                tcp.run_application(end, &mut self.delivery, now);
            }
            (TransportState::Web(web), Transport::Tcp(header)) => {
                let segment = Segment { header, ecn, payload };
                web.receive(end, segment, &mut self.delivery, now);
            }
            (TransportState::MultiTcp(multi), Transport::Tcp(header)) => {
                let segment = Segment { header, ecn, payload };
                multi.receive(end, segment, &mut self.delivery, now);
            }
            (TransportState::Datagrams(datagrams), _) if end == End::Sink => {
                self.delivery.take(payload.0, now);
                datagrams.reception.take(packet.number, packet.sent, now);
                if let Some(screen) = &mut self.screen {
                    screen.datagram(u64::from(packet.number), now);
                }
            }
            (TransportState::Probe(probe), _) => {
                probe.receive(end, packet.number, &mut self.delivery, now);
            }
            (TransportState::Rtc(rtc), _) => {
                let screen = self.screen.as_deref_mut();
                rtc.receive(end, packet, &mut self.delivery, screen, now);
            }
            (TransportState::Dccp(dccp), _) => {
                let user = user(&mut self.delivery, &mut self.screen);
                dccp.receive(end, (packet.number, ecn), user, now);
            }
            (TransportState::Shake(shake), _) => {
                shake.receive(end, packet.number, &mut self.delivery, now);
            }
            _ => {}
        }
        self.show(now);
        end
    }

    /// Lets the viewer of a stream see what has been read.
    fn show(&mut self, now: Instant) {
        if let (Some(screen), TransportState::Tcp(_)) = (&mut self.screen, &self.transport) {
            screen.stream(self.delivery.bytes, now);
        }
    }

    /// Starts, goes on or stops the application, as is due. Datagrams that are due then come out
    /// of [`Self::next_datagram`].
    pub(crate) fn wake_source(&mut self, now: Instant) {
        let stops = self.stop.is_some_and(|stop| now >= stop);
        match (self.phase, &mut self.transport) {
            (Phase::Waiting | Phase::Running, transport) if stops => {
                match transport {
                    TransportState::Tcp(tcp) => {
                        tcp.stop();
                        tcp.run_application(End::Source, &mut self.delivery, now);
                    }
                    TransportState::Web(web) => web.stop(now),
                    TransportState::Datagrams(datagrams) => datagrams.stop(),
                    TransportState::Probe(probe) => probe.stop(now),
                    TransportState::Dccp(dccp) => dccp.stop(now),
                    TransportState::Rtc(rtc) => rtc.stop(),
                    TransportState::Shake(shake) => shake.stop(&mut self.delivery, now),
                    TransportState::MultiTcp(multi) => multi.stop(&mut self.delivery, now),
                }
                self.phase = Phase::Stopped;
            }
            (Phase::Waiting, transport) => {
                match transport {
                    TransportState::Tcp(tcp) => {
                        tcp.start(now);
                        tcp.feed(now, self.screen.as_deref_mut());
                        tcp.run_application(End::Source, &mut self.delivery, now);
                    }
                    TransportState::Web(web) => web.start(now),
                    TransportState::Probe(probe) => probe.start(now),
                    TransportState::Dccp(dccp) => dccp.start(self.screen.as_deref_mut(), now),
                    TransportState::Rtc(rtc) => rtc.encode(now, self.screen.as_deref_mut()),
                    TransportState::Shake(shake) => shake.start(&mut self.delivery, now),
                    TransportState::MultiTcp(multi) => multi.start(&mut self.delivery, now),
                    TransportState::Datagrams(_) => {}
                }
                self.phase = Phase::Running;
            }
            (Phase::Running, TransportState::Tcp(tcp)) => {
                tcp.feed(now, self.screen.as_deref_mut());
                tcp.run_application(End::Source, &mut self.delivery, now);
            }
            (Phase::Running | Phase::Stopped, TransportState::Web(web)) => web.wake_user(now),
            (Phase::Running | Phase::Stopped, TransportState::Shake(shake)) => shake.step(now),
            (Phase::Running, TransportState::Rtc(rtc)) => {
                rtc.encode(now, self.screen.as_deref_mut());
            }
            (Phase::Running, TransportState::Dccp(dccp)) => {
                dccp.make(self.screen.as_deref_mut(), now);
            }
            _ => {}
        }
    }

    /// When [`Self::wake_source`] is due.
    pub(crate) fn source_deadline(&self) -> Option<Instant> {
        let user = match &self.transport {
            TransportState::Tcp(tcp) => tcp.feed_deadline(),
            TransportState::Probe(_) | TransportState::MultiTcp(_) => None,
            TransportState::Web(web) => web.user_deadline(),
            TransportState::Datagrams(datagrams) => datagrams.deadline(),
            TransportState::Dccp(dccp) => dccp.source_deadline(),
            TransportState::Rtc(rtc) => rtc.feed_deadline(),
            TransportState::Shake(shake) => shake.step_deadline(),
        };
        match self.phase {
            Phase::Waiting => Some(self.start),
            Phase::Running => user.into_iter().chain(self.stop).min(),
            Phase::Stopped => user,
        }
    }

    /// Whether what one end hears may let the other end send at the same instant.
    pub(crate) fn is_entangled(&self) -> bool {
        self.screen.is_some() || matches!(self.transport, TransportState::Web(_))
    }

    /// Whether it stopped, or never will start.
    pub(crate) fn has_stopped(&self) -> bool {
        self.phase == Phase::Stopped
    }

    /// A timer of one end's connections expired.
    pub(crate) fn wake(&mut self, end: End, now: Instant) {
        match &mut self.transport {
            TransportState::Tcp(tcp) => {
                tcp.end(end).wake(now);
                tcp.run_application(end, &mut self.delivery, now);
            }
            TransportState::Web(web) => web.wake(end, &mut self.delivery, now),
            TransportState::Probe(probe) => probe.wake(end, now),
            TransportState::Dccp(dccp) => {
                dccp.wake(end, user(&mut self.delivery, &mut self.screen), now);
            }
            TransportState::Rtc(rtc) => rtc.wake(end, now),
            TransportState::Shake(shake) => shake.wake(end, &mut self.delivery, now),
            TransportState::MultiTcp(multi) => multi.wake(end, &mut self.delivery, now),
            TransportState::Datagrams(_) => {}
        }
        self.show(now);
        if let (Some(screen), End::Sink) = (&mut self.screen, end) {
            screen.wake(now);
        }
    }

    pub(crate) fn deadline(&self, end: End) -> Option<Instant> {
        let transport = match (&self.transport, end) {
            (TransportState::Tcp(tcp), End::Source) => tcp.source.deadline(),
            (TransportState::Tcp(tcp), End::Sink) => tcp.sink.deadline(),
            (TransportState::Web(web), end) => web.deadline(end),
            (TransportState::Probe(probe), end) => probe.deadline(end),
            (TransportState::Dccp(dccp), end) => dccp.deadline(end),
            (TransportState::Rtc(rtc), end) => rtc.deadline(end),
            (TransportState::Shake(shake), end) => shake.deadline(end),
            (TransportState::MultiTcp(multi), end) => multi.deadline(end),
            (TransportState::Datagrams(_), _) => None,
        };
        let screen = self.screen.as_ref().filter(|_| end == End::Sink);
        transport.into_iter().chain(screen.and_then(|screen| screen.deadline())).min()
    }

    /// Tells `end`, if its transport asked, of a handover of its station.
    pub(crate) fn notice(&mut self, end: End, notice: Notice, now: Instant) {
        match &mut self.transport {
            TransportState::Dccp(dccp) => dccp.notice(end, notice, now),
            TransportState::Rtc(rtc) => rtc.notice(end, notice, now),
            _ => {}
        }
    }

    /// Bytes of a usual packet of the flow's source, and of its payload, where there is one.
    pub(crate) fn usual_bytes(&self) -> Option<(u32, u32)> {
        match &self.transport {
            TransportState::Dccp(dccp) => Some(dccp.usual_bytes()),
            _ => None,
        }
    }

    /// The warm-up is over: statistics count from `now`.
    pub(crate) fn restart_statistics(&mut self, now: Instant) {
        self.delivery.restart_silence(now);
        if let Some(screen) = &mut self.screen {
            screen.restart(now);
        }
        match &mut self.transport {
            TransportState::Tcp(_)
            | TransportState::Probe(_)
            | TransportState::Shake(_)
            | TransportState::MultiTcp(_) => {}
            TransportState::Web(web) => web.restart_statistics(),
            TransportState::Datagrams(datagrams) => datagrams.reception.restart(),
            TransportState::Dccp(dccp) => dccp.reception.restart(),
            TransportState::Rtc(rtc) => rtc.reception.restart(),
        }
    }

    /// What a receiver of datagrams saw.
    pub(crate) fn datagrams(&self) -> Option<DatagramOutcome> {
        match &self.transport {
            TransportState::Datagrams(datagrams) => Some(datagrams.reception.outcome()),
            TransportState::Dccp(dccp) => Some(dccp.reception.outcome()),
            TransportState::Rtc(rtc) => Some(rtc.reception.outcome()),
            _ => None,
        }
    }

    /// What a viewer saw, up to `now`.
    pub(crate) fn video(&self, now: Instant) -> Option<VideoOutcome> {
        self.screen.as_ref().map(|screen| screen.outcome(now))
    }

    /// What a user of the web saw.
    pub(crate) fn web(&self) -> Option<WebOutcome> {
        match &self.transport {
            TransportState::Web(web) => Some(web.outcome()),
            _ => None,
        }
    }

    /// What a buffer probe found, beside the sharing of queues.
    pub(crate) fn probe(&self) -> Option<ProbeOutcome> {
        let TransportState::Probe(probe) = &self.transport else { return None };
        Some(ProbeOutcome::of(probe.accounts(), probe.ended()))
    }

    /// What a connection over several paths came to, beside its paths.
    pub(crate) fn shake(&self) -> Option<ShakeOutcome> {
        match &self.transport {
            TransportState::Shake(shake) => Some(shake.outcome()),
            _ => None,
        }
    }

    /// The state of its paths, by their numbers; none where there is but one way.
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathSample> + '_ {
        let (shake, multi) = match &self.transport {
            TransportState::Shake(shake) => (Some(shake), None),
            TransportState::MultiTcp(multi) => (None, Some(multi)),
            _ => (None, None),
        };
        let shake = shake.into_iter();
        let shake = shake.flat_map(|shake| (0..shake.paths()).map(|number| shake.path(number)));
        shake.chain(multi.into_iter().flat_map(|multi| multi.paths()))
    }

    /// The accounts of a buffer probe.
    pub(crate) fn accounts(&self) -> &[Account] {
        match &self.transport {
            TransportState::Probe(probe) => probe.accounts(),
            _ => &[],
        }
    }

    /// The flow's state and counters.
    pub(crate) fn sample(&self, now: Instant) -> FlowSample {
        let video = self.screen.as_ref().map(|screen| screen.sample(now));
        FlowSample { video, ..self.transport_sample() }
    }

    fn transport_sample(&self) -> FlowSample {
        let delivered_bytes = self.delivery.bytes;
        match &self.transport {
            TransportState::Datagrams(datagrams) => {
                let sent_packets = datagrams.sent;
                FlowSample { delivered_bytes, sent_packets, ..FlowSample::default() }
            }
            TransportState::Probe(probe) => {
                let sent_packets = probe.sent;
                FlowSample { delivered_bytes, sent_packets, ..FlowSample::default() }
            }
            TransportState::Web(web) => {
                let (acks_dropped, acks_filtered) = (self.acks_dropped, self.acks_filtered);
                FlowSample { delivered_bytes, acks_dropped, acks_filtered, ..web.sample() }
            }
            TransportState::Dccp(dccp) => FlowSample { delivered_bytes, ..dccp.sample() },
            TransportState::Rtc(rtc) => FlowSample { delivered_bytes, ..rtc.sample() },
            TransportState::Shake(shake) => FlowSample { delivered_bytes, ..shake.sample() },
            TransportState::MultiTcp(multi) => {
                let (acks_dropped, acks_filtered) = (self.acks_dropped, self.acks_filtered);
                FlowSample { delivered_bytes, acks_dropped, acks_filtered, ..multi.sample() }
            }
            TransportState::Tcp(tcp) => {
                let source = tcp.source.stats();
                FlowSample {
                    delivered_bytes,
                    sent_packets: source.segments_sent,
                    retransmissions: source.retransmissions,
                    timeouts: source.timeouts,
                    fast_recoveries: source.fast_recoveries,
                    cwnd: source.cwnd,
                    ssthresh: source.ssthresh,
                    flight: source.flight,
                    srtt: source.srtt,
                    rto: source.rto,
                    acks_sent: tcp.sink.stats().acks_sent,
                    acks_dropped: self.acks_dropped,
                    acks_filtered: self.acks_filtered,
                    acks_lost_inferred: source.acks_lost,
                    proxy: None,
                    video: None,
                    rate: None,
                }
            }
        }
    }
}
