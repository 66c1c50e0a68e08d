//! Real-time media over RTP, and the congestion control that browsers use for it.
//!
//! A [`Sender`] divides frames into RTP packets with transport-wide sequence numbers, and paces
//! them. A [`Receiver`] reports the arrival time of each packet in feedback
//! (draft-holmer-rmcat-transport-wide-cc-extensions-01). [`gcc`] computes a target rate from the
//! feedback (draft-ietf-rmcat-gcc-02), which the encoder has to follow.
//!
//! The target stays within the sender's bounds for any content of feedback, also false content.
//! Memory is bounded: reports count only for packets that were sent, and once for each.

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
