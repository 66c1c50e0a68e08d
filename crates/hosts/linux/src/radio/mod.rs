//! Information of a radio of this machine (nl80211): the stations of an access point or a station's
//! own link, the noise on its channel, and joining and leaving stations. [`hostapd`] reports the
//! latter too.
//!
//! Numbers and units are those of `linux/nl80211.h`. Values that a driver does not report are
//! `None`. No message of the kernel or the socket leads to a panic: unreadable parts are left out.

mod attributes;
mod generic;
pub mod hostapd;
#[cfg(test)]
mod tests;

use attributes::{Attributes, Field};
use fairwave_wire::ethernet::Mac;
use generic::{Generic, Message};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Commands.
mod command {
    pub(super) const GET_WIPHY: u8 = 1;
    pub(super) const GET_INTERFACE: u8 = 5;
    pub(super) const GET_STATION: u8 = 17;
    pub(super) const SET_STATION: u8 = 18;
    pub(super) const NEW_STATION: u8 = 19;
    pub(super) const DEL_STATION: u8 = 20;
    pub(super) const CONNECT: u8 = 46;
    pub(super) const ROAM: u8 = 47;
    pub(super) const DISCONNECT: u8 = 48;
    pub(super) const GET_SURVEY: u8 = 50;
}

/// Attributes of messages.
mod attribute {
    pub(super) const INTERFACE: u16 = 3;
    pub(super) const INTERFACE_NAME: u16 = 4;
    pub(super) const MAC: u16 = 6;
    pub(super) const STATUS_CODE: u16 = 72;
    pub(super) const STATION: u16 = 21;
    pub(super) const SURVEY: u16 = 84;
    pub(super) const SPLIT_WIPHY_DUMP: u16 = 174;
    pub(super) const FEATURES: u16 = 217;
    pub(super) const AIRTIME_WEIGHT: u16 = 274;
}

/// Attributes of a station, and of a rate in one.
mod station {
    pub(super) const INACTIVE_TIME: u16 = 1;
    pub(super) const SIGNAL: u16 = 7;
    pub(super) const TX_RATE: u16 = 8;
    pub(super) const TX_PACKETS: u16 = 10;
    pub(super) const TX_RETRIES: u16 = 11;
    pub(super) const TX_FAILED: u16 = 12;
    pub(super) const SIGNAL_AVERAGE: u16 = 13;
    pub(super) const RX_RATE: u16 = 14;
    pub(super) const CONNECTED_TIME: u16 = 16;
    pub(super) const FLAGS: u16 = 17;
    pub(super) const RX_DURATION: u16 = 32;
    pub(super) const TX_DURATION: u16 = 39;
    pub(super) const AIRTIME_WEIGHT: u16 = 40;
    pub(super) const RATE_U16: u16 = 1;
    pub(super) const RATE_U32: u16 = 5;
}

/// Attributes of a survey.
mod survey {
    pub(super) const FREQUENCY: u16 = 1;
    pub(super) const NOISE: u16 = 2;
    pub(super) const IN_USE: u16 = 3;
    pub(super) const TIME: u16 = 4;
    pub(super) const TIME_BUSY: u16 = 5;
}

/// Bit of a station that may send and receive data (`NL80211_STA_FLAG_AUTHORIZED`).
const AUTHORIZED: u32 = 1 << 1;
/// Bit of the feature `NL80211_EXT_FEATURE_AIRTIME_FAIRNESS`.
const AIRTIME_FAIRNESS: usize = 33;
/// The multicast group of associations.
const ASSOCIATIONS: &str = "mlme";

/// A wireless interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its number in its network namespace.
    pub index: u32,
    /// Its name, as in `wlan0`.
    pub name: String,
}

/// State of the radio link to a station; at a station, of the link to its access point. Counters
/// begin with the association.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Station {
    /// The peer's address.
    pub mac: Mac,
    /// Signal strength of the last frame received, in dBm.
    pub signal_dbm: Option<i8>,
    /// The driver's moving average of it, in dBm.
    pub signal_average_dbm: Option<i8>,
    /// Rate of the last frame sent in kilobits per second.
    pub tx_kbps: Option<u32>,
    /// Rate of the last frame received in kilobits per second.
    pub rx_kbps: Option<u32>,
    /// Frames handed to the radio for the peer.
    pub tx_packets: Option<u32>,
    /// Retries of frames.
    pub tx_retries: Option<u32>,
    /// Frames that were given up.
    pub tx_failed: Option<u32>,
    /// Airtime of frames to the peer, in microseconds.
    pub tx_airtime_us: Option<u64>,
    /// Airtime of frames from the peer, in microseconds.
    pub rx_airtime_us: Option<u64>,
    /// Time since the last frame from or to the peer in milliseconds.
    pub inactive_ms: Option<u32>,
    /// Whether it may send and receive data: in a protected network it has agreed on keys.
    pub is_authorized: Option<bool>,
    /// Time since the association in seconds.
    pub connected_s: Option<u32>,
    /// Weight by which its airtime is scheduled (256 is usual); `None` where the driver's airtime
    /// is not scheduled.
    pub airtime_weight: Option<u16>,
}

/// A radio's measurements on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Centre of the channel in MHz.
    pub frequency_mhz: u32,
    /// Noise in dBm.
    pub noise_dbm: Option<i8>,
    /// Whether the interface uses it now.
    pub is_in_use: bool,
    /// Time for which the radio has been on it, in milliseconds.
    pub time_ms: Option<u64>,
    /// Part of this for which the channel was busy, in milliseconds.
    pub busy_ms: Option<u64>,
}

/// Events of associations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A station has associated with the interface of this number.
    Joined {
        /// Number of the interface.
        interface: u32,
        /// The station.
        station: Mac,
    },
    /// A station has left the interface of this number, or was removed.
    Left {
        /// Number of the interface.
        interface: u32,
        /// The station.
        station: Mac,
    },
    /// The interface of this number, a station, has associated with an access point.
    Connected {
        /// Number of the interface.
        interface: u32,
    },
    /// The interface of this number, a station, has another access point of its network.
    Roamed {
        /// Number of the interface.
        interface: u32,
    },
    /// The interface of this number, a station, has lost its access point.
    Disconnected {
        /// Number of the interface.
        interface: u32,
    },
    /// The kernel had no room for some events: whoever follows them asks for the stations anew.
    Missed,
}

/// A socket that asks radios.
pub struct Radio {
    socket: Generic,
}

/// A socket for associations on all interfaces of the network namespace. It is readable when there
/// are [`Events::take`] to take.
pub struct Events {
    socket: Generic,
}

impl Radio {
    /// Opens a socket, in the network namespace of the thread.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::NotFound`] if the kernel has no nl80211 (no radio was ever there), or the
    /// socket's error.
    pub fn open() -> io::Result<Self> {
        Ok(Self { socket: Generic::open("nl80211")? })
    }

    /// The wireless interfaces of the network namespace.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn interfaces(&mut self) -> io::Result<Vec<Interface>> {
        let answers = self.socket.dump(command::GET_INTERFACE, &[])?;
        Ok(answers.iter().filter_map(|answer| interface(answer.attributes())).collect())
    }

    /// The interface of this name.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::NotFound`] if there is none, or it has no radio; or the kernel's error.
    pub fn interface(&mut self, name: &str) -> io::Result<Interface> {
        let found = self.interfaces()?.into_iter().find(|one| one.name == name);
        let none = || format!("{name} is no wireless interface here; `iw dev` lists those");
        found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, none()))
    }

    /// The stations of an access point; of a station's interface, its access point.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn stations(&mut self, interface: u32) -> io::Result<Vec<Station>> {
        let index = interface.to_ne_bytes();
        let fields = [Field::new(attribute::INTERFACE, &index)];
        let answers = self.socket.dump(command::GET_STATION, &fields)?;
        Ok(answers.iter().filter_map(|answer| station_of(answer.attributes())).collect())
    }

    /// One of them; `None` if it is not there.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn station(&mut self, interface: u32, mac: Mac) -> io::Result<Option<Station>> {
        let index = interface.to_ne_bytes();
        let fields = [Field::new(attribute::INTERFACE, &index), Field::new(attribute::MAC, &mac.0)];
        match self.socket.one(command::GET_STATION, &fields) {
            Ok(answers) => Ok(answers.iter().find_map(|answer| station_of(answer.attributes()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The link of a station's interface to its access point; `None` without an association.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn link(&mut self, interface: u32) -> io::Result<Option<Station>> {
        let mut known = self.stations(interface)?;
        Ok(if known.len() == 1 { known.pop() } else { None })
    }

    /// Returns the measurements of the interface's radio on its channels.
    ///
    /// # Errors
    ///
    /// The kernel's error; [`io::ErrorKind::Unsupported`] if the driver does not measure.
    pub fn surveys(&mut self, interface: u32) -> io::Result<Vec<Survey>> {
        let index = interface.to_ne_bytes();
        let fields = [Field::new(attribute::INTERFACE, &index)];
        let answers = self.socket.dump(command::GET_SURVEY, &fields)?;
        Ok(answers.iter().filter_map(|answer| survey_of(answer.attributes())).collect())
    }

    /// Whether the interface's radio schedules airtime by weights.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn schedules_airtime(&mut self, interface: u32) -> io::Result<bool> {
        let index = interface.to_ne_bytes();
        // Features stand in a later part of the description, which only who asks for it in parts
        // is given.
        let parts = Field::new(attribute::SPLIT_WIPHY_DUMP, &[]);
        let fields = [Field::new(attribute::INTERFACE, &index), parts];
        let answers = self.socket.dump(command::GET_WIPHY, &fields)?;
        let has_bit = |answer: &Message| {
            let bits = answer.attributes().value(attribute::FEATURES);
            bits.and_then(|bits| bits.get(AIRTIME_FAIRNESS / 8))
                .is_some_and(|byte| byte >> (AIRTIME_FAIRNESS % 8) & 1 == 1)
        };
        Ok(answers.iter().any(has_bit))
    }

    /// Sets the weight by which a station's airtime is scheduled (256 is usual).
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::Unsupported`] if the driver schedules no airtime,
    /// [`io::ErrorKind::NotFound`] if there is no such station, or another error of the kernel.
    pub fn set_airtime_weight(&mut self, interface: u32, of: Mac, weight: u16) -> io::Result<()> {
        let (index, weight) = (interface.to_ne_bytes(), weight.to_ne_bytes());
        let fields = [
            Field::new(attribute::INTERFACE, &index),
            Field::new(attribute::MAC, &of.0),
            Field::new(attribute::AIRTIME_WEIGHT, &weight),
        ];
        self.socket.one(command::SET_STATION, &fields).map(drop)
    }
}

impl Events {
    /// Opens a socket, in the network namespace of the thread.
    ///
    /// # Errors
    ///
    /// As [`Radio::open`].
    pub fn open() -> io::Result<Self> {
        let mut socket = Generic::open("nl80211")?;
        socket.join(ASSOCIATIONS)?;
        Ok(Self { socket })
    }

    /// Returns the events since the last call; none if there were none.
    ///
    /// # Errors
    ///
    /// The socket's error.
    pub fn take(&self) -> io::Result<Vec<Event>> {
        match self.socket.received() {
            Ok(received) => Ok(received.iter().filter_map(event).collect()),
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(vec![Event::Missed]),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Events {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn interface(attributes: Attributes<'_>) -> Option<Interface> {
    let index = attributes.u32(attribute::INTERFACE)?;
    Some(Interface { index, name: attributes.text(attribute::INTERFACE_NAME)? })
}

fn event(message: &Message) -> Option<Event> {
    let attributes = message.attributes();
    let interface = attributes.u32(attribute::INTERFACE)?;
    let station = || attributes.array(attribute::MAC).map(Mac);
    // A failed association is reported as one with a status (IEEE 802.11 table 9-50).
    let has_failed = attributes.u16(attribute::STATUS_CODE).is_some_and(|status| status != 0);
    match message.command {
        command::NEW_STATION => Some(Event::Joined { interface, station: station()? }),
        command::DEL_STATION => Some(Event::Left { interface, station: station()? }),
        command::CONNECT if !has_failed => Some(Event::Connected { interface }),
        command::ROAM => Some(Event::Roamed { interface }),
        command::DISCONNECT => Some(Event::Disconnected { interface }),
        _ => None,
    }
}

fn station_of(attributes: Attributes<'_>) -> Option<Station> {
    let mac = Mac(attributes.array(attribute::MAC)?);
    let facts = attributes.nested(attribute::STATION)?;
    Some(Station {
        mac,
        signal_dbm: facts.i8(station::SIGNAL),
        signal_average_dbm: facts.i8(station::SIGNAL_AVERAGE),
        tx_kbps: facts.nested(station::TX_RATE).and_then(kbps),
        rx_kbps: facts.nested(station::RX_RATE).and_then(kbps),
        tx_packets: facts.u32(station::TX_PACKETS),
        tx_retries: facts.u32(station::TX_RETRIES),
        tx_failed: facts.u32(station::TX_FAILED),
        tx_airtime_us: facts.u64(station::TX_DURATION),
        rx_airtime_us: facts.u64(station::RX_DURATION),
        inactive_ms: facts.u32(station::INACTIVE_TIME),
        is_authorized: facts.array(station::FLAGS).and_then(authorized),
        connected_s: facts.u32(station::CONNECTED_TIME),
        airtime_weight: facts.u16(station::AIRTIME_WEIGHT),
    })
}

/// `struct nl80211_sta_flag_update`: which flags the driver knows, and which of them are set.
fn authorized(flags: [u8; 8]) -> Option<bool> {
    let [known, set] = [0, 4].map(|at| u32::from_ne_bytes(std::array::from_fn(|i| flags[at + i])));
    (known & AUTHORIZED != 0).then_some(set & AUTHORIZED != 0)
}

/// A rate, which the kernel reports in units of 100 kbps; fast ones do not fit into 16 bits.
fn kbps(rate: Attributes<'_>) -> Option<u32> {
    let short = || rate.u16(station::RATE_U16).map(u32::from);
    rate.u32(station::RATE_U32).or_else(short).map(|units| units.saturating_mul(100))
}

fn survey_of(attributes: Attributes<'_>) -> Option<Survey> {
    let facts = attributes.nested(attribute::SURVEY)?;
    Some(Survey {
        frequency_mhz: facts.u32(survey::FREQUENCY)?,
        noise_dbm: facts.i8(survey::NOISE),
        is_in_use: facts.has(survey::IN_USE),
        time_ms: facts.u64(survey::TIME),
        busy_ms: facts.u64(survey::TIME_BUSY),
    })
}
