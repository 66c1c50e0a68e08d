//! Rules that assign targets to flows. They are read from TOML, and can be replaced while the proxy
//! runs.

use fairwave_console::peer::prefix;
use fairwave_units::BitRate;
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::net::SocketAddr;

/// Unit that a target applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// Each connection.
    #[default]
    Flow,
    /// All connections of a client's address together; those that carry data get equal shares.
    Host,
}

/// Direction of the data that a target applies to.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the client to the server.
    #[default]
    Up,
    /// From the server to the client.
    Down,
}

/// Treatment of a flow for whose target too little capacity is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Beyond {
    /// The flow is relayed without a target.
    #[default]
    BestEffort,
    /// The flow is refused.
    Refuse,
}

/// A target, and conditions on the flows that get it; a flow must meet all of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Target rate of the payload that the receiver acknowledges.
    #[serde(deserialize_with = "read_rate")]
    pub rate: BitRate,
    /// Direction of that payload: the receiver is the server, or the client.
    #[serde(default)]
    pub direction: Direction,
    /// Unit that the target applies to.
    #[serde(default)]
    pub per: Per,
    /// Addresses of clients.
    #[serde(default, deserialize_with = "read_prefix")]
    pub client: Option<IpNet>,
    /// Addresses of servers.
    #[serde(default, deserialize_with = "read_prefix")]
    pub server: Option<IpNet>,
    /// The server's port.
    #[serde(default)]
    pub port: Option<u16>,
}

/// All rules. A flow gets the first rule that it matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Targets {
    /// Maximum sum of all targets.
    #[serde(default, deserialize_with = "read_capacity")]
    pub capacity: Option<BitRate>,
    /// Treatment of flows for whose targets too little capacity is left.
    #[serde(default)]
    pub beyond: Beyond,
    /// The rules.
    #[serde(default, rename = "target")]
    pub rules: Vec<Rule>,
}

impl Direction {
    /// The word for it in files and reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

impl Rule {
    /// Assigns the same target to every flow.
    pub fn for_all(rate: BitRate, direction: Direction) -> Self {
        Self { rate, direction, per: Per::Flow, client: None, server: None, port: None }
    }

    fn fits(&self, client: SocketAddr, server: SocketAddr) -> bool {
        let within = |prefix: Option<IpNet>, of: SocketAddr| {
            prefix.is_none_or(|prefix| prefix.contains(&of.ip().to_canonical()))
        };
        within(self.client, client)
            && within(self.server, server)
            && self.port.is_none_or(|port| port == server.port())
    }
}

impl Targets {
    /// Parses the text of a targets file.
    ///
    /// # Errors
    ///
    /// Line and column of the fault, and its description.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())
    }

    /// A sentence about the first rule whose target alone exceeds the capacity, so that no flow can
    /// have it.
    pub(crate) fn excess(&self) -> Option<String> {
        let capacity = self.capacity?;
        let rule = self.rules.iter().find(|rule| rule.rate > capacity)?;
        let fate = match self.beyond {
            Beyond::BestEffort => "relayed without it",
            Beyond::Refuse => "refused",
        };
        Some(format!(
            "the target of {} exceeds the capacity of {capacity}: its connections are {fate}",
            rule.rate
        ))
    }

    /// The rule of a flow, and its index.
    pub(crate) fn rule(&self, client: SocketAddr, server: SocketAddr) -> Option<(usize, &Rule)> {
        self.rules.iter().enumerate().find(|(_, rule)| rule.fits(client, server))
    }
}

fn read_rate<'de, D: Deserializer<'de>>(from: D) -> Result<BitRate, D::Error> {
    BitRate::above_zero(&String::deserialize(from)?).map_err(de::Error::custom)
}

fn read_capacity<'de, D: Deserializer<'de>>(from: D) -> Result<Option<BitRate>, D::Error> {
    read_rate(from).map(Some)
}

fn read_prefix<'de, D: Deserializer<'de>>(from: D) -> Result<Option<IpNet>, D::Error> {
    prefix(&String::deserialize(from)?).map(Some).map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn the_first_rule_that_fits_a_flow_is_its_own() {
        let targets = Targets::parse(
            "capacity = '20 Mbps'\nbeyond = 'refuse'\n\
             [[target]]\nrate = '2M'\nport = 443\nclient = '10.0.0.0/8'\n\
             [[target]]\nrate = '5 Mbps'\nper = 'host'\nserver = '2001:db8::/32'\n\
             [[target]]\nrate = '1M'\nclient = '192.0.2.7'\n",
        )
        .expect("valid");
        assert_eq!((targets.capacity, targets.beyond), (Some(BitRate::mbps(20)), Beyond::Refuse));
        let found = |client, server| targets.rule(at(client), at(server)).map(|(number, _)| number);
        assert_eq!(found("10.1.1.1:5", "192.0.2.1:443"), Some(0));
        // An IPv6 socket reports clients of IPv4 by mapped addresses.
        assert_eq!(found("[::ffff:10.1.1.1]:5", "192.0.2.1:443"), Some(0));
        assert_eq!(found("10.1.1.1:5", "192.0.2.1:80"), None);
        assert_eq!(found("[2001:db8::1]:5", "[2001:db8::2]:443"), Some(1));
        assert_eq!(found("192.0.2.7:5", "198.51.100.1:80"), Some(2));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, reported) in [
            ("[[target]]\nrate = 'fast'\n", ["line 2", "is not a bit rate"]),
            ("[[target]]\nrate = '0M'\n", ["line 2", "more than 0"]),
            ("[[target]]\nrate = '5'\n", ["line 2", "\"5 Mbps\" or \"5M\""]),
            ("[[target]]\nrate = '5M'\nto = 1\n", ["line 3", "unknown field `to`"]),
            ("[[target]]\nrate = '5M'\nclient = '10.0.0.0/33'\n", ["line 3", "a prefix, such as"]),
            ("[[target]]\nper = 'flow'\n", ["line 1", "missing field `rate`"]),
        ] {
            let error = Targets::parse(text).expect_err(text);
            assert!(reported.iter().all(|reported| error.contains(reported)), "{error}");
        }
    }

    #[test]
    fn a_target_beyond_the_capacity_is_reported() {
        let excess = |text: &str| Targets::parse(text).expect("valid").excess();
        assert_eq!(excess("capacity = '5M'\n[[target]]\nrate = '5M'\n"), None);
        assert_eq!(excess("[[target]]\nrate = '5M'\n"), None);
        let text = "capacity = '1M'\n[[target]]\nrate = '1M'\n[[target]]\nrate = '5M'\n";
        let refused = excess(&format!("beyond = 'refuse'\n{text}")).expect("a sentence");
        assert!(refused.starts_with("the target of 5 Mbps exceeds the capacity of 1 Mbps"));
        assert!(refused.ends_with("its connections are refused"), "{refused}");
        assert!(excess(text).expect("a sentence").ends_with("relayed without it"));
    }
}
