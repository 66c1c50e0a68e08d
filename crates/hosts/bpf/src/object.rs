//! ELF objects with programs and maps: opening, loading, and the verifier's output in errors.

use crate::Error;
use libbpf_rs::{MapCore, MapMut, Object, ObjectBuilder, OpenObject, PrintLevel, set_print};
use std::sync::{Mutex, PoisonError};

/// The last output of libbpf, for the message of an error.
static LIBBPF_LOG: Mutex<String> = Mutex::new(String::new());
/// Maximum length of that output in bytes.
const MAX_LOG: usize = 4096;

#[expect(clippy::needless_pass_by_value, reason = "the type is libbpf-rs's")]
fn listen(_level: PrintLevel, line: String) {
    let mut log = LIBBPF_LOG.lock().unwrap_or_else(PoisonError::into_inner);
    log.push_str(&line);
    let excess = log.len().saturating_sub(MAX_LOG);
    let start = (excess..log.len()).find(|at| log.is_char_boundary(*at)).unwrap_or(0);
    log.drain(..start);
}

/// Builds an error for `map_err`: libbpf's error, and its output so far.
#[expect(clippy::needless_pass_by_value, reason = "callers have a value to show or a reference")]
pub(crate) fn refused<T: ToString>(what: T) -> impl FnOnce(libbpf_rs::Error) -> Error + use<T> {
    let what = what.to_string();
    move |source| {
        let mut log = LIBBPF_LOG.lock().unwrap_or_else(PoisonError::into_inner);
        let log = std::mem::take(&mut *log).trim_end().to_owned();
        Error::Refused { what, source, log }
    }
}

fn open(name: &str, bytes: &[u8]) -> Result<OpenObject, Error> {
    set_print(Some((PrintLevel::Warn, listen)));
    LIBBPF_LOG.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let mut builder = ObjectBuilder::default();
    let builder = builder.name(name).map_err(refused(name))?;
    builder.open_memory(bytes).map_err(refused(name))
}

/// Loads an object's programs and maps into the kernel, without attaching them.
pub(crate) fn load(name: &str, bytes: &[u8]) -> Result<Object, Error> {
    open(name, bytes)?.load().map_err(refused(name))
}

/// As [`load`] for an algorithm. Kernels before 6.4 have no links for `struct_ops`: there an
/// algorithm stays registered until its map entry is deleted, and the result contains `false`.
pub(crate) fn load_algorithm(name: &str, bytes: &[u8]) -> Result<(Object, bool), Error> {
    let first = match load(name, bytes) {
        Ok(object) => return Ok((object, true)),
        Err(error) => error,
    };
    // An object cannot be loaded twice, so that it is opened again for the attempt without a link.
    let mut plain = open(name, bytes)?;
    for mut map in plain.maps_mut() {
        if map.map_type() == libbpf_rs::MapType::StructOps {
            map.set_map_flags(0).map_err(refused(name))?;
        }
    }
    plain.load().map(|object| (object, false)).map_err(|_| first)
}

/// The map of an object that is known to have it.
pub(crate) fn map<'o>(object: &'o mut Object, name: &str) -> MapMut<'o> {
    object.maps_mut().find(|map| map.name() == name).expect("the object declares the map")
}
