//! Protocols that were not read, and tunnels that were followed: by number and name, as JSON and
//! in words.

use fairwave_trace::analysis::Totals;
use fairwave_wire::tunnel::Tunnel;
use schemars::JsonSchema;
use serde::Serialize;

/// Frames or packets of a protocol that was not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContentSummary {
    /// Registry of the number: `link_type`, `address_family`, `llc`, `ether_type`, `ppp` or `ip`.
    pub registry: &'static str,
    /// The number.
    pub number: u32,
    /// The usual name; null for protocols that are seldom seen.
    pub name: Option<&'static str>,
    /// Number of frames or packets.
    pub count: u64,
    /// Registry, number and name in words.
    #[serde(skip)]
    pub(super) words: String,
}

/// Packets of a tunnel, of which the packets within were analysed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TunnelSummary {
    /// `GRE`, `IP in IP`, `VXLAN`, `GENEVE`, `GTP-U` or `CAPWAP`.
    pub name: &'static str,
    /// Number of outer packets.
    pub packets: u64,
}

/// The protocols that were not read, the most frequent first.
pub(super) fn contents(totals: &Totals) -> Vec<ContentSummary> {
    let mut all: Vec<ContentSummary> = totals
        .contents
        .iter()
        .map(|(content, count)| ContentSummary {
            registry: content.registry(),
            number: content.number(),
            name: content.name(),
            count,
            words: content.to_string(),
        })
        .collect();
    all.sort_by_key(|content| std::cmp::Reverse(content.count));
    all
}

/// The tunnels that were followed.
pub(super) fn tunnels(totals: &Totals) -> Vec<TunnelSummary> {
    let all = Tunnel::ALL.iter().zip(totals.tunnels).filter(|(_, packets)| *packets > 0);
    all.map(|(tunnel, packets)| TunnelSummary { name: tunnel.name(), packets }).collect()
}

/// Maximum number of protocols named in a line; the JSON has more.
const NAMED: usize = 6;

/// The protocols of these registries in brackets, behind the number of their packets.
pub(super) fn words(contents: &[ContentSummary], registries: &[&str]) -> String {
    let of = contents.iter().filter(|content| registries.contains(&content.registry));
    let mut names: Vec<String> =
        of.map(|content| format!("{} {}", content.count, content.words)).collect();
    if names.len() > NAMED {
        names.truncate(NAMED);
        names.push("others".to_owned());
    }
    if names.is_empty() { String::new() } else { format!(" ({})", names.join("; ")) }
}

/// A line about tunnels; `None` without any.
pub(super) fn tunnel_words(tunnels: &[TunnelSummary]) -> Option<String> {
    let names: Vec<String> = tunnels
        .iter()
        .map(|tunnel| format!("{} packets of {}", tunnel.packets, tunnel.name))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "Tunnels ({}): streams are those within; tunnels within them are not followed",
            names.join(", ")
        )
    })
}
