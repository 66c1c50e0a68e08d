//! Priority over the other programs of the machine, and a processor for one thread alone.

use crate::{Error, kernel};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Above all threads without a real-time priority, and below those of the kernel that have one.
const PRIORITY: i32 = 10;

/// Gives the calling thread a real-time priority (`SCHED_FIFO`). Threads and programs that it
/// starts later do not inherit it.
///
/// # Errors
///
/// If the user may not: it takes root (outside of user namespaces), or a limit on real-time
/// priorities (`ulimit -r`) that is not zero.
pub fn become_realtime() -> Result<(), Error> {
    kernel::become_realtime(PRIORITY).map_err(Error::at("real-time priority"))
}

/// Whether [`become_realtime`] will be permitted, tried by a thread that ends at once.
///
/// # Errors
///
/// Those of [`become_realtime`].
pub fn may_become_realtime() -> Result<(), Error> {
    let tried = std::thread::spawn(become_realtime).join();
    tried.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Processors of the machine.
#[derive(Debug, Clone)]
pub struct Processors(CpuSet);

impl Processors {
    /// As the kernel writes a set: hexadecimal words of 32 processors, those with the highest
    /// numbers first.
    pub fn mask(&self) -> String {
        let word = |first: usize| {
            let bits = (0..32).filter(|bit| self.0.is_set(first + bit)).map(|bit| 1 << bit);
            bits.sum::<u32>()
        };
        let words: Vec<u32> = (0..CpuSet::MAX_CPU).step_by(32).map(word).collect();
        let used = words.iter().rposition(|word| *word != 0).map_or(1, |last| last + 1);
        let words: Vec<_> = words[..used].iter().rev().map(|word| format!("{word:08x}")).collect();
        words.join(",")
    }
}

/// A processor that a process keeps for one of its threads.
///
/// A thread that never sleeps needs one: whoever waits on the same processor is given a part of
/// each second by the kernel, real-time priority or not, and the thread stands still meanwhile.
#[derive(Debug)]
pub struct OwnProcessor {
    own: CpuSet,
    before: CpuSet,
}

impl OwnProcessor {
    /// Binds the calling thread, and all threads and programs that it starts from now on, to all
    /// processors but the last that it may use; as before when the value is dropped by the same
    /// thread. `None` where it may use only one, or where the kernel refuses.
    pub fn reserve() -> Option<Self> {
        let before = sched_getaffinity(None).ok()?;
        let last = (0..CpuSet::MAX_CPU).rev().find(|number| before.is_set(*number))?;
        let (mut own, mut others) = (CpuSet::new(), before);
        own.set(last);
        others.unset(last);
        (others.count() > 0 && sched_setaffinity(None, &others).is_ok())
            .then_some(Self { own, before })
    }

    /// All processors that the process may use, but this one.
    pub fn others(&self) -> Processors {
        let mut others = self.before;
        (0..CpuSet::MAX_CPU).filter(|own| self.own.is_set(*own)).for_each(|own| others.unset(own));
        Processors(others)
    }

    /// Binds the calling thread to the processor.
    pub fn take(&self) {
        // It was in the set of this process when it was reserved. Should it have gone since, the
        // thread runs where it can.
        let _ = sched_setaffinity(None, &self.own);
    }
}

impl Drop for OwnProcessor {
    fn drop(&mut self) {
        // As above.
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> Vec<usize> {
        let set = sched_getaffinity(None).expect("it can be asked");
        (0..CpuSet::MAX_CPU).filter(|number| set.is_set(*number)).collect()
    }

    #[test]
    fn a_set_of_processors_is_written_as_the_kernel_does() {
        let written = |numbers: &[usize]| {
            let mut set = CpuSet::new();
            numbers.iter().for_each(|number| set.set(*number));
            Processors(set).mask()
        };
        assert_eq!(written(&[0]), "00000001");
        assert_eq!(written(&[1, 3, 31]), "8000000a");
        assert_eq!(written(&[0, 33]), "00000002,00000001");
        assert_eq!(written(&[64]), "00000001,00000000,00000000");
        assert_eq!(written(&[]), "00000000");
    }

    #[test]
    fn a_reserved_processor_is_left_by_all_but_one_thread() {
        let before = allowed();
        let Some(own) = OwnProcessor::reserve() else {
            assert_eq!(before.len(), 1, "with more than one there is one to reserve");
            return;
        };
        let (last, others) = before.split_last().expect("there is one");
        assert_eq!(allowed(), others);
        let mut set = CpuSet::new();
        others.iter().for_each(|other| set.set(*other));
        assert_eq!(own.others().mask(), Processors(set).mask());
        let theirs = std::thread::spawn(allowed).join().expect("it does not panic");
        assert_eq!(theirs, others, "a thread starts where its parent may run");
        own.take();
        assert_eq!(allowed(), [*last]);
        drop(own);
        assert_eq!(allowed(), before);
    }
}
