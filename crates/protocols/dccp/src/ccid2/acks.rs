//! Congestion control of acknowledgements by the Ack Ratio (RFC 4341 section 6.1).

use super::NUMDUPACK;
use fairwave_wire::dccp::Seq48;

/// The ratio of new connections (RFC 4340 section 11.3).
const FIRST: u32 = 2;

/// Minimum for a window of `cwnd` packets: two or more are required from four packets on (RFC 4341
/// section 6.1.2). A receiver may wait for as many packets as the ratio without a limit of time, as
/// Linux's does: the odd packet of a small window would wait for the next window.
const fn min(cwnd: u32) -> u32 {
    if cwnd < 4 { 1 } else { 2 }
}

/// Maximum number of this end's data packets that one acknowledgement may stand for.
#[derive(Debug)]
pub(super) struct AckRatio {
    ratio: u32,
    /// The minimum for the present window.
    min: u32,
    /// Packets of the other end: the greatest number, and which of the 64 up to it came.
    greatest: Option<Seq48>,
    came: u64,
    /// Missing packets below this have been counted.
    counted: u32,
    lost_in_window: bool,
    clean_windows: u32,
}

impl AckRatio {
    pub(super) const fn new() -> Self {
        Self {
            ratio: FIRST,
            min: FIRST,
            greatest: None,
            came: 0,
            counted: 63,
            lost_in_window: false,
            clean_windows: 0,
        }
    }

    pub(super) const fn get(&self) -> u16 {
        self.ratio as u16
    }

    /// A packet of the other end came, of any type. `marked` says that it is an acknowledgement
    /// with a mark of congestion.
    pub(super) fn on_packet(&mut self, seq: Seq48, marked: bool) {
        self.lost_in_window |= marked;
        let Some(greatest) = self.greatest else {
            (self.greatest, self.came, self.counted) = (Some(seq), 1, 0);
            return;
        };
        if seq.after(greatest) {
            let by = seq.distance(greatest);
            self.came = if by < 64 { self.came << by | 1 } else { 1 };
            self.counted = (u64::from(self.counted) + by).min(63) as u32;
            self.greatest = Some(seq);
        } else if greatest.distance(seq) < 64 {
            self.came |= 1 << greatest.distance(seq);
        }
        self.count_overtaken();
    }

    /// A packet that three later packets have overtaken is lost: without an NDP Count, it counts as
    /// an acknowledgement (RFC 4341 section 6.1.1).
    fn count_overtaken(&mut self) {
        let mut seen = 0;
        for back in 0..=self.counted {
            if self.came >> back & 1 == 1 {
                seen += 1;
                if seen == NUMDUPACK {
                    let below = u64::MAX << back;
                    let open = !(u64::MAX << self.counted);
                    self.lost_in_window |= !self.came & below & open != 0;
                    self.counted = back;
                    return;
                }
            }
        }
    }

    /// A window of data was acknowledged.
    pub(super) fn on_window(&mut self, cwnd: u32) {
        if self.lost_in_window {
            self.ratio *= 2;
            self.clean_windows = 0;
        } else {
            self.clean_windows += 1;
            let ratio = self.ratio;
            if ratio > self.min && self.clean_windows >= cwnd / (ratio * ratio - ratio) {
                self.ratio -= 1;
                self.clean_windows = 0;
            }
        }
        self.lost_in_window = false;
        self.fit(cwnd);
    }

    /// Follows the window: at least two acknowledgements a window, or one for its only packet (RFC
    /// 4341 section 6.1.2).
    pub(super) fn fit(&mut self, cwnd: u32) {
        // One that losses of acknowledgements have not raised stays at the minimum.
        if self.ratio == self.min {
            self.ratio = min(cwnd);
        }
        self.min = min(cwnd);
        self.ratio = self.ratio.clamp(self.min, cwnd.div_ceil(2));
    }
}
