//! The buffer probe on real networks: [`serve`] is its receiving end, [`measure`] the other.
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

/// The port of `fairwave probe serve`, unless another is given. Nobody has it from IANA.
pub const PORT: u16 = 17_980;
/// What a pairing code is written with: no letters that look like digits.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// Letters of a pairing code, of five bits each.
const CODE_LETTERS: usize = 20;

/// The key of a secret that both ends have: the content of a file, or a pairing code. White space
/// around it does not count.
///
/// # Errors
/// If it is shorter than [`LEAST_SECRET`].
pub fn key_of(secret: &[u8]) -> Result<Key, ShortSecret> {
    const { assert!(CODE_LETTERS >= LEAST_SECRET, "a code makes a key") };
    Key::new(secret.trim_ascii())
}

/// A new pairing code: 100 random bits, to be read aloud or copied.
///
/// # Errors
/// If the kernel gives no random bytes.
pub fn pairing_code() -> std::io::Result<String> {
    let mut bytes = [0; CODE_LETTERS];
    fill(&mut bytes)?;
    Ok(bytes.map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).iter().collect())
}
