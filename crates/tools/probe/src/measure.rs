//! The measurement: pings on an idle path, trains that double until one fills the buffer, trains of
//! two sizes, trains in the other direction, and pings beside long trains.

use super::Error;
use super::finding::{ENOUGH, Loaded, Measured, SHORT_MS};
use super::leg;
use super::session::{Line, Load, Session};
use super::sizes::{LARGE, ip_bytes};
use fairwave_linux::clock::Clock;
use fairwave_probe::delay;
use fairwave_probe::estimate;
use fairwave_probe::{Account, Plan, Trial, Way};
use fairwave_units::{BitRate, Bytes, Duration};
use fairwave_wire::probe::Limits;
use fairwave_wire::seal::Key;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

/// Lengths of IP packets that are tried where the path does not carry these: MTUs of tunnels, the
/// minimum MTU of IPv6 (RFC 8200 section 5), and a length that nearly every path carries (RFC 8899
/// section 5.1.2).
const SHORTER: [u64; 5] = [1_412, 1_380, 1_340, 1_280, 1_200];
/// Payload of the small packets in bytes.
const SMALL: u32 = 400;
/// Number of spaced packets before each train, and the time between them.
const SPACED: u32 = 20;
const APART: Duration = Duration::from_millis(5);
/// Pause after a trial.
const REST: Duration = Duration::from_millis(50);
/// Duration of the pings on the idle path.
const IDLE: Duration = Duration::from_secs(1);
/// Packets of the first train, and maximum.
const FIRST_TRAIN: u32 = 128;
const LONGEST_TRAIN: u32 = 32_768;
/// A train of this length or more without any wait has met no bottleneck.
const FREE_TRAIN: u32 = 2_048;
/// Maximum time to send a train of large packets.
const LONGEST_SENDING: Duration = Duration::from_secs(4);
/// Wait in one buffer above which no longer train is tried, as no user would wait for longer.
const LONGEST_WAIT_MS: f64 = 5_000.0;
/// Number of trains of each size.
const TRIALS: usize = 4;
/// Trains of the paper, and the packets of each (Ando, Murase, Oguchi, section 3).
const PAPERS_TRIALS: usize = 10;
const PAPERS_TRAIN: u32 = 10_000;
/// Duration of a load, to which twice the wait in the buffer is added, and its rate in multiples of
/// the drain rate: the buffer is full in the second half.
const LOADED: Duration = Duration::from_secs(2);
const LOAD: f64 = 2.0;
/// Limits of a session at this end.
const MAX_PACKETS: u32 = 1 << 20;
const LONGEST_SESSION: Duration = Duration::from_secs(120);

/// Options of a measurement.
#[derive(Clone, Debug)]
pub struct Request {
    /// Address of `fairwave probe serve`.
    pub server: SocketAddr,
    /// The secret that both ends share.
    pub key: Key,
    /// Maximum sending rate of this host and of the server, in bits of IP packets per second.
    pub rate: BitRate,
    /// Whether to measure the buffer on the way to the server or on the way back.
    pub way: Way,
    /// Length of the large IP packets; `None` for the usual length, or a shorter one that the path
    /// carries.
    pub packet: Option<Bytes>,
    /// Whether to send the trains of the paper, 10 of 10,000 packets, in place of trains of two
    /// sizes.
    pub is_paper: bool,
}

/// Progress of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Pings on the idle path.
    Idle,
    /// A train of this number of packets searches for a buffer.
    Search(u32),
    /// Trains of two sizes measure the buffer.
    Trains,
    /// Trains in the other direction measure the rate that the path carries there.
    OtherWay,
    /// Pings on the loaded path.
    Load(Loaded),
}

/// Measures until the end, or until `stop`. Results before an error are kept.
pub fn measure(
    request: &Request,
    stop: &AtomicBool,
    mut report: impl FnMut(Progress),
) -> (Measured, Option<Error>) {
    let line = Line { server: request.server, key: &request.key, clock: Clock::start(), stop };
    let found = Measured::new(request.way, request.server);
    let header = ip_bytes(0, request.server);
    let payload = |packet: Bytes| u32::try_from(packet.0.saturating_sub(header)).ok();
    let large = request.packet.and_then(payload);
    let mut run =
        Run { line, rate: request.rate, way: request.way, large: LARGE, granted: None, found };
    let error = run.all(large, request.is_paper, &mut report).err();
    (run.found, error)
}

struct Run<'a> {
    line: Line<'a>,
    rate: BitRate,
    way: Way,
    /// Payload of the large packets.
    large: u32,
    /// Limits that the server granted to the last session.
    granted: Option<Limits>,
    found: Measured,
}

impl Run<'_> {
    fn all(
        &mut self,
        large: Option<u32>,
        is_paper: bool,
        report: &mut impl FnMut(Progress),
    ) -> Result<(), Error> {
        report(Progress::Idle);
        let pings = self.line.pings(IDLE, &AtomicBool::new(false))?;
        self.found.take_idle(&pings);
        self.large = match large {
            Some(large) if self.line.carries(large)? => large,
            Some(large) => {
                let (bytes, server) = (ip_bytes(large, self.line.server), self.line.server);
                return Err(Error::TooLong { server, bytes });
            }
            None => self.longest()?,
        };
        self.found.is_shortened = large.is_none() && self.large < LARGE;
        self.found.packet_bytes = ip_bytes(self.large, self.line.server);
        if is_paper {
            report(Progress::Trains);
            self.papers_trains()?;
        } else {
            let (train, has_filled) = self.search(self.way, report)?;
            report(Progress::Trains);
            self.trains(train, has_filled)?;
        }
        report(Progress::OtherWay);
        self.search(other(self.way), &mut |_| {})?;
        Loaded::ALL.into_iter().try_for_each(|loaded| {
            report(Progress::Load(loaded));
            self.load(loaded)
        })
    }

    /// Payload of the longest packets that the path carries whole, up to [`LARGE`].
    fn longest(&self) -> Result<u32, Error> {
        let header = ip_bytes(0, self.line.server);
        let shorter = SHORTER.map(|length| (length - header) as u32);
        for payload in [LARGE].into_iter().chain(shorter) {
            if self.line.carries(payload)? {
                return Ok(payload);
            }
        }
        // Nothing longer than the pings on the idle path came back: the trains will show it.
        Ok(LARGE)
    }

    fn limits(&self) -> Limits {
        Limits { rate: self.rate, packets: MAX_PACKETS, duration: LONGEST_SESSION }
    }

    /// Records the granted limits and the blocked datagrams of a session.
    fn keep(&mut self, session: &Session) {
        self.found.blocked += session.blocked;
        if let Some(granted) = session.granted {
            self.granted = Some(granted);
            self.rate = self.rate.min(granted.rate);
            self.found.rate = Some(self.rate);
        }
    }

    /// Number of large packets that are sent within a time at this rate.
    fn packets_in(&self, time: Duration, rate: BitRate) -> u32 {
        let each = rate.time_for(ip_bytes(self.large, self.line.server)).as_nanos().max(1);
        u32::try_from(time.as_nanos() / each).unwrap_or(u32::MAX)
    }

    /// Sends trains of doubling length. Returns the first one that fills the buffer, or the
    /// longest, and whether it filled the buffer.
    fn search(
        &mut self,
        way: Way,
        report: &mut impl FnMut(Progress),
    ) -> Result<(u32, bool), Error> {
        let mut train = FIRST_TRAIN;
        loop {
            report(Progress::Search(train));
            let session = self.line.session(way, self.limits(), plan(&[trial(self.large, train)]));
            self.keep(&session);
            self.found.take_trains(way, &session.accounts);
            if let Some(error) = session.error {
                return Err(error);
            }
            let Some(account) = session.accounts.first() else { return Ok((train, false)) };
            if estimate::fill(account, 0.0).is_some() {
                return Ok((train, true));
            }
            let maximum = self.packets_in(LONGEST_SENDING, self.rate).min(LONGEST_TRAIN);
            if train >= maximum || is_pointless(account) {
                return Ok((train, false));
            }
            train = (train * 2).min(maximum);
        }
    }

    /// Sends trains of two sizes, interleaved so that a slow change of the path affects both alike.
    fn trains(&mut self, train: u32, has_filled: bool) -> Result<(), Error> {
        let lengths = |size| ip_bytes(size, self.line.server);
        let ratio = lengths(self.large) as f64 / lengths(SMALL) as f64;
        // One and a half times the length that just filled the buffer.
        let large = if has_filled { train + train / 2 } else { train };
        let small = (f64::from(large) * ratio) as u32;
        let pair = [trial(self.large, large), trial(SMALL, small)];
        let trials = if has_filled { TRIALS } else { 1 };
        // Busy senders and large buffers need trains that leave room for fewer trials in a grant.
        let each = u64::from(large) + u64::from(small) + 2 * u64::from(SPACED);
        let granted = u64::from(self.granted.map_or(MAX_PACKETS, |granted| granted.packets));
        let trials = trials.min(usize::try_from(granted / each).unwrap_or(trials)).max(1);
        let session = self.line.session(self.way, self.limits(), plan(&pair.repeat(trials)));
        self.keep(&session);
        self.found.take_trains(self.way, &session.accounts);
        session.error.map_or(Ok(()), Err)
    }

    /// Sends the trains of the paper, each in a session of its own: a server that grants one grants
    /// all.
    fn papers_trains(&mut self) -> Result<(), Error> {
        let (mut accounts, mut end) = (Vec::new(), Ok(()));
        while accounts.len() < PAPERS_TRIALS && end.is_ok() {
            let trial = trial(self.large, PAPERS_TRAIN);
            let session = self.line.session(self.way, self.limits(), plan(&[trial]));
            self.keep(&session);
            accounts.extend(session.accounts);
            end = session.error.map_or(Ok(()), Err);
        }
        self.found.take_trains(self.way, &accounts);
        end
    }

    fn load(&mut self, loaded: Loaded) -> Result<(), Error> {
        let ways = loaded.ways();
        let alone: Vec<_> = ways.iter().map(|way| self.found.leg(*way).carried_mbps).collect();
        let beside = self.load_with(loaded, &alone)?;
        // Two directions that share a radio carry less together than alone. If hardly a ping got
        // through at twice the single rates, the load is repeated at twice the joint rates.
        if ways.len() > 1 && self.found.both.answered() < ENOUGH {
            self.load_with(loaded, &beside)?;
        }
        Ok(())
    }

    /// Sends pings while each direction is loaded, based on the rate that it carries. Returns the
    /// rate that each carried under this load.
    fn load_with(
        &mut self,
        loaded: Loaded,
        carried_mbps: &[Option<f64>],
    ) -> Result<Vec<Option<f64>>, Error> {
        let ways = loaded.ways();
        // All loads last as long as the slowest needs, so that they overlap.
        let wait_ms = ways.iter().map(|way| self.found.leg(*way).longest_ms).fold(0.0, f64::max);
        let time = LOADED + Duration::from_secs_f64(2.0 * wait_ms / 1e3);
        let of_way = |(way, mbps): (&Way, &Option<f64>)| self.load_of(*way, time, *mbps);
        let loads: Vec<Load> = ways.iter().zip(carried_mbps).map(of_way).collect();
        let (sessions, pings) = self.line.loaded(&loads);
        self.found.blocked += sessions.iter().map(|session| session.blocked).sum::<u64>();
        let accounts: Option<Vec<_>> =
            sessions.iter().zip(&loads).map(|(s, l)| Some((l.way, s.accounts.first()?))).collect();
        let pings = pings?;
        let mut beside = vec![None; ways.len()];
        if let Some(accounts) = accounts {
            self.found.take_load(loaded, &accounts, &pings);
            for ((way, train), (session, load)) in accounts.iter().zip(sessions.iter().zip(&loads))
            {
                let granted = session.granted.map_or(load.limits.rate, |granted| granted.rate);
                self.found.take_speed(loaded, *way, train, granted.min(load.limits.rate));
            }
            let server = self.line.server;
            beside =
                accounts.iter().map(|(_, account)| leg::carried_mbps(account, server)).collect();
        }
        sessions.into_iter().find_map(|session| session.error).map_or(Ok(beside), Err)
    }

    /// A load above the rate that the path carries, whose first half fills the buffer.
    fn load_of(&self, way: Way, time: Duration, carried_mbps: Option<f64>) -> Load {
        let drained = carried_mbps.map(|mbps| BitRate((mbps * LOAD * 1e6) as u64));
        let rate = drained.unwrap_or(self.rate).min(self.rate);
        let trial = trial(self.large, self.packets_in(time, rate));
        Load { way, limits: Limits { rate, ..self.limits() }, trial }
    }
}

const fn other(way: Way) -> Way {
    match way {
        Way::There => Way::Back,
        Way::Back => Way::There,
    }
}

/// Whether a longer train is useless: no packet waits, or a packet waits longer than a user would.
fn is_pointless(account: &Account) -> bool {
    let delays = delay::delays(std::slice::from_ref(account));
    let Some(delays) = delays.first() else { return true };
    let is_free = delays.longest_ms < SHORT_MS && account.trial.train >= FREE_TRAIN;
    is_free || delays.longest_ms > LONGEST_WAIT_MS
}

fn plan(trials: &[Trial]) -> Plan {
    Plan { trials: trials.to_vec(), rest: REST }
}

fn trial(payload_bytes: u32, train: u32) -> Trial {
    Trial { payload_bytes, spaced: SPACED, interval: APART, train }
}
