//! Notifications of a handover to the other end, remedy B of Otsuka, Tamura and Ishihara: an option
//! of Fairwave's, which is sent only where the feature [`crate::Feature::HeedHandovers`] is on.
//!
//! The option has seven bytes of data: a [`Phase`], and a sequence number of the packets of the end
//! that sends it. It says the same however often and in whatever order it comes, since the numbers
//! of later handovers are greater. So the sender repeats it on every packet of data and every
//! acknowledgement until one that carried it is acknowledged.

use fairwave_wire::dccp::{Options, Seq48, Value};

/// Type of the option, of those for experiments from a sender to a receiver (RFC 4342 section
/// 13.2).
pub(crate) const HANDOVER: u8 = 184;
/// Bytes of its data.
const LEN: usize = 7;

/// Progress of a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The sender will lose its access point; the number is that of the first packet since it
    /// knows.
    Expected = 1,
    /// This packet was sent without an access point; the number is that of the first such packet.
    Away = 2,
    /// The sender has its new access point; the number is that of the last packet sent before.
    Over = 3,
}

/// Content of the option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) phase: Phase,
    pub(super) number: Seq48,
}

impl Notice {
    /// Reads the data of the option; `None` if they are none of these.
    pub(super) fn read(data: &[u8]) -> Option<Self> {
        let data: [u8; LEN] = data.try_into().ok()?;
        let [phase, a, b, c, d, e, f] = data;
        let phase = match phase {
            1 => Phase::Expected,
            2 => Phase::Away,
            3 => Phase::Over,
            _ => return None,
        };
        Some(Self { phase, number: Seq48::new(u64::from_be_bytes([0, 0, a, b, c, d, e, f])) })
    }

    /// The data of the option.
    pub(super) fn to_bytes(self) -> [u8; LEN] {
        let [_, _, number @ ..] = self.number.value().to_be_bytes();
        let [a, b, c, d, e, f] = number;
        [self.phase as u8, a, b, c, d, e, f]
    }
}

/// The sender's part: which notice it owes the other end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Notifier {
    /// The other end heeds notices.
    pub(super) heeded: bool,
    notice: Option<Notice>,
    /// The packet that is sent now carries it.
    carried: bool,
    /// Number of the first packet that carried it.
    since: Option<u64>,
}

impl Notifier {
    /// Owes a notice, in the place of an older one.
    pub(super) fn owe(&mut self, phase: Phase, number: Seq48) {
        self.notice = Some(Notice { phase, number });
        self.since = None;
    }

    /// Returns whether no packet has carried the notice yet. A packet sent without an access point
    /// would only wait.
    pub(super) fn is_due(&self) -> bool {
        let notice = self.notice.filter(|_| self.heeded && self.since.is_none());
        notice.is_some_and(|notice| notice.phase != Phase::Away)
    }

    /// Adds the notice to the packet that is sent now.
    pub(super) fn write(&mut self, options: &mut Options) {
        if let Some(notice) = self.notice.filter(|_| self.heeded) {
            let option = Value::Ccid { kind: HANDOVER, data: &notice.to_bytes() };
            // A notice that does not fit goes with a later packet.
            self.carried = options.push(option).is_ok();
        }
    }

    /// Packet `seq` was sent.
    pub(super) fn sent(&mut self, seq: u64) {
        if core::mem::take(&mut self.carried) {
            self.since.get_or_insert(seq);
        }
    }

    /// Packet `ack`, which carried `data` or not, has arrived. All data since the first packet that
    /// carried the notice carried it, too. Packets sent without an access point stay marked.
    pub(super) fn acknowledged(&mut self, ack: u64, data: bool) {
        let has_come = self.since.is_some_and(|since| ack == since || (ack > since && data));
        if has_come && self.notice.is_some_and(|notice| notice.phase != Phase::Away) {
            self.notice = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_data_are_read_or_refused(data in proptest::collection::vec(any::<u8>(), 0..12)) {
            match Notice::read(&data) {
                Some(notice) => prop_assert_eq!(&notice.to_bytes()[..], &data[..]),
                None => prop_assert!(data.len() != LEN || !(1..=3).contains(&data[0])),
            }
        }
    }

    #[test]
    fn a_notice_is_repeated_until_a_packet_that_carried_it_is_acknowledged() {
        let mut notifier = Notifier { heeded: true, ..Notifier::default() };
        let carries = |notifier: &mut Notifier, seq| {
            let mut options = Options::new();
            notifier.write(&mut options);
            notifier.sent(seq);
            !options.is_empty()
        };
        notifier.owe(Phase::Over, Seq48::new(9));
        assert!(notifier.is_due());
        assert!(carries(&mut notifier, 10) && carries(&mut notifier, 11));
        assert!(!notifier.is_due());
        notifier.acknowledged(9, true);
        // An acknowledgement of another kind may have gone without it.
        notifier.acknowledged(12, false);
        assert!(carries(&mut notifier, 13));
        notifier.acknowledged(11, true);
        assert!(!carries(&mut notifier, 14) && !notifier.is_due());
    }

    #[test]
    fn nothing_is_written_to_an_end_that_does_not_heed_it() {
        let mut notifier = Notifier::default();
        notifier.owe(Phase::Over, Seq48::new(9));
        let mut options = Options::new();
        notifier.write(&mut options);
        assert!(options.is_empty() && !notifier.is_due());
    }
}
