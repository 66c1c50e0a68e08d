//! What the radio of this host says of its link (nl80211), where the way to the server has one.

use super::message::RadioSample;
use netlink_wi::NlSocket;
use netlink_wi::station::WirelessStation;
use nix::ifaddrs::getifaddrs;
use std::net::IpAddr;
use std::time::Duration;

/// A station's radio.
pub(super) struct Radio {
    socket: NlSocket,
    interface: u32,
    before: WirelessStation,
}

impl Radio {
    /// The radio of the interface with this address; `None` if it has none, or the kernel does
    /// not tell.
    pub(super) fn of(address: IpAddr) -> Option<Self> {
        let name = interface_of(address)?;
        let socket = NlSocket::connect().ok()?;
        let known = socket.list_interfaces().ok()?;
        let interface = known.into_iter().find(|one| one.name == name)?.interface_index;
        let before = link(&socket, interface)?;
        Some(Self { socket, interface, before })
    }

    /// What it did since it was last looked at, and how its link is now.
    pub(super) fn sample(&mut self) -> RadioSample {
        // A station that has lost its access point has no link to tell of.
        let now = link(&self.socket, self.interface).unwrap_or_default();
        let sample = between(&self.before, &now);
        self.before = now;
        sample
    }
}

/// The interface that has an address.
fn interface_of(address: IpAddr) -> Option<String> {
    let has_it = |interface: &nix::ifaddrs::InterfaceAddress| {
        let storage = interface.address.as_ref()?;
        let four = storage.as_sockaddr_in().map(|four| IpAddr::V4(four.ip()));
        let own = four.or_else(|| storage.as_sockaddr_in6().map(|six| IpAddr::V6(six.ip())));
        Some(own? == address.to_canonical())
    };
    let mut all = getifaddrs().ok()?;
    let found = all.find(|interface| has_it(interface) == Some(true))?;
    Some(found.interface_name)
}

/// The link to the access point: the only station that a managed interface knows.
fn link(socket: &NlSocket, interface: u32) -> Option<WirelessStation> {
    let mut known = socket.list_stations(interface).ok()?;
    (known.len() == 1).then(|| known.pop()).flatten()
}

/// What happened from one look at the link to the next. A counter that went back has begun anew,
/// as the station associated again.
fn between(before: &WirelessStation, now: &WirelessStation) -> RadioSample {
    let more = |before: Option<u32>, now: Option<u32>| {
        now.map(|now| now.checked_sub(before.unwrap_or(0)).unwrap_or(now))
    };
    let airtime = |of: &WirelessStation| match (of.tx_duration, of.rx_duration) {
        (None, None) => None,
        (tx, rx) => Some(tx.unwrap_or_default() + rx.unwrap_or_default()),
    };
    let longer = |now: Duration| {
        let since = now.checked_sub(airtime(before).unwrap_or_default()).unwrap_or(now);
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    };
    let kbps = |rate: &netlink_wi::station::RateInfo| rate.bitrate.saturating_mul(100);
    RadioSample {
        // The kernel's number is a signed byte, which the library hands over as unsigned.
        signal_dbm: now.signal.map(|signal| i8::from_ne_bytes([signal])),
        tx_kbps: now.tx_bitrate.as_ref().map(kbps),
        rx_kbps: now.rx_bitrate.as_ref().map(kbps),
        retries: more(before.tx_retries, now.tx_retries),
        failed: more(before.tx_failed, now.tx_failed),
        airtime_us: airtime(now).map(longer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn station(retries: u32, tx_ms: u64) -> WirelessStation {
        WirelessStation {
            signal: Some(0xc4),
            tx_retries: Some(retries),
            tx_duration: Some(Duration::from_millis(tx_ms)),
            rx_duration: Some(Duration::from_millis(5)),
            ..WirelessStation::default()
        }
    }

    /// 0xc4 is -60 as a signed byte.
    #[test]
    fn counters_are_told_by_their_differences() {
        let sample = between(&station(10, 100), &station(14, 130));
        let told = (sample.signal_dbm, sample.retries, sample.airtime_us, sample.failed);
        assert_eq!(told, (Some(-60), Some(4), Some(30_000), None));
    }

    #[test]
    fn a_station_that_associates_again_counts_anew() {
        let again = between(&station(10, 100), &station(3, 20));
        assert_eq!((again.retries, again.airtime_us), (Some(3), Some(25_000)));
        let lost = between(&station(10, 100), &WirelessStation::default());
        assert_eq!(lost, RadioSample::default());
    }

    #[test]
    fn loopback_has_no_radio() {
        assert_eq!(interface_of("127.0.0.1".parse().unwrap()).as_deref(), Some("lo"));
        assert!(Radio::of("127.0.0.1".parse().unwrap()).is_none());
        assert_eq!(interface_of("192.0.2.7".parse().unwrap()), None);
    }
}
