//! Notices of handovers: links, routes and addresses of this host (rtnetlink), and associations of
//! its radios (nl80211).

use crate::machine::Fact;
use crate::shared::{Change, Shared, State};
use fairwave_dccp::ccid::Handover;
use fairwave_linux::netlink::Netlink;
use fairwave_linux::radio::{Event, Events};
use fairwave_linux::{Changes, Way};
use fairwave_sockets::registered;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

/// Time after which the ways are looked at without a notification: a kernel that is short of memory
/// drops some.
const SELDOM: Duration = Duration::from_secs(1);

/// The way to a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    /// The latest way that could be used.
    way: Option<Way>,
    is_up: bool,
}

/// Watches the ways to the hosts of all connections, until the endpoint is over.
pub(crate) async fn run(shared: Arc<Shared>, server: Option<SocketAddr>) {
    // Without notifications the ways are still looked at.
    let changes = Changes::open().and_then(registered).ok();
    let radio = Events::open().and_then(|events| {
        let ready = registered(events.as_fd().try_clone_to_owned()?)?;
        Ok((events, ready))
    });
    let radio = radio.ok();
    let Ok(netlink) = Netlink::open() else { return };
    let mut watch = Watch { shared, is_client: server.is_some(), netlink, seen: BTreeMap::new() };
    while !watch.shared.with(|state| state.is_over) {
        let of_port = Arc::clone(&watch.shared);
        let new = of_port.changed.notified();
        watch.look();
        let notified = async {
            tokio::select! {
                () = readable(changes.as_ref()) => {}
                () = readable(radio.as_ref().map(|(_, ready)| ready)) => {}
                () = new => {}
            }
        };
        // Either way all of them are looked at.
        let _ = timeout(SELDOM, notified).await;
        changes.as_ref().map(|changes| changes.get_ref().take());
        for event in radio.as_ref().map_or(Vec::new(), |(it, _)| it.take().unwrap_or_default()) {
            watch.on_radio(event);
        }
    }
}

/// Waits until a socket has something to take.
async fn readable<T: AsRawFd>(file: Option<&AsyncFd<T>>) {
    match file {
        Some(file) => match file.readable().await {
            Ok(mut guard) => guard.clear_ready(),
            Err(_) => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

struct Watch {
    shared: Arc<Shared>,
    is_client: bool,
    netlink: Netlink,
    /// Ways by host and scope.
    seen: BTreeMap<(IpAddr, u32), Seen>,
}

impl Watch {
    /// Looks at the ways to all hosts.
    fn look(&mut self) {
        let hosts = self.shared.with(|state| state.machine.hosts());
        self.seen.retain(|host, _| hosts.contains(host));
        for host in hosts {
            let (address, scope) = host;
            let way = Way::to(&mut self.netlink, address.to_canonical(), scope);
            let Ok(way) = way else { continue };
            let is_up = way.is_some_and(|way| way.is_running);
            let Some(before) = self.seen.get(&host).copied() else {
                self.seen.insert(host, Seen { way: way.filter(|_| is_up), is_up });
                continue;
            };
            let change = before.change(way, self.is_client);
            let way = if is_up { way } else { before.way };
            self.seen.insert(host, Seen { way, is_up });
            change.into_iter().for_each(|change| self.notify(address, change));
        }
    }

    /// Handles an event of a radio. Other events have the ways looked at: the carrier shows them.
    fn on_radio(&self, event: Event) {
        let Event::Roamed { interface } = event else { return };
        let is_over = |seen: &Seen| seen.way.is_some_and(|way| way.interface == interface);
        for ((host, _), _) in self.seen.iter().filter(|(_, seen)| is_over(seen)) {
            self.notify(*host, Change::Roamed);
        }
    }

    fn notify(&self, host: IpAddr, change: Change) {
        self.shared.with(|state| state.change(host, change, self.is_client));
    }
}

impl Seen {
    /// The change to another way. A server's connections keep their address: with another one on
    /// the way back their handover is over.
    fn change(self, now: Option<Way>, is_client: bool) -> Option<Change> {
        let is_up = now.is_some_and(|way| way.is_running);
        let source = |way: Option<Way>| way.map(|way| way.source);
        let is_elsewhere = self.way.is_some() && source(now) != source(self.way);
        match (self.is_up, is_up) {
            (is_up, true) if is_elsewhere && (is_client || is_up) => Some(Change::Moved),
            (true, false) => Some(Change::Lost),
            (false, true) => Some(Change::Back),
            _ => None,
        }
    }
}

impl State {
    /// Notes a change, and reports it to congestion control. A client's new address needs a new
    /// connection, which knows no handover.
    fn change(&mut self, host: IpAddr, change: Change, is_client: bool) {
        self.note(host, change);
        let ended = Handover::Ended { free: None };
        let handovers = match change {
            Change::Lost => &[Handover::Started][..],
            Change::Back => &[ended],
            Change::Roamed => &[Handover::Started, ended],
            Change::Moved => &[],
        };
        for handover in handovers {
            self.report(Fact::Handover(host, *handover));
        }
        if change == Change::Moved && is_client {
            self.has_moved = true;
            self.poke();
        }
        self.announce();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(last: u8, is_running: bool) -> Option<Way> {
        Some(Way { interface: 3, source: [192, 0, 2, last].into(), is_running })
    }

    #[test]
    fn a_lost_carrier_or_route_is_a_handover_and_another_address_a_move() {
        let up = Seen { way: way(1, true), is_up: true };
        let down = Seen { way: way(1, false), is_up: false };
        assert_eq!(up.change(way(1, true), true), None);
        assert_eq!(up.change(way(1, false), true), Some(Change::Lost));
        assert_eq!(up.change(None, true), Some(Change::Lost));
        assert_eq!(up.change(way(2, true), true), Some(Change::Moved));
        assert_eq!(down.change(way(1, true), true), Some(Change::Back));
        assert_eq!(down.change(way(2, true), true), Some(Change::Moved));
        assert_eq!(down.change(None, true), None);
        // An address without a carrier carries nothing yet.
        assert_eq!(down.change(way(2, false), true), None);
        assert_eq!(up.change(way(2, false), true), Some(Change::Lost));
        let never = Seen { way: None, is_up: false };
        assert_eq!(never.change(way(2, true), true), Some(Change::Back));
        assert_eq!(down.change(way(2, true), false), Some(Change::Back), "a server's");
        assert_eq!(up.change(way(2, true), false), Some(Change::Moved));
    }
}
