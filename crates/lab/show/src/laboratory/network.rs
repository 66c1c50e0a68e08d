//! The network of a run, for a drawing: nodes, wired links and flows.

use fairwave_sim::world::{Pace, Role, World};
use fairwave_units::BitRate;
use serde::Serialize;

/// The network of a run. Nodes are named by their index.
#[derive(Debug, Serialize)]
pub struct NetworkOutput {
    /// Its nodes.
    pub nodes: Vec<NodeOutput>,
    /// Its wired links.
    pub links: Vec<LinkOutput>,
    /// Its flows.
    pub flows: Vec<FlowOutput>,
}

/// A node.
#[derive(Debug, Serialize)]
pub struct NodeOutput {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: RoleOutput,
    /// Access points that it may use, the one of its start first; those of a station alone.
    pub access_points: Vec<u32>,
}

/// Role of a node.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleOutput {
    /// An access point.
    AccessPoint,
    /// A station.
    Station,
    /// A node without a radio.
    Host,
}

/// A wired link.
#[derive(Debug, Serialize)]
pub struct LinkOutput {
    /// Its ends.
    pub ends: [u32; 2],
    /// Rate and delay from its first end, and from its second where they differ.
    pub paces: Vec<String>,
}

/// A flow.
#[derive(Debug, Serialize)]
pub struct FlowOutput {
    /// Its name.
    pub name: String,
    /// The node whose data it carries.
    pub from: u32,
    /// The node that the data goes to.
    pub to: u32,
}

impl From<&World> for NetworkOutput {
    fn from(world: &World) -> Self {
        let nodes = world.nodes.iter().map(|node| {
            let role = node.radio.as_ref().map(|radio| radio.role);
            let (role, mut access_points) = match role {
                None => (RoleOutput::Host, Vec::new()),
                Some(Role::AccessPoint) => (RoleOutput::AccessPoint, Vec::new()),
                Some(Role::Station { ap }) => (RoleOutput::Station, vec![ap.0]),
            };
            let roaming = node.radio.as_ref().and_then(|radio| radio.roaming.as_ref());
            let others = roaming.into_iter().flat_map(|roaming| &roaming.candidates);
            let others: Vec<u32> =
                others.map(|ap| ap.0).filter(|ap| !access_points.contains(ap)).collect();
            access_points.extend(others);
            NodeOutput { name: node.name.clone(), role, access_points }
        });
        let links = world.links.iter().map(|link| {
            let forth = Pace { rate: link.rate, delay: link.delay };
            let mut paces = vec![words(forth)];
            paces.extend(link.back.as_ref().map(|back| words(back.pace)));
            paces.dedup();
            LinkOutput { ends: [link.ends.0.0, link.ends.1.0], paces }
        });
        let flows = world.flows.iter().map(|flow| FlowOutput {
            name: flow.name.clone(),
            from: flow.source.0,
            to: flow.sink.0,
        });
        Self { nodes: nodes.collect(), links: links.collect(), flows: flows.collect() }
    }
}

/// A link's rate and delay.
fn words(pace: Pace) -> String {
    let rate = pace.rate.as_ref().map_or_else(|| "unlimited".to_owned(), BitRate::to_string);
    format!("{rate}, {}", pace.delay)
}
