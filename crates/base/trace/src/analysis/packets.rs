//! Counts of the IP packets of a capture.

/// IP packets of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packets {
    /// All packets: the sum of the following.
    pub seen: u64,
    /// TCP segments.
    pub tcp: u64,
    /// UDP datagrams.
    pub udp: u64,
    /// DCCP packets.
    pub dccp: u64,
    /// Other protocols.
    pub other: u64,
    /// Packets of TCP, UDP and DCCP that were already captured at another point of their path.
    pub copies: u64,
    /// Later fragments of datagrams whose first one was not captured.
    pub fragments: u64,
    /// Later fragments of datagrams that are counted with the first one.
    pub joined: u64,
    /// TCP, UDP or DCCP packets with a truncated or broken header.
    pub unreadable: u64,
    /// Bytes that are no IP packet, or are truncated within its header.
    pub broken: u64,
    /// IP bytes of all packets except broken ones.
    pub ip_bytes: u64,
    /// Datagrams, counted above, of which fragments are missing.
    pub incomplete: u64,
}
