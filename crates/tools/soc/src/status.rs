//! Status of a running access point, which any local process can request.
//!
//! The access point listens at an abstract Unix socket. Such a socket belongs to the network
//! namespace, has no file, and vanishes with the process. Every program in that namespace can read
//! the status; it contains no secret. Any program can also take the name before: only a process of
//! root, or of the same user, counts as an access point.

use crate::Error;
use fairwave_linux::{is_trusted, peer_user};
use fairwave_soc::{AccessPoint, Reach, Refusal, StationStatus, StationView};
use fairwave_units::{self as units, Instant};
use fairwave_wire::ethernet::Mac;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read, Write};
use std::os::linux::fs::MetadataExt;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// Maximum wait of a reader for the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum wait for a place in the queue of whoever has the name.
const QUEUE_PATIENCE: Duration = Duration::from_secs(1);
/// Maximum length of an answer in bytes.
const LONGEST: u64 = 8 << 20;
/// Maximum number of requests that are answered before reports get their turn: any local user can
/// send them.
const ANSWERS: usize = 8;
/// Send buffer for an answer in bytes: the status of 1024 stations takes 0.5 MB.
const ROOM: usize = 1 << 20;

/// An access point and its stations.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// The interface.
    pub interface: String,
    /// The actuator of the weights: `airtime`, `hfsc`, `htb` or `user-space`, or `none` in a dry
    /// run.
    pub actuator: String,
    /// Time since the start.
    #[schemars(extend("unit" = "seconds"))]
    pub lasted_s: f64,
    /// The classes of traffic, in the order of weights: `rest`, and those with policies of their
    /// own.
    pub traffic: Vec<String>,
    /// The stations that are served, in the order of their addresses.
    pub stations: Vec<StationLine>,
    /// Reports that were accepted.
    pub accepted: u64,
    /// Reports among them that are not authenticated (`--frame plain`).
    #[serde(default)]
    pub unauthenticated: u64,
    /// Reports that did not arrive in time.
    pub missed: u64,
    /// Numbers of refused reports by reason; reasons that did not occur are left out.
    pub refused: BTreeMap<String, u64>,
    /// Answers to greetings from stations that did not know this start of the access point, and to
    /// datagrams without a valid token.
    pub challenges: u64,
    /// Changes that the scheduler was asked to make.
    pub changes: u64,
    /// Changes that the kernel refused.
    pub failed: u64,
    /// Changes that the kernel has not confirmed yet; they are requested again each second.
    #[serde(default)]
    pub is_pending: bool,
    /// Measured effect of the weights; null with an actuator whose shares are not measured.
    pub effect: Option<Effect>,
    /// Counters of the frames that passed through the access point's own scheduler; null with
    /// another actuator.
    pub frames: Option<Frames>,
}

/// Counters of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Frames {
    /// Frames that were passed to the driver.
    pub sent: u64,
    /// Frames that were dropped because their station's queue, or all memory, was full.
    pub dropped: u64,
    /// Frames that the driver did not accept.
    pub lost: u64,
    /// Frames that were longer than the MTU that the interface had at the start.
    pub too_long: u64,
}

/// Effect of the weights, by the shares of bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// `follows`: shares are those of the weights. `deviates`: they are not. `bypassed`: most of
    /// the traffic passes by the classes. `unknown`: packets of two classes have not waited at once
    /// for three seconds yet, and weights decide only then; or airtime is shared, of which only
    /// that it is equal in spite of different weights is certain.
    pub verdict: String,
    /// The problem with its remedy, for a person; null without one.
    pub problem: Option<String>,
    /// The classes that waited in the last measurement.
    pub shares: Vec<ShareLine>,
}

/// Share of a class in the last measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShareLine {
    /// The station's link address; null for unknown stations.
    pub station: Option<String>,
    /// The class of traffic.
    pub traffic: String,
    /// Measured share of the bytes, or the airtime, of these classes.
    #[schemars(extend("unit" = "share"))]
    pub share: f64,
    /// The share of its weight.
    #[schemars(extend("unit" = "share"))]
    pub due: f64,
}

/// A station that is served.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StationLine {
    /// Its link address.
    pub station: String,
    /// Its IP address, if it is behind a router; else null.
    pub address: Option<String>,
    /// Its class in the kernel's scheduler for traffic without a class of its own, as tc(8) writes
    /// it; null in a dry run.
    pub class: Option<String>,
    /// Its SoC; null if it is not known.
    #[schemars(extend("unit" = "decibels"))]
    pub soc_db: Option<f64>,
    /// Source of the SoC: `report` (the station), `view` (the access point's radio), or `nothing`.
    pub source: String,
    /// Time since the SoC was reported; null if it is not known.
    #[schemars(extend("unit" = "seconds"))]
    pub age_s: Option<f64>,
    /// The weight of traffic that has no class of its own, from 0 to 1.
    #[schemars(extend("unit" = "share"))]
    pub weight: f64,
    /// The weight of each class of traffic, from 0 to 1.
    pub weights: Vec<f64>,
    /// Level of its frames at the access point; null without a radio.
    #[schemars(extend("unit" = "dBm"))]
    pub signal_dbm: Option<f64>,
    /// Noise of the channel; null where the radio does not measure it.
    #[schemars(extend("unit" = "dBm"))]
    pub noise_dbm: Option<f64>,
    /// PHY rate of the last frame to it; null without a radio.
    #[schemars(extend("unit" = "bits per second"))]
    pub tx_rate_bps: Option<u64>,
    /// PHY rate of the last frame from it; null without a radio.
    #[schemars(extend("unit" = "bits per second"))]
    pub rx_rate_bps: Option<u64>,
    /// Retransmissions of frames to it since it associated; null without a radio.
    pub retries: Option<u64>,
    /// Frames to it that were abandoned since it associated; null without a radio.
    pub failed: Option<u64>,
    /// Airtime of frames to it and from it since it associated; null where the radio does not
    /// measure it.
    #[schemars(extend("unit" = "seconds"))]
    pub airtime_s: Option<f64>,
    /// Time since its last frame; null without a radio.
    #[schemars(extend("unit" = "seconds"))]
    pub inactive_s: Option<f64>,
}

impl StationLine {
    fn of(station: &StationStatus, class: Option<String>) -> Self {
        let view = station.view.clone().unwrap_or_else(|| StationView::new(station.link));
        let seconds = |time: Option<units::Duration>| time.map(units::Duration::as_secs_f64);
        let weights: Vec<f64> = station.weights.iter().map(|weight| weight.fraction()).collect();
        Self {
            station: station.link.to_string(),
            address: match station.reach {
                Reach::Link => None,
                Reach::Address(address) => Some(address.to_string()),
            },
            class,
            soc_db: station.soc.map(|soc| soc.0),
            source: station.source.name().to_owned(),
            age_s: seconds(station.age),
            weight: weights.first().copied().unwrap_or(1.0),
            weights,
            signal_dbm: view.signal.map(|signal| signal.0),
            noise_dbm: view.noise.map(|noise| noise.0),
            tx_rate_bps: view.tx_rate.map(|rate| rate.0),
            rx_rate_bps: view.rx_rate.map(|rate| rate.0),
            retries: view.retries,
            failed: view.failed,
            airtime_s: seconds(view.airtime),
            inactive_s: seconds(view.inactive),
        }
    }
}

impl Status {
    /// Builds the present status of an access point.
    pub(crate) fn of(
        ap: &AccessPoint,
        now: Instant,
        class_of: impl Fn(Mac) -> Option<String>,
    ) -> Self {
        let (table, own) = (ap.table_counters(), ap.counters());
        let counted = |why: Refusal| {
            let count = table.refused_for(why) + own.strangers_refused[why as usize];
            (count > 0).then(|| (why.name().to_owned(), count))
        };
        let stations = ap.stations(now);
        Self {
            lasted_s: now.since(Instant::ZERO).as_secs_f64(),
            stations: stations.iter().map(|one| StationLine::of(one, class_of(one.link))).collect(),
            challenges: own.challenges,
            accepted: table.accepted,
            unauthenticated: table.compat,
            missed: table.missed,
            refused: Refusal::ALL.into_iter().filter_map(counted).collect(),
            changes: own.changes,
            ..Self::default()
        }
    }
}

/// First part of the sockets' names; the interface's name follows.
const NAME: &str = "fairwave-soc-";
/// The kernel's list of the Unix sockets of a network namespace.
const SOCKETS: &str = "/proc/net/unix";

fn name(interface: &str) -> String {
    format!("{NAME}{interface}")
}

/// The interfaces that access points serve in this network namespace, in alphabetical order. Names
/// that another program has taken are left out.
///
/// # Errors
/// If the kernel's list of sockets cannot be read.
pub fn served() -> Result<Vec<String>, Error> {
    let list = sockets().map_err(Error::at(SOCKETS))?;
    let mut interfaces = served_in(&list);
    // Any program can take names and accept no connection at them.
    let shares = u32::try_from(interfaces.len()).unwrap_or(u32::MAX).max(1);
    let patience = (QUEUE_PATIENCE / shares).max(Duration::from_millis(1));
    let is_access_point = |holder| matches!(holder, Ok(Holder::AccessPoint(_)));
    interfaces.retain(|interface| is_access_point(Holder::of(interface, patience)));
    Ok(interfaces)
}

/// The interfaces in the kernel's list. Its last column is the name, which begins with `@` if it is
/// abstract. Each connection in progress has another line with the same name.
fn served_in(list: &str) -> Vec<String> {
    let names = list.lines().filter_map(|line| line.split_whitespace().nth(7));
    let interfaces = names.filter_map(|name| name.strip_prefix('@')?.strip_prefix(NAME));
    let interfaces: BTreeSet<&str> = interfaces.collect();
    interfaces.into_iter().map(str::to_owned).collect()
}

/// A process that has the name of an interface's socket, as a reader finds it.
enum Holder {
    /// An access point, and a connection to it.
    AccessPoint(UnixStream),
    /// A program that may not be one, of the user of this number.
    Stranger(u32),
}

impl Holder {
    /// # Errors
    /// If no process has the name, or it accepts no connection for as long as `patience`.
    fn of(interface: &str, patience: Duration) -> io::Result<Self> {
        let kind = SocketType::STREAM;
        let socket = socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
        // A full queue, which any program can have, would keep a reader waiting for ever.
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(patience))?;
        connect(&socket, &SocketAddrUnix::new_abstract_name(name(interface).as_bytes())?)?;
        let user = peer_user(&socket)?;
        Ok(match is_trusted(user) {
            true => Self::AccessPoint(socket.into()),
            false => Self::Stranger(user),
        })
    }
}

/// Whether an access point serves an interface in this network namespace. One that is stopped, or
/// whose queue others keep full, does so too.
pub(crate) fn is_served(interface: &str) -> bool {
    match Holder::of(interface, QUEUE_PATIENCE) {
        Ok(holder) => matches!(holder, Holder::AccessPoint(_)),
        Err(error) => error.kind() == io::ErrorKind::WouldBlock && has_trusted_owner(interface),
    }
}

/// Whether root, or the same user, made the socket that has an interface's name. Those of processes
/// that this one may not look into do not count.
fn has_trusted_owner(interface: &str) -> bool {
    let list = sockets().unwrap_or_default();
    let inodes = listeners_in(&list, &name(interface));
    // A name may have line breaks, so that more than one line can have this one.
    !inodes.is_empty() && inodes.iter().all(|inode| maker_of(inode).is_some_and(is_trusted))
}

/// User who made the socket of this number. The kernel gives it to the files of a socket; processes
/// that hold one may have become others since.
fn maker_of(inode: &str) -> Option<u32> {
    let link = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let folders = processes.filter_map(|process| fs::read_dir(process.path().join("fd")).ok());
    let mut files = folders.flatten().flatten().map(|file| file.path());
    let file = files.find(|file| fs::read_link(file).is_ok_and(|to| to == *link))?;
    Some(fs::metadata(file).ok()?.st_uid())
}

/// The kernel's list of Unix sockets. Abstract names are any bytes.
fn sockets() -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(SOCKETS)?).into_owned())
}

/// Numbers of the sockets that listen at an abstract name, by the kernel's list. The bit
/// `__SO_ACCEPTCON` of linux/net.h sets them apart from connections.
fn listeners_in<'a>(list: &'a str, name: &str) -> Vec<&'a str> {
    let rows = list.lines().map(|line| line.split_whitespace().collect::<Vec<&str>>());
    let inode = |row: Vec<&'a str>| match row[..] {
        [_, _, _, "00010000", _, _, inode, at] if at.strip_prefix('@') == Some(name) => Some(inode),
        _ => None,
    };
    rows.filter_map(inode).collect()
}

/// The error where another access point has the interface.
pub(crate) fn already_served(interface: &str) -> Error {
    let what = "another `fairwave soc ap` serves it already; `fairwave soc status` shows its state";
    Error::Usage(format!("interface `{interface}`: {what}"))
}

/// The socket at which an access point answers requests for its status.
pub(crate) struct StatusSocket(pub(crate) UnixListener);

impl StatusSocket {
    /// Opens it; `None` if a program that is no access point has taken its name.
    ///
    /// # Errors
    /// If another access point has this interface.
    pub(crate) fn open(interface: &str) -> Result<Option<Self>, Error> {
        let opened = || -> io::Result<Self> {
            let address = SocketAddr::from_abstract_name(name(interface))?;
            let listener = UnixListener::bind_addr(&address)?;
            listener.set_nonblocking(true)?;
            Ok(Self(listener))
        };
        match opened() {
            Ok(desk) => Ok(Some(desk)),
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                Err(Error::at("socket for the status")(error))
            }
            Err(_) if is_served(interface) => Err(already_served(interface)),
            Err(_) => Ok(None),
        }
    }

    /// Answers the waiting requests, at most [`ANSWERS`]. A slow reader cannot delay the loop: the
    /// part of the answer that does not fit into the send buffer is lost.
    pub(crate) fn answer(&self, status: impl Fn() -> Status) {
        let mut text = None;
        for _ in 0..ANSWERS {
            let Ok((mut asker, _)) = self.0.accept() else { return };
            let text: &mut String =
                text.get_or_insert_with(|| serde_json::to_string(&status()).unwrap_or_default());
            // Without the privilege for a larger buffer, the kernel's maximum must suffice.
            let _ = sockopt::set_socket_send_buffer_size_force(&asker, ROOM)
                .or_else(|_| sockopt::set_socket_send_buffer_size(&asker, ROOM));
            let sent = asker.set_nonblocking(true).and_then(|()| asker.write_all(text.as_bytes()));
            // A reader detects a truncated answer, as it is no valid JSON.
            drop(sent);
        }
    }
}

/// Requests the status of the access point of an interface.
///
/// # Errors
/// If there is none, or it does not answer.
pub fn ask(interface: &str) -> Result<Status, Error> {
    let place = format!("interface `{interface}`: no `fairwave soc ap` answers there");
    let requested = || -> io::Result<Status> {
        let socket = match Holder::of(interface, QUEUE_PATIENCE)? {
            Holder::AccessPoint(socket) => socket,
            Holder::Stranger(user) => {
                let what = format!("a program of user {user} has taken the name of its socket");
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
            }
        };
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut text = String::new();
        socket.take(LONGEST).read_to_string(&mut text)?;
        serde_json::from_str(&text).map_err(io::Error::other)
    };
    requested().map_err(Error::at(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asker(interface: &str) -> UnixStream {
        match Holder::of(interface, QUEUE_PATIENCE).unwrap() {
            Holder::AccessPoint(socket) => socket,
            Holder::Stranger(user) => panic!("user {user}"),
        }
    }

    /// No reader is active while the access point answers, and the kernel's default buffer is 0.2
    /// MB.
    #[test]
    fn a_full_access_point_is_told_whole() {
        let interface = format!("test-{}", std::process::id());
        let desk = StatusSocket::open(&interface).unwrap().expect("a name that nobody has");
        let mut asker = asker(&interface);
        let view = StationView::new(Mac::local(1));
        let stations = (0..1024).map(|number| {
            let station = StationStatus {
                link: Mac::local(number),
                source: fairwave_soc::Source::Report,
                reach: Reach::Address("fd79::1234:5678:9abc:def0".parse().unwrap()),
                soc: Some(units::Db(12.345678)),
                age: Some(units::Duration::from_millis(1234)),
                weights: vec![fairwave_soc::Weight::ONE; 5],
                view: Some(StationView { retries: Some(123_456), ..view.clone() }),
            };
            StationLine::of(&station, Some("5343:fff".to_owned()))
        });
        let full = Status { stations: stations.collect(), ..Status::default() };
        desk.answer(|| full.clone());
        let mut text = String::new();
        asker.read_to_string(&mut text).unwrap();
        let reported: Status = serde_json::from_str(&text).unwrap();
        assert!(text.len() > 300_000 && text.len() < ROOM, "{} bytes", text.len());
        assert_eq!(reported.stations.len(), 1024);
    }

    /// As many users as may wait ask at once.
    #[test]
    fn a_flood_of_requests_gets_a_few_answers_a_turn() {
        let interface = format!("flood-{}", std::process::id());
        let desk = StatusSocket::open(&interface).unwrap().expect("a name that nobody has");
        let asked = |_| {
            let asker = asker(&interface);
            asker.set_nonblocking(true).unwrap();
            asker
        };
        let askers: Vec<UnixStream> = (0..2 * ANSWERS).map(asked).collect();
        let made = std::cell::Cell::new(0);
        let status = || {
            made.set(made.get() + 1);
            Status::default()
        };
        for turn in 1..=2 {
            desk.answer(status);
            let is_answered = |mut asker: &UnixStream| asker.read(&mut [0]).is_ok();
            let answered = askers.iter().filter(|asker| is_answered(asker)).count();
            assert_eq!(
                (answered, made.get()),
                (turn * ANSWERS, turn),
                "one status for all of them"
            );
        }
    }

    /// As one that is stopped, or whose queue another user keeps full.
    #[test]
    fn an_access_point_that_accepts_nobody_keeps_its_interface() {
        let interface = format!("full-{}", std::process::id());
        let desk = StatusSocket::open(&interface).unwrap().expect("a name that nobody has");
        while Holder::of(&interface, Duration::from_millis(1)).is_ok() {}
        assert!(is_served(&interface));
        assert!(StatusSocket::open(&interface).is_err());
        drop(desk);
        assert!(!is_served(&interface));
    }

    #[test]
    fn access_points_are_found_among_the_sockets() {
        let list = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 18441 @fairwave-soc-wlan1\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 18442\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 18443 /run/fairwave-soc-eth0\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 18444 @fairwave-soc-wlan0\n\
            0000000000000000: 00000002 00000000 00000000 0001 03 18445 @fairwave-soc-wlan0\n";
        assert_eq!(served_in(list), ["wlan0", "wlan1"]);
        assert_eq!(served_in("Num\n"), Vec::<String>::new());
        let listeners = |interface| listeners_in(list, &name(interface));
        let found = ["wlan0", "wlan1", "eth0"].map(listeners);
        assert_eq!(found, [vec!["18444"], vec!["18441"], vec![]]);
    }

    /// A name may have any bytes: those of a line that another socket would have, too.
    #[test]
    fn a_forged_line_makes_no_trusted_owner() {
        let interface = format!("forged-{}", std::process::id());
        let _held = StatusSocket::open(&interface).unwrap().expect("a name that nobody has");
        assert!(has_trusted_owner(&interface));
        let line = format!("x\u{ff}\nx 2 0 00010000 1 1 1 @{}", name(&interface));
        let other = SocketAddr::from_abstract_name(line).unwrap();
        let _other = UnixListener::bind_addr(&other).unwrap();
        assert!(!has_trusted_owner(&interface), "nobody can be seen to hold socket 1");
        let other = SocketAddr::from_abstract_name(b"\xff\xfe").unwrap();
        let _other = UnixListener::bind_addr(&other).unwrap();
        assert!(served().is_ok());
    }
}
