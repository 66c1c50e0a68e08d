//! Options of a station and an access point.

use clap::{Args, ValueEnum};
use fairwave_linux::{Discipline, Leaf, Traffic};
use fairwave_soc::{Curve, CurvePoint, FILTERS, FilterSpec, POLICIES, Rule};
use fairwave_units::{BitRate, Db, Duration};
use fairwave_wire::ethernet::Mac;
use fairwave_wire::soc::routed;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// Maximum of `--overhead`: more than any link adds.
const MAX_OVERHEAD: u16 = 512;
/// Minimum of `--rate`: that of the kernel's shapers, for every actuator.
const MIN_RATE: BitRate = BitRate(8_000);

/// Options of a station that reports.
#[derive(Args, Debug)]
pub struct Station {
    /// The interface to the access point
    #[arg(long, short, value_name = "IF")]
    pub interface: String,
    /// A file with the key of the station or the network: 32 bytes in base64
    #[arg(long, value_name = "FILE", required_unless_present = "unauthenticated")]
    pub key: Option<PathBuf>,
    /// Format of reports; plain needs --unauthenticated
    #[arg(long, value_enum, default_value_t = Frame::Sealed)]
    pub frame: Frame,
    /// Send reports that anybody can forge, without a key: for --frame plain
    #[arg(long, conflicts_with_all = ["key", "to"])]
    pub unauthenticated: bool,
    /// Send reports as datagrams to an access point behind routers: HOST, or HOST:PORT if it is not
    /// 9437
    #[arg(long, value_name = "HOST[:PORT]", value_parser = listener)]
    pub to: Option<SocketAddr>,
    /// The level over noise in dB; without it, the interface's radio is asked
    #[arg(long, value_name = "DB", allow_negative_numbers = true, value_parser = level)]
    pub snr: Option<Db>,
    /// A file with the level in dB, read anew for each sample; an empty one means no link
    #[arg(long, value_name = "FILE", conflicts_with = "snr")]
    pub snr_from: Option<PathBuf>,
    /// Time from one report to the next (T_soc), from 20 ms to 1 s
    #[arg(long, value_name = "DURATION", default_value = "200 ms")]
    pub interval: Duration,
    /// Let a report wait up to a quarter of the interval for a data frame to the access point that
    /// takes it along; the access point needs --piggyback, too
    #[arg(long, conflicts_with = "to")]
    pub piggyback: bool,
    /// Filter from samples to SoC: mean, ewma, median or kalman
    #[arg(long, value_name = "FILTER", default_value = "mean", value_parser = filter)]
    pub filter: FilterSpec,
}

/// Options of an access point that shares its interface by reports.
#[derive(Args, Debug)]
pub struct Ap {
    /// The interface by which stations are reached
    #[arg(long, short, value_name = "IF")]
    pub interface: String,
    /// A file with the network's key: 32 bytes in base64
    #[arg(long, value_name = "FILE", required_unless_present_any = ["plan", "unauthenticated"])]
    pub key: Option<PathBuf>,
    /// Format of reports that are accepted; plain accepts both, and needs --unauthenticated
    #[arg(long, value_enum, default_value_t = Frame::Sealed)]
    pub frame: Frame,
    /// Accept reports that anybody can forge, of stations without a key: for --frame plain
    #[arg(long)]
    pub unauthenticated: bool,
    /// Time from one report of a station to the next in --frame plain, which does not say it
    #[arg(long, value_name = "DURATION")]
    pub plain_interval: Option<Duration>,
    /// Total rate of all stations; somewhat less than the link carries
    #[arg(long, short = 'b', value_name = "RATE", required_unless_present = "plan")]
    #[arg(value_parser = rate)]
    pub rate: Option<BitRate>,
    /// Policy from SoC to weight: a name of `fairwave list soc-policies`, or knots such as
    /// 0:0,4:0.2,14:1
    #[arg(long, value_name = "POLICY", default_value = "pw", value_parser = curve)]
    pub policy: Curve,
    /// Factor of each missing report on a station's SoC
    #[arg(long, value_name = "FACTOR", default_value_t = 0.7, value_parser = share)]
    pub beta: f64,
    /// Share of the newest report in the SoC, beside the one before (the paper's a)
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share)]
    pub smoothing: f64,
    /// A policy for one kind of traffic to each station, which then has its own class: voice, video
    /// or background by DSCP, or tcp; may be repeated
    #[arg(long, value_name = "KIND=POLICY", value_parser = own_policy)]
    pub policy_for: Vec<(Traffic, Curve)>,
    /// Take reports off data frames that carry them, of stations with --piggyback
    #[arg(long)]
    pub piggyback: bool,
    /// Take reports of stations behind routers as datagrams at this address, such as `[::]:9437`
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub udp: Option<SocketAddr>,
    /// Change a weight only when it differs by this share of a full one
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = share)]
    pub step: f64,
    /// Minimum time between two changes of one station's weight
    #[arg(long, value_name = "DURATION", default_value = "100 ms")]
    pub pace: Duration,
    /// The control socket of hostapd; /run/hostapd/IF or /var/run/hostapd/IF if there is one
    #[arg(long, value_name = "FILE")]
    pub hostapd: Option<PathBuf>,
    /// The actuator; by default airtime if the driver schedules it and no kind of traffic has its
    /// own policy, or else the best qdisc that the kernel has, or else our own scheduler
    #[arg(long, value_enum)]
    pub actuator: Option<Actuator>,
    /// Maximum number of packets that wait for each station
    // Without room for one packet, each would be dropped.
    #[arg(long, value_name = "PACKETS", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub queue: u32,
    /// The qdisc in which packets of each class wait; by default fq_codel if the kernel has it, or
    /// else a FIFO
    #[arg(long, value_enum)]
    pub leaf: Option<LeafQueue>,
    /// Bytes that the link adds to each frame and that count within the rate, such as 38 for
    /// Ethernet's preamble, checksum and gap; for HTB
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = overhead)]
    pub overhead: u16,
    /// Remove a qdisc of another program while this runs; one that could not be restored stays, and
    /// is named
    #[arg(long)]
    pub replace: bool,
    /// Add each decision with its reason to this file, as a line of JSON
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Show the planned change of the interface and its reason, and end
    #[arg(long)]
    pub plan: bool,
    /// Decide and log, but change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Options of the key of one station.
#[derive(Args, Debug)]
pub struct StationKey {
    /// The file with the network's key
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// The station's link address
    #[arg(long, value_name = "MAC", value_parser = mac)]
    pub station: Mac,
}

/// Options of an access point that gives a station its key.
#[derive(Args, Debug)]
pub struct Pair {
    /// The interface by which the station is reached
    #[arg(long, short, value_name = "IF")]
    pub interface: String,
    /// A file with the network's key: 32 bytes in base64
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// Maximum time to wait for a station
    #[arg(long = "for", value_name = "DURATION", default_value = "120 s")]
    pub window: Duration,
    /// Give the key to the first that asks, without comparing codes
    #[arg(long)]
    pub trust_first: bool,
}

/// Options of a station that asks for its key.
#[derive(Args, Debug)]
pub struct Join {
    /// The interface to the access point
    #[arg(long, short, value_name = "IF")]
    pub interface: String,
    /// File for the key: a new file, which only its owner can read
    #[arg(long, value_name = "FILE")]
    pub write: PathBuf,
    /// Maximum time to ask
    #[arg(long = "for", value_name = "DURATION", default_value = "120 s")]
    pub window: Duration,
}

/// Formats of reports.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Authenticated by a key, 64 bytes
    Sealed,
    /// That of the paper, 8 bytes: an IPv4 address, and the SoC in whole decibels
    Plain,
}

/// Actuators that share an interface.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actuator {
    /// The driver's scheduler of airtime
    Airtime,
    /// Hierarchical fair service curves
    Hfsc,
    /// Hierarchical token buckets
    Htb,
    /// Our own scheduler, through which every frame is led
    #[cfg(feature = "user-space")]
    UserSpace,
}

impl Actuator {
    /// All actuators, the preferred ones first.
    pub const ALL: &[Self] = &[
        Self::Airtime,
        Self::Hfsc,
        Self::Htb,
        #[cfg(feature = "user-space")]
        Self::UserSpace,
    ];

    /// Its name in options and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Airtime => "airtime",
            Self::Hfsc => "hfsc",
            Self::Htb => "htb",
            #[cfg(feature = "user-space")]
            Self::UserSpace => "user-space",
        }
    }

    /// The qdisc of the actuator, if it uses one.
    pub const fn discipline(self) -> Option<Discipline> {
        match self {
            Self::Airtime => None,
            #[cfg(feature = "user-space")]
            Self::UserSpace => None,
            Self::Htb => Some(Discipline::Htb),
            Self::Hfsc => Some(Discipline::Hfsc),
        }
    }
}

/// Qdiscs of classes.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafQueue {
    /// First in, first out
    Fifo,
    /// Fair queueing of flows with CoDel
    #[value(name = "fq_codel")]
    FqCodel,
    /// CAKE, without a rate of its own
    Cake,
}

impl From<LeafQueue> for Leaf {
    fn from(queue: LeafQueue) -> Self {
        match queue {
            LeafQueue::Fifo => Self::Fifo,
            LeafQueue::FqCodel => Self::FqCodel,
            LeafQueue::Cake => Self::Cake,
        }
    }
}

fn level(text: &str) -> Result<Db, String> {
    let word = text.trim().trim_end_matches("dB").trim_end();
    let level = word.parse::<f64>().ok().filter(|level| level.is_finite());
    level.map(Db).ok_or_else(|| "not a number of decibels, such as 25".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "not a number from 0 to 1".to_owned())
}

fn rate(text: &str) -> Result<BitRate, String> {
    let rate = BitRate::above_zero(text)?;
    if rate < MIN_RATE {
        return Err(format!("it has to be at least {MIN_RATE}"));
    }
    Ok(rate)
}

fn overhead(text: &str) -> Result<u16, String> {
    let bytes = text.parse().ok().filter(|bytes| *bytes <= MAX_OVERHEAD);
    bytes.ok_or_else(|| format!("not a number of bytes from 0 to {MAX_OVERHEAD}"))
}

fn filter(text: &str) -> Result<FilterSpec, String> {
    let names = || FILTERS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
    let found = FILTERS.iter().find(|kind| kind.name == text);
    found.map(|kind| kind.spec).ok_or_else(|| format!("not one of {}", names()))
}

fn curve(text: &str) -> Result<Curve, String> {
    if let Some(kind) = POLICIES.iter().find(|kind| kind.name == text) {
        return Ok((kind.curve)());
    }
    let names = || POLICIES.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
    let knot = |word: &str| {
        let (soc, weight) = word.split_once(':')?;
        Some(CurvePoint { soc: Db(soc.trim().parse().ok()?), weight: weight.trim().parse().ok()? })
    };
    let knots: Option<Vec<CurvePoint>> = text.split(',').map(knot).collect();
    let knots =
        knots.ok_or_else(|| format!("neither one of {} nor knots dB:weight,...", names()))?;
    Curve::through(&knots, Rule::Linear).map_err(|error| error.to_string())
}

fn own_policy(text: &str) -> Result<(Traffic, Curve), String> {
    let names = || Traffic::ALL.map(Traffic::name).join(", ");
    let (kind, policy) = text.split_once('=').ok_or("not KIND=POLICY, such as voice=equal")?;
    let found = Traffic::ALL.into_iter().find(|traffic| traffic.name() == kind.trim());
    let kind = found.ok_or_else(|| format!("`{kind}` is not one of {}", names()))?;
    Ok((kind, curve(policy.trim())?))
}

/// The first address of a host. A name is resolved once.
fn listener(text: &str) -> Result<SocketAddr, String> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let found = match text.parse::<SocketAddr>() {
        Ok(address) => Ok(Some(address)),
        // Addresses of IPv6 contain colons, too.
        Err(_) if bare.parse::<std::net::IpAddr>().is_ok() || !text.contains(':') => {
            (bare, routed::PORT).to_socket_addrs().map(|mut all| all.next())
        }
        Err(_) => text.to_socket_addrs().map(|mut all| all.next()),
    };
    let found = found.map_err(|error| format!("{error}; not HOST or HOST:PORT"))?;
    found.ok_or_else(|| "this host has no address".to_owned())
}

fn mac(text: &str) -> Result<Mac, String> {
    let mac = text.parse::<Mac>().ok().filter(|mac| !mac.is_group());
    mac.ok_or_else(|| "not a station's address, such as 02:00:00:00:00:07".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Options of an access point, as a program has them.
    #[derive(clap::Parser, Debug)]
    struct Program {
        #[command(flatten)]
        ap: Ap,
    }

    /// A queue of 0 packets dropped everything that passed, without a message.
    #[test]
    fn an_access_point_needs_a_queue_and_a_rate() {
        let parsed = |more: &[&str]| {
            let args = ["ap", "--interface", "w0", "--key", "k", "--dry-run"];
            <Program as clap::Parser>::try_parse_from(args.iter().chain(more))
        };
        for refused in [["--rate", "5M", "--queue", "0"], ["--rate", "7999 bps", "--queue", "1"]] {
            let error = parsed(&refused).expect_err("out of range");
            assert_eq!(error.exit_code(), 2, "{error}");
        }
        let error = parsed(&["--rate", "0M"]).expect_err("no rate");
        assert!(error.to_string().contains("more than 0"), "{error}");
        let least = parsed(&["--rate", "8k", "--queue", "1"]).expect("the least");
        assert_eq!((least.ap.rate, least.ap.queue), (Some(MIN_RATE), 1));
    }

    #[test]
    fn policies_are_names_or_knots() {
        assert_eq!(curve("gb1"), Ok(Curve::GoodOrBad(Db(12.0))));
        assert_eq!(curve("0:0, 10:1").map(|curve| curve.at(Db(4.0))), Ok(0.4));
        assert!(curve("10:0,0:1").is_err_and(|error| error.contains("must rise")));
        assert!(curve("good").is_err_and(|error| error.contains("pw-example")));
    }

    #[test]
    fn kinds_of_traffic_have_policies_of_their_own() {
        assert_eq!(own_policy("voice=equal"), Ok((Traffic::Voice, Curve::Equal)));
        assert!(own_policy("voice").is_err_and(|error| error.contains("voice=equal")));
        let error = own_policy("games=pw").expect_err("no such kind");
        assert!(error.contains("`games` is not one of voice, video, background, tcp"), "{error}");
    }

    #[test]
    fn an_access_point_has_a_port_unless_it_is_told() {
        for (text, address) in [
            ("10.0.0.1", "10.0.0.1:9437"),
            ("10.0.0.1:99", "10.0.0.1:99"),
            ("fd79::1", "[fd79::1]:9437"),
            ("[fd79::1]:99", "[fd79::1]:99"),
            ("[fd79::1]", "[fd79::1]:9437"),
        ] {
            assert_eq!(listener(text), Ok(address.parse().expect("an address")), "{text}");
        }
        assert!(listener("10.0.0.1:x").is_err_and(|error| error.contains("HOST:PORT")));
    }

    #[test]
    fn addresses_are_of_stations() {
        assert_eq!(mac("02:00:00:00:00:07"), Ok(Mac::local(7)));
        for text in ["02:00:00:00:00", "02:00:00:00:00:7", "ff:ff:ff:ff:ff:ff", "+2:0:0:0:0:0"] {
            assert!(mac(text).is_err(), "{text}");
        }
    }
}
