//! Reports of the Strength of Connection on their way: between the stations and tables of
//! [`crate::soc`] and the network, which do not know one another.

use crate::context::Context;
use crate::network::Network;
use crate::packet::Packet;
use fairwave_trace::NodeId;

/// Sets the first deadlines and weights.
pub(crate) fn begin(network: &mut Network<'_>, cx: &mut Context<'_>) {
    let soc = cx.soc.as_deref();
    let (reporters, tables) = soc.map_or((0, 0), |soc| (soc.reporters(), soc.tables()));
    (0..reporters).for_each(|i| arm_reporter(i, cx));
    (0..tables).for_each(|i| after_table(i, network, cx));
}

/// A station reads its card, ends an interval or has waited for data for long enough.
pub(crate) fn run_reporter(i: usize, network: &mut Network<'_>, cx: &mut Context<'_>) {
    read_card(i, network, cx);
    if let Some(soc) = &mut cx.soc {
        soc.wake_reporter(i, cx.now);
    }
    // Each goes before the next is asked for: the radio may take one that waits along with it.
    while let Some(packet) = cx.soc.as_mut().and_then(|soc| soc.poll_reporter(i, cx.now)) {
        network.send_report(&packet, cx);
    }
    arm_reporter(i, cx);
}

fn arm_reporter(i: usize, cx: &mut Context<'_>) {
    if let Some(soc) = &cx.soc {
        soc.arm_reporter(i, &mut cx.deadlines);
    }
}

/// Reads the card if it is time, and if the access point has been on the air since the last.
fn read_card(i: usize, network: &mut Network<'_>, cx: &mut Context<'_>) {
    let radios = &mut network.access.radios;
    let Some(soc) = &mut cx.soc else { return };
    let Some(card) = soc.card(i, cx.now) else { return };
    if let Some(on_air) = radios.on_air(card.ap)
        && soc.is_new(card, on_air)
        && let Some(snr) = radios.reading(card.ap, card.station, cx.now)
    {
        soc.read(card, snr, cx.now);
    }
}

/// Takes the report out of a packet that has arrived at `node`, and passes it to the table there.
pub(crate) fn take(
    node: NodeId,
    packet: &mut Packet,
    network: &mut Network<'_>,
    cx: &mut Context<'_>,
) {
    let number = core::mem::take(&mut packet.report);
    let soc = cx.soc.as_deref_mut();
    if let Some(table) = soc.and_then(|soc| soc.receive(node, packet.source, number, cx.now)) {
        after_table(table, network, cx);
    }
}

/// Reports were missed, or stations were silent for too long.
pub(crate) fn run_table(i: usize, network: &mut Network<'_>, cx: &mut Context<'_>) {
    if let Some(soc) = &mut cx.soc {
        soc.wake_table(i, cx.now);
    }
    after_table(i, network, cx);
}

/// Carries out a table's outputs: weights go to the access point's queue, which may have something
/// to send by the new ones.
fn after_table(i: usize, network: &mut Network<'_>, cx: &mut Context<'_>) {
    let Some(soc) = &mut cx.soc else { return };
    soc.note_seen(i);
    let mut weighs = None;
    while let Some(weighing) = soc.poll_table(i, cx.now) {
        network.access.radios.set_weight(&weighing, cx.now);
        weighs = Some(weighing.ap);
    }
    soc.arm_table(i, &mut cx.deadlines);
    if let Some(ap) = weighs {
        network.resume(ap, cx);
    }
}
