//! CCID 4: TFRC for small packets (RFC 5622, RFC 4828), for applications that send their data at
//! fixed intervals, such as speech.
//!
//! It takes the bits that a TCP connection with packets of 1460 bytes would take, headers included,
//! and never more than a packet in 10 ms. Since it sends many packets for one of TCP, losses within
//! two round trips are counted one by one: such an interval of N packets with K losses counts as
//! one of N/K, and Dropped Packets options report K. All else is CCID 3.

use crate::ccid3;
use fairwave_units::Instant;

/// A sender whose packets carry about `segment_bytes`.
pub fn sender(config: ccid3::SenderConfig, segment_bytes: f64, now: Instant) -> ccid3::Sender {
    ccid3::Sender::small_packets(config, segment_bytes, now)
}

/// A receiver.
pub fn receiver(config: ccid3::ReceiverConfig) -> ccid3::Receiver {
    ccid3::Receiver::small_packets(config)
}
