//! Validity of numbers: windows (RFC 4340 sections 7.1 and 7.5).

use fairwave_wire::dccp::{Kind, Seq48};

/// Sequence number variables of a connection (RFC 4340 section 7.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    /// First number sent.
    pub(crate) iss: Seq48,
    /// Greatest number sent.
    pub(crate) gss: Seq48,
    /// First number received.
    pub(crate) isr: Seq48,
    /// Greatest number received on an acknowledgeable packet.
    pub(crate) gsr: Seq48,
    /// Greatest acknowledgement received on one that was no Sync.
    pub(crate) gar: Seq48,
    /// First number received in state OPEN.
    pub(crate) osr: Seq48,
    /// Sequence Window of this end: how many of its numbers may be acknowledged.
    pub(crate) window_here: u64,
    /// Sequence Window of the other end: how many of its numbers may come.
    pub(crate) window_there: u64,
    /// Whether the windows may still reach below the first numbers.
    sent_few: bool,
    received_few: bool,
}

impl Numbers {
    /// Before anything was sent: the first number will be `iss`.
    pub(crate) fn new(iss: Seq48, window: u64) -> Self {
        Self {
            iss,
            gss: iss - 1,
            isr: Seq48::ZERO,
            gsr: Seq48::ZERO,
            gar: iss,
            osr: Seq48::ZERO,
            window_here: window,
            window_there: window,
            sent_few: true,
            received_few: true,
        }
    }

    /// The next number to send.
    pub(crate) fn send(&mut self) -> Seq48 {
        self.gss = self.gss + 1;
        self.sent_few &= self.gss.distance(self.iss) < self.window_here;
        self.gss
    }

    /// The first packet of the other end.
    pub(crate) fn begin(&mut self, seq: Seq48) {
        self.isr = seq;
        self.gsr = seq;
        self.received_few = true;
    }

    /// A valid packet arrived.
    pub(crate) fn receive(&mut self, seq: Seq48) {
        self.gsr = self.gsr.max(seq);
        self.received_few &= self.gsr.distance(self.isr) < self.window_there / 4;
    }

    /// SWL.
    pub(crate) fn seq_low(&self) -> Seq48 {
        let low = self.gsr + 1 - self.window_there / 4;
        if self.received_few && low.before(self.isr) { self.isr } else { low }
    }

    /// SWH.
    pub(crate) fn seq_high(&self) -> Seq48 {
        self.gsr + (3 * self.window_there).div_ceil(4)
    }

    /// AWL.
    pub(crate) fn ack_low(&self) -> Seq48 {
        let low = self.gss + 1 - self.window_here;
        if self.sent_few && low.before(self.iss) { self.iss } else { low }
    }

    /// Whether an acknowledgement number lies between AWL and AWH.
    pub(crate) fn acknowledges(&self, ack: Seq48) -> bool {
        ack.is_within(self.ack_low(), self.gss)
    }

    /// The table of RFC 4340 section 7.5.3. `active` asks for the strict checks of a connection
    /// that has received a packet of the other end within three round-trip times.
    pub(crate) fn is_valid(&self, seq: Seq48, kind: Kind, active: bool) -> bool {
        let in_window = seq.is_within(self.seq_low(), self.seq_high());
        let ends = matches!(kind, Kind::CloseReq { .. } | Kind::Close { .. } | Kind::Reset { .. });
        let seq_valid = match kind {
            _ if ends => seq.is_within(self.gsr + 1, self.seq_high()),
            Kind::Sync { .. } | Kind::SyncAck { .. } if !active => !seq.before(self.seq_low()),
            _ => in_window,
        };
        let ack_valid = kind.ack().is_none_or(|ack| match ends {
            true => ack.is_within(self.gar, self.gss),
            false => self.acknowledges(ack),
        });
        seq_valid && ack_valid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(value: u64) -> Seq48 {
        Seq48::new(value)
    }

    fn numbers() -> Numbers {
        let mut numbers = Numbers::new(at(1000), 100);
        numbers.begin(at(5000));
        numbers
    }

    /// RFC 4340 section 7.5.1 with W = 100: 25 numbers up to GSR, 75 above it.
    #[test]
    fn windows_are_a_quarter_below_and_three_above() {
        let mut numbers = numbers();
        assert_eq!((numbers.seq_low(), numbers.seq_high()), (at(5000), at(5075)));
        numbers.receive(at(5010));
        assert_eq!(numbers.seq_low(), at(5000), "not below ISR at the beginning");
        numbers.receive(at(5060));
        assert_eq!((numbers.seq_low(), numbers.seq_high()), (at(5036), at(5135)));
        for _ in 0..150 {
            numbers.send();
        }
        assert_eq!((numbers.ack_low(), numbers.gss), (at(1050), at(1149)));
    }

    /// RFC 4340 section 7.5.1: the adjustment holds at the beginning alone.
    #[test]
    fn a_long_lived_connection_forgets_its_first_numbers() {
        let mut numbers = Numbers::new(at(1000), 100);
        numbers.begin(at(5000));
        for step in 1..100 {
            numbers.receive(at(5000 + step * 60));
        }
        numbers.isr = numbers.gsr;
        assert_eq!(numbers.seq_low(), numbers.gsr - 24);
    }

    /// The table of RFC 4340 section 7.5.3, row by row: `seq` and `ack` that pass at the edges.
    #[test]
    fn validity_row_by_row() {
        let mut numbers = numbers();
        for _ in 0..200 {
            numbers.send();
        }
        numbers.receive(at(5200));
        numbers.gar = at(1150);
        let (swl, swh, awl, awh) = (5176, 5275, 1100, 1199);
        let valid = |seq, kind| numbers.is_valid(at(seq), kind, false);
        assert!(valid(swl, Kind::Data) && valid(swh, Kind::Data));
        assert!(!valid(swl - 1, Kind::Data) && !valid(swh + 1, Kind::Data));
        let ack = |ack| Kind::Ack { ack: at(ack) };
        assert!(valid(swl, ack(awl)) && valid(swh, ack(awh)));
        assert!(!valid(swl, ack(awl - 1)) && !valid(swh, ack(awh + 1)));
        let close = |ack| Kind::Close { ack: at(ack) };
        assert!(valid(5201, close(1150)) && valid(swh, close(awh)));
        assert!(!valid(5200, close(1150)) && !valid(5201, close(1149)));
        let sync = |ack| Kind::Sync { ack: at(ack) };
        assert!(valid(swl, sync(awl)) && valid(5200 + (1 << 46), sync(awh)));
        assert!(!valid(swl - 1, sync(awl)) && !valid(swl, sync(awh + 1)));
        assert!(!numbers.is_valid(at(swh + 1), sync(awh), true), "strict while active");
        assert!(numbers.is_valid(at(swh), sync(awh), true));
    }
}
