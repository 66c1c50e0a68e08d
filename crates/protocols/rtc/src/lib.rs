//! Real-time media over RTP, and the congestion control that browsers use for it.
//!
//! A [`Sender`] is given frames, cuts them into RTP packets with transport-wide sequence numbers
//! and paces them; a [`Receiver`] says in feedback which of them arrived when
//! (draft-holmer-rmcat-transport-wide-cc-extensions-01). [`gcc`] makes a target rate of that
//! (draft-ietf-rmcat-gcc-02), which the encoder is to follow.
//!
//! Whatever feedback says, the target stays within the bounds that the sender was given, and
//! memory is bounded: feedback is believed only about packets that were sent, once each.

pub mod gcc;
mod history;
mod pacer;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use receiver::{Media, Receiver, ReceiverConfig};
pub use sender::{Frame, Packet, Sender, SenderConfig, SenderEvent, SenderInput, SenderStats};

/// Bytes of IPv4 and UDP headers, which congestion control counts with each packet.
pub const HEADER_BYTES: u32 = 28;
