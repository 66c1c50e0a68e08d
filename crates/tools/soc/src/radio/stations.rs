//! Observations of an access point's radio: the stations that are present, and the reception of
//! each.
//!
//! The kernel's list of stations is read at each sample and is authoritative. Events report changes
//! between two samples, such as a station that left and returned. If the kernel had no room for
//! some events, the time since the association shows that in the list.

use super::Door;
use crate::Error;
use crate::source::{Observed, StationSource};
use fairwave_linux::radio::hostapd::{self, Control};
use fairwave_linux::radio::{self, Events, Station};
use fairwave_soc::{ApInput, StationView};
use fairwave_units::{BitRate, Dbm, Duration};
use fairwave_wire::ethernet::Mac;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The radio of an access point's interface.
pub struct AccessPointRadio {
    door: Door,
    events: Events,
    hostapd: Hostapd,
    present: Present,
}

/// hostapd's control socket. hostapd makes a new one when it restarts.
struct Hostapd {
    path: PathBuf,
    /// Inode of the socket's file that was tried last.
    tried: Option<u64>,
    control: Option<Control>,
    /// Samples until a file that did not answer is tried again.
    rest: u32,
    /// The error of the last attempt, until one succeeds.
    trouble: Option<String>,
}

/// Lists in which lost events may show: the present one may be older than they are.
const LISTS: u32 = 2;
/// Samples between two attempts at one file, of which each may take seconds.
const REST: u32 = 300;

/// The stations that are present.
#[derive(Default)]
struct Present {
    /// Each with the seconds since its association in the last list.
    stations: BTreeMap<Mac, Option<u32>>,
    /// Number of the next lists that are compared with the last one, since events were lost.
    compared: u32,
}

/// Changes that the kernel reports.
#[derive(Default)]
struct Changes {
    all: Vec<Change>,
    /// Whether it had no room for some.
    has_lost: bool,
}

/// Arrival or departure of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Came(Mac),
    Went(Mac),
}

impl AccessPointRadio {
    /// Opens the radio of an interface in the network namespace of the thread; `None` if it has
    /// none. `hostapd` is the path of hostapd's control socket, which is used while it exists.
    ///
    /// # Errors
    /// Error from the kernel.
    pub fn open(interface: &str, hostapd: &Path) -> Result<Option<Self>, Error> {
        let Some(door) = Door::open(interface)? else { return Ok(None) };
        let events = Events::open();
        let events = events.map_err(Error::at(format!("events of interface `{interface}`")))?;
        let hostapd = Hostapd {
            path: hostapd.to_owned(),
            tried: None,
            control: None,
            rest: 0,
            trouble: None,
        };
        Ok(Some(Self { door, events, hostapd, present: Present::default() }))
    }

    /// Departures at this interface. A station that the kernel reports as new has no keys yet, so
    /// that its arrival is taken from hostapd or from the list of stations.
    fn read_changes(&self) -> io::Result<Changes> {
        let mut changes = Changes::default();
        for event in self.events.take()? {
            match event {
                radio::Event::Left { interface, station } if interface == self.door.index => {
                    changes.all.push(Change::Went(station));
                }
                radio::Event::Missed => changes.has_lost = true,
                radio::Event::Left { .. }
                | radio::Event::Joined { .. }
                | radio::Event::Connected { .. }
                | radio::Event::Roamed { .. }
                | radio::Event::Disconnected { .. } => {}
            }
        }
        Ok(changes)
    }

    /// The kernel's part, and the error of hostapd's: what the kernel reported is not lost with it.
    fn facts(&mut self) -> Result<(Vec<ApInput>, Option<String>), String> {
        let noise = self.door.noise();
        // The list is read before the events: those are then never older than the previous list,
        // and may be newer than this one.
        let stations = self.door.radio.stations(self.door.index);
        let stations =
            stations.map_err(|why| format!("the radio does not report its stations: {why}"))?;
        let mut changes =
            self.read_changes().map_err(|why| format!("events of the radio: {why}"))?;
        changes.all.extend(self.hostapd.take());
        let facts = self.present.facts(&stations, noise, changes);
        Ok((facts, self.hostapd.trouble.clone()))
    }
}

impl StationSource for AccessPointRadio {
    fn observe(&mut self) -> Observed {
        match self.facts() {
            Ok((facts, trouble)) => Observed { facts, trouble },
            Err(why) => Observed { facts: Vec::new(), trouble: Some(why) },
        }
    }
}

impl Hostapd {
    /// Changes since the last call. An error stays in [`Hostapd::trouble`].
    fn take(&mut self) -> Vec<Change> {
        match self.read() {
            Ok(changes) => changes,
            Err(why) => {
                self.trouble = Some(why);
                Vec::new()
            }
        }
    }

    fn read(&mut self) -> Result<Vec<Change>, String> {
        let place = self.path.display();
        let file = fs::metadata(&self.path).ok().map(|about| about.ino());
        let is_mute = file.is_some() && self.control.is_none();
        self.rest = self.rest.saturating_sub(1);
        if file != self.tried || (is_mute && self.rest == 0) {
            (self.tried, self.control, self.rest) = (file, None, REST);
            self.trouble = None;
            let attached = file.map(|_| Control::attach(&self.path)).transpose();
            self.control = attached.map_err(|why| format!("hostapd at {place}: {why}"))?;
        }
        let reported = self.control.as_ref().map_or(Ok(Vec::new()), Control::take);
        let reported = reported.map_err(|why| {
            self.control = None;
            format!("hostapd at {place}: {why}")
        })?;
        Ok(reported.into_iter().map(Change::from).collect())
    }
}

impl From<hostapd::Event> for Change {
    fn from(event: hostapd::Event) -> Self {
        match event {
            hostapd::Event::Joined(station) => Self::Came(station),
            hostapd::Event::Left(station) => Self::Went(station),
        }
    }
}

impl Present {
    /// Observations from the kernel's list of stations, and then from the changes.
    fn facts(
        &mut self,
        stations: &[Station],
        noise: Option<Dbm>,
        changes: Changes,
    ) -> Vec<ApInput> {
        if changes.has_lost {
            self.compared = LISTS;
        }
        let is_compared = self.compared > 0;
        self.compared = self.compared.saturating_sub(1);
        // A station without agreed keys is ignored, so that strangers take up no memory.
        let ours = || stations.iter().filter(|station| station.is_authorized != Some(false));
        let listed: BTreeSet<Mac> = ours().map(|station| station.mac).collect();
        let gone: Vec<Mac> =
            self.stations.keys().filter(|station| !listed.contains(*station)).copied().collect();
        let mut facts: Vec<ApInput> =
            gone.into_iter().filter_map(|station| self.change(Change::Went(station))).collect();
        for station in ours() {
            let before = self.stations.get(&station.mac).copied().flatten();
            let has_returned = before.zip(station.connected_s).is_some_and(|(was, is)| is < was);
            if is_compared && has_returned {
                facts.extend(self.change(Change::Went(station.mac)));
            }
            facts.extend(self.change(Change::Came(station.mac)));
            self.stations.insert(station.mac, station.connected_s);
            facts.push(ApInput::Seen(view(station, noise)));
        }
        facts.extend(changes.all.into_iter().filter_map(|change| self.change(change)));
        facts
    }

    /// The observation, if the change is new.
    fn change(&mut self, change: Change) -> Option<ApInput> {
        match change {
            Change::Came(station) if self.stations.contains_key(&station) => None,
            Change::Came(station) => {
                self.stations.insert(station, None);
                Some(ApInput::Joined(station))
            }
            Change::Went(station) => self.stations.remove(&station).map(|_| ApInput::Left(station)),
        }
    }
}

fn view(station: &Station, noise: Option<Dbm>) -> StationView {
    let signal = station.signal_average_dbm.or(station.signal_dbm);
    let rate = |kbps: Option<u32>| kbps.map(|kbps| BitRate(u64::from(kbps) * 1_000));
    let (sent, received) = (station.tx_airtime_us, station.rx_airtime_us);
    let airtime =
        sent.or(received).map(|_| sent.unwrap_or(0).saturating_add(received.unwrap_or(0)));
    StationView {
        signal: signal.map(|signal| Dbm(f64::from(signal))),
        noise,
        tx_rate: rate(station.tx_kbps),
        rx_rate: rate(station.rx_kbps),
        retries: station.tx_retries.map(u64::from),
        failed: station.tx_failed.map(u64::from),
        airtime: airtime.map(Duration::from_micros),
        sent_airtime: sent.map(Duration::from_micros),
        inactive: station.inactive_ms.map(|ms| Duration::from_millis(u64::from(ms))),
        ..StationView::new(station.mac)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;

    const A: Mac = Mac::local(1);
    const B: Mac = Mac::local(2);

    fn seen(mac: Mac) -> Station {
        Station { mac, is_authorized: Some(true), ..Station::default() }
    }

    /// Arrivals and departures, in order.
    fn pending(present: &mut Present, listed: &[Station], changes: &[Change]) -> Vec<Change> {
        pending_of(present, listed, Changes { all: changes.to_vec(), has_lost: false })
    }

    fn pending_of(present: &mut Present, listed: &[Station], changes: Changes) -> Vec<Change> {
        let facts = present.facts(listed, None, changes);
        let pending = |fact: &ApInput| match fact {
            ApInput::Joined(station) => Some(Change::Came(*station)),
            ApInput::Left(station) => Some(Change::Went(*station)),
            _ => None,
        };
        facts.iter().filter_map(pending).collect()
    }

    #[test]
    fn the_list_tells_who_came_and_went_without_any_event() {
        let mut present = Present::default();
        assert_eq!(
            pending(&mut present, &[seen(A), seen(B)], &[]),
            [Change::Came(A), Change::Came(B)]
        );
        assert_eq!(pending(&mut present, &[seen(A), seen(B)], &[]), []);
        assert_eq!(pending(&mut present, &[seen(B)], &[]), [Change::Went(A)]);
    }

    #[test]
    fn events_tell_of_what_is_between_two_lists_once() {
        let mut present = Present::default();
        // hostapd reports first that A has keys, and then the list does.
        assert_eq!(pending(&mut present, &[], &[Change::Came(A)]), [Change::Came(A)]);
        assert_eq!(pending(&mut present, &[seen(A)], &[]), []);
        // A leaves and returns between two samples: the list is the same, but kernel and hostapd
        // report it.
        let changes = [Change::Went(A), Change::Went(A), Change::Came(A)];
        assert_eq!(pending(&mut present, &[seen(A)], &changes), [Change::Went(A), Change::Came(A)]);
        // A list that is older than the departure does not bring the station back.
        assert_eq!(pending(&mut present, &[seen(A)], &[Change::Went(A)]), [Change::Went(A)]);
        assert_eq!(pending(&mut present, &[], &[Change::Went(A)]), []);
    }

    /// B's events were lost, and so was A's departure after this list. A's driver reports no times.
    #[test]
    fn who_left_and_returned_unseen_is_known_by_the_time_since_the_association() {
        let mut present = Present::default();
        let at = |mac, connected_s| Station { connected_s, ..seen(mac) };
        let lost = || Changes { all: Vec::new(), has_lost: true };
        let before = [at(A, Some(70)), at(B, Some(80))];
        pending(&mut present, &before, &[]);
        let list = [at(A, Some(71)), at(B, Some(0))];
        let returned = |mac| [Change::Went(mac), Change::Came(mac)];
        assert_eq!(pending_of(&mut present, &list, lost()), returned(B));
        assert_eq!(pending(&mut present, &[at(A, Some(0)), at(B, Some(1))], &[]), returned(A));
        // With events a departure is in them, behind the list.
        let again = [at(A, Some(0)), at(B, Some(0))];
        assert_eq!(pending(&mut present, &again, &[Change::Went(B)]), [Change::Went(B)]);
        assert_eq!(pending_of(&mut present, &[at(A, None)], lost()), []);
    }

    #[test]
    fn a_station_without_keys_is_not_there() {
        let mut present = Present::default();
        let unknown = Station { is_authorized: Some(false), ..seen(A) };
        let none = Changes::default();
        assert_eq!(present.facts(std::slice::from_ref(&unknown), None, none), []);
        let untold = Station { is_authorized: None, ..seen(B) };
        assert_eq!(pending(&mut present, &[unknown, untold], &[]), [Change::Came(B)]);
    }

    /// The numbers are those of a station dump and a survey of mac80211_hwsim.
    #[test]
    fn a_view_has_the_drivers_average_and_the_noise() {
        let station = Station {
            signal_dbm: Some(-40),
            signal_average_dbm: Some(-38),
            tx_kbps: Some(54_000),
            tx_retries: Some(14),
            tx_failed: Some(2),
            rx_airtime_us: Some(30_000),
            tx_airtime_us: Some(5_000),
            inactive_ms: Some(80),
            ..seen(A)
        };
        let expected = StationView {
            signal: Some(Dbm(-38.0)),
            noise: Some(Dbm(-92.0)),
            tx_rate: Some(BitRate(54_000_000)),
            retries: Some(14),
            failed: Some(2),
            airtime: Some(Duration::from_millis(35)),
            sent_airtime: Some(Duration::from_millis(5)),
            inactive: Some(Duration::from_millis(80)),
            ..StationView::new(A)
        };
        assert_eq!(view(&station, Some(Dbm(-92.0))), expected);
        assert_eq!(view(&seen(B), None), StationView::new(B));
    }

    /// Messages of hostapd 2.10 of Debian on attaching, and when a station joins.
    #[test]
    fn a_hostapd_that_starts_anew_is_heard_again() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("wlan0");
        let (tried, control) = (None, None);
        let mut hostapd = Hostapd { path: path.clone(), tried, control, rest: 0, trouble: None };
        assert_eq!((hostapd.take(), &hostapd.trouble), (Vec::new(), &None));
        for _ in 0..2 {
            let server = UnixDatagram::bind(&path).unwrap();
            let speaker = std::thread::spawn(move || {
                let (_, from) = server.recv_from(&mut [0; 64]).unwrap();
                for text in ["OK\n", "<3>AP-STA-CONNECTED 02:00:00:00:00:01"] {
                    server.send_to_addr(text.as_bytes(), &from).unwrap();
                }
            });
            let first = hostapd.take();
            speaker.join().unwrap();
            let all = [first, hostapd.take()].concat();
            assert_eq!(all, [Change::Came(A)]);
            // Some file systems reuse the inode of a deleted file at once.
            fs::rename(&path, place.path().join(format!("old{}", all.len()))).unwrap();
            assert_eq!((hostapd.take(), &hostapd.trouble), (Vec::new(), &None));
        }
        fs::write(&path, "no socket").unwrap();
        let mut read = || {
            assert_eq!(hostapd.take(), []);
            hostapd.trouble.clone().unwrap()
        };
        let error = read();
        assert!(error.contains("wlan0: "), "{error}");
        // A file that does not answer rests for a while, in which its error is no new one.
        assert_eq!(read(), error);
        hostapd.rest = 1;
        let read = (hostapd.take(), hostapd.trouble.clone());
        assert_eq!((read, hostapd.rest), ((Vec::new(), Some(error)), REST));
        fs::remove_file(&path).unwrap();
        assert_eq!((hostapd.take(), &hostapd.trouble), (Vec::new(), &None));
    }
}
