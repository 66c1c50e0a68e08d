//! The profiles that this crate has.

use crate::ccid::{Receiver, Sender};
use crate::ccid2::{Ccid2Receiver, Ccid2Sender};
use crate::{Ccid, Profiles, ccid3, ccid4};
use fairwave_units::Instant;

/// Every profile of this crate, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standard {
    /// Application data of a packet in bytes, as far as that is known beforehand.
    pub segment_bytes: f64,
    /// The sender of CCID 3 and 4.
    pub tfrc_sender: ccid3::SenderConfig,
    /// The receiver of CCID 3 and 4.
    pub tfrc_receiver: ccid3::ReceiverConfig,
}

impl Default for Standard {
    /// TFRC as RFC 5348 has it, for packets of 1460 bytes.
    fn default() -> Self {
        Self {
            segment_bytes: 1460.0,
            tfrc_sender: ccid3::SenderConfig::default(),
            tfrc_receiver: ccid3::ReceiverConfig::default(),
        }
    }
}

impl Profiles for Standard {
    fn sender(&mut self, ccid: Ccid, now: Instant) -> Option<Box<dyn Sender>> {
        let Self { segment_bytes, tfrc_sender: config, .. } = *self;
        Some(match ccid {
            Ccid::TCP_LIKE => Box::new(Ccid2Sender::new()),
            Ccid::TFRC => Box::new(ccid3::Sender::new(config, segment_bytes, now)),
            Ccid::TFRC_SP => Box::new(ccid4::sender(config, segment_bytes, now)),
            _ => return None,
        })
    }

    fn receiver(&mut self, ccid: Ccid, _now: Instant) -> Option<Box<dyn Receiver>> {
        let config = self.tfrc_receiver;
        Some(match ccid {
            Ccid::TCP_LIKE => Box::new(Ccid2Receiver::new()),
            Ccid::TFRC => Box::new(ccid3::Receiver::new(config)),
            Ccid::TFRC_SP => Box::new(ccid4::receiver(config)),
            _ => return None,
        })
    }
}
