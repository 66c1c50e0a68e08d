//! Resolution of names, of which each takes a thread for as long as the system's resolver does.
//!
//! A resolver cannot be interrupted, and one whose servers do not answer takes some ten seconds. So
//! lookups wait for a thread here and not in the runtime's queue: one whose client does not wait
//! any more is dropped, and no host takes all threads.

use crate::places::host;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Weak};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Threads that resolve names.
pub(crate) const THREADS: usize = 16;
/// Maximum number of them that resolve names for one host.
const OF_ONE_HOST: usize = 8;

/// Threads that are free, in total and for each host.
#[derive(Debug)]
pub(crate) struct Names {
    free: Arc<Semaphore>,
    /// Hosts whose lookups wait or are under way.
    by_host: RefCell<BTreeMap<IpAddr, Weak<Semaphore>>>,
}

impl Default for Names {
    fn default() -> Self {
        Self { free: Arc::new(Semaphore::new(THREADS)), by_host: RefCell::default() }
    }
}

impl Names {
    /// Calls a function that blocks on a thread, when one is free for this client. If the future is
    /// dropped before that, the function is not called.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        client: IpAddr,
        look_up: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        // The host's own part is taken first: its other lookups must not wait in the common queue.
        let own = self.of_host(client).acquire_owned().await.ok()?;
        let free = Arc::clone(&self.free).acquire_owned().await.ok()?;
        let work = move || {
            // The thread is free when the function returns, also if nobody waits for that.
            let _taken = (own, free);
            look_up()
        };
        spawn_blocking(work).await.ok()
    }

    fn of_host(&self, client: IpAddr) -> Arc<Semaphore> {
        let (host, mut by_host) = (host(client), self.by_host.borrow_mut());
        by_host.get(&host).and_then(Weak::upgrade).unwrap_or_else(|| {
            by_host.retain(|_, one| one.strong_count() > 0);
            let own = Arc::new(Semaphore::new(OF_ONE_HOST));
            by_host.insert(host, Arc::downgrade(&own));
            own
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;
    use std::sync::{Mutex, PoisonError};
    use tokio::sync::mpsc::unbounded_channel;
    use tokio::task::{LocalSet, spawn_local};

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    /// Names whose servers do not answer: a host that asks for twenty of them and leaves.
    #[test]
    fn a_host_takes_half_of_the_threads_and_lookups_end_with_their_clients() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(THREADS)
            .build()
            .expect("a runtime");
        LocalSet::new().block_on(&runtime, async {
            let names = Rc::new(Names::default());
            let (began, mut begun) = unbounded_channel();
            let (closed, gate) = std::sync::mpsc::channel::<()>();
            let gate = Arc::new(Mutex::new(gate));
            let ask = |client| {
                let (names, began, gate) = (Rc::clone(&names), began.clone(), Arc::clone(&gate));
                let look_up = move || {
                    began.send(client).expect("somebody listens");
                    // It ends when the other end is dropped.
                    let _ = gate.lock().unwrap_or_else(PoisonError::into_inner).recv();
                };
                spawn_local(async move { names.run(client, look_up).await })
            };
            let asked: Vec<_> = (0..20).map(|_| ask(ONE)).collect();
            let other = ask(OTHER);
            let mut first = Vec::new();
            while first.len() <= OF_ONE_HOST {
                first.push(begun.recv().await.expect("lookups"));
            }
            let of_other = first.iter().filter(|client| **client == OTHER).count();
            assert_eq!(of_other, 1, "there is a thread for the other host");
            asked.iter().for_each(tokio::task::JoinHandle::abort);
            drop(closed);
            other.await.expect("no panic").expect("it is called");
            // Lookups that were dropped would come before this one.
            ask(ONE).await.expect("no panic").expect("it is called");
            let mut more = 0;
            while begun.try_recv().is_ok() {
                more += 1;
            }
            assert_eq!(more, 1, "nobody waits for the others");
            // The threads of the first lookups end on their own, some perhaps only now.
            let all = names.of_host(ONE).acquire_many_owned(OF_ONE_HOST as u32).await;
            drop(all.expect("it is never closed"));
            ask(OTHER).await.expect("no panic").expect("it is called");
            assert_eq!(names.by_host.borrow().len(), 1, "hosts without lookups are forgotten");
        });
    }
}
