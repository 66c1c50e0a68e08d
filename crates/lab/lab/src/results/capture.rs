//! Frames on the air as a capture file, as a monitor would record it that receives everything.

mod radio;

use super::Error;
use super::contents::PacketContents;
use super::disk::File;
use super::file::Pending;
use super::sides::Sides;
use fairwave_dot11::{Phy, Standard};
use fairwave_sim::world::{Cell, Role, World};
use fairwave_trace::{FrameBody, FrameSample, NodeId};
use fairwave_units::{Duration, Hertz, Instant};
use fairwave_wire::datagram::Contents;
use fairwave_wire::dot11::{
    AckPolicy, Amsdu, AmsduError, Beacon, Bitmap, BlockAck, BlockAckReq, CAPABILITY_ESS,
    CAPABILITY_SHORT_PREAMBLE, CAPABILITY_SHORT_SLOT, Data, Direction, Elements, Frame, Management,
    Payload, Qos, Rate, Rates, Sequence, Ssid, Subframe, Tid, amsdu_frame, data_frame, on_air,
};
use fairwave_wire::ethernet::{EtherType, Mac};
use fairwave_wire::pcapng::{Interface, InterfaceId, LinkType, Section, Writer};
use fairwave_wire::{datagram, pcapng, radiotap, soc};
use radio::{radiotap_header, short_preamble};
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Name of the file in a run directory.
pub(super) const FILE: &str = "capture.pcapng";

/// Bound on the duration of a frame on the air: 65 535 bytes at 1 Mbps take 525 ms.
const LONGEST_FRAME: Duration = Duration::from_millis(600);

/// One beacon time unit (802.11-2020 clause 3.1).
const TIME_UNIT_US: u64 = 1024;

/// Reason for which a frame could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file could not be written.
    #[error(transparent)]
    File(#[from] pcapng::Error),
    /// Its datagram has no form on the wire.
    #[error(transparent)]
    Datagram(#[from] datagram::Error),
    /// Its datagrams have no form as an A-MSDU.
    #[error(transparent)]
    Amsdu(#[from] AmsduError),
}

/// Writes frames in the order of their starts.
pub(super) struct Capture {
    pending: Pending,
    out: Out,
    waiting: Waiting,
}

impl Capture {
    /// Opens the file in `directory`.
    pub(super) fn create(world: &World, directory: &Path) -> Result<Self, Error> {
        let (pending, file) = Pending::create(directory.join(FILE))?;
        let out = Out::new(world, file).map_err(Error::capture(pending.path()))?;
        Ok(Self { pending, out, waiting: Waiting::default() })
    }

    /// Takes a frame that has just ended and began at `start`.
    pub(super) fn push(
        &mut self,
        start: Instant,
        frame: &FrameSample,
        contents: &PacketContents,
    ) -> Result<(), Error> {
        self.waiting.push(start, *frame);
        let now = start + frame.airtime;
        while let Some((start, frame)) = self.waiting.pop_complete(now) {
            self.out.write(start, &frame, contents).map_err(Error::capture(self.pending.path()))?;
        }
        Ok(())
    }

    /// Writes the frames that still wait, and completes the file.
    pub(super) fn finish(self, contents: &PacketContents) -> Result<(), Error> {
        let Self { pending, mut out, waiting } = self;
        for (start, frame) in waiting.frames {
            out.write(start, &frame, contents).map_err(Error::capture(pending.path()))?;
        }
        let mut file = out.writer.into_inner();
        file.flush().map_err(Error::io(pending.path()))?;
        drop(file);
        pending.finish()
    }
}

/// Frames that an earlier one, longer on the air, may still precede. Hidden stations overlap:
/// a short frame can begin after a long one and end before it.
#[derive(Default)]
struct Waiting {
    /// By start; among equal starts, in the order of their ends.
    frames: VecDeque<(Instant, FrameSample)>,
}

impl Waiting {
    fn push(&mut self, start: Instant, frame: FrameSample) {
        let place = self.frames.partition_point(|(other, _)| *other <= start);
        self.frames.insert(place, (start, frame));
    }

    /// The first frame, if none that ends after `now` can have begun before it.
    fn pop_complete(&mut self, now: Instant) -> Option<(Instant, FrameSample)> {
        let (start, _) = self.frames.front()?;
        if *start + LONGEST_FRAME < now { self.frames.pop_front() } else { None }
    }
}

/// Properties that all frames of a radio share.
struct Radio {
    cell: Cell,
    /// Number of its access point; its own number for an access point.
    ap: NodeId,
    ssid: Ssid,
}

/// Turns frames into bytes.
struct Out {
    writer: Writer<BufWriter<File>>,
    interface: InterfaceId,
    radios: BTreeMap<NodeId, Radio>,
    sides: Sides,
    bytes: Vec<u8>,
    /// The payloads of an A-MSDU of which more are to come.
    parts: Vec<FrameSample>,
}

impl Out {
    fn new(world: &World, file: BufWriter<File>) -> Result<Self, CaptureError> {
        let application = Some(format!("fairwave {}", env!("CARGO_PKG_VERSION")));
        let mut writer = Writer::new(file, &Section { application, ..Section::default() })?;
        let name = Some("air".to_owned());
        let link_type = LinkType::Radiotap;
        let interface = writer.add_interface(&Interface { link_type, name, snap_len: None })?;
        let ids = (0u32..).map(NodeId).zip(&world.nodes);
        let radios = ids.filter_map(|(id, _)| Some((id, radio(world, id)?))).collect();
        let (sides, bytes, parts) = (Sides::of(world), Vec::new(), Vec::new());
        Ok(Self { writer, interface, radios, sides, bytes, parts })
    }

    fn write(
        &mut self,
        start: Instant,
        frame: &FrameSample,
        contents: &PacketContents,
    ) -> Result<(), CaptureError> {
        let is_amsdu = frame.place.is_some_and(|place| place.is_amsdu);
        if is_amsdu {
            self.parts.push(*frame);
            if frame.place.is_some_and(|place| place.goes_on) {
                return Ok(());
            }
        }
        let (radio, sides) = (&self.radios[&frame.transmitter], &self.sides);
        self.bytes.clear();
        radiotap_header(&radio.cell, start, frame).write(&mut self.bytes);
        match frame.body {
            FrameBody::Data(_) | FrameBody::Report if is_amsdu => {
                let parts = self.parts.iter().map(|part| subframe(radio, part, sides, contents));
                amsdu_frame(&amsdu(radio, frame, sides, contents), parts, &mut self.bytes)?;
                self.parts.clear();
            }
            FrameBody::Data(_) | FrameBody::Report => {
                let header = data(radio, frame, sides, contents);
                data_frame(&header, &payload(frame, contents), &mut self.bytes)?;
            }
            FrameBody::Beacon => on_air(&beacon(radio, start, frame), &mut self.bytes),
            FrameBody::Ack
            | FrameBody::BlockAck(_)
            | FrameBody::BlockAckReq(_)
            | FrameBody::Rts
            | FrameBody::Cts => on_air(&control(frame), &mut self.bytes),
        }
        let comment = (!frame.received).then_some("not received");
        Ok(self.writer.write_packet(self.interface, start, &self.bytes, comment)?)
    }
}

fn radio(world: &World, id: NodeId) -> Option<Radio> {
    let radio = world.nodes[id.0 as usize].radio.as_ref()?;
    let ap = match radio.role {
        Role::AccessPoint => id,
        Role::Station { ap } => ap,
    };
    let name = world.nodes[ap.0 as usize].name.as_bytes();
    let ssid = Ssid::new(&name[..name.len().min(Ssid::LEN_MAX)]).unwrap_or_default();
    Some(Radio { cell: world.cells[radio.cell].clone(), ap, ssid })
}

pub(super) fn mac(node: NodeId) -> Mac {
    Mac::local(node.0)
}

fn receiver(frame: &FrameSample) -> Mac {
    frame.receiver.map_or(Mac::BROADCAST, mac)
}

fn data(radio: &Radio, frame: &FrameSample, sides: &Sides, contents: &PacketContents) -> Data {
    let from_ap = frame.transmitter == radio.ap;
    let (source, destination) = frame.ends.map_or((None, None), |(a, b)| (Some(a), Some(b)));
    // The hosts behind another converter have its address.
    let beyond = |node: Option<NodeId>, hop: Mac| {
        node.map_or(hop, |node| mac(sides.seen_from(radio.ap, node)))
    };
    let (direction, source, destination) = if from_ap {
        (Direction::FromAp, beyond(source, mac(frame.transmitter)), receiver(frame))
    } else {
        (Direction::ToAp, mac(frame.transmitter), beyond(destination, receiver(frame)))
    };
    Data {
        direction,
        retry: frame.retry,
        duration_us: frame.duration_us,
        bssid: mac(radio.ap),
        source,
        destination,
        sequence: Sequence::new(frame.sequence),
        qos: frame.tid.map(|_| qos(radio, frame)),
        ether_type: ether_type(&payload(frame, contents)),
    }
}

fn ether_type(payload: &Payload<'_>) -> EtherType {
    match payload.report {
        Some(_) => soc::ETHER_TYPE,
        None => payload.contents.map_or(EtherType::IPV4, Contents::ether_type),
    }
}

/// Traffic identifier, and whether the receiver acknowledges.
fn qos(radio: &Radio, frame: &FrameSample) -> Qos {
    let is_answered = frame.receiver.is_some() && radio.cell.acknowledges;
    let ack_policy = if is_answered { AckPolicy::Normal } else { AckPolicy::None };
    Qos { tid: tid(frame), ack_policy }
}

fn tid(frame: &FrameSample) -> Tid {
    frame.tid.and_then(Tid::new).unwrap_or_default()
}

fn amsdu(radio: &Radio, frame: &FrameSample, sides: &Sides, contents: &PacketContents) -> Amsdu {
    let Data { direction, retry, duration_us, bssid, sequence, .. } =
        data(radio, frame, sides, contents);
    let station = match direction {
        Direction::ToAp => mac(frame.transmitter),
        Direction::FromAp => receiver(frame),
    };
    Amsdu { direction, retry, duration_us, bssid, station, sequence, qos: qos(radio, frame) }
}

fn subframe<'a>(
    radio: &Radio,
    frame: &FrameSample,
    sides: &Sides,
    contents: &'a PacketContents,
) -> (Subframe, Payload<'a>) {
    let Data { source, destination, ether_type, .. } = data(radio, frame, sides, contents);
    (Subframe { destination, source, ether_type }, payload(frame, contents))
}

fn payload<'a>(frame: &FrameSample, contents: &'a PacketContents) -> Payload<'a> {
    let datagram = match frame.body {
        FrameBody::Data(datagram) => Some(datagram),
        _ => None,
    };
    let contents = datagram.as_ref().and_then(|datagram| contents.of(datagram));
    Payload { report: frame.report, datagram, contents }
}

fn control(frame: &FrameSample) -> Frame {
    let (receiver, duration_us) = (receiver(frame), frame.duration_us);
    match frame.body {
        FrameBody::Rts => Frame::Rts { receiver, transmitter: mac(frame.transmitter), duration_us },
        FrameBody::Cts => Frame::Cts { receiver, duration_us },
        FrameBody::BlockAck(board) => Frame::BlockAck(BlockAck {
            receiver,
            transmitter: mac(frame.transmitter),
            duration_us,
            tid: tid(frame),
            start: Sequence::new(board.start),
            bitmap: match board.is_long {
                true => Bitmap::Of256(board.arrived),
                false => Bitmap::Of64(board.arrived[0]),
            },
        }),
        FrameBody::BlockAckReq(start) => Frame::BlockAckReq(BlockAckReq {
            receiver,
            transmitter: mac(frame.transmitter),
            duration_us,
            tid: tid(frame),
            start: Sequence::new(start),
        }),
        FrameBody::Ack | FrameBody::Data(_) | FrameBody::Report | FrameBody::Beacon => {
            Frame::Ack { receiver, duration_us }
        }
    }
}

fn beacon(radio: &Radio, start: Instant, frame: &FrameSample) -> Frame {
    let interval_us = radio.cell.beacon_interval.map_or(0, Duration::as_micros);
    let own = mac(frame.transmitter);
    let mut capabilities = CAPABILITY_ESS;
    if short_preamble(radio.cell.phy) {
        capabilities |= CAPABILITY_SHORT_PREAMBLE;
    }
    if radio.cell.phy.standard == Standard::G {
        capabilities |= CAPABILITY_SHORT_SLOT;
    }
    Frame::Beacon(Beacon {
        header: Management {
            retry: frame.retry,
            duration_us: frame.duration_us,
            destination: Mac::BROADCAST,
            source: own,
            bssid: own,
            sequence: Sequence::new(frame.sequence),
        },
        timestamp_us: start.as_nanos() / 1000,
        interval_tu: u16::try_from(interval_us / TIME_UNIT_US).unwrap_or(u16::MAX),
        capabilities,
        elements: Elements {
            ssid: Some(radio.ssid),
            rates: rates(radio.cell.phy),
            channel: channel_number(radio.cell.frequency),
        },
    })
}

/// The PHY's rates; basic are those at which control responses may go.
fn rates(phy: Phy) -> Rates {
    let mut rates = Rates::default();
    for mode in phy.legacy_modes() {
        let rate = mode.rate();
        let units = radiotap::rate_500kbps(rate);
        let make = if phy.response_mode(mode) == mode { Rate::basic } else { Rate::optional };
        if let Some(rate) = units.and_then(make) {
            rates.push(rate);
        }
    }
    rates
}

/// Number of the 2.4 GHz channel around `centre` (802.11-2020 clause 15.4.4.3); elsewhere the
/// DS parameters are not sent.
fn channel_number(centre: Hertz) -> Option<u8> {
    match centre.0 / 1_000_000 {
        2484 => Some(14),
        mhz @ 2412..=2472 if (mhz - 2407).is_multiple_of(5) => u8::try_from((mhz - 2407) / 5).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
