//! Number of segments on the wire that a captured packet stands for.
//!
//! With segmentation offloads, packets of a capture differ from those of the wire. The sender's
//! card cuts them later (TSO, GSO); the receiver's has joined them before (LRO, GRO). All pieces
//! except the last are as long as MSS and TCP options permit (RFC 6691).

use fairwave_wire::tcp::Header;

/// MSS for an MTU of 1500 bytes, over IPv4 and over IPv6. It is assumed if no captured SYN
/// announces one.
const ASSUMED: [u32; 2] = [1_460, 1_440];

/// Maximum segment size (MSS) of a connection, if known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mss {
    /// The smallest MSS that its SYNs announce, in bytes.
    announced: Option<u16>,
}

impl Mss {
    /// Reads the MSS from the header of a packet of either end, if it is a SYN.
    pub(super) fn learn(&mut self, header: &Header) {
        if header.flags.syn {
            // An MSS of a few bytes is a mistake or an attack: no path needs it (RFC 9293 section
            // 3.7.1).
            let stated = header.options.mss.map(|mss| mss.max(64));
            self.announced = self.announced.into_iter().chain(stated).min();
        }
    }

    /// Whether a SYN announced it.
    pub(super) const fn is_known(self) -> bool {
        self.announced.is_some()
    }

    /// Returns the maximum payload of a segment with this header, in bytes.
    pub(super) fn piece(self, header: &Header, is_v6: bool) -> u32 {
        let mss = self.announced.map_or(ASSUMED[usize::from(is_v6)], u32::from);
        let options = (header.wire_len() - 20) as u32;
        mss.saturating_sub(options).max(1)
    }
}

/// Returns the number of segments of at most `piece` bytes for a payload; one for an empty payload.
pub(super) fn segments(payload: u32, piece: u32) -> u32 {
    payload.div_ceil(piece.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_wire::tcp::{Flags, Options, Timestamps};

    fn header(mss: Option<u16>, timestamps: bool) -> Header {
        let timestamps = timestamps.then_some(Timestamps { value: 1, echo: 2 });
        let flags = Flags { syn: mss.is_some(), ..Flags::default() };
        Header {
            flags,
            options: Options { mss, timestamps, ..Options::default() },
            ..Header::default()
        }
    }

    #[test]
    fn a_piece_is_the_lesser_mss_less_the_options() {
        let mut mss = Mss::default();
        assert_eq!(mss.piece(&header(None, true), false), 1_448);
        assert_eq!(mss.piece(&header(None, false), true), 1_440);
        mss.learn(&header(Some(8_960), false));
        mss.learn(&header(Some(1_400), false));
        assert!(mss.is_known());
        assert_eq!(mss.piece(&header(None, true), false), 1_388);
    }

    #[test]
    fn a_payload_fills_segments_the_last_in_part() {
        let counts = [0, 1, 1_448, 1_449, 65_160].map(|len| segments(len, 1_448));
        assert_eq!(counts, [1, 1, 1, 2, 45]);
    }
}
