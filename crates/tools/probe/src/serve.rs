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

/// Maximum number of simultaneous sessions: each keeps a record of every granted packet, so that
/// memory is bounded.
const SESSIONS: usize = 8;
/// Time without packets after which a session is discarded.
const IDLE: Duration = Duration::from_secs(15);
/// Period at which the loop checks whether to stop.
const LOOK: Duration = Duration::from_millis(200);

/// Options of a server.
#[derive(Debug)]
pub struct ServeConfig {
    /// Address to listen at.
    pub listen: SocketAddr,
    /// The secret that both ends share.
    pub key: Key,
    /// Maximum grant for a session.
    pub limits: Limits,
}

/// Events of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// It has granted a session.
    Agreed(SocketAddr, Limits),
    /// A session has ended.
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
        let udp = Udp::bind(address).and_then(Udp::with_own_addresses);
        let udp = udp.and_then(Udp::without_fragments);
        let udp = udp.map_err(|cause| Error::Socket { address, cause })?;
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

    /// Address at which it listens, with the port that the kernel chose.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub fn address(&self) -> Result<SocketAddr, Error> {
        Ok(self.driver.socket().address()?)
    }

    /// Counters of the socket so far.
    pub fn counts(&self) -> Counts {
        self.driver.counts()
    }

    /// Datagrams that were not sealed with the key, or that belong to no session.
    pub const fn rejected(&self) -> u64 {
        self.receiver.rejected()
    }

    /// Packets of sessions that were duplicates, out of turn, or beyond the grant.
    pub const fn surplus(&self) -> u64 {
        self.receiver.surplus()
    }

    /// Serves until `stop` returns true.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn run(
        &mut self,
        mut stop: impl FnMut() -> bool,
        mut report: impl FnMut(ServerEvent),
    ) -> Result<(), Error> {
        let mut events = Vec::new();
        let mut is_last = false;
        while !is_last {
            // Datagrams that arrived before the stop are still handled.
            is_last = stop();
            let until = self.driver.now() + if is_last { Duration::ZERO } else { LOOK };
            self.driver.turn(&mut self.receiver, until, &mut events)?;
            for event in events.drain(..) {
                report(match event {
                    ReceiverEvent::Agreed(who, limits) => ServerEvent::Agreed(who, limits),
                    ReceiverEvent::Ended(who) => ServerEvent::Ended(who),
                });
            }
        }
        Ok(())
    }
}
