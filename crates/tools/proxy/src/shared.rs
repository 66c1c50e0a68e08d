//! State that all tasks of the proxy share.

use crate::carry::Scratch;
use crate::config::Config;
use crate::flows::Flows;
use crate::places::Places;
use fairwave_console::shares::Shares;
use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};

/// Flows, configuration, and the resources that flows use.
pub(crate) struct Shared {
    pub(crate) flows: RefCell<Flows>,
    pub(crate) config: Config,
    pub(crate) scratch: Scratch,
    pub(crate) places: RefCell<Places>,
    /// Threads that resolve names, for each host of clients.
    pub(crate) resolvers: Shares<IpAddr>,
}

impl Shared {
    /// Whether the client may use the proxy.
    pub(crate) fn serves(&self, client: SocketAddr) -> bool {
        client.ip().is_loopback()
            || self.config.allow.iter().any(|prefix| prefix.contains(&client.ip()))
    }

    /// Whether the client may reach the server. A remote client must not reach services that listen
    /// for this host alone.
    pub(crate) fn leads_to(&self, client: SocketAddr, server: SocketAddr) -> bool {
        let is_own = server.ip().is_loopback() || server.ip().is_unspecified();
        client.ip().is_loopback() || !is_own
    }
}
