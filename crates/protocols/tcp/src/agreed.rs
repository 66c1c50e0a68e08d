//! Parameters that the handshake settled.

/// The options that both ends agreed on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agreed {
    /// Every segment carries timestamps (RFC 7323 section 3).
    pub(crate) timestamps: bool,
    /// ACKs carry SACK blocks (RFC 2018).
    pub(crate) sack: bool,
    /// Data is sent as ECN-capable (RFC 3168).
    pub(crate) ecn: bool,
    /// Scale of the peer's windows (RFC 7323 section 2): a power of two.
    pub(crate) peer_shift: u8,
    /// Largest payload to send, in bytes.
    pub(crate) smss: u32,
}
