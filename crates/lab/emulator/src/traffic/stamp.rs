//! Header of a datagram: its number and the time of its sending, for the receiver.

use fairwave_units::Instant;

/// Length of number and time in bytes: the same as of an RTP header, which calls have anyway. A
/// shorter datagram, such as the last of a video frame, is extended to this length.
pub(super) const LEN: usize = 12;

/// Number and time of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Number from zero, which wraps around.
    pub(super) sequence: u32,
    /// Time at which it was passed to the kernel.
    pub(super) sent: Instant,
}

impl Stamp {
    /// Writes it to the front of a payload of at least [`LEN`] bytes.
    pub(super) fn write(self, payload: &mut [u8]) {
        payload[..4].copy_from_slice(&self.sequence.to_be_bytes());
        payload[4..LEN].copy_from_slice(&self.sent.as_nanos().to_be_bytes());
    }

    /// Reads it from a payload, if that is long enough.
    pub(super) fn read(payload: &[u8]) -> Option<Self> {
        let (sequence, rest) = payload.split_first_chunk()?;
        let (sent, _) = rest.split_first_chunk()?;
        let sent = Instant::from_nanos(u64::from_be_bytes(*sent));
        Some(Self { sequence: u32::from_be_bytes(*sequence), sent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_and_time_come_back() {
        let stamp = Stamp { sequence: u32::MAX - 1, sent: Instant::from_nanos(1 << 40 | 7) };
        let mut payload = [0xff; LEN + 3];
        stamp.write(&mut payload);
        assert_eq!(Stamp::read(&payload), Some(stamp));
        assert_eq!(Stamp::read(&payload[..LEN - 1]), None);
    }
}
