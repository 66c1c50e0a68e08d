//! The one list of transports. Each has its description and its machines in a file of its own.
//!
//! A new one is a file here with a description that implements [`Description`] and a state that
//! implements [`super::transport::Transport`], its `mod` and its line in the list. Items that its
//! file makes `pub` become part of [`crate::world`].

mod datagrams;
mod dccp;
mod multi;
mod ping;
mod probe;
mod rtc;
mod saturate;
mod shake;
mod tcp;
mod web;

use super::description::Description;
use fairwave_trace::NodeId;

macro_rules! transports {
    ($($(#[$doc:meta])* $module:ident: $name:ident($flow:ty),)*) => {
        $(pub use $module::*;)*

        /// Transport of a flow.
        #[derive(Clone, Debug)]
        pub enum Traffic {
            $($(#[$doc])* $name($flow),)*
        }

        impl Traffic {
            /// Its description.
            pub(crate) fn description(&self) -> &dyn Description {
                match self {
                    $(Self::$name(flow) => flow,)*
                }
            }
        }
    };
}

transports! {
    /// A TCP connection opened by the source.
    tcp: Tcp(TcpFlow),
    /// UDP datagrams of a source.
    datagrams: Datagrams(Source),
    /// UDP datagrams as fast as the source's interface takes them: its queue is never empty.
    saturate: Saturate(SaturateFlow),
    /// A user at the flow's sink that fetches pages from its source, over TCP connections that the
    /// sink opens.
    web: Web(WebFlow),
    /// The buffer probe: its sender at the source, its receiver at the sink.
    probe: Probe(ProbeFlow),
    /// Echo requests of the source and replies of the sink.
    ping: Ping(PingFlow),
    /// A DCCP connection opened by the source.
    dccp: Dccp(DccpFlow),
    /// Real-time media from the source to the sink.
    rtc: Rtc(RtcFlow),
    /// A SHAKE connection opened by the source, over several paths.
    shake: Shake(ShakeFlow),
    /// Several TCP connections opened by the source, which carry one stream.
    multi: MultiTcp(MultiTcpFlow),
}

impl Traffic {
    /// Source of its frames, if it has any.
    pub fn source(&self) -> Option<&Source> {
        self.description().source()
    }

    /// The nodes that its paths pass, by their numbers; none where its packets go the shortest way.
    pub fn vias(&self) -> Vec<NodeId> {
        self.description().vias()
    }

    /// Data in a full packet of the source, in bytes: its MSS, or its largest datagram.
    pub fn payload_bytes(&self) -> u32 {
        self.description().payload_bytes()
    }

    /// Whether it needs handovers of the stations at its ends.
    pub(crate) fn needs_handovers(&self) -> bool {
        self.description().needs_handovers()
    }
}
