//! Keys of a session.

use crate::noise::Channel;

/// Result of a handshake.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) index: u32,
    pub(super) remote: u32,
    pub(super) channel: Channel,
}
