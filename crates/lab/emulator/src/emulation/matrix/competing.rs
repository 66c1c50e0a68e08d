//! Flows that share the link with the flow under test.

use core::fmt;
use core::str::FromStr;

/// Maximum number of flows of one algorithm, each of which has its own sockets.
const MAX: u32 = 256;

/// Flows that share the link with the flow under test, besides those of its scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Competing {
    /// None.
    Alone,
    /// One flow of the named algorithm.
    Beside(String),
    /// This total number of flows of the tested algorithm.
    Many(u32),
}

impl FromStr for Competing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match (text, text.parse::<u32>()) {
            ("alone", _) | (_, Ok(1)) => Ok(Self::Alone),
            (_, Ok(flows)) if (2..=MAX).contains(&flows) => Ok(Self::Many(flows)),
            (_, Ok(_)) => Err(format!("{text:?}: a number of flows is from 1 to {MAX}")),
            ("", _) => {
                Err("write alone, the name of an algorithm, or a number of flows".to_owned())
            }
            (algorithm, Err(_)) => Ok(Self::Beside(algorithm.to_owned())),
        }
    }
}

impl fmt::Display for Competing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alone => f.write_str("alone"),
            Self::Beside(algorithm) => write!(f, "beside {algorithm}"),
            Self::Many(flows) => write!(f, "{flows} flows"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn competing_flows_are_none_one_or_a_number() {
        let of = |text: &str| text.parse::<Competing>();
        assert_eq!(of("alone"), Ok(Competing::Alone));
        assert_eq!(of("1"), Ok(Competing::Alone));
        assert_eq!(of(" cubic "), Ok(Competing::Beside("cubic".to_owned())));
        assert_eq!(of("4").map(|four| four.to_string()), Ok("4 flows".to_owned()));
        assert!(of("0").is_err() && of("257").is_err() && of("").is_err());
    }
}
