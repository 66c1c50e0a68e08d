//! Reports of channels about their frames, as samples.

use crate::context::Context;
use crate::network::radios::Radios;
use crate::packet::Packet;
use fairwave_dot11::AccessCategory;
use fairwave_dot11::channel::{FrameKind, FrameReport, RadioId};
use fairwave_trace::{FrameBody, FrameSample, NodeId, Sample};
use fairwave_wire::soc::Written;

/// Passes on a channel's frames, if it was to report them.
pub(crate) fn report(cell: usize, radios: &mut Radios, cx: &mut Context<'_>) {
    while let Some((report, nodes)) = radios.frame(cell) {
        let soc = cx.soc.as_deref().zip(report.payload.as_ref());
        let soc = soc.and_then(|(soc, packet)| soc.report_of(packet));
        let sample = Sample::Frame(frame_sample(nodes, &report, soc));
        cx.observer.record(report.start, &sample);
    }
}

/// A frame on a channel with radios of these nodes; `soc` is the report in front of its payload.
fn frame_sample(
    nodes: &[NodeId],
    report: &FrameReport<Packet>,
    soc: Option<Written>,
) -> FrameSample {
    let node = |radio: RadioId| nodes[radio.0 as usize];
    let body = match (report.kind, report.payload) {
        (FrameKind::Data, Some(packet)) if packet.is_report() => FrameBody::Report,
        (FrameKind::Data, Some(packet)) => FrameBody::Data(packet.datagram),
        (FrameKind::Beacon | FrameKind::Data, _) => FrameBody::Beacon,
        (FrameKind::Ack, _) => FrameBody::Ack,
        (FrameKind::BlockAck, _) => FrameBody::BlockAck(report.scoreboard.unwrap_or_default()),
        (FrameKind::BlockAckReq, _) => {
            FrameBody::BlockAckReq(report.scoreboard.unwrap_or_default().start)
        }
        (FrameKind::Rts, _) => FrameBody::Rts,
        (FrameKind::Cts, _) => FrameBody::Cts,
    };
    FrameSample {
        transmitter: node(report.from),
        receiver: report.to.map(node),
        ends: report.payload.map(|packet| (packet.source, packet.via)),
        rate: report.mode.rate(),
        ppdu: report.mode.into(),
        tid: report.category.map(user_priority),
        place: report.place,
        signal: report.signal,
        airtime: report.airtime,
        duration_us: u16::try_from(report.reserved.as_micros()).unwrap_or(u16::MAX),
        sequence: report.sequence,
        retry: report.retry,
        body,
        report: soc,
        received: report.received,
    }
}

/// The user priority that stands for a category (802.11-2020 table 10-1): each has two.
const fn user_priority(category: AccessCategory) -> u8 {
    match category {
        AccessCategory::Background => 1,
        AccessCategory::BestEffort => 0,
        AccessCategory::Video => 5,
        AccessCategory::Voice => 6,
    }
}
