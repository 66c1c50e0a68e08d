//! Classification of a packet. The order of the tests is that of `docs/models/trace.md`.

use super::echoes::is_later;
use super::half::Half;
use super::outstanding::Before;
use super::packet::Packet;
use crate::analysis::{Config, Kind};
use fairwave_units::Duration;

/// A retransmission this soon after a duplicate ACK answers it (tshark's bound).
const AT_ONCE: Duration = Duration::from_millis(20);
/// Packets this soon behind one of a higher number may be late, while the round-trip time of the
/// handshake is not known (tshark's bound).
const REORDERED: Duration = Duration::from_millis(3);

/// Inputs of the classification beside both halves.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) config: &'a Config,
    /// Round-trip time of the handshake.
    pub(super) handshake: Option<Duration>,
    /// State of its range.
    pub(super) before: Before,
}

/// Returns the kind of the packet of `mine`; both halves are as before it.
pub(super) fn kind(packet: &Packet<'_>, context: &Context<'_>, mine: &Half, theirs: &Half) -> Kind {
    let flags = packet.segment.header.flags;
    if flags.rst {
        return Kind::Reset;
    }
    if flags.syn {
        // Nothing but its timer repeats a SYN.
        return if mine.seen && packet.start < mine.next { Kind::Timeout } else { Kind::Syn };
    }
    if packet.len() == 1
        && mine.seen
        && packet.start == mine.next
        && theirs.last_report.window == Some(0)
    {
        return Kind::WindowProbe;
    }
    if packet.len() <= 1 && mine.seen && packet.start == mine.next - 1 && !flags.fin {
        return Kind::KeepAlive;
    }
    match packet.end > packet.start {
        true => data(packet, context, mine, theirs),
        false => acknowledgement(packet, mine, theirs),
    }
}

fn acknowledgement(packet: &Packet<'_>, mine: &Half, theirs: &Half) -> Kind {
    let repeats = mine.seen && packet.start == mine.next && packet.ack == mine.last_report.ack;
    let window = packet.segment.header.window;
    let same_window = mine.last_report.window == Some(window);
    match (repeats, same_window, theirs.last_report.last) {
        (false, _, _) => Kind::Ack,
        (true, false, _) if window > 0 => Kind::WindowUpdate,
        (true, true, Some(Kind::KeepAlive)) if window > 0 => Kind::KeepAliveAck,
        (true, true, Some(Kind::WindowProbe)) if window == 0 => Kind::WindowProbeAck,
        (true, true, _) if window > 0 => Kind::DuplicateAck,
        _ => Kind::Ack,
    }
}

fn data(packet: &Packet<'_>, context: &Context<'_>, mine: &Half, theirs: &Half) -> Kind {
    let advances = !mine.seen || packet.start >= mine.next;
    // Numbers that were never seen are not sent again, although their ACK came first: then one
    // direction was captured later than the other.
    if packet.len() > 0 && !advances && mine.was_acknowledged(packet.data_end) {
        return Kind::Spurious;
    }
    // A probe's byte may go again at the head of a segment that brings more.
    let after_probe = packet.len() > 1 && packet.start == mine.next - 1;
    if advances || after_probe {
        return Kind::Data;
    }
    let timed_out = has_timed_out(packet, context, mine);
    // Of a retransmission that was lost, duplicate ACKs do not tell: they go on until the timer.
    if timed_out && context.before.again {
        return Kind::Timeout;
    }
    let fills = packet.data_end != mine.next && context.before.fresh > 0;
    if fills && is_overtaken(packet, context, mine) {
        return Kind::OutOfOrder;
    }
    let since_ack = packet.at.since(theirs.last_report.at);
    if theirs.last_report.duplicates >= 2
        && theirs.last_report.ack == Some(packet.start)
        && since_ack < AT_ONCE
    {
        return Kind::FastRetransmission;
    }
    // SACK blocks say what is missing for as long as it is, but after a timeout a sender goes back.
    let is_sack = mine.sacked > packet.start && packet.start >= mine.timed_out_to;
    if is_sack && !timed_out {
        return Kind::SackRetransmission;
    }
    let complains = theirs.last_report.sacks || theirs.last_report.duplicates >= 2;
    if complains && since_ack < AT_ONCE {
        return Kind::Retransmission;
    }
    if timed_out {
        return Kind::Timeout;
    }
    let probes = mine.srtt.is_some_and(|srtt| since_ack.min(quiet(packet, context, mine)) >= srtt);
    if probes && packet.end >= mine.next { Kind::TailProbe } else { Kind::Retransmission }
}

/// Whether a packet that fills a hole was overtaken, not retransmitted. A retransmission has a
/// later timestamp than the segment behind the hole, which was sent before; and it comes a round
/// trip after that segment, for only then can its sender know of the hole.
fn is_overtaken(packet: &Packet<'_>, context: &Context<'_>, mine: &Half) -> bool {
    let value = packet.segment.header.options.timestamps.map(|stamps| stamps.value);
    let (since, stamp) = context.before.beyond.unwrap_or((mine.next_at, None));
    match value.zip(stamp) {
        Some((mine, beyond)) if is_later(mine, beyond) => false,
        Some((mine, beyond)) if is_later(beyond, mine) => true,
        _ => packet.at.since(since) < context.handshake.unwrap_or(REORDERED),
    }
}

/// Whether a packet begins at the first unacknowledged byte after a silence that the
/// retransmission timer may have waited for.
fn has_timed_out(packet: &Packet<'_>, context: &Context<'_>, mine: &Half) -> bool {
    mine.una.is_none_or(|una| packet.start <= una)
        && quiet(packet, context, mine) >= mine.min_timeout(context.config.rto_min)
}

/// Time since the packet's range was sent last, or something else was acknowledged.
fn quiet(packet: &Packet<'_>, context: &Context<'_>, mine: &Half) -> Duration {
    packet.at.since(context.before.sent.unwrap_or(mine.next_at).max(mine.progress_at))
}
