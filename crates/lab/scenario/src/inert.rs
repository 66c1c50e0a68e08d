//! Keys that cannot act in the scenario at hand.
//!
//! [`RULES`] is the one list. A test changes every key of cells, nodes and flows: either the run
//! changes, or the key is refused, or a rule warns.

use crate::air::Roaming;
use crate::cell::{Cell, first_channel};
use crate::expand::{self, Expanded};
use crate::flow::Flow;
use crate::link::Link;
use crate::model::Scenario;
use crate::node::{Kind, Node, Radio};
use crate::phy::{CONSTANT, Rate};
use crate::queue::{Place, Queue};
use crate::stacks::profile;
use crate::tcp::Tcp;
use crate::transport::Transport;
use fairwave_cc::Decision;
use fairwave_dot11::{AccessCategory, BlockAckRequest, Capabilities, Format, GuardInterval};
use fairwave_queue::Spec;
use fairwave_sim::world::DelayDistribution;
use fairwave_tcp::Config;
use fairwave_units::Duration;

/// A key, and the condition under which another value than its default has no effect.
struct Rule {
    /// Its table and its name, as in `cell.rts_threshold`.
    key: &'static str,
    /// Reason.
    why: &'static str,
    /// Whether it was set and cannot act, by the table that it stands in.
    holds: Holds,
}

/// The condition of a rule.
enum Holds {
    Cell(fn(&Facts<'_>, &Cell) -> bool),
    Radio(fn(&Facts<'_>, &Node, &Radio) -> bool),
    Station(fn(&Facts<'_>, &Node) -> bool),
    Link(fn(&Link) -> bool),
    Flow(fn(&Facts<'_>, &Flow) -> bool),
}

/// The scenario that rules are about.
struct Facts<'a> {
    scenario: &'a Scenario,
    nodes: Vec<Expanded>,
}

const NO_AMPDU: &str = "ampdu_frames = 1 leaves no A-MPDU and no block ack";
const NO_ACKS: &str = "acknowledgements = false";
const NO_RTS: &str = "rts_threshold = \"off\"";
const ALONE: &str = "no third radio is on the frequency";
const TRACED: &str = "snr_trace sets the only level on the frequency";
const SAME: &str = "snr_trace gives all access points the same level";
const SILENT: &str = "it sends no data";
const BEYOND: &str = "no peer has as much";
const BELOW: &str = "each peer has less";
const NO_WATCH: &str = "its algorithm watches no ACKs";
const NO_FLOW: &str = "no flow has the category";
const NO_SACK: &str = "sack = false";
const NO_TIMESTAMPS: &str = "timestamps = false";

/// Every rule, in the order of the reference.
const RULES: &[Rule] = &[
    cell("ampdu_frames", "no radio sends with an MCS", |f, c| {
        c.generation.ampdu_frames != usual(c, |l| l.mpdus) && f.has_no_mcs(c)
    }),
    cell("ampdu_size", NO_AMPDU, |_, c| {
        c.generation.ampdu_size != usual(c, |l| l.bytes)
            && c.generation.amsdu_size == Some(None)
            && has_no_ampdu(c)
    }),
    cell("ampdu_size", "no radio sends with an MCS", |f, c| {
        c.generation.ampdu_size != usual(c, |l| l.bytes) && f.has_no_mcs(c)
    }),
    cell("amsdu_size", "no radio sends with an MCS", |f, c| {
        c.generation.amsdu_size.flatten().is_some() && f.has_no_mcs(c)
    }),
    cell("amsdu_size", "an MPDU in an A-MPDU of 802.11n has 4,095 bytes at most", |_, c| {
        let is_long = c.generation.amsdu_size.flatten().is_some_and(|bytes| bytes > 4_065);
        is_long && c.phy().format() == Format::Ht && !has_no_ampdu(c)
    }),
    cell("block_ack_request", NO_AMPDU, |_, c| asks(c) && has_no_ampdu(c)),
    cell("block_ack_request", NO_ACKS, |_, c| asks(c) && !c.acknowledges()),
    cell("ampdu_retry_limit", NO_AMPDU, |_, c| {
        c.generation.ampdu_retry_limit.flatten().is_some() && has_no_ampdu(c)
    }),
    cell("ampdu_retry_limit", NO_ACKS, |_, c| {
        c.generation.ampdu_retry_limit.flatten().is_some() && !c.acknowledges()
    }),
    cell("frequency", TRACED, |f, c| {
        c.frequency != first_channel(c.phy()) && f.scenario.cell.len() == 1 && f.is_traced(c)
    }),
    cell("noise_figure", TRACED, |f, c| c.noise_figure.0 != 7.0 && f.is_traced(c)),
    cell("path_loss_exponent", TRACED, |f, c| c.path_loss_exponent != 3.0 && f.is_traced(c)),
    cell("shadowing", TRACED, |f, c| c.shadowing.is_some() && f.is_traced(c)),
    cell("capture", ALONE, |f, c| c.capture != c.mac.capture() && f.radios(c) < 3),
    cell("link_monitor", "no queue passes over bad links", |f, c| {
        c.link_monitor.is_some() && !f.has_queue(c, Spec::watches_links)
    }),
    cell("rts_threshold", NO_ACKS, |_, c| {
        c.rts_threshold != c.mac.rts_threshold() && !c.acknowledges()
    }),
    cell("short_retry_limit", NO_ACKS, |_, c| c.short_retry_limit != 7 && !c.acknowledges()),
    cell("long_retry_limit", NO_ACKS, |_, c| c.long_retry_limit != 4 && !c.acknowledges()),
    cell("long_retry_limit", NO_RTS, |_, c| c.long_retry_limit != 4 && c.rts_threshold.is_none()),
    cell("long_retry_limit", "ampdu_retry_limit takes its place", |f, c| {
        c.long_retry_limit != 4 && is_superseded(f, c)
    }),
    cell("edca_parameters.background", NO_FLOW, |f, c| f.has_no(c, AccessCategory::Background)),
    cell("edca_parameters.best-effort", NO_FLOW, |f, c| f.has_no(c, AccessCategory::BestEffort)),
    cell("edca_parameters.video", NO_FLOW, |f, c| f.has_no(c, AccessCategory::Video)),
    cell("edca_parameters.voice", NO_FLOW, |f, c| {
        f.has_no(c, AccessCategory::Voice) && c.beacon_interval.is_none()
    }),
    station("distance", TRACED, |f, node| {
        let station = node.kind.station();
        let set = |metres: fairwave_units::Metres| metres.0 != 4.0;
        station.is_some_and(|s| s.distance.is_some_and(set)) && f.has_trace_alone(node)
    }),
    station("position", TRACED, |f, node| {
        node.kind.station().is_some_and(|s| s.position.is_some()) && f.has_trace_alone(node)
    }),
    station("path", TRACED, |f, node| {
        node.kind.station().is_some_and(|s| !s.path.is_empty()) && f.has_trace_alone(node)
    }),
    station("roaming.begin", SAME, |f, node| f.levels_are_equal(node, |roaming| roaming.begin)),
    station("roaming.by_signal", SAME, |f, node| {
        f.levels_are_equal(node, |roaming| roaming.by_signal.is_some())
    }),
    radio("power", TRACED, |f, node, radio| radio.power.0 != 16.0 && f.has_trace_alone(node)),
    radio("power", "it sends beacons alone", |f, node, radio| {
        let acks = f.cell_of(node).is_none_or(Cell::acknowledges);
        radio.power.0 != 16.0 && !acks && f.is_silent(node)
    }),
    radio("data_rate", SILENT, |f, node, r| r.rate.data_rate.is_some() && f.is_silent(node)),
    radio("mcs", SILENT, |f, node, r| r.rate.mcs.is_some() && f.is_silent(node)),
    radio("rate_control", SILENT, |f, node, r| {
        let acks = f.cell_of(node).is_none_or(Cell::acknowledges);
        r.rate_control.name() != r.rate.usual_control(acks) && f.is_silent(node)
    }),
    radio("rate_control", NO_ACKS, |f, node, r| {
        r.rate_control.name() != CONSTANT && !f.cell_of(node).is_none_or(Cell::acknowledges)
    }),
    radio("queue", SILENT, |f, node, r| {
        r.queue != Queue(Place::Radio.usual().into()) && f.is_silent(node)
    }),
    radio("streams", BEYOND, |f, node, r| {
        is_free(&r.rate, |c| c.streams > 1) && f.peers(node).all(|c| c.streams == 1)
    }),
    radio("guard_interval", "no peer has one as short", |f, node, r| {
        let long = GuardInterval::Ns800;
        is_free(&r.rate, |c| c.guard < long) && f.peers(node).all(|c| c.guard >= long)
    }),
    radio("guard_interval", "each peer has a longer one", |f, node, r| {
        is_free(&r.rate, |c| c.guard > GuardInterval::Ns800)
            && f.peers(node).all(|c| c.guard >= r.rate.guard_interval.unwrap_or(c.guard))
    }),
    radio("width", BELOW, |f, node, r| {
        let Some(width) = r.rate.width.filter(|_| r.rate.mcs.is_none()) else { return false };
        let full = f.cell_of(node).map(|cell| cell.phy().width);
        Some(width) != full && f.peers(node).all(|c| c.width <= width)
    }),
    radio("max_mcs", BELOW, |f, node, r| {
        let Some(mcs) = r.rate.max_mcs.filter(|_| r.rate.mcs.is_none()) else { return false };
        mcs < 11 && f.peers(node).all(|c| c.mcs < mcs)
    }),
    link("queue", "nothing waits on a link of unlimited rate", |l| {
        is_unlimited(l) && l.queue != Queue(Place::Link.usual().into())
    }),
    link("delay_distribution", "its delay is zero", |l| {
        let changes = l.changes.iter().flat_map(|change| [change.delay, change.delay_back]);
        let delays = [l.delay, l.delay_back].into_iter().chain(changes);
        l.delay_distribution != DelayDistribution::Fixed
            && delays.into_iter().all(Duration::is_zero)
    }),
    link("tick", "without rate and delay nothing is rounded to ticks", |l| {
        let is_at_once = l.delay.is_zero() && l.delay_back.is_zero();
        l.tick.is_some() && l.changes.is_empty() && is_at_once && is_without_rate(l)
    }),
    flow("category", "no cell has EDCA", |f, flow| {
        flow.category != AccessCategory::BestEffort
            && f.scenario.cell.iter().all(|cell| !cell.generation.edca)
    }),
    flow("send_buffer_max", "send_buffer is larger", |_, flow| {
        sets(flow, |c, usual| {
            // A stack whose buffers grow has them fixed by that.
            c.send_buffer_max != usual.send_buffer_max
                && usual.send_buffer_max.is_none_or(|max| max <= c.send_buffer)
                && c.send_buffer_max.is_some_and(|max| max < c.send_buffer)
        })
    }),
    flow("receive_buffer_max", "receive_buffer is larger", |_, flow| {
        sets(flow, |c, usual| {
            c.receive_buffer_max != usual.receive_buffer_max
                && usual.receive_buffer_max.is_none_or(|max| max <= c.receive_buffer)
                && c.receive_buffer_max.is_some_and(|max| max < c.receive_buffer)
        })
    }),
    flow("dsack", NO_SACK, |_, flow| sets(flow, |c, usual| !c.sack && c.dsack && !usual.dsack)),
    flow("keep_sacks", NO_SACK, |_, flow| {
        sets(flow, |c, usual| !c.sack && c.keep_sacks && !usual.keep_sacks)
    }),
    flow("prr", NO_SACK, |_, flow| sets(flow, |c, usual| !c.sack && c.prr && !usual.prr)),
    flow("rack", NO_SACK, |_, flow| sets(flow, |c, usual| !c.sack && c.rack && !usual.rack)),
    flow("eifel", NO_TIMESTAMPS, |_, flow| {
        sets(flow, |c, usual| !c.timestamps && c.eifel && !usual.eifel)
    }),
    flow("thresh_ack_losses", NO_WATCH, |_, flow| blind(flow).thresh_ack_losses != 1),
    flow("ack_loss_decision", NO_WATCH, |_, flow| {
        blind(flow).ack_loss_decision != Decision::RoundEnd
    }),
    flow("ack_loss_pause", NO_WATCH, |_, flow| blind(flow).ack_loss_pause.is_some()),
    flow("ack_loss_exclude", NO_WATCH, |_, flow| blind(flow).ack_loss_exclude.is_some()),
    flow("start", "the run ends before", |f, flow| flow.start >= f.scenario.duration),
    flow("stop", "the run ends before", |f, flow| {
        flow.stop.is_some_and(|stop| stop >= f.scenario.duration)
    }),
];

const fn cell(key: &'static str, why: &'static str, holds: fn(&Facts<'_>, &Cell) -> bool) -> Rule {
    Rule { key, why, holds: Holds::Cell(holds) }
}

const fn radio(
    key: &'static str,
    why: &'static str,
    holds: fn(&Facts<'_>, &Node, &Radio) -> bool,
) -> Rule {
    Rule { key, why, holds: Holds::Radio(holds) }
}

const fn station(
    key: &'static str,
    why: &'static str,
    holds: fn(&Facts<'_>, &Node) -> bool,
) -> Rule {
    Rule { key, why, holds: Holds::Station(holds) }
}

const fn link(key: &'static str, why: &'static str, holds: fn(&Link) -> bool) -> Rule {
    Rule { key, why, holds: Holds::Link(holds) }
}

const fn flow(key: &'static str, why: &'static str, holds: fn(&Facts<'_>, &Flow) -> bool) -> Rule {
    Rule { key, why, holds: Holds::Flow(holds) }
}

/// Warnings about keys that were set and cannot act.
pub(crate) fn settings(scenario: &Scenario) -> Vec<String> {
    let facts = Facts { scenario, nodes: expand::nodes(scenario) };
    // Programs that `fairwave emulate` starts may use any node, in either direction.
    if !scenario.program.is_empty() {
        return Vec::new();
    }
    RULES.iter().flat_map(|rule| rule.found(&facts)).collect()
}

impl Rule {
    fn found(&self, facts: &Facts<'_>) -> Vec<String> {
        let all = facts.scenario;
        let names: Vec<&str> = match self.holds {
            Holds::Cell(holds) => {
                let cells = all.cell.iter().filter(|cell| holds(facts, cell));
                cells.map(|cell| &*cell.name).collect()
            }
            Holds::Radio(holds) => {
                let holds =
                    |node: &&Node| node.kind.radio().is_some_and(|radio| holds(facts, node, radio));
                all.node.iter().filter(holds).map(|node| &*node.name).collect()
            }
            Holds::Station(holds) => {
                let nodes = all.node.iter().filter(|node| holds(facts, node));
                nodes.map(|node| &*node.name).collect()
            }
            Holds::Link(holds) => {
                all.link.iter().filter(|link| holds(link)).map(|link| &*link.name).collect()
            }
            Holds::Flow(holds) => {
                let flows = all.flow.iter().filter(|flow| holds(facts, flow));
                flows.map(|flow| &*flow.name).collect()
            }
        };
        let table = match self.holds {
            Holds::Cell(_) => "cell",
            Holds::Radio(_) | Holds::Station(_) => "node",
            Holds::Link(_) => "link",
            Holds::Flow(_) => "flow",
        };
        let Self { key, why, .. } = self;
        names.iter().map(|name| format!("{table} {name}: {key} has no effect: {why}")).collect()
    }
}

/// A limit of aggregation of the cell's standard.
fn usual(cell: &Cell, of: fn(&fairwave_dot11::Aggregation) -> u32) -> Option<u32> {
    fairwave_dot11::Aggregation::most(cell.phy()).as_ref().map(of)
}

fn has_no_ampdu(cell: &Cell) -> bool {
    cell.generation.ampdu_frames == Some(1)
}

fn asks(cell: &Cell) -> bool {
    let request = cell.generation.block_ack_request;
    request.is_some_and(|request| request != BlockAckRequest::OnDrop)
}

fn is_superseded(facts: &Facts<'_>, cell: &Cell) -> bool {
    let is_limited = cell.generation.ampdu_retry_limit.flatten().is_some();
    is_limited && !has_no_ampdu(cell) && !facts.has_no_mcs(cell)
}

/// Whether the radio chooses its modes and `has` capabilities that differ from the usual.
fn is_free(rate: &Rate, has: impl Fn(&Capabilities) -> bool) -> bool {
    rate.mcs.is_none() && rate.data_rate.is_none() && has(&rate.usual_capabilities())
}

fn is_unlimited(link: &Link) -> bool {
    link.changes.is_empty() && is_without_rate(link) && link.tick.is_none()
}

fn is_without_rate(link: &Link) -> bool {
    link.rate.is_none() && link.rate_back.is_none()
}

impl Facts<'_> {
    /// The cell of an access point or a station.
    fn cell_of(&self, node: &Node) -> Option<&Cell> {
        let name = match &node.kind {
            Kind::AccessPoint(ap) => &ap.cell,
            Kind::Station(station) | Kind::Converter(station) => {
                let ap = expand::access_points(self.scenario).find(|(ap, _)| ap.name == station.ap);
                &ap?.1.cell
            }
            Kind::Host(_) => return None,
        };
        self.scenario.cell.iter().find(|cell| cell.name == *name)
    }

    /// Nodes with a radio in the cell.
    fn members<'f>(&'f self, cell: &'f Cell) -> impl Iterator<Item = &'f Node> {
        let is_in = move |node: &&Node| self.cell_of(node).is_some_and(|c| c.name == cell.name);
        self.scenario.node.iter().filter(is_in)
    }

    /// Number of radios on the frequency of the cell.
    fn radios(&self, cell: &Cell) -> u32 {
        let same = self.scenario.cell.iter().filter(|other| other.frequency == cell.frequency);
        same.flat_map(|cell| self.members(cell)).map(|node| node.kind.count()).sum()
    }

    /// Whether no radio of the cell aggregates, as none sends with an MCS.
    fn has_no_mcs(&self, cell: &Cell) -> bool {
        let fixed = |node: &Node| {
            let radio = node.kind.radio();
            radio.is_some_and(|r| r.rate.data_rate.is_some() && r.rate_control.name() == CONSTANT)
        };
        self.members(cell).all(fixed)
    }

    /// Whether the SNR of the only station, by its trace, is the only level on the frequency.
    fn is_traced(&self, cell: &Cell) -> bool {
        let traced = |node: &Node| node.kind.station().is_none_or(|s| s.snr_trace.is_some());
        self.radios(cell) == 2 && self.members(cell).all(traced)
    }

    /// Whether a station that roams, and has `set` a key that compares levels, has the same level
    /// at every access point: that of its trace over equal noise.
    fn levels_are_equal(&self, node: &Node, set: fn(&Roaming) -> bool) -> bool {
        let cells = &self.scenario.cell;
        let noise = |cell: &Cell| cell.noise_figure.0;
        let is_equal = cells.windows(2).all(|two| noise(&two[0]) == noise(&two[1]));
        let station = node.kind.station().filter(|station| station.snr_trace.is_some());
        is_equal && station.and_then(|station| station.roaming.as_ref()).is_some_and(set)
    }

    fn has_trace_alone(&self, node: &Node) -> bool {
        self.cell_of(node).is_some_and(|cell| self.is_traced(cell))
    }

    fn has_queue(&self, cell: &Cell, is: impl Fn(&Spec) -> bool) -> bool {
        self.members(cell).any(|node| node.kind.radio().is_some_and(|radio| is(&radio.queue.0)))
    }

    /// Whether the parameters of a category are set and nobody sends in it.
    fn has_no(&self, cell: &Cell, category: AccessCategory) -> bool {
        let set = cell.edca_parameters.as_ref().and_then(|all| all.of(category));
        let is_used = self.scenario.flow.iter().any(|flow| flow.category == category);
        set.is_some() && !is_used && cell.soc.is_none()
    }

    /// Capabilities of the radios that a node exchanges frames with.
    fn peers<'f>(&'f self, node: &'f Node) -> impl Iterator<Item = Capabilities> + 'f {
        let is_ap = matches!(node.kind, Kind::AccessPoint(_));
        let roams = self
            .scenario
            .node
            .iter()
            .any(|other| other.kind.station().is_some_and(|station| station.roaming.is_some()));
        let is_peer = move |other: &&Node| match (is_ap, other.kind.station()) {
            (true, Some(station)) => roams || station.ap == node.name,
            (false, None) => roams || node.kind.station().is_some_and(|s| s.ap == other.name),
            _ => false,
        };
        let of = |other: &Node| {
            let phy = self.cell_of(other)?.phy();
            Some(other.kind.radio()?.rate.capabilities(phy))
        };
        self.scenario.node.iter().filter(is_peer).filter_map(of)
    }

    /// Whether a radio sends no data: all flows go one way, and none from it or past it.
    fn is_silent(&self, node: &Node) -> bool {
        let reports = self.scenario.cell.iter().any(|c| c.soc.is_some());
        let is_bridge = |kind: &Kind| matches!(kind, Kind::Converter(_));
        let bridges = self.scenario.node.iter().any(|node| is_bridge(&node.kind));
        if reports || bridges || self.scenario.node.iter().any(roams) {
            return false;
        }
        self.scenario.flow.iter().all(|flow| {
            let is_one_way = matches!(flow.transport, Transport::Udp(_));
            let pairs = expand::pairs(&self.nodes, flow);
            is_one_way && pairs.iter().all(|(_, from, to)| !self.passes(node, *from, *to))
        })
    }

    /// Whether packets from one node to another pass the node.
    fn passes(&self, node: &Node, from: usize, to: usize) -> bool {
        let group = |index: usize| &self.scenario.node[self.nodes[index].group];
        let (from, to) = (group(from), group(to));
        let is_linked = |node: &Node| {
            let ends = self.scenario.link.iter().flat_map(|link| &link.ends);
            ends.into_iter().any(|end| end.trim_end_matches('*').starts_with(&*node.name))
        };
        match &node.kind {
            Kind::AccessPoint(_) => to.kind.station().is_some() || from.name == node.name,
            _ => from.name == node.name || is_linked(node),
        }
    }
}

/// Whether `holds` of the options of a flow's connections and those of its stack: a stack's own
/// choice is no setting.
fn sets(flow: &Flow, holds: fn(&Config, &Config) -> bool) -> bool {
    let holds = |tcp: &Tcp| holds(&tcp.options, &(profile(&tcp.stack).config)());
    flow.transport.connections().is_some_and(holds)
}

/// Options of a flow whose algorithms watch no ACKs; else the usual ones.
fn blind(flow: &Flow) -> Config {
    let watches = |algorithm: &str| algorithm.starts_with("ack-loss");
    match flow.transport.connections() {
        Some(tcp) if !watches(tcp.congestion_control.name()) => tcp.options,
        _ => Config::default(),
    }
}

fn roams(node: &Node) -> bool {
    node.kind.station().is_some_and(|station| station.roaming.is_some())
}
