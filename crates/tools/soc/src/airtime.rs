//! Weights by which a driver schedules the airtime of stations (nl80211's
//! `NL80211_ATTR_AIRTIME_WEIGHT`), and what they were before.
//!
//! A station has [`USUAL`] unless somebody sets another weight; a full share is the same, so that
//! stations of which nobody told weigh as much as those with a good channel. What a station weighed
//! is noted with a keeper before it is changed, and set again when the station is not served any
//! more, when this process ends, and by the keeper if it is killed.

use crate::Error;
use fairwave_linux::KeeperCommand;
use fairwave_linux::Watchdog;
use fairwave_linux::radio::Radio;
use fairwave_wire::ethernet::Mac;
use std::collections::BTreeMap;
use std::io;

/// What a station weighs of whose airtime nobody has decided (`IEEE80211_DEFAULT_AIRTIME_WEIGHT`
/// of Linux's mac80211).
pub const USUAL: u16 = 256;

/// The first word of the keeper's task that sets a weight again; the interface, the station and the
/// weight follow.
pub const RESTORE: &str = "restore-airtime";

/// The side of the kernel.
pub trait Airtime {
    /// What a station weighs; `None` if it is not associated.
    ///
    /// # Errors
    /// What the kernel says.
    fn weight(&mut self, station: Mac) -> io::Result<Option<u16>>;

    /// Sets it.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if the station is not associated, or what else the kernel says.
    fn set(&mut self, station: Mac, weight: u16) -> io::Result<()>;

    /// Has somebody set this weight when this process is gone; with `None`, no one any more.
    ///
    /// # Errors
    /// If there is nobody.
    fn note(&mut self, station: Mac, before: Option<u16>) -> io::Result<()>;
}

/// Weights of stations' airtime. Those before are set again when this is dropped.
pub struct Weights<A: Airtime> {
    kernel: A,
    stations: BTreeMap<Mac, Given>,
}

/// What a station weighed before, and was given.
#[derive(Clone, Copy, Debug)]
struct Given {
    before: u16,
    now: u16,
}

impl<A: Airtime> Weights<A> {
    /// No station has been given a weight.
    pub const fn new(kernel: A) -> Self {
        Self { kernel, stations: BTreeMap::new() }
    }

    /// Whether no station has been given a weight.
    pub fn is_empty(&self) -> bool {
        self.stations.is_empty()
    }

    /// Gives a station a share of airtime beside others, from 0 to 1. Nothing is done if it is not
    /// associated.
    ///
    /// # Errors
    /// What the kernel says; [`io::ErrorKind::Unsupported`] if the driver refuses weights. The
    /// station weighs what it did then.
    pub fn serve(&mut self, station: Mac, share: f64) -> io::Result<()> {
        let wanted = weight_of(share);
        let Some(now) = self.kernel.weight(station)? else { return Ok(()) };
        // Another weight than it was given is that of a new association, or somebody else's.
        let known = self.stations.get(&station).filter(|given| given.now == now).copied();
        if now == wanted {
            return if known.is_some() { Ok(()) } else { self.forget(station) };
        }
        let before = known.map_or(now, |given| given.before);
        if known.is_none() {
            self.kernel.note(station, Some(before))?;
        }
        let set = self.kernel.set(station, wanted);
        if set.is_ok() {
            self.stations.insert(station, Given { before, now: wanted });
        } else if known.is_none() {
            // Nothing was changed. If the keeper is gone, there is nobody to forget it.
            self.stations.remove(&station);
            let _ = self.kernel.note(station, None);
        }
        unless_gone(set)
    }

    /// Sets again what a station weighed before, if it is still associated and has what it was
    /// given: a station that came back has the weight of a new one, and one that somebody else has
    /// set stays.
    ///
    /// # Errors
    /// What the kernel says; the keeper still knows the weight then.
    pub fn stop(&mut self, station: Mac) -> io::Result<()> {
        let Some(given) = self.stations.get(&station).copied() else { return Ok(()) };
        if self.kernel.weight(station)? == Some(given.now) {
            unless_gone(self.kernel.set(station, given.before))?;
        }
        self.forget(station)
    }

    fn forget(&mut self, station: Mac) -> io::Result<()> {
        match self.stations.remove(&station) {
            Some(_) => self.kernel.note(station, None),
            None => Ok(()),
        }
    }
}

impl<A: Airtime> Drop for Weights<A> {
    fn drop(&mut self) {
        let all: Vec<Mac> = self.stations.keys().copied().collect();
        for station in all {
            // The keeper tries what fails here once more, and says if that fails too.
            let _ = self.stop(station);
        }
    }
}

/// A share as the driver is told it. There is no weight of 0: the least is 1, a 256th.
fn weight_of(share: f64) -> u16 {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    ((share * f64::from(USUAL)).round() as u16).max(1)
}

/// A station that has left, or an interface that is gone, is no error: so is the weight.
fn unless_gone(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| {
        let is_gone = error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == NO_DEVICE;
        if is_gone { Ok(()) } else { Err(error) }
    })
}

/// `ENODEV`.
const NO_DEVICE: Option<i32> = Some(19);

/// The kernel's weights of the stations at an interface, and a keeper for what they were.
pub struct Watched {
    radio: Radio,
    index: u32,
    interface: String,
    keeper: Watchdog,
}

impl Watched {
    /// Opens the radio of an interface in the network namespace of the thread, and starts a keeper.
    ///
    /// # Errors
    /// If the interface has no radio, or the keeper does not start.
    pub fn open(interface: &str, keeper: &KeeperCommand) -> Result<Self, Error> {
        let step = || Error::at(format!("airtime weights at interface `{interface}`"));
        let mut radio = Radio::open().map_err(step())?;
        let index = radio.interface(interface).map_err(step())?.index;
        let keeper = Watchdog::start(keeper)?;
        Ok(Self { radio, index, interface: interface.to_owned(), keeper })
    }
}

impl Airtime for Watched {
    fn weight(&mut self, station: Mac) -> io::Result<Option<u16>> {
        let found = self.radio.station(self.index, station)?;
        Ok(found.map(|one| one.airtime_weight.unwrap_or(USUAL)))
    }

    fn set(&mut self, station: Mac, weight: u16) -> io::Result<()> {
        self.radio.set_airtime_weight(self.index, station, weight)
    }

    fn note(&mut self, station: Mac, before: Option<u16>) -> io::Result<()> {
        let station = station.to_string();
        let noted = match before.map(|before| before.to_string()) {
            Some(before) => {
                self.keeper.note(&station, &[RESTORE, &self.interface, &station, &before])
            }
            None => self.keeper.forget(&station),
        };
        noted.map_err(io::Error::other)
    }
}

/// Whether the driver of an interface says that it schedules airtime by weights. An interface
/// without a radio does not.
pub fn is_scheduled(interface: &str) -> bool {
    let asked = || -> io::Result<bool> {
        let mut radio = Radio::open()?;
        let index = radio.interface(interface)?.index;
        radio.schedules_airtime(index)
    };
    // Who cannot be asked does not schedule, and something else is taken.
    asked().unwrap_or(false)
}

/// What the keeper does with the words behind [`RESTORE`], in a process of its own.
///
/// # Errors
/// If the words are not an interface, a station and a weight, or what the kernel says. An interface
/// or a station that is gone is no error.
pub fn restore(words: &[String]) -> io::Result<()> {
    let [interface, station, weight] = words else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let (Ok(station), Ok(weight)) = (station.parse::<Mac>(), weight.parse::<u16>()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut radio = Radio::open()?;
    let found = radio.interface(interface);
    unless_gone(found.and_then(|found| radio.set_airtime_weight(found.index, station, weight)))
}

#[cfg(test)]
mod tests;
