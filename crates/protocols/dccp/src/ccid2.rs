//! CCID 2, TCP-like congestion control (RFC 4341): a window in packets, halved for every
//! congestion event, and acknowledgements that are congestion controlled too.

mod acks;
mod history;
mod receiver;
mod rto;
mod sender;

pub use receiver::Ccid2Receiver;
pub use sender::Ccid2Sender;

/// Packets that must have arrived after one before it counts as lost (RFC 4341 section 5).
const NUMDUPACK: usize = 3;

#[cfg(test)]
mod tests;
