//! The list of transports.

use crate::carrier::Carrier;
use crate::dccp::Dccp;
use crate::flow_context::FlowContext;
use crate::multi::MultiTcp;
use crate::ping::Ping;
use crate::probe::Probe;
use crate::proxy::Proxy;
use crate::rtc::Rtc;
use crate::shake::Shake;
use crate::tcp::{Defaults, Tcp};
use crate::udp::Udp;
use crate::variants::{Usual, variants};
use fairwave_sim::world;
use fairwave_trace::NodeId;

variants! {
    /// Transport of a flow.
    pub enum Transport by "transport", Usual::Word("tcp"), |r|
    (flow_context: FlowContext = FlowContext::default()) {
        /// TCP: one connection opened by `from`, or those of a user of the web.
        Tcp(Tcp) = "tcp", "the flow is TCP", Defaults::of_flow(flow_context);
        /// UDP datagrams.
        Udp(Udp) = "udp", "the flow is UDP", flow_context.base;
        /// The buffer probe: numbered trains from `from` to `to`, which measure the queue between
        /// them.
        Probe(Probe) = "probe", "the flow is a probe", ();
        /// Echo requests and replies, which measure the round-trip time under load.
        Ping(Ping) = "ping", "the flow is a ping", ();
        /// A DCCP connection opened by `from`.
        Dccp(Dccp) = "dccp", "the flow is DCCP", flow_context.base;
        /// Real-time media over RTP, with the congestion control of browsers.
        Rtc(Rtc) = "rtc", "the flow is real-time media", ();
        /// One connection opened by `from` over several paths.
        Shake(Shake) = "shake", "the flow is SHAKE", ();
        /// Several TCP connections opened by `from`, one for each path, which carry one stream.
        MultiTcp(MultiTcp) = "multi-tcp", "the flow is a set of TCP connections",
            Defaults::of_set(flow_context);
    }
    as Carrier;
}

impl Transport {
    /// Returns the simulator's inputs; `id` finds the nodes of names, which exist.
    pub(crate) fn to_world(&self, id: &dyn Fn(&str) -> NodeId) -> world::Traffic {
        self.inner().to_world(id)
    }

    /// The nodes that its paths are to pass, by name.
    pub(crate) fn vias(&self) -> Vec<&str> {
        self.inner().vias()
    }

    /// Whether it has remedies that only a handover of the source brings into play.
    pub(crate) fn remedies_at_source(&self) -> bool {
        self.inner().remedies_at_source()
    }

    /// Whether it sends as fast as the interface takes its packets.
    pub(crate) fn fills_links(&self) -> bool {
        self.inner().fills_links()
    }

    /// Whether it sends frames that a viewer can show.
    pub(crate) fn has_frames(&self) -> bool {
        self.to_world(&|_| NodeId(0)).source().is_some()
    }

    /// Settings of its TCP connections, if it has some.
    pub(crate) const fn connections(&self) -> Option<&Tcp> {
        match self {
            Self::Tcp(tcp) => Some(tcp),
            Self::MultiTcp(multi) => Some(&multi.tcp),
            _ => None,
        }
    }

    /// The proxy of a TCP flow that has one.
    pub(crate) fn proxy(&self) -> Option<&Proxy> {
        self.connections()?.proxy.as_deref()
    }
}
