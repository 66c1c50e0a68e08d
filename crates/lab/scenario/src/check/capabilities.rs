//! Checks that radios can receive the frames sent to them in a set mode.

use super::report::Check;
use crate::diagnostic::Refusal;
use crate::expand;
use crate::node::{Kind, Radio};
use fairwave_dot11::Phy;

/// An end of a radio link.
#[derive(Clone, Copy)]
struct End<'a> {
    /// Index of its node in the file.
    node: usize,
    name: &'a str,
    radio: &'a Radio,
}

impl Check<'_> {
    /// A set MCS with streams, width or guard interval that a receiver does not have.
    pub(super) fn capabilities(&mut self) {
        let mut problems: Vec<(usize, Refusal)> = Vec::new();
        for (i, node) in self.scenario.node.iter().enumerate() {
            let Some(station) = node.kind.station() else { continue };
            let roaming = station.roaming.iter().flat_map(|roaming| roaming.aps.iter());
            for name in [&station.ap].into_iter().chain(roaming) {
                let Some((ap, phy)) = self.access_point(name) else { continue };
                let sta = End { node: i, name: &node.name, radio: &station.radio };
                for (from, to) in [(sta, ap), (ap, sta)] {
                    let known = problems.iter().any(|(at, _)| *at == from.node);
                    if let Some(refusal) = refused(from, to, phy).filter(|_| !known) {
                        problems.push((from.node, refusal));
                    }
                }
            }
        }
        for (i, refusal) in problems {
            self.report(("node", i), "mcs", refusal);
        }
    }

    /// The access point called `name`, and the PHY of its cell.
    fn access_point(&self, name: &str) -> Option<(End<'_>, Phy)> {
        let (_, ap) = expand::access_points(self.scenario).find(|(node, _)| node.name == name)?;
        let cell = self.scenario.cell.iter().find(|cell| cell.name == ap.cell)?;
        let is_it = |kind: &Kind| matches!(kind, Kind::AccessPoint(_));
        let mut nodes = self.scenario.node.iter();
        let at = nodes.position(|node| node.name == name && is_it(&node.kind))?;
        let name = &self.scenario.node[at].name;
        Some((End { node: at, name, radio: &ap.radio }, cell.phy()))
    }
}

/// The error in the modes that `from` uses towards `to`.
fn refused(from: End<'_>, to: End<'_>, phy: Phy) -> Option<Refusal> {
    let End { name, radio, .. } = to;
    let why = radio.rate.capabilities(phy).refuses(from.radio.fixed(phy)?)?;
    let help = format!("leave out mcs, so that the two agree, or give {name:?} the same");
    Some(Refusal::new(format!("frames to {name:?} would have {why}")).help(help))
}
