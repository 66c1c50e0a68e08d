//! Limits of a resource that clients share, such as threads: in total, and for each client.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

/// Places that are free, in total and for each owner.
#[derive(Debug)]
pub struct Shares<K> {
    free: Arc<Semaphore>,
    of_one: usize,
    /// Owners that have a place or wait for one.
    by_owner: Mutex<BTreeMap<K, Weak<Semaphore>>>,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub struct Place {
    _own: OwnedSemaphorePermit,
    _free: OwnedSemaphorePermit,
}

impl<K: Ord> Shares<K> {
    /// Creates `total` free places, of which one owner may have `of_one`.
    pub fn new(total: usize, of_one: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(total)), of_one, by_owner: Mutex::default() }
    }

    /// Takes a place, if one is free for this owner.
    pub fn try_take(&self, owner: K) -> Option<Place> {
        let own = self.of_owner(owner).try_acquire_owned().ok()?;
        let free = Arc::clone(&self.free).try_acquire_owned().ok()?;
        Some(Place { _own: own, _free: free })
    }

    /// Calls a function that blocks on a thread of the runtime, when a place is free for this
    /// owner. If the future is dropped before that, the function is not called. `None` if the
    /// function panics.
    pub async fn run<T: Send + 'static>(
        &self,
        owner: K,
        function: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let own = self.of_owner(owner);
        // The owner's own part is taken first: its other calls must not wait in the common queue.
        let own = own.acquire_owned().await.ok()?;
        let free = Arc::clone(&self.free).acquire_owned().await.ok()?;
        let work = move || {
            // The place is free when the function returns, even if its future was dropped.
            let _taken = Place { _own: own, _free: free };
            function()
        };
        spawn_blocking(work).await.ok()
    }

    fn of_owner(&self, owner: K) -> Arc<Semaphore> {
        let mut by_owner = self.by_owner.lock().unwrap_or_else(PoisonError::into_inner);
        by_owner.get(&owner).and_then(Weak::upgrade).unwrap_or_else(|| {
            by_owner.retain(|_, one| one.strong_count() > 0);
            let own = Arc::new(Semaphore::new(self.of_one));
            by_owner.insert(owner, Arc::downgrade(&own));
            own
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;
    use tokio::sync::mpsc::unbounded_channel;
    use tokio::task::{LocalSet, spawn_local};

    const TOTAL: usize = 16;
    const OF_ONE: usize = 8;

    #[test]
    fn an_owner_leaves_places_to_others() {
        let shares = Shares::new(3, 2);
        let taken = [1, 1, 1, 2, 2].map(|owner| shares.try_take(owner));
        assert_eq!(taken.each_ref().map(Option::is_some), [true, true, false, true, false]);
        let [one, ..] = taken;
        drop(one);
        assert!(shares.try_take(1).is_some(), "it is free again");
    }

    /// Functions that do not return: an owner that calls twenty of them and leaves.
    #[test]
    fn an_owner_takes_half_of_the_threads_and_calls_end_with_their_futures() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(TOTAL)
            .build()
            .expect("a runtime");
        LocalSet::new().block_on(&runtime, async {
            let shares = Rc::new(Shares::new(TOTAL, OF_ONE));
            let (began, mut begun) = unbounded_channel();
            let (closed, gate) = std::sync::mpsc::channel::<()>();
            let gate = Arc::new(Mutex::new(gate));
            let ask = |owner| {
                let (shares, began, gate) = (Rc::clone(&shares), began.clone(), Arc::clone(&gate));
                let function = move || {
                    began.send(owner).expect("somebody listens");
                    // It ends when the other end is dropped.
                    let _ = gate.lock().unwrap_or_else(PoisonError::into_inner).recv();
                };
                spawn_local(async move { shares.run(owner, function).await })
            };
            let asked: Vec<_> = (0..20).map(|_| ask(1)).collect();
            let other = ask(2);
            let mut first = Vec::new();
            while first.len() <= OF_ONE {
                first.push(begun.recv().await.expect("calls"));
            }
            let of_other = first.iter().filter(|owner| **owner == 2).count();
            assert_eq!(of_other, 1, "there is a thread for the other owner");
            asked.iter().for_each(tokio::task::JoinHandle::abort);
            drop(closed);
            other.await.expect("no panic").expect("it is called");
            // Calls that were dropped would come before this one.
            ask(1).await.expect("no panic").expect("it is called");
            let mut more = 0;
            while begun.try_recv().is_ok() {
                more += 1;
            }
            assert_eq!(more, 1, "nobody waits for the others");
            // The threads of the first calls end on their own, some perhaps only now.
            let all = shares.of_owner(1).acquire_many_owned(OF_ONE as u32).await;
            drop(all.expect("it is never closed"));
            ask(2).await.expect("no panic").expect("it is called");
            let owners = shares.by_owner.lock().expect("no panic").len();
            assert_eq!(owners, 1, "owners without places are removed");
        });
    }
}
