//! Addresses of the names that the datagrams of one association have as targets.

use bytes::Bytes;
use fairwave_console::shares::Shares;
use std::collections::BTreeMap;
use std::future::pending;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// Names of one association.
const MAX_NAMES: usize = 256;
/// Lookups of one association at a time.
const MAX_LOOKUPS: usize = 4;
/// Datagrams that wait for the address of one name.
const MAX_WAITING: usize = 16;
/// Time for the addresses of a name.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(3);
/// Time after a failure in which a name is not looked up again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// A name, and a port.
pub(crate) type Target = (String, u16);

/// Addresses of a name, for a session. A resolver cannot be interrupted, so that its thread stays
/// taken after `time`.
///
/// # Errors
/// That of the resolver, or if there is no thread or no answer in `time`.
pub(crate) async fn addresses(
    target: &Target,
    session: usize,
    resolvers: &Shares<usize>,
    time: Duration,
) -> io::Result<Vec<SocketAddr>> {
    let (name, port) = target.clone();
    let look_up = move || (name.as_str(), port).to_socket_addrs();
    let found = timeout(time, resolvers.run(session, look_up)).await?;
    Ok(found.unwrap_or_else(|| Err(io::ErrorKind::Other.into()))?.collect())
}

/// State of a name.
#[derive(Debug)]
enum Name {
    /// It is being looked up; datagrams wait for its address.
    Pending(Vec<Bytes>),
    Resolved(SocketAddr),
    /// It has no address that is allowed, until this time.
    Failed(Instant),
}

/// Names of targets, which are looked up beside the datagrams of other targets.
#[derive(Debug)]
pub(crate) struct Names {
    session: usize,
    resolvers: Arc<Shares<usize>>,
    known: BTreeMap<Target, Name>,
    lookups: JoinSet<(Target, io::Result<Vec<SocketAddr>>)>,
}

impl Names {
    /// No names yet, for an association of a session.
    pub(crate) fn new(session: usize, resolvers: Arc<Shares<usize>>) -> Self {
        Self { session, resolvers, known: BTreeMap::new(), lookups: JoinSet::new() }
    }

    /// The address of a target, if it is known. If not, the datagram waits for it; it is lost if
    /// the target has none, or if too much waits.
    pub(crate) fn find(
        &mut self,
        now: Instant,
        target: Target,
        datagram: Bytes,
    ) -> Option<SocketAddr> {
        match self.known.get_mut(&target) {
            Some(Name::Resolved(address)) => return Some(*address),
            Some(Name::Failed(until)) if *until > now => return None,
            Some(Name::Pending(waiting)) => {
                if waiting.len() < MAX_WAITING {
                    waiting.push(datagram);
                }
                return None;
            }
            Some(Name::Failed(_)) | None => {}
        }
        if self.known.len() >= MAX_NAMES {
            self.known.retain(|_, name| !matches!(name, Name::Failed(until) if *until <= now));
        }
        if self.known.len() < MAX_NAMES && self.lookups.len() < MAX_LOOKUPS {
            self.known.insert(target.clone(), Name::Pending(vec![datagram]));
            let (session, resolvers) = (self.session, Arc::clone(&self.resolvers));
            self.lookups.spawn(async move {
                let found = addresses(&target, session, &resolvers, LOOKUP_TIMEOUT).await;
                (target, found)
            });
        }
        None
    }

    /// Waits for a lookup; returns the first address that is allowed, and the datagrams for it.
    pub(crate) async fn found(
        &mut self,
        is_allowed: impl Fn(&SocketAddr) -> bool,
    ) -> (SocketAddr, Vec<Bytes>) {
        loop {
            let Some(done) = self.lookups.join_next().await else { return pending().await };
            let Ok((target, found)) = done else { continue };
            let address = found.unwrap_or_default().into_iter().find(&is_allowed);
            let until = Instant::now() + RETRY_AFTER;
            let name = address.map_or(Name::Failed(until), Name::Resolved);
            let before = self.known.insert(target, name);
            if let (Some(address), Some(Name::Pending(waiting))) = (address, before) {
                return (address, waiting);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use tokio::runtime::Builder;

    const LOCAL: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 53);

    fn target() -> Target {
        (LOCAL.0.to_string(), LOCAL.1)
    }

    fn names() -> Names {
        Names::new(0, Arc::new(Shares::new(MAX_LOOKUPS, MAX_LOOKUPS)))
    }

    fn datagram(number: u8) -> Bytes {
        Bytes::copy_from_slice(&[number])
    }

    #[test]
    fn datagrams_wait_for_the_address_of_their_target() {
        Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let (mut names, now) = (names(), Instant::now());
            for number in 1..=2 {
                assert_eq!(names.find(now, target(), datagram(number)), None);
            }
            let (at, waiting) = names.found(|_| true).await;
            assert_eq!((at, waiting), (LOCAL.into(), vec![datagram(1), datagram(2)]));
            assert_eq!(names.find(now, target(), datagram(3)), Some(LOCAL.into()));
        });
    }

    #[test]
    fn a_name_without_an_allowed_address_is_looked_up_again_later() {
        Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let (mut names, now) = (names(), Instant::now());
            names.find(now, target(), datagram(1));
            // The next one is found after the first was refused.
            names.find(now, ("127.0.0.2".to_owned(), 53), datagram(2));
            let is_second = |at: &SocketAddr| at.ip() == Ipv4Addr::new(127, 0, 0, 2);
            assert_eq!(names.found(is_second).await.1, [datagram(2)]);
            while names.lookups.join_next().await.is_some() {}
            names.known.insert(target(), Name::Failed(now + RETRY_AFTER));
            assert_eq!(names.find(now, target(), datagram(3)), None);
            assert!(names.lookups.is_empty(), "it has failed just now");
            assert_eq!(names.find(now + RETRY_AFTER, target(), datagram(4)), None);
            assert_eq!(names.found(|_| true).await, (LOCAL.into(), vec![datagram(4)]));
        });
    }

    #[test]
    fn lookups_and_the_datagrams_that_wait_are_bounded() {
        Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let (mut names, now) = (names(), Instant::now());
            for host in 0..=255 {
                for number in 0..=MAX_WAITING as u8 {
                    names.find(now, (format!("127.0.0.{host}"), 53), datagram(number));
                }
            }
            assert_eq!((names.lookups.len(), names.known.len()), (MAX_LOOKUPS, MAX_LOOKUPS));
            assert_eq!(names.found(|_| true).await.1.len(), MAX_WAITING);
        });
    }
}
