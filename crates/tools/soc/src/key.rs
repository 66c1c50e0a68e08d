//! Key files: 32 bytes in base64 on a line.
//!
//! The access point has the key of the network. A station may have it too, and is then trusted with
//! every station's weight. Or the station has its own key, on a line that begins with `station`,
//! which is valid for its link address only.

use crate::Error;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fairwave_soc::{KEY_LEN, station_secret};
use fairwave_wire::ethernet::Mac;
use fairwave_wire::seal::Key;

/// First word of the line of a station's own key.
const STATION: &str = "station";

/// A key from a file.
#[derive(Clone, Debug)]
pub enum Secret {
    /// The key of the network.
    Network(Key),
    /// The key of one station.
    Station(Key),
}

impl Secret {
    /// Parses the text of a file; `place` is named in errors.
    ///
    /// # Errors
    /// If it is not 32 bytes in base64.
    pub fn parse(text: &str, place: &str) -> Result<Self, Error> {
        let line = text.trim();
        let own = line.strip_prefix(STATION).map(str::trim);
        let refused = |why: String| {
            let remedy = "make one with `head -c 32 /dev/urandom | base64`";
            Error::Usage(format!("{place}: {why}; a key is 32 bytes in base64: {remedy}"))
        };
        let bytes = STANDARD.decode(own.unwrap_or(line));
        let bytes = bytes.map_err(|error| refused(format!("no base64 ({error})")))?;
        if bytes.len() != KEY_LEN {
            return Err(refused(format!("{} bytes", bytes.len())));
        }
        let key = Key::new(&bytes).map_err(|error| refused(error.to_string()))?;
        Ok(if own.is_some() { Self::Station(key) } else { Self::Network(key) })
    }

    /// The network's key.
    ///
    /// # Errors
    /// If this is a station's key.
    pub fn network(self, place: &str) -> Result<Key, Error> {
        match self {
            Self::Network(key) => Ok(key),
            Self::Station(_) => Err(Error::Usage(format!(
                "{place}: this is the key of one station; an access point needs the network's"
            ))),
        }
    }

    /// The key of the station with this link address.
    ///
    /// # Errors
    /// Never for keys that this type has made itself.
    pub fn of_station(&self, station: Mac) -> Result<Key, Error> {
        match self {
            Self::Station(key) => Ok(key.clone()),
            Self::Network(key) => Key::new(&station_secret(key, station))
                .map_err(|error| Error::Usage(error.to_string())),
        }
    }
}

/// The line of a station's own key.
pub fn line_of_station(network: &Key, station: Mac) -> String {
    line_of(&station_secret(network, station))
}

/// The line of a key that belongs to a station.
pub fn line_of(secret: &[u8; KEY_LEN]) -> String {
    format!("{STATION} {}\n", STANDARD.encode(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: Mac = Mac::local(1);

    fn tag(key: &Key) -> [u8; 16] {
        key.tag("a test", &[]).0
    }

    #[test]
    fn a_stations_own_key_is_the_one_that_follows_from_the_networks() {
        let network = Secret::parse(&format!("{}\n", STANDARD.encode([7; 32])), "a").unwrap();
        let key = network.clone().network("a").unwrap();
        let own = Secret::parse(&line_of_station(&key, MAC), "b").unwrap();
        assert_eq!(tag(&own.of_station(MAC).unwrap()), tag(&network.of_station(MAC).unwrap()));
        assert_ne!(tag(&network.of_station(Mac::local(2)).unwrap()), tag(&key));
        let error = own.network("b").unwrap_err().to_string();
        assert!(error.contains("b: this is the key of one station"), "{error}");
    }

    #[test]
    fn what_is_no_key_is_refused_with_a_remedy() {
        for (text, why) in [("", "0 bytes"), ("AAAA", "3 bytes"), ("a key", "no base64")] {
            let error = Secret::parse(text, "my.key").unwrap_err().to_string();
            assert!(error.starts_with("my.key: ") && error.contains(why), "{error}");
            assert!(error.contains("head -c 32"), "{error}");
        }
    }
}
