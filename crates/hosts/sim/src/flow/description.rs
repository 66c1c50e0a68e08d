//! The trait by which the world describes how a flow sends.

use super::ends::Both;
use super::feed::Feed;
use super::ports::ports;
use super::transport::Transport;
use fairwave_trace::{FlowId, NodeId};
use fairwave_traffic::Source;
use fairwave_units::{Instant, Seed, Stream};

/// Inputs of a transport beside its description.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup<'a> {
    /// The flow.
    pub(super) id: FlowId,
    /// Its name, which its random streams bear.
    pub(super) name: &'a str,
    /// Source node of its data.
    pub(super) source: NodeId,
    /// Destination node of its data.
    pub(super) sink: NodeId,
    /// Start time of its application.
    pub(super) start: Instant,
    /// Whether a viewer needs reports of the source's frames.
    pub(super) is_watched: bool,
    /// Source that replaces a saturating one where its interface is no radio.
    pub(super) paced: Option<&'a Source>,
    /// The master seed.
    pub(super) seed: Seed,
}

impl Setup<'_> {
    /// Ports of the source, which is the client, and of the sink.
    pub(super) fn ports(&self) -> Both<u16> {
        let (source, sink) = ports(self.id);
        Both { source, sink }
    }

    /// The flow's own random stream for a use.
    pub(super) fn stream(&self, use_of: &str) -> Stream {
        self.seed.stream(&format!("{use_of}/{}", self.name))
    }

    /// Frames of a source as they come due.
    pub(super) fn feed(&self, source: &Source) -> Feed {
        Feed::new(source, self.start, self.stream("traffic"))
    }
}

/// Transport of a flow: builds its state, and gives the properties needed before that.
pub(crate) trait Description {
    /// The transport, not yet started, of a description that has been checked.
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Transport>;

    /// Reason for which it cannot be simulated, if any. Its source and paths are checked elsewhere.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Data in a full packet of the source, in bytes: its MSS, or its largest datagram.
    fn payload_bytes(&self) -> u32;

    /// The largest payload of its datagrams in bytes, its own headers included; `None` for TCP.
    fn datagram_bytes(&self) -> Option<u32> {
        Some(self.payload_bytes())
    }

    /// Source of its frames, if it has any.
    fn source(&self) -> Option<&Source> {
        None
    }

    /// Payload of its datagrams in bytes, if its source always has one more for its interface.
    fn saturates(&self) -> Option<u32> {
        None
    }

    /// The nodes that its paths pass, by their numbers; none where its packets go the shortest way.
    fn vias(&self) -> Vec<NodeId> {
        Vec::new()
    }

    /// Whether it needs reports of handovers of the stations at its ends.
    fn needs_handovers(&self) -> bool {
        false
    }

    /// Whether it is a buffer probe, which another one may watch.
    fn is_probe(&self) -> bool {
        false
    }

    /// The name of the flow that it watches, if it is a buffer probe that watches another.
    fn watches(&self) -> Option<&str> {
        None
    }
}
