//! The receiving end on a socket.

use super::Error;
use fairwave_linux::clock::Clock;
use fairwave_linux::random::fill;
use fairwave_probe::{Receiver, ReceiverConfig, ReceiverEvent};
use fairwave_sockets::Udp;
use fairwave_sockets::{Counts, Driver};
use fairwave_units::Duration;
use fairwave_wire::probe::Limits;
use fairwave_wire::seal::Key;
use std::net::SocketAddr;

/// Sessions at once: each keeps a record for each packet granted, so memory is bounded.
const SESSIONS: usize = 8;
/// After such a silence a session is forgotten.
const IDLE: Duration = Duration::from_secs(15);
/// From one look at whether to stop to the next.
const LOOK: Duration = Duration::from_millis(200);

/// What a server listens at, and what it grants.
#[derive(Debug)]
pub struct ServeConfig {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The secret that it shares with those whom it serves.
    pub key: Key,
    /// What it grants a session at most.
    pub limits: Limits,
}

/// What a server has to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It agreed to a session.
    Agreed(SocketAddr, Limits),
    /// A session is over.
    Ended(SocketAddr),
}

/// A server whose socket is open.
#[derive(Debug)]
pub struct Server {
    driver: Driver,
    receiver: Receiver,
}

impl Server {
    /// Opens its socket.
    ///
    /// # Errors
    /// If the kernel refuses the address.
    pub fn open(config: ServeConfig) -> Result<Self, Error> {
        let address = config.listen;
        let udp = Udp::bind(address).map_err(|cause| Error::Socket { address, cause })?;
        let mut secret = [0; 32];
        fill(&mut secret)?;
        let receiver = Receiver::new(ReceiverConfig {
            key: config.key,
            cookie_key: Key::new(&secret).expect("32 bytes are enough"),
            limits: config.limits,
            sessions: SESSIONS,
            idle: IDLE,
        });
        Ok(Self { driver: Driver::new(udp, Clock::start()), receiver })
    }

    /// Where it listens, with the port that the kernel chose.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn address(&self) -> Result<SocketAddr, Error> {
        Ok(self.driver.socket().address()?)
    }

    /// What its socket has seen so far.
    pub fn counts(&self) -> Counts {
        self.driver.counts()
    }

    /// Datagrams so far that nobody with the key can have sent, or that fit no session.
    pub const fn rejected(&self) -> u64 {
        self.receiver.rejected()
    }

    /// Packets of sessions so far that came a second time, out of turn, or beyond the grant.
    pub const fn surplus(&self) -> u64 {
        self.receiver.surplus()
    }

    /// Serves until `stop` says so.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn run(
        &mut self,
        mut stop: impl FnMut() -> bool,
        mut tell: impl FnMut(News),
    ) -> Result<(), Error> {
        let mut events = Vec::new();
        let mut is_last = false;
        while !is_last {
            // Whatever had arrived when it was to stop is still heard.
            is_last = stop();
            let until = self.driver.now() + if is_last { Duration::ZERO } else { LOOK };
            self.driver.turn(&mut self.receiver, until, &mut events)?;
            for event in events.drain(..) {
                tell(match event {
                    ReceiverEvent::Agreed(who, limits) => News::Agreed(who, limits),
                    ReceiverEvent::Ended(who) => News::Ended(who),
                });
            }
        }
        Ok(())
    }
}
