//! The buffer probe on real networks: [`serve`] is the receiving end, [`measure`] the measuring
//! one.
#![cfg(target_os = "linux")]

mod beside;
mod error;
mod finding;
mod leg;
mod measure;
mod serve;
mod session;
mod sizes;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use fairwave_probe::Way;
pub use fairwave_probe::delay::Delays;
pub use finding::{Buffer, HeldBack, Interval, Kind, Latency, Loaded, Measured};
pub use leg::Leg;
pub use measure::{Progress, Request, measure};
pub use serve::{News, ServeConfig, Server};
pub use sizes::Percentiles;

use fairwave_linux::random::fill;
use fairwave_wire::seal::{Key, LEAST_SECRET, ShortSecret};

/// Default port of `fairwave probe serve`. IANA has not assigned it.
pub const PORT: u16 = 17_980;
/// Alphabet of pairing codes, without letters that look like digits.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// Letters of a pairing code, with five bits each.
const CODE_LETTERS: usize = 20;

/// Derives the key from a secret that both ends have: the content of a file, or a pairing code.
/// Surrounding white space is ignored.
///
/// # Errors
/// If it is shorter than [`LEAST_SECRET`].
pub fn key_of(secret: &[u8]) -> Result<Key, ShortSecret> {
    const { assert!(CODE_LETTERS >= LEAST_SECRET, "a code makes a key") };
    Key::new(secret.trim_ascii())
}

/// Creates a pairing code: 100 random bits, to be read aloud or copied.
///
/// # Errors
/// If the kernel gives no random bytes.
pub fn pairing_code() -> std::io::Result<String> {
    let mut bytes = [0; CODE_LETTERS];
    fill(&mut bytes)?;
    Ok(bytes.map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).iter().collect())
}
