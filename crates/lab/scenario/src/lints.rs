//! Valid settings that are hardly meant: they would give zeros without an error.

use crate::flow::Flow;
use crate::model::Scenario;
use crate::{inert, phases};
use fairwave_dot11::{noise, path_loss};
use fairwave_sim::world::{Cell, Node, Radio, Role, World};
use fairwave_units::Metres;

/// A run that measures less of its duration than this share is doubted.
const MIN_MEASURED: f64 = 0.1;
/// Stations that are named one by one.
const MAX_NAMED: usize = 5;

impl Scenario {
    /// Valid settings that are likely to give meaningless results: a warm-up that leaves little to
    /// measure, flows that end within it, stations out of reach of their access point, sources that
    /// may lock in phase, keys that cannot act.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let (measured, whole) = (self.duration.saturating_sub(self.warm_up), self.duration);
        if measured.as_secs_f64() < MIN_MEASURED * whole.as_secs_f64() {
            warnings.push(format!("the warm-up leaves {measured} of {whole} to be measured"));
        }
        warnings.extend(self.flow.iter().filter_map(|flow| self.lint(flow)));
        let world = self.to_world(self.seed);
        warnings.extend(out_of_reach(&world));
        warnings.extend(phases::locked(&world));
        warnings.extend(inert::settings(self));
        warnings
    }

    /// Whether it is one of a simulation in which nothing happens. To programs it is a network.
    pub(crate) fn idle(&self) -> Vec<String> {
        let is_idle = self.flow.is_empty() && self.program.is_empty();
        let text = "there is no [[flow]]: a simulation has nothing to send";
        is_idle.then(|| text.to_owned()).into_iter().collect()
    }

    fn lint(&self, flow: &Flow) -> Option<String> {
        let stop = flow.stop.filter(|stop| *stop <= self.warm_up)?;
        let (name, warm_up) = (&flow.name, self.warm_up);
        Some(format!("flow {name}: it stops at {stop}, within the warm-up of {warm_up}"))
    }
}

/// Stations and access points that never receive each other, at the best of their places and the
/// highest of their levels. Fading and shadowing are passed over.
fn out_of_reach(world: &World) -> Vec<String> {
    let mut lints: Vec<String> =
        world.nodes.iter().filter_map(|node| out_of_reach_of_all(world, node)).collect();
    let more = lints.len().saturating_sub(MAX_NAMED);
    lints.truncate(MAX_NAMED);
    if more > 0 {
        lints.push(format!("{more} more stations and access points do not hear each other"));
    }
    lints
}

/// The warning about a station that none of its access points can serve.
fn out_of_reach_of_all(world: &World, node: &Node) -> Option<String> {
    let station = node.radio.as_ref()?;
    let Role::Station { ap } = station.role else { return None };
    let others = station.roaming.iter().flat_map(|roaming| &roaming.candidates);
    let mut lint = None;
    for ap in [ap].iter().chain(others) {
        let ap = &world.nodes[ap.0 as usize];
        let this = pair_out_of_reach(world, node, ap)?;
        lint.get_or_insert(this);
    }
    lint
}

/// The warning about a station and an access point, if one does not receive the other.
fn pair_out_of_reach(world: &World, node: &Node, ap_node: &Node) -> Option<String> {
    let (station, ap) = (node.radio.as_ref()?, ap_node.radio.as_ref()?);
    let cell = &world.cells[ap.cell];
    if let Some(trace) = &station.snr_trace {
        let snr = trace.highest().0;
        let level = noise(cell.phy.bandwidth(), cell.noise_figure).0 + snr;
        let min = min_received_dbm(cell);
        let (name, ap) = (&node.name, &ap_node.name);
        return (level < min).then(|| {
            format!(
                "{name} and {ap} do not hear each other: the snr_trace of {name} reaches {snr:.1} \
                 dB, {level:.1} dBm, and {min:.1} dBm are received at least"
            )
        });
    }
    let ways = [(ap, &node.name, &ap_node.name), (station, &ap_node.name, &node.name)];
    let distance = match &station.path {
        Some(path) => path.closest(ap.position),
        None => {
            let ((x, y), (u, v)) = (station.position, ap.position);
            Metres(fairwave_units::math::hypot(x.0 - u.0, y.0 - v.0))
        }
    };
    ways.iter().find_map(|(from, listener, speaker)| {
        let level = level_below(cell, from, distance)?;
        Some(format!("{listener} does not hear {speaker}: {level}"))
    })
}

/// The minimum level for reception, in dBm.
fn min_received_dbm(cell: &Cell) -> f64 {
    let noise = noise(cell.phy.bandwidth(), cell.noise_figure).0;
    let detected = cell.preamble_detection.map_or(f64::MIN, |ratio| noise + ratio.0);
    cell.carrier_sense.0.max(detected)
}

/// The level of `from` at `distance` and the minimum for reception, if the level is below it.
fn level_below(cell: &Cell, from: &Radio, distance: Metres) -> Option<String> {
    let loss = path_loss(cell.frequency, cell.path_loss_exponent, distance);
    let level = from.power.0 - loss.0;
    let min = min_received_dbm(cell);
    let metres = distance.0;
    (level < min).then(|| {
        format!("{level:.1} dBm arrive over {metres:.1} m, and {min:.1} dBm are received at least")
    })
}
