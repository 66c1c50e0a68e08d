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
use std::collections::BTreeMap;

/// Headers of an IPv4 datagram around its payload, in bytes.
const HEADER_BYTES: u64 = 28;
/// Flows that are named.
const MAX_NAMED: usize = 3;

/// A queue that flows share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shared {
    /// Node of the queue.
    at: NodeId,
    /// Rate in bits per second that it is emptied at, at most.
    rate: BitRate,
}

/// Warnings about flows of equal intervals that overfill a drop-tail queue.
pub(crate) fn locked(world: &World) -> Vec<String> {
    let mut groups: BTreeMap<Shared, Vec<(&str, Duration, f64)>> = BTreeMap::new();
    for flow in &world.flows {
        let Traffic::Datagrams(Source::Cbr { payload_bytes, interval }) = flow.traffic else {
            continue;
        };
        let bits = 8 * (u64::from(payload_bytes) + HEADER_BYTES);
        let offered = bits as f64 / interval.as_secs_f64().max(1e-9);
        if let Some(shared) = bottleneck(world, flow.source, flow.sink) {
            groups.entry(shared).or_default().push((&flow.name, interval, offered));
        }
    }
    groups.iter().filter_map(|(shared, flows)| warning(world, *shared, flows)).collect()
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

fn warning(world: &World, shared: Shared, flows: &[(&str, Duration, f64)]) -> Option<String> {
    let offered: f64 = flows.iter().map(|flow| flow.2).sum();
    let (_, interval, _) = flows
        .iter()
        .find(|flow| flows.iter().filter(|other| other.1 == flow.1).count() > 1)
        .filter(|_| offered > shared.rate.0 as f64)?;
    let mut names: Vec<&str> =
        flows.iter().filter(|flow| flow.1 == *interval).map(|flow| flow.0).collect();
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
