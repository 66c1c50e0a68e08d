//! Valid settings that are hardly meant: they would give zeros without an error.

use crate::flow::Flow;
use crate::model::Scenario;
use fairwave_dot11::{noise, path_loss};
use fairwave_sim::world::{Cell, Radio, Role, World};
use fairwave_units::Metres;

/// A run that measures less of its duration than this share is doubted.
const MIN_MEASURED: f64 = 0.1;
/// Stations that are named one by one.
const MAX_NAMED: usize = 5;

impl Scenario {
    /// Valid settings that are likely to give meaningless results: a warm-up that leaves little to
    /// measure, flows that end within it, stations out of reach of their access point.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let (measured, whole) = (self.duration.saturating_sub(self.warm_up), self.duration);
        if measured.as_secs_f64() < MIN_MEASURED * whole.as_secs_f64() {
            warnings.push(format!("the warm-up leaves {measured} of {whole} to be measured"));
        }
        warnings.extend(self.flow.iter().filter_map(|flow| self.lint(flow)));
        warnings.extend(out_of_reach(&self.to_world(self.seed)));
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

/// Stations and access points that do not receive each other at their places. Nodes that move or
/// have levels of their own are passed over, as are fading and shadowing.
fn out_of_reach(world: &World) -> Vec<String> {
    let mut lints = Vec::new();
    for node in &world.nodes {
        let Some(station) = &node.radio else { continue };
        let Role::Station { ap } = station.role else { continue };
        let ap_node = &world.nodes[ap.0 as usize];
        let Some(ap) = &ap_node.radio else { continue };
        if station.path.is_some() || station.snr_trace.is_some() || station.roaming.is_some() {
            continue;
        }
        let cell = &world.cells[ap.cell];
        let deaf =
            [(ap, station, &node.name, &ap_node.name), (station, ap, &ap_node.name, &node.name)];
        let lint = deaf.iter().find_map(|(from, to, listener, speaker)| {
            let level = level_below(cell, from, to)?;
            Some(format!("{listener} does not hear {speaker}: {level}"))
        });
        lints.extend(lint);
    }
    let more = lints.len().saturating_sub(MAX_NAMED);
    lints.truncate(MAX_NAMED);
    if more > 0 {
        lints.push(format!("{more} more stations and access points do not hear each other"));
    }
    lints
}

/// The level of `from` at `to` and the minimum for reception, if the level is below it.
fn level_below(cell: &Cell, from: &Radio, to: &Radio) -> Option<String> {
    let ((x, y), (u, v)) = (from.position, to.position);
    let distance = Metres(fairwave_units::math::hypot(x.0 - u.0, y.0 - v.0));
    let loss = path_loss(cell.frequency, cell.path_loss_exponent, distance);
    let level = from.power.0 - loss.0;
    let noise = noise(cell.phy.bandwidth(), cell.noise_figure).0;
    let detected = cell.preamble_detection.map_or(f64::MIN, |ratio| noise + ratio.0);
    let min = cell.carrier_sense.0.max(detected);
    let metres = distance.0;
    (level < min).then(|| {
        format!("{level:.1} dBm arrive over {metres:.1} m, and {min:.1} dBm are received at least")
    })
}
