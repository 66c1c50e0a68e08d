//! Measurements that were read from run directories, kept while the same runs are judged again.

use fairwave_lab::run::Run;
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Known = BTreeMap<(TypeId, PathBuf), Arc<dyn Any + Send + Sync>>;

/// Measurements by their type and the run directory that they were read from.
///
/// A map judges the runs of a set-up once more without each of its seeds. The files of a run are
/// read the first time only. Clones share what they know. The default keeps nothing: a study judges
/// its own set-up once, by thousands of runs.
#[derive(Clone, Default)]
pub struct RunCache(Option<Arc<Mutex<Known>>>);

impl RunCache {
    /// A cache that keeps measurements, for the runs of one set-up.
    pub fn keeping() -> Self {
        Self(Some(Arc::default()))
    }

    /// The measurement that `read` takes from the directory of a run; `None` if the run left none.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn get<T: Send + Sync + 'static, E>(
        &self,
        run: &Run,
        read: impl FnOnce(&Path) -> Result<T, E>,
    ) -> Result<Option<Arc<T>>, E> {
        let Some(directory) = &run.directory else { return Ok(None) };
        let Some(measurements) = &self.0 else { return Ok(Some(Arc::new(read(directory)?))) };
        let key = (TypeId::of::<T>(), directory.clone());
        let known = locked(measurements).get(&key).cloned();
        if let Some(known) = known.and_then(|known| known.downcast().ok()) {
            return Ok(Some(known));
        }
        // Without the lock: other threads read other runs meanwhile.
        let made = Arc::new(read(directory)?);
        locked(measurements).insert(key, made.clone());
        Ok(Some(made))
    }
}

fn locked(measurements: &Mutex<Known>) -> MutexGuard<'_, Known> {
    // A panic leaves whole entries.
    measurements.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for RunCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let measurements = self.0.as_deref().map(|known| locked(known).len());
        f.debug_tuple("RunCache").field(&measurements).finish()
    }
}

/// Results are the same whatever was read of them.
impl PartialEq for RunCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;
    use std::convert::Infallible;

    #[test]
    fn a_directory_is_read_once_for_each_kind_of_measurement() {
        let run = |name: &str| Run {
            directory: Some(name.into()),
            ..made::shaped(&[], 1, 1, false, made::FAIR)
        };
        let (cache, mut reads) = (RunCache::keeping(), 0);
        for name in ["a", "b", "a", "b", "a"] {
            let length = cache.clone().get(&run(name), |path| {
                reads += 1;
                Ok::<_, Infallible>(path.as_os_str().len())
            });
            assert_eq!(length.unwrap().as_deref(), Some(&1));
        }
        assert_eq!(reads, 2);
        let text = cache.get(&run("a"), |path| Ok::<_, Infallible>(path.display().to_string()));
        let text = text.unwrap();
        assert_eq!(text.as_deref().map(String::as_str), Some("a"));
        let nowhere = made::shaped(&[], 1, 1, false, made::FAIR);
        assert_eq!(cache.get(&nowhere, |_| Ok::<_, Infallible>(0_u8)).unwrap(), None);
    }
}
