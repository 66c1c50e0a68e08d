//! Places of sockets.

use fairwave_trace::NodeId;
use std::net::SocketAddr;

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The node, in whose network namespace the socket is opened.
    pub node: NodeId,
    /// The local address of the socket.
    pub address: SocketAddr,
}
