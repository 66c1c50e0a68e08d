//! Lenders of the local network: DNS-SD (RFC 6763) over multicast DNS (RFC 6762), by the library
//! mdns-sd.
//!
//! Announcements are not authenticated. A neighbour that announces the name of a lender gets the
//! borrower's first message, with which it can do nothing without the key.

use fairwave_units::BitRate;
use mdns_sd::{Error, IfKind, ResolvedService, ScopedIp, ServiceDaemon, ServiceEvent, ServiceInfo};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time;
use tokio::time::{sleep, timeout};

/// The type of the service.
const SERVICE: &str = "_fairwave-share._udp.local.";
/// Key of the bandwidth in the TXT record, in bits per second.
const RATE: &str = "rate";
/// Time until a search that could not begin is tried again.
const AGAIN: time::Duration = time::Duration::from_secs(1);
/// Time after which a search that has not found its lender begins anew.
const SEARCH: time::Duration = time::Duration::from_secs(4);

/// A lender that announces itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Its name.
    pub name: String,
    /// Its addresses, IPv4 first.
    pub addresses: Vec<SocketAddr>,
    /// The bandwidth that it lends, if it limits that.
    pub rate: Option<BitRate>,
}

/// A speaker of multicast DNS, until it is dropped.
struct Speaker(ServiceDaemon);

impl Drop for Speaker {
    fn drop(&mut self) {
        // The daemon's thread says goodbye and ends by itself.
        let _ = self.0.shutdown();
    }
}

/// The announcement of a lender, until it is dropped.
pub struct Announcement {
    _speaker: Speaker,
}

impl std::fmt::Debug for Announcement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Announcement(..)")
    }
}

impl Announcement {
    /// Announces a lender on all interfaces but the one that is lent and the loopback.
    ///
    /// # Errors
    /// If the host has no multicast socket, or the name is too long.
    pub fn new(name: &str, port: u16, rate: Option<BitRate>, via: &str) -> Result<Self, Error> {
        let speaker = Speaker(ServiceDaemon::new()?);
        let kinds = vec![IfKind::Name(via.to_owned()), IfKind::LoopbackV4, IfKind::LoopbackV6];
        speaker.0.disable_interface(kinds)?;
        let rate = rate.map(|rate| rate.0.to_string());
        let properties: Vec<(&str, String)> = rate.into_iter().map(|rate| (RATE, rate)).collect();
        let host = format!("fairwave-{name}.local.");
        let service = ServiceInfo::new(SERVICE, name, &host, "", port, &properties[..])?;
        speaker.0.register(service.enable_addr_auto())?;
        Ok(Self { _speaker: speaker })
    }
}

/// Lenders that answer within a time, by name.
///
/// # Errors
/// If the host has no multicast socket.
pub async fn list(within: time::Duration) -> Result<Vec<Announced>, Error> {
    let mut found = BTreeMap::new();
    let search = search(|announced| {
        found.insert(announced.name.clone(), announced);
        None::<()>
    });
    match timeout(within, search).await {
        Ok(Err(error)) => Err(error),
        Ok(Ok(())) | Err(_) => Ok(found.into_values().collect()),
    }
}

/// Waits for the lender with this name; returns its first address.
///
/// A search waits 1, 2, 4 and more seconds between its queries (RFC 6762, section 5.2). A new one
/// asks at once, so that a lost answer costs seconds.
pub(crate) async fn find(name: &str) -> SocketAddr {
    loop {
        let found = search(|announced| {
            let is_it = announced.name == name;
            announced.addresses.first().copied().filter(|_| is_it)
        });
        match timeout(SEARCH, found).await {
            Ok(Ok(address)) => return address,
            Ok(Err(_)) => sleep(AGAIN).await,
            Err(_) => {}
        }
    }
}

/// Searches until `take` takes something of a lender.
async fn search<T>(mut take: impl FnMut(Announced) -> Option<T>) -> Result<T, Error> {
    let speaker = Speaker(ServiceDaemon::new()?);
    let events = speaker.0.browse(SERVICE)?;
    let mut taken = None;
    while taken.is_none()
        && let Ok(event) = events.recv_async().await
    {
        if let ServiceEvent::ServiceResolved(service) = event {
            taken = announced(&service).and_then(&mut take);
        }
    }
    taken.ok_or_else(|| Error::Msg("the search has ended".to_owned()))
}

fn announced(service: &ResolvedService) -> Option<Announced> {
    let name = service.get_fullname().strip_suffix(SERVICE)?.strip_suffix('.')?.to_owned();
    let usable = |ip: &IpAddr| match ip {
        IpAddr::V4(ip) => !ip.is_loopback(),
        // A link-local one would need the number of an interface.
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local(),
    };
    let ips = service.get_addresses().iter().map(ScopedIp::to_ip_addr).filter(usable);
    let mut addresses: Vec<_> = ips.map(|ip| SocketAddr::new(ip, service.get_port())).collect();
    addresses.sort_by_key(|address| (address.is_ipv6(), *address));
    let rate = service.get_property_val_str(RATE).and_then(|rate| rate.parse().ok());
    (!addresses.is_empty()).then_some(Announced { name, addresses, rate: rate.map(BitRate) })
}
