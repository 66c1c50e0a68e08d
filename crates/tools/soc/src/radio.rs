//! Observations of Linux's radios (nl80211): a station's link, and the stations of an access point.

mod stations;

pub use stations::AccessPointRadio;

use crate::Error;
use crate::source::{Level, SnrSource};
use fairwave_linux::radio::{Radio, Station, Survey};
use fairwave_soc::NOISE;
use fairwave_units::Dbm;
use std::io;

/// Number of samples for which one survey of the noise serves: some drivers need long for a survey,
/// and noise changes slowly.
const LOOKS_PER_SURVEY: u32 = 16;

/// Access to one interface's radio.
struct Door {
    radio: Radio,
    /// Index of the interface.
    index: u32,
    /// Noise of the last survey, and the number of samples until the next.
    noise: Option<Dbm>,
    looks_left: u32,
}

/// The radio of a station's interface. Its level is the signal of the access point's frames over
/// the noise of the channel ([`NOISE`] where the driver does not measure that).
pub struct StationRadio(Door);

impl Door {
    /// Opens the radio; `None` if the interface has none, or the kernel does not report one.
    fn open(interface: &str) -> Result<Option<Self>, Error> {
        let opened = || -> io::Result<Self> {
            let mut radio = Radio::open()?;
            let index = radio.interface(interface)?.index;
            Ok(Self { radio, index, noise: None, looks_left: 0 })
        };
        match opened() {
            Ok(door) => Ok(Some(door)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::at(format!("radio of interface `{interface}`"))(error)),
        }
    }

    /// The noise of the channel; `None` if the driver does not measure it.
    fn noise(&mut self) -> Option<Dbm> {
        if self.looks_left == 0 {
            self.looks_left = LOOKS_PER_SURVEY;
            self.noise = self.radio.surveys(self.index).ok().and_then(|all| noise_of(&all));
        }
        self.looks_left -= 1;
        self.noise
    }
}

/// The noise of the channel in use.
fn noise_of(surveys: &[Survey]) -> Option<Dbm> {
    let used = surveys.iter().find(|survey| survey.is_in_use)?;
    used.noise_dbm.map(|noise| Dbm(f64::from(noise)))
}

/// The level of a link. The signal of the last frame is preferred to the driver's average, as the
/// station has its own filter.
fn level(link: &Station, noise: Option<Dbm>) -> Option<Level> {
    let signal = link.signal_dbm.or(link.signal_average_dbm)?;
    let snr = Dbm(f64::from(signal)) - noise.unwrap_or(NOISE);
    Some(Level { snr, access_point: Some(link.mac) })
}

impl StationRadio {
    /// Opens the radio of an interface in the network namespace of the thread; `None` if it has
    /// none.
    ///
    /// # Errors
    /// Error from the kernel.
    pub fn open(interface: &str) -> Result<Option<Self>, Error> {
        Ok(Door::open(interface)?.map(Self))
    }
}

impl SnrSource for StationRadio {
    fn sample(&mut self) -> Result<Option<Level>, String> {
        let door = &mut self.0;
        let reported = door.radio.link(door.index);
        let link =
            reported.map_err(|error| format!("the radio does not report its link: {error}"))?;
        let noise = door.noise();
        Ok(link.and_then(|link| level(&link, noise)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::Db;
    use fairwave_wire::ethernet::Mac;

    fn survey(frequency_mhz: u32, noise_dbm: Option<i8>, is_in_use: bool) -> Survey {
        Survey { frequency_mhz, noise_dbm, is_in_use, time_ms: None, busy_ms: None }
    }

    #[test]
    fn the_noise_is_that_of_the_channel_in_use() {
        let other = survey(2_412, Some(-80), false);
        assert_eq!(noise_of(&[other, survey(2_437, Some(-92), true)]), Some(Dbm(-92.0)));
        assert_eq!(noise_of(&[other, survey(2_437, None, true)]), None);
        assert_eq!(noise_of(&[other]), None);
    }

    #[test]
    fn a_level_is_the_last_frames_signal_over_the_noise() {
        let mac = Mac::local(4);
        let link = Station { mac, signal_average_dbm: Some(-60), ..Station::default() };
        let reported = |snr| Some(Level { snr: Db(snr), access_point: Some(mac) });
        assert_eq!(level(&link, None), reported(35.0));
        let link = Station { signal_dbm: Some(-70), ..link };
        assert_eq!(level(&link, Some(Dbm(-92.0))), reported(22.0));
        assert_eq!(
            level(&Station { signal_dbm: None, signal_average_dbm: None, ..link }, None),
            None
        );
    }
}
