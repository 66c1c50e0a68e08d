//! Sources that may lock in phase: equal constant rates into one full first-in first-out queue.
//!
//! Each time that the queue has room for one packet, the same flow is the next to send, so that one
//! gets all of the rate and the other nothing (Floyd and Jacobson, On Traffic Phase Effects in
//! Packet-Switched Gateways, 1992). Generators of constant rate do so on real networks too, which
//! is why a scenario gets a warning, and not a jitter that its file does not name.

use fairwave_queue::Spec;
use fairwave_sim::world::{Role, Traffic, World};
use fairwave_trace::NodeId;
use fairwave_traffic::Source;
use fairwave_units::{BitRate, Duration};
use fairwave_wire::datagram::{IPV4_HEADER_LEN, UDP_HEADER_LEN};
use std::collections::BTreeMap;

/// Flows that are named.
const MAX_NAMED: usize = 3;

/// A queue that flows share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shared {
    /// Node of the queue.
    at: NodeId,
    /// Maximum rate at which it is emptied.
    rate: BitRate,
}

/// A flow of constant rate.
#[derive(Clone, Copy, Debug)]
struct Sender<'w> {
    name: &'w str,
    interval: Duration,
    /// Bits per second of IPv4 datagrams.
    offered_bps: f64,
}

/// Warnings about flows of equal intervals that overfill a drop-tail queue.
pub(crate) fn locked(world: &World) -> Vec<String> {
    let mut groups: BTreeMap<Shared, Vec<Sender<'_>>> = BTreeMap::new();
    for flow in &world.flows {
        let Traffic::Datagrams(Source::Cbr { payload_bytes, interval }) = flow.traffic else {
            continue;
        };
        let bits = 8 * u64::from(payload_bytes + UDP_HEADER_LEN + IPV4_HEADER_LEN);
        let offered_bps = bits as f64 / interval.as_secs_f64().max(1e-9);
        if let Some(shared) = bottleneck(world, flow.source, flow.sink) {
            let sender = Sender { name: &flow.name, interval, offered_bps };
            groups.entry(shared).or_default().push(sender);
        }
    }
    groups.iter().filter_map(|(shared, senders)| warning(world, *shared, senders)).collect()
}

/// The drop-tail queue that packets from `source` to `sink` wait in: that of the radio on the way,
/// or of the only link of an end.
fn bottleneck(world: &World, source: NodeId, sink: NodeId) -> Option<Shared> {
    let radio = |node: NodeId| world.nodes[node.0 as usize].radio.as_ref();
    let at = match (radio(source), radio(sink)) {
        (_, Some(sink)) if sink.role != Role::AccessPoint => match sink.role {
            Role::Station { ap } => ap,
            Role::AccessPoint => return None,
        },
        (Some(_), _) => source,
        (None, _) => return wired(world, source, sink),
    };
    let radio = radio(at).filter(|radio| is_drop_tail(&radio.queue))?;
    // More than half of the PHY rate is rarely left for payloads without aggregation.
    let part = if world.cells[radio.cell].aggregation.is_some() { 80 } else { 55 };
    Some(Shared { at, rate: BitRate(radio.mode.rate().0 / 100 * part) })
}

fn wired(world: &World, source: NodeId, sink: NodeId) -> Option<Shared> {
    let links = |node| world.links.iter().filter(move |l| l.ends.0 == node || l.ends.1 == node);
    let link = links(source).chain(links(sink)).filter(|link| link.rate.is_some());
    let link = link.min_by_key(|link| link.rate)?;
    let way = usize::from(link.ends.1 == source || link.ends.0 == sink);
    let at = if way == 0 { link.ends.0 } else { link.ends.1 };
    let rate = link.pace(way).rate?;
    is_drop_tail(link.queue(way)).then_some(Shared { at, rate })
}

fn is_drop_tail(queue: &Spec) -> bool {
    matches!(queue, Spec::DropTail { .. })
}

fn warning(world: &World, shared: Shared, senders: &[Sender<'_>]) -> Option<String> {
    let offered_bps: f64 = senders.iter().map(|sender| sender.offered_bps).sum();
    if offered_bps <= shared.rate.0 as f64 {
        return None;
    }
    let of = |interval| senders.iter().filter(move |sender| sender.interval == interval);
    let interval =
        senders.iter().map(|sender| sender.interval).find(|each| of(*each).count() > 1)?;
    let mut names: Vec<&str> = of(interval).map(|sender| sender.name).collect();
    let more = names.len().saturating_sub(MAX_NAMED);
    names.truncate(MAX_NAMED);
    let names = names.join(", ");
    let others = if more > 0 { format!(" and {more} more") } else { String::new() };
    let at = &world.nodes[shared.at.0 as usize].name;
    Some(format!(
        "flows {names}{others} send every {interval} and overfill the drop-tail queue of {at}: \
         phase effects decide which of them loses; traffic = \"poisson\" has none, and a fair \
         queue shares whatever the phases"
    ))
}
