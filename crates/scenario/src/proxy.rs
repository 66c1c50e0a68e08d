//! Targets of TCP-AV, and proxies that flows pass.

use super::decode::span;
use super::diagnostic::Refusal;
use super::expand::{self, Expanded};
use super::model::{Scenario, Tcp, Transport};
use super::reader::{self, Read, Reader, word};
use super::value::{Data, Value};
use super::{laws, tcp};
use fairwave_cc::{Fraction, TcpAvConfig};
use fairwave_sim::world::{self, Opening};
use fairwave_trace::NodeId;
use fairwave_units::{BitRate, Bytes, Duration};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

const OPENINGS: &[(&str, Opening)] =
    &[("after-far", Opening::AfterFar), ("at-once", Opening::AtOnce)];
/// Parts of one in which numbers become fractions.
const PARTS: u32 = 1_000_000;

/// What the law `tcp-av` aims at, and how.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Av {
    /// Rate of acknowledged payload to reach, 1 kbps to 100 Gbps. Required.
    #[schemars(with = "String")]
    pub target: BitRate,
    /// The window is steered towards this many times the target, 1 to 2. Default: 1.05.
    pub margin: f64,
    /// What is owed to the target is remembered up to what it brings in this time, and losses are
    /// averaged over it. Default: "5 s".
    #[schemars(with = "String")]
    pub horizon: Duration,
    /// Time in which the target window makes good what is owed. Default: "1 s".
    #[schemars(with = "String")]
    pub catch_up: Duration,
    /// The target window asks for at most this many times the target, 1 to 100. Default: 2.
    pub most: f64,
    /// Share of segments lost from which on a loss halves the window, 0.0001 to 1. Default: 0.05.
    pub severe_loss: f64,
    /// Do not grow beyond the target window while nothing is owed. Default: false.
    pub cap_to_target: bool,
    /// A loss leaves at least half the window, as with Reno. Default: false.
    pub floor_at_reno: bool,
}

/// A proxy that splits a TCP flow's connection on its way.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Proxy {
    /// The node where it is, on the flow's way. Of a flow for each node of a group, `"proxy*"`
    /// puts the first's at the first node of that group, and so on. Required.
    pub at: String,
    /// Whose choices its two connections make. Default: "default".
    pub stack: String,
    /// The law of both. Default: the stack's usual one.
    pub congestion_control: String,
    /// Send and receive buffer of each of both, up to 1 GiB. Default: "64 KiB".
    #[serde(serialize_with = "bytes")]
    #[schemars(with = "String")]
    pub buffer: u32,
    /// Whether `from` is answered once `to` has accepted, or at once. Default: "after-far".
    #[serde(serialize_with = "opening")]
    #[schemars(with = "String", extend("enum" = ["after-far", "at-once"]))]
    pub opening: Opening,
    /// What it aims at, where its law is `tcp-av`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub av: Option<Av>,
}

fn opening<S: Serializer>(value: &Opening, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(word(OPENINGS, value))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn bytes<S: Serializer>(value: &u32, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&Bytes(u64::from(*value)).to_string())
}

impl Av {
    fn config(&self) -> TcpAvConfig {
        let parts = |x: f64| Fraction::new((x * f64::from(PARTS)).round() as u32, PARTS);
        TcpAvConfig {
            target: Some(self.target),
            margin: parts(self.margin),
            horizon: self.horizon,
            catch_up: self.catch_up,
            most: parts(self.most),
            severe: parts(self.severe_loss),
            cap_to_target: self.cap_to_target,
            floor_at_reno: self.floor_at_reno,
        }
    }
}

/// What a connection aims at; nothing without a table.
pub(super) fn aim(av: Option<&Av>) -> TcpAvConfig {
    av.map_or(TcpAvConfig::DEFAULT, Av::config)
}

/// Reads a target.
pub(super) fn av(value: &Value) -> Read<Av> {
    let Data::Table(table) = &value.data else {
        let help = "write av = { target = \"5 Mbps\" }";
        return Err(reader::wrong_type(value, "a table").help(help));
    };
    let rates = reader::within(BitRate(1_000), BitRate::mbps(100_000));
    let time = || span(Duration::from_millis(1), Duration::from_secs(3600));
    reader::nested(table, value, |r| Av {
        target: r.required("target", "target = \"5 Mbps\"", &rates).unwrap_or_default(),
        margin: r.or("margin", 1.05, reader::real(1.0, 2.0)),
        horizon: r.or("horizon", Duration::from_secs(5), time()),
        catch_up: r.or("catch_up", Duration::from_secs(1), time()),
        most: r.or("most", 2.0, reader::real(1.0, 100.0)),
        severe_loss: r.or("severe_loss", 0.05, reader::real(0.0001, 1.0)),
        cap_to_target: r.or("cap_to_target", false, reader::boolean),
        floor_at_reno: r.or("floor_at_reno", false, reader::boolean),
    })
}

/// Reads a proxy.
pub(super) fn proxy(value: &Value) -> Read<Proxy> {
    let Data::Table(table) = &value.data else {
        let help = "write proxy = { at = \"proxy1\" }";
        return Err(reader::wrong_type(value, "a table").help(help));
    };
    reader::nested(table, value, |r| {
        let stack = r.optional("stack", tcp::stack).unwrap_or(&fairwave_tcp::Profile::ALL[0]);
        let usual = stack.congestion_control.to_owned();
        let congestion_control = r.or("congestion_control", usual, tcp::law);
        Proxy {
            at: r.required("at", "at = \"proxy1\"", reader::text).unwrap_or_default(),
            stack: stack.name.to_owned(),
            buffer: r.or("buffer", 64 << 10, reader::size(2304, 1 << 30)),
            opening: r.or("opening", Opening::AfterFar, reader::choice(OPENINGS)),
            av: aimed(r, &congestion_control, None),
            congestion_control,
        }
    })
}

/// The key `av` of a connection whose law is `law`, which must be one that aims.
pub(super) fn aimed(r: &Reader<'_>, law: &str, default: Option<&Av>) -> Option<Av> {
    let own = r.optional("av", av);
    if laws::aims(law) {
        return own.or_else(|| default.cloned());
    }
    r.meaningless(&["av"], &format!("the law is {law:?}, and \"tcp-av\" alone has a target"));
    None
}

/// What is wrong with the places of proxies, by flow.
pub(super) fn misplaced(scenario: &Scenario, nodes: &[Expanded]) -> Vec<(usize, Refusal)> {
    let mut problems = Vec::new();
    for (i, flow) in scenario.flow.iter().enumerate() {
        let Transport::Tcp(Tcp { proxy: Some(proxy), .. }) = &flow.transport else { continue };
        let (there, flows) = (expand::matching(nodes, &proxy.at), expand::pairs(nodes, flow).len());
        let names: Vec<_> = nodes.iter().map(|n| n.name.as_str()).take(24).collect();
        if there.is_empty() {
            let refusal = Refusal::new(format!("no node is called {:?}", proxy.at));
            problems.push((i, refusal.among(&proxy.at, &names)));
        } else if proxy.at.ends_with('*') && there.len() != flows {
            let message = format!("{:?} are {} nodes, for {flows} flows", proxy.at, there.len());
            problems.push((i, Refusal::new(message)));
        }
    }
    if problems.is_empty() { off_the_way(scenario) } else { problems }
}

/// Flows that do not pass their proxy.
fn off_the_way(scenario: &Scenario) -> Vec<(usize, Refusal)> {
    if !scenario.flow.iter().any(|flow| flow.transport.proxy().is_some()) {
        return Vec::new();
    }
    let world = scenario.to_world(scenario.seed);
    let nodes = expand::nodes(scenario);
    let of = scenario.flow.iter().enumerate();
    let of = of.flat_map(|(i, flow)| expand::pairs(&nodes, flow).into_iter().map(move |_| i));
    let mut problems: Vec<(usize, Refusal)> = Vec::new();
    for (i, flow) in of.zip(&world.flows) {
        let Some(proxy) = &flow.proxy else { continue };
        if fairwave_sim::passes(&world, flow, proxy.at) || problems.iter().any(|(at, _)| *at == i) {
            continue;
        }
        let name = |node: NodeId| &world.nodes[node.0 as usize].name;
        let (from, to, at) = (name(flow.source), name(flow.sink), name(proxy.at));
        let message = format!("{at:?} is not between {from:?} and {to:?}");
        let help = "a proxy is at a node that the flow's packets pass, both ways";
        problems.push((i, Refusal::new(message).help(help)));
    }
    problems
}

impl Transport {
    /// The proxy of a TCP flow that has one.
    fn proxy(&self) -> Option<&Proxy> {
        match self {
            Self::Tcp(tcp) => tcp.proxy.as_deref(),
            Self::Udp(_)
            | Self::Probe(_)
            | Self::Dccp(_)
            | Self::Rtc(_)
            | Self::Shake(_)
            | Self::MultiTcp(_) => None,
        }
    }

    /// The same for the simulator, of the `member`th of the flows that a pattern makes.
    pub(super) fn world_proxy(&self, nodes: &[Expanded], member: usize) -> Option<world::Proxy> {
        let proxy = self.proxy()?;
        let there = expand::matching(nodes, &proxy.at);
        let member = if proxy.at.ends_with('*') { member } else { 0 };
        let at = NodeId(*there.get(member)? as u32);
        let stack = fairwave_tcp::Profile::find(&proxy.stack)?;
        let side = fairwave_tcp::Config {
            send_buffer: proxy.buffer,
            send_buffer_most: None,
            receive_buffer: proxy.buffer,
            receive_buffer_most: None,
            av: aim(proxy.av.as_ref()),
            ..(stack.config)()
        };
        let (congestion_control, opening) = (proxy.congestion_control.clone(), proxy.opening);
        Some(world::Proxy { at, near: side, far: side, congestion_control, opening })
    }
}
