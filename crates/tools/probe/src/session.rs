//! A session with a server, and pings beside it.

use super::Error;
use fairwave_linux::clock::Clock;
use fairwave_linux::random::random;
use fairwave_probe::{
    Account, Failure, Ping, Pinger, PingerConfig, PingerInput, Plan, Sender, SenderConfig,
    SenderEvent, SenderInput, Trial, Way,
};
use fairwave_sockets::Driver;
use fairwave_sockets::Udp;
use fairwave_units::{Duration, Instant};
use fairwave_wire::probe::Limits;
use fairwave_wire::seal::Key;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};

/// Time between pings.
const PACE: Duration = Duration::from_millis(20);
/// Duration of the pings that try a length.
const TRY: Duration = Duration::from_millis(200);
/// Period at which the loop checks whether to stop.
const LOOK: Duration = Duration::from_millis(100);
/// Wait for answers after the last ping.
const LINGER: Duration = Duration::from_millis(500);
/// A duration that no measurement reaches.
const NEVER: Duration = Duration::from_secs(3600);

/// The server, and the clock of the measurement.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) server: SocketAddr,
    pub(super) key: &'a Key,
    pub(super) clock: Clock,
    /// Set when the user interrupts the measurement.
    pub(super) stop: &'a AtomicBool,
}

/// A trial that loads a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) way: Way,
    pub(super) limits: Limits,
    pub(super) trial: Trial,
}

/// Results of a session.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) accounts: Vec<Account>,
    pub(super) granted: Option<Limits>,
    /// Datagrams that waited for memory in this host's own socket.
    pub(super) blocked: u64,
    pub(super) error: Option<Error>,
}

impl Line<'_> {
    fn driver(&self) -> Result<Driver, Error> {
        let address = self.server;
        let udp = Udp::connect(address).and_then(Udp::without_fragments);
        let udp = udp.map_err(|cause| Error::Socket { address, cause })?;
        Ok(Driver::new(udp, self.clock))
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Sends a plan, or asks the server to send it. Returns the accounts that arrived until the
    /// session ended, also with an error.
    pub(super) fn session(&self, way: Way, limits: Limits, plan: Plan) -> Session {
        let mut session = Session::default();
        session.error = self.try_session(way, limits, plan, &mut session).err();
        session
    }

    fn try_session(
        &self,
        way: Way,
        limits: Limits,
        plan: Plan,
        kept: &mut Session,
    ) -> Result<(), Error> {
        let (mut driver, mut events) = (self.driver()?, Vec::new());
        let mut sender = Sender::new(SenderConfig {
            key: self.key.clone(),
            receiver: self.server,
            session: random()?,
            nonce: random()?,
            limits,
            plan,
            way,
        });
        driver.report(&mut sender, SenderInput::Start, &mut events);
        let mut cause = None;
        loop {
            for event in events.drain(..) {
                match event {
                    SenderEvent::Agreed(limits) => kept.granted = Some(limits),
                    SenderEvent::Account(account) => kept.accounts.push(*account),
                    SenderEvent::Finished(end) => {
                        kept.blocked = driver.counts().blocked;
                        let failed = |failure| self.error(failure, kept.granted.is_some(), cause);
                        return end.map_err(failed);
                    }
                }
            }
            // The port is closed, so that seven more attempts are useless.
            let is_gone = cause == Some(io::ErrorKind::ConnectionRefused);
            if is_gone && !sender.is_over() {
                return Err(self.error(Failure::Silent, kept.granted.is_some(), cause));
            }
            let until = driver.now() + LOOK;
            driver.turn(&mut sender, until, &mut events)?;
            let trouble = driver.take_trouble().map(|error| error.kind());
            if trouble.is_some() {
                self.has_stayed(&driver)?;
            }
            cause = trouble.or(cause);
            if self.is_stopped() && !sender.is_over() {
                driver.report(&mut sender, SenderInput::Stop, &mut events);
            }
        }
    }

    /// Checks the local address: a datagram that the socket refuses may have an address that is
    /// gone.
    fn has_stayed(&self, driver: &Driver) -> Result<(), Error> {
        let server = self.server;
        let before = driver.socket().address()?.ip();
        match Udp::source(server) {
            Ok(now) if now != before => Err(Error::Moved { server, before, now }),
            // Without a route there is no other address; the previous one may return.
            _ => Ok(()),
        }
    }

    fn error(&self, failure: Failure, had_begun: bool, cause: Option<io::ErrorKind>) -> Error {
        let server = self.server;
        match failure {
            Failure::Silent if had_begun => Error::Gone { server, cause },
            Failure::Silent => Error::Silent { server, cause },
            Failure::Stopped => Error::Stopped,
            failure => Error::Refused { server, failure },
        }
    }

    /// Sends pings at a constant rate for `max`, or until `over`. Returns their results.
    pub(super) fn pings(&self, max: Duration, over: &AtomicBool) -> Result<Vec<Ping>, Error> {
        self.pings_of(0, max, |_| over.load(Ordering::Relaxed))
    }

    /// Whether the path carries packets with this payload both ways: one of several pings of this
    /// length is answered.
    pub(super) fn carries(&self, payload_bytes: u32) -> Result<bool, Error> {
        match self.pings_of(payload_bytes, TRY, |has_answer| has_answer) {
            Ok(pings) => Ok(pings.iter().any(|ping| ping.answered.is_some())),
            Err(Error::Silent { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn pings_of(
        &self,
        payload_bytes: u32,
        max: Duration,
        is_over: impl Fn(bool) -> bool,
    ) -> Result<Vec<Ping>, Error> {
        let (mut driver, mut events) = (self.driver()?, Vec::new());
        let mut pinger = Pinger::new(PingerConfig {
            key: self.key.clone(),
            receiver: self.server,
            first: random()?,
            nonce: random()?,
            interval: PACE,
            payload_bytes,
        });
        driver.report(&mut pinger, PingerInput::Start, &mut events);
        let mut end = driver.now() + max;
        let mut is_last = false;
        let mut cause = None;
        loop {
            let now = driver.now();
            let has_answer = pinger.pings().iter().any(|ping| ping.answered.is_some());
            let done = is_over(has_answer) || self.is_stopped();
            if !is_last && (now >= end || done) {
                driver.report(&mut pinger, PingerInput::Stop, &mut events);
                (is_last, end) = (true, now + LINGER);
            }
            let missing = pinger.pings().iter().filter(|ping| ping.answered.is_none()).count();
            cause = driver.take_trouble().map(|error| error.kind()).or(cause);
            let is_gone = cause == Some(io::ErrorKind::ConnectionRefused);
            if is_gone || is_last && (now >= end || missing == 0) {
                break;
            }
            driver.turn(&mut pinger, end.min(now + LOOK), &mut events)?;
            events.clear();
        }
        let received = pinger.pings().iter().any(|ping| ping.answered.is_some());
        match received || self.is_stopped() {
            true => Ok(pinger.pings().to_vec()),
            false => Err(Error::Silent { server: self.server, cause }),
        }
    }

    /// Sends pings during trials, which run at the same time in sessions of their own. The times of
    /// pings are those of this host's clock.
    pub(super) fn loaded(&self, loads: &[Load]) -> (Vec<Session>, Result<Vec<Ping>, Error>) {
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let pings = scope.spawn(|| self.pings(NEVER, &over));
            let spawned: Vec<_> = loads
                .iter()
                .map(|load| {
                    let plan = Plan { trials: vec![load.trial], rest: Duration::ZERO };
                    scope.spawn(|| self.session(load.way, load.limits, plan))
                })
                .collect();
            let sessions = spawned.into_iter().map(joined).collect();
            over.store(true, Ordering::Relaxed);
            (sessions, joined(pings))
        })
    }
}

/// Returns the result of a thread, or continues its panic.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Time in which the train of an account was sent or received, by this host's clock.
pub(super) fn under_way(way: Way, account: &Account) -> Option<(Instant, Instant)> {
    let spaced = account.trial.spaced;
    match way {
        Way::There => {
            let train = account.sent.get(spaced as usize..)?;
            Some((*train.first()?, *train.last()?))
        }
        Way::Back => {
            let mut train = account.arrived.iter().filter(|record| record.number >= spaced);
            let first = train.next()?;
            Some((first.arrived, train.next_back().unwrap_or(first).arrived))
        }
    }
}
