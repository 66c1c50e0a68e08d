//! Observations of this host's radio (nl80211), if the route to the server has one.

use super::message::RadioSample;
use fairwave_linux::radio;
use nix::ifaddrs::getifaddrs;
use std::net::IpAddr;

/// A station's radio.
pub(super) struct Radio {
    socket: radio::Radio,
    interface: u32,
    before: radio::Station,
}

impl Radio {
    /// The radio of the interface with this address; `None` if it has none, or the kernel does not
    /// report it.
    pub(super) fn of(address: IpAddr) -> Option<Self> {
        let name = interface_of(address)?;
        let mut socket = radio::Radio::open().ok()?;
        let interface = socket.interface(&name).ok()?.index;
        let before = socket.link(interface).ok()??;
        Some(Self { socket, interface, before })
    }

    /// Counts since the last sample, and the present state of the link.
    pub(super) fn sample(&mut self) -> RadioSample {
        // A station that has lost its access point has no link.
        let now = self.socket.link(self.interface).ok().flatten().unwrap_or_default();
        let sample = between(&self.before, &now);
        self.before = now;
        sample
    }
}

/// The interface that has an address.
pub(super) fn interface_of(address: IpAddr) -> Option<String> {
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

/// Counts between two samples of a link. A counter that decreased has restarted, as the station
/// associated again.
fn between(before: &radio::Station, now: &radio::Station) -> RadioSample {
    let more = |before: Option<u32>, now: Option<u32>| {
        now.map(|now| now.checked_sub(before.unwrap_or(0)).unwrap_or(now))
    };
    let airtime = |of: &radio::Station| match (of.tx_airtime_us, of.rx_airtime_us) {
        (None, None) => None,
        (tx, rx) => Some(tx.unwrap_or_default().saturating_add(rx.unwrap_or_default())),
    };
    let longer = |now: u64| now.checked_sub(airtime(before).unwrap_or(0)).unwrap_or(now);
    RadioSample {
        signal_dbm: now.signal_dbm,
        tx_kbps: now.tx_kbps,
        rx_kbps: now.rx_kbps,
        retries: more(before.tx_retries, now.tx_retries),
        failed: more(before.tx_failed, now.tx_failed),
        airtime_us: airtime(now).map(longer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn station(retries: u32, tx_us: u64) -> radio::Station {
        radio::Station {
            signal_dbm: Some(-60),
            tx_retries: Some(retries),
            tx_airtime_us: Some(tx_us),
            rx_airtime_us: Some(5_000),
            ..radio::Station::default()
        }
    }

    #[test]
    fn counters_are_told_by_their_differences() {
        let sample = between(&station(10, 100_000), &station(14, 130_000));
        let reported = (sample.signal_dbm, sample.retries, sample.airtime_us, sample.failed);
        assert_eq!(reported, (Some(-60), Some(4), Some(30_000), None));
    }

    #[test]
    fn a_station_that_associates_again_counts_anew() {
        let again = between(&station(10, 100_000), &station(3, 20_000));
        assert_eq!((again.retries, again.airtime_us), (Some(3), Some(25_000)));
        let lost = between(&station(10, 100_000), &radio::Station::default());
        assert_eq!(lost, RadioSample::default());
    }

    #[test]
    fn loopback_has_no_radio() {
        assert_eq!(interface_of("127.0.0.1".parse().unwrap()).as_deref(), Some("lo"));
        assert!(Radio::of("127.0.0.1".parse().unwrap()).is_none());
        assert_eq!(interface_of("192.0.2.7".parse().unwrap()), None);
    }
}
