//! Conditions that a world must satisfy to be simulated.

use crate::command::{Command, Place};
use crate::error::Error;
use crate::flow::Description;
use crate::network::service;
use crate::routes::{self, Astray, Hop};
use crate::world::{Back, DelayDistribution, Flow, Link, Radio, Role, Source, World};
use crate::{monitor, proxy, soc};
use fairwave_queue::Spec;
use fairwave_trace::NodeId;
use std::collections::BTreeSet;

/// Maximum payload of a UDP datagram over IPv4 (RFC 791: 65 535 bytes with both headers).
const MAX_PAYLOAD_BYTES: u32 = 65_507;

/// Refuses a world with references to missing parts, or with flows that have no route.
pub(crate) fn world(world: &World) -> Result<(), Error> {
    // Random streams bear these names: two of a name would draw the same numbers.
    distinct("node", world.nodes.iter().map(|node| &*node.name))?;
    distinct("flow", world.flows.iter().map(|flow| &*flow.name))?;
    for cell in &world.cells {
        ensure(cell.frequency.0 > 0, || "a cell has no frequency".to_owned())?;
        let beacons = cell.beacon_interval.is_none_or(|interval| !interval.is_zero());
        ensure(beacons, || "a cell's beacon interval is zero".to_owned())?;
    }
    for node in &world.nodes {
        if let Some(radio) = &node.radio {
            check_radio(world, &node.name, radio)?;
        }
    }
    for link in &world.links {
        let known = |node: NodeId| (node.0 as usize) < world.nodes.len();
        ensure(known(link.ends.0) && known(link.ends.1), || "a link ends at no node".to_owned())?;
        check_link(link)?;
    }
    soc::check(world)?;
    monitor::check(world)?;
    service::check(world)?;
    let routes = routes::table(world);
    world.flows.iter().try_for_each(|flow| check_flow(world, &routes, flow))
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Invalid(why())) }
}

fn distinct<'w>(what: &str, names: impl Iterator<Item = &'w str>) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for name in names {
        ensure(seen.insert(name), || format!("there are two {what}s called {name}"))?;
    }
    Ok(())
}

fn check_link(link: &Link) -> Result<(), Error> {
    let rates = |way| {
        let later = link.changes.iter().map(move |change| change.pace(way).rate);
        later.chain([link.pace(way).rate])
    };
    let sends = rates(0).chain(rates(1)).flatten().all(|rate| rate.0 > 0);
    ensure(sends, || "a link has no rate".to_owned())?;
    ensure(link.changes.is_sorted_by_key(|change| change.at), || {
        "a link's changes are not in order of time".to_owned()
    })?;
    let ticks = link.tick.is_none_or(|tick| !tick.is_zero());
    ensure(ticks, || "a link's tick is zero".to_owned())?;
    let even = link.tick.is_none() || link.jitter.is_zero();
    ensure(even, || "a link with a tick has no jitter".to_owned())?;
    let is_fixed = link.distribution == DelayDistribution::Fixed;
    ensure(is_fixed || (link.tick.is_none() && link.jitter.is_zero()), || {
        "a link with a tick or with jitter has a fixed delay".to_owned()
    })
}

fn check_radio(world: &World, name: &str, radio: &Radio) -> Result<(), Error> {
    let cell = world.cells.get(radio.cell);
    let phy = cell.map(|cell| cell.phy);
    let phy = phy.ok_or_else(|| Error::Invalid(format!("{name}: no cell {}", radio.cell)))?;
    ensure(phy.supports(radio.mode), || {
        format!("{name}: its PHY, {:?}, cannot send {:?}", phy.standard, radio.mode)
    })?;
    let Role::Station { ap: first } = radio.role else { return Ok(()) };
    let ap = world.nodes.get(first.0 as usize).and_then(|node| node.radio.as_ref());
    let serves = |ap: &Radio| ap.role == Role::AccessPoint && ap.cell == radio.cell;
    ensure(ap.is_some_and(serves), || format!("{name}: its AP is not an AP of its cell"))?;
    can_talk(world, name, radio, first)?;
    check_roaming(world, name, radio, first)
}

/// A station and its access point can receive each other's frames in a fixed mode.
fn can_talk(world: &World, name: &str, station: &Radio, ap: NodeId) -> Result<(), Error> {
    let node = &world.nodes[ap.0 as usize];
    let Some(ap) = &node.radio else { return Ok(()) };
    for (from, sender, to, receiver) in
        [(name, station, &*node.name, ap), (&*node.name, ap, name, station)]
    {
        let fixed = sender.rates.is_none().then_some(sender.mode);
        if let Some(why) = fixed.and_then(|mode| receiver.capabilities.refuses(mode)) {
            return Err(Error::Invalid(format!("{from}: it sends to {to} with {why}")));
        }
    }
    Ok(())
}

/// A roaming station's access points exist, and speak its rates.
fn check_roaming(world: &World, name: &str, radio: &Radio, first: NodeId) -> Result<(), Error> {
    let Some(roaming) = &radio.roaming else { return Ok(()) };
    for candidate in &roaming.candidates {
        let ap = world.nodes.get(candidate.0 as usize).and_then(|node| node.radio.as_ref());
        let ap = ap.filter(|ap| ap.role == Role::AccessPoint);
        let phy = ap.and_then(|ap| world.cells.get(ap.cell)).map(|cell| cell.phy);
        let phy = phy.ok_or_else(|| Error::Invalid(format!("{name}: a candidate is no AP")))?;
        ensure(phy.supports(radio.mode), || {
            format!("{name}: it cannot send {:?} on the channel of a candidate", radio.mode)
        })?;
        can_talk(world, name, radio, *candidate)?;
    }
    let goes = |to| roaming.candidates.contains(to);
    ensure(goes(&first) && roaming.handovers.iter().all(|h| goes(&h.to)), || {
        format!("{name}: an AP that it goes to is not among its candidates")
    })?;
    let in_order = roaming.handovers.windows(2).all(|pair| pair[0].at <= pair[1].at);
    ensure(in_order, || format!("{name}: its handovers are not in order"))
}

/// The paths of a flow pass different nodes, on ways that there are.
fn check_paths(world: &World, routes: &routes::Table, flow: &Flow) -> Result<(), Error> {
    let vias = flow.traffic.vias();
    let name = |node: NodeId| world.nodes.get(node.0 as usize).map_or("?", |node| &*node.name);
    for (i, via) in vias.iter().enumerate() {
        let what = || format!("flow {}: its path via {}", flow.name, name(*via));
        ensure((via.0 as usize) < world.nodes.len(), || format!("{} is nowhere", what()))?;
        ensure(!vias[..i].contains(via), || format!("{} is there twice", what()))?;
        let why = match routes::detour_by(world, routes, flow.source, flow.sink, *via) {
            Ok(()) => continue,
            Err(Astray::IsEnd) => "passes one of its ends".to_owned(),
            Err(Astray::NoWay(a, b)) => format!("has no way from {} to {}", name(a), name(b)),
            Err(Astray::PassesEnd(a, b, end)) => {
                format!("passes {} between {} and {}", name(end), name(a), name(b))
            }
        };
        return Err(Error::Invalid(format!("{} {why}", what())));
    }
    Ok(())
}

fn check_flow(world: &World, routes: &routes::Table, flow: &Flow) -> Result<(), Error> {
    let (source, sink) = (flow.source, flow.sink);
    let exists = |node: NodeId| (node.0 as usize) < world.nodes.len();
    ensure(exists(source) && exists(sink) && source != sink, || {
        format!("flow {}: it needs two different nodes", flow.name)
    })?;
    ensure(routes.hop(source, sink).is_some() && routes.hop(sink, source).is_some(), || {
        format!("flow {}: there is no way between its ends", flow.name)
    })?;
    let traffic = flow.traffic.description();
    let endless = traffic.saturates().is_some()
        && matches!(
            routes.hop(source, sink),
            Some(Hop::Line(i)) if world.links[i / 2].greatest_rate(i % 2).is_none()
        );
    ensure(!endless, || format!("flow {}: its link is never saturated", flow.name))?;
    proxy::check(world, routes, flow)?;
    check_paths(world, routes, flow)?;
    ensure(flow.playout.is_none() || traffic.source().is_some(), || {
        format!("flow {}: it has no frames that could be watched", flow.name)
    })?;
    check_traffic(world, traffic)
        .map_err(|why| Error::Invalid(format!("flow {}: {why}", flow.name)))
}

/// Reason for which a flow of `world` cannot use this transport, if there is one.
fn check_traffic(world: &World, traffic: &dyn Description) -> Result<(), String> {
    let unsound = traffic.source().and_then(Source::unsound);
    unsound.map_or(Ok(()), |why| Err(why.to_owned()))?;
    traffic.check()?;
    if let Some(watched) = traffic.watches() {
        let is_it = |flow: &Flow| flow.name == watched && flow.traffic.description().is_probe();
        if !world.flows.iter().any(is_it) {
            return Err("it watches no probe".to_owned());
        }
    }
    match traffic.datagram_bytes() {
        Some(bytes) if bytes > MAX_PAYLOAD_BYTES => {
            Err(format!("a datagram carries at most {MAX_PAYLOAD_BYTES} bytes"))
        }
        _ => Ok(()),
    }
}

/// Refuses a command that cannot be applied to `world`. An earlier command may have given a radio
/// another queue than the world's: `follows_weights` is about the present one.
pub(crate) fn command(
    world: &World,
    command: &Command,
    follows_weights: &dyn Fn(NodeId) -> bool,
) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::Invalid(why.to_owned()));
    let radio =
        |node: &NodeId| world.nodes.get(node.0 as usize).and_then(|node| node.radio.as_ref());
    match command {
        Command::Place { node, .. } if radio(node).is_none() => refuse("this node has no radio"),
        Command::Place { node, .. } if radio(node).is_some_and(|r| r.snr_trace.is_some()) => {
            refuse("a trace sets the level at this node, wherever it is")
        }
        Command::Place { .. } => Ok(()),
        Command::Weight { ap, station, .. } => match (radio(ap), radio(station)) {
            (Some(_), Some(_)) if follows_weights(*ap) => Ok(()),
            (Some(_), Some(_)) => refuse("its access point's queue knows no weights"),
            _ => refuse("a weight is that of a station at an access point"),
        },
        Command::Link { link, change } => {
            let mut changed = world.clone();
            let Some(link) = changed.links.get_mut(*link) else {
                return refuse("there is no such link");
            };
            link.changes = vec![*change];
            self::world(&changed)
        }
        Command::Queue { queue, spec } => {
            let mut changed = world.clone();
            let Some(place) = queue_at(&mut changed, *queue) else {
                return refuse("there is no such queue");
            };
            place.clone_from(spec);
            self::world(&changed)
        }
    }
}

fn queue_at(world: &mut World, place: Place) -> Option<&mut Spec> {
    match place {
        Place::Radio(node) => {
            let radio = world.nodes.get_mut(node.0 as usize)?.radio.as_mut()?;
            Some(&mut radio.queue)
        }
        Place::Line { link, way: 0 } => Some(&mut world.links.get_mut(link)?.queue),
        Place::Line { link, way: 1 } => {
            let link = world.links.get_mut(link)?;
            let (pace, queue) = (link.pace(1), link.queue(1).clone());
            Some(&mut link.back.get_or_insert(Back { pace, queue }).queue)
        }
        Place::Line { .. } => None,
    }
}
