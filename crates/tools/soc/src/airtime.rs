//! Weights by which a driver schedules the airtime of stations (nl80211's
//! `NL80211_ATTR_AIRTIME_WEIGHT`), and the restoration of earlier weights.
//!
//! A station has [`USUAL`] unless a program sets another weight. A full share has the same weight,
//! so that stations without reports weigh as much as those with a good channel. The earlier weight
//! is noted with a keeper before it is changed. It is restored when the station is no longer served
//! or this process ends, and by the keeper if the process is killed.

use crate::Error;
use fairwave_linux::KeeperCommand;
use fairwave_linux::Watchdog;
use fairwave_linux::radio::Radio;
use fairwave_wire::ethernet::Mac;
use std::collections::BTreeMap;
use std::io;

/// Default weight of a station (`IEEE80211_DEFAULT_AIRTIME_WEIGHT` of Linux's mac80211).
pub const USUAL: u16 = 256;

/// First word of the keeper's task that restores a weight; the interface's number, the station and
/// the weight follow.
pub const RESTORE: &str = "restore-airtime";

/// Access to the weights in the kernel.
pub trait Airtime {
    /// Returns the weight of a station; `None` if it is not associated.
    ///
    /// # Errors
    /// Error from the kernel.
    fn weight(&mut self, station: Mac) -> io::Result<Option<u16>>;

    /// Sets the weight of a station.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if the station is not associated, or another error from the
    /// kernel.
    fn set(&mut self, station: Mac, weight: u16) -> io::Result<()>;

    /// Asks a keeper to restore this weight when this process is gone; `None` withdraws the
    /// request.
    ///
    /// # Errors
    /// If there is no keeper.
    fn note(&mut self, station: Mac, before: Option<u16>) -> io::Result<()>;
}

/// Weights of stations' airtime. The earlier weights are restored when this is dropped.
pub struct Weights<A: Airtime> {
    kernel: A,
    stations: BTreeMap<Mac, Given>,
    /// Shares that the driver does not have: it refused them, or the station was not associated.
    pending: BTreeMap<Mac, f64>,
}

/// Earlier weight of a station, and the weight that it was given.
#[derive(Clone, Copy, Debug)]
struct Given {
    before: u16,
    now: u16,
}

impl<A: Airtime> Weights<A> {
    /// Starts without any station.
    pub const fn new(kernel: A) -> Self {
        Self { kernel, stations: BTreeMap::new(), pending: BTreeMap::new() }
    }

    /// Whether no station has been given a weight.
    pub fn is_empty(&self) -> bool {
        self.stations.is_empty()
    }

    /// Sets a station's share of airtime relative to others, from 0 to 1. A station that is not
    /// associated is left to [`Weights::settle`].
    ///
    /// # Errors
    /// Error from the kernel; [`io::ErrorKind::Unsupported`] if the driver refuses weights. The
    /// station then keeps its weight until [`Weights::settle`].
    pub fn serve(&mut self, station: Mac, share: f64) -> io::Result<()> {
        self.pending.insert(station, share);
        let is_set = self.try_to_serve(station, share)?;
        if is_set {
            self.pending.remove(&station);
        }
        Ok(())
    }

    /// Whether the driver has all shares.
    pub fn is_settled(&self) -> bool {
        self.pending.is_empty()
    }

    /// Asks again for the shares that the driver does not have.
    ///
    /// # Errors
    /// The first refusal; the rest was requested nevertheless.
    pub fn settle(&mut self) -> io::Result<()> {
        let pending: Vec<(Mac, f64)> =
            self.pending.iter().map(|(who, share)| (*who, *share)).collect();
        let mut first = Ok(());
        for (station, share) in pending {
            first = first.and(self.serve(station, share));
        }
        first
    }

    /// Sets a share; `false` if the station is not associated.
    fn try_to_serve(&mut self, station: Mac, share: f64) -> io::Result<bool> {
        let wanted = weight_of(share);
        let Some(now) = self.kernel.weight(station)? else { return Ok(false) };
        // A weight other than the one set here belongs to a new association, or another program has
        // set it.
        let known = self.stations.get(&station).filter(|given| given.now == now).copied();
        if now == wanted {
            return if known.is_some() { Ok(true) } else { self.forget(station).map(|()| true) };
        }
        let before = known.map_or(now, |given| given.before);
        if known.is_none() {
            self.kernel.note(station, Some(before))?;
        }
        let set = self.kernel.set(station, wanted);
        if set.is_ok() {
            self.stations.insert(station, Given { before, now: wanted });
        } else if known.is_none() {
            // Nothing was changed. If the keeper is gone too, no note is left to withdraw.
            self.stations.remove(&station);
            let _ = self.kernel.note(station, None);
        }
        let is_set = set.is_ok();
        ignore_missing(set).map(|()| is_set)
    }

    /// Restores the earlier weight of a station, if the station is still associated and still has
    /// the weight set here. After a new association it has the default weight, and a weight from
    /// another program stays.
    ///
    /// # Errors
    /// Error from the kernel; the keeper then still has the weight.
    pub fn stop(&mut self, station: Mac) -> io::Result<()> {
        self.pending.remove(&station);
        let Some(given) = self.stations.get(&station).copied() else { return Ok(()) };
        if self.kernel.weight(station)? == Some(given.now) {
            ignore_missing(self.kernel.set(station, given.before))?;
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
            // The keeper retries a restoration that fails here, and reports if that fails too.
            let _ = self.stop(station);
        }
    }
}

/// Converts a share to the driver's unit. Weight 0 does not exist: the minimum is 1, a 256th.
fn weight_of(share: f64) -> u16 {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    ((share * f64::from(USUAL)).round() as u16).max(1)
}

/// Ignores the error of a station that has left, or of an interface that is gone: the weight is
/// gone too.
fn ignore_missing(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| {
        let is_gone = error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == NO_DEVICE;
        if is_gone { Ok(()) } else { Err(error) }
    })
}

/// `ENODEV`.
const NO_DEVICE: Option<i32> = Some(19);

/// The kernel's weights of the stations at an interface, and a keeper of the earlier ones.
pub struct Watched {
    radio: Radio,
    index: u32,
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
        Ok(Self { radio, index, keeper })
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
        let (station, index) = (station.to_string(), self.index.to_string());
        let noted = match before.map(|before| before.to_string()) {
            Some(before) => self.keeper.note(&station, &[RESTORE, &index, &station, &before]),
            None => self.keeper.forget(&station),
        };
        noted.map_err(io::Error::other)
    }
}

/// Whether the driver of an interface reports that it schedules airtime by weights. An interface
/// without a radio does not.
pub fn is_scheduled(interface: &str) -> bool {
    let requested = || -> io::Result<bool> {
        let mut radio = Radio::open()?;
        let index = radio.interface(interface)?.index;
        radio.schedules_airtime(index)
    };
    // If the driver cannot be asked, another actuator is chosen.
    requested().unwrap_or(false)
}

/// Executes the keeper's task [`RESTORE`] with its arguments, in a process of its own.
///
/// # Errors
/// If the words are not an interface's number, a station and a weight, or the kernel refuses. An
/// interface or a station that is gone is no error.
pub fn restore(words: &[String]) -> io::Result<()> {
    let [index, station, weight] = words else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let (Ok(index), Ok(station), Ok(weight)) =
        (index.parse::<u32>(), station.parse::<Mac>(), weight.parse::<u16>())
    else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    ignore_missing(Radio::open()?.set_airtime_weight(index, station, weight))
}

#[cfg(test)]
mod tests;
