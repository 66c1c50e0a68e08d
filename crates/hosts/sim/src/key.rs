//! The secret that the hosts of a simulation share.

use fairwave_units::Seed;
use fairwave_wire::seal::Key;

/// The key of all flows of a run with this master seed that seal their messages. Its secret is the
/// text "fairwave simulator, seed 7", the number in decimal: a reader with the scenario can check
/// the seals in its captures. There is no forger in a simulation, so it need not be secret.
pub fn shared_key(seed: Seed) -> Key {
    let secret = format!("fairwave simulator, seed {}", seed.0);
    Key::new(secret.as_bytes()).expect("it is long enough")
}
