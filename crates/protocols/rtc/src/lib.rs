//! Real-time media over RTP, and the congestion control that browsers use for it.
//!
//! A [`Sender`] divides frames into RTP packets with transport-wide sequence numbers, and paces
//! them. A [`Receiver`] reports the arrival time of each packet in feedback
//! (draft-holmer-rmcat-transport-wide-cc-extensions-01). [`gcc`] computes a target rate from the
//! feedback (draft-ietf-rmcat-gcc-02), which the encoder has to follow.
//!
//! The target stays within the sender's bounds for any content of feedback, also false content.
//! Memory is bounded: reports count only for packets that were sent, and once for each.
//!
//! There is no encoder, no jitter buffer and no socket here. A host passes frames of its encoder to
//! the sender, RTP headers to the receiver with their time of arrival, and RTCP packets back to the
//! sender; it drains both as any [`fairwave_machine::Machine`]:
//!
//! ```
//! use fairwave_machine::Machine;
//! use fairwave_rtc::gcc::Bounds;
//! use fairwave_rtc::gcc::trend::Threshold;
//! use fairwave_rtc::{Frame, Receiver, ReceiverConfig, Sender, SenderConfig, SenderInput};
//! use fairwave_units::{BitRate, Duration, Instant};
//!
//! let mut sender = Sender::new(SenderConfig {
//!     ssrc: 7,
//!     payload_type: 96,
//!     first_sequence: 0,
//!     payload_bytes: 1200,
//!     bounds: Bounds { min: BitRate(50_000), start: BitRate(300_000), max: BitRate::mbps(10) },
//!     threshold: Threshold::default(),
//! });
//! let interval = ReceiverConfig::INTERVAL;
//! let mut receiver = Receiver::new(ReceiverConfig { ssrc: 8, interval });
//! let mut now = Instant::ZERO;
//! sender.handle(now, SenderInput::Frame(Frame { bytes: 3000, timestamp: 0 }));
//! let mut reports = 0;
//! while reports == 0 {
//!     while let Some(packet) = sender.poll(now) {
//!         receiver.handle(now, packet.header);
//!     }
//!     while let Some(report) = receiver.poll(now) {
//!         sender.handle(now, SenderInput::Feedback(report));
//!         reports += 1;
//!     }
//!     let Some(next) = Instant::first_of(sender.deadline(), receiver.deadline()) else { break };
//!     now = next;
//!     sender.wake(now);
//!     receiver.wake(now);
//! }
//! assert!(reports == 1 && now <= Instant::ZERO + Duration::from_millis(250));
//! let media: Vec<_> = std::iter::from_fn(|| receiver.event()).collect();
//! assert_eq!((media.len(), media[2].marker), (3, true), "three packets of one frame");
//! ```

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
