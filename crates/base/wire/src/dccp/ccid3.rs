//! Options of CCID 3 and 4 that have an inside (RFC 4342 section 8.6, RFC 5622 section 8).

/// Maximum number of packets at the end of a Loss Intervals option that may still be on their way
/// (RFC 4342 section 8.6.1).
pub const SKIP_LENGTH_MAX: u8 = 3;

/// A loss interval: a lossless part, and the lossy part behind it (RFC 4342 section 8.6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossInterval {
    lossless: u32,
    nonce_echo: bool,
    lossy: u32,
    data: u32,
}

impl LossInterval {
    /// Its length on the wire in bytes.
    pub const WIRE_LEN: usize = 9;

    /// `lossless` packets without loss or mark, then `lossy` packets from the first to the last
    /// lost or marked one; `data` of them all were data packets. `nonce_echo` is the sum of the ECN
    /// nonces of the lossless part. Counts are cut to the ranges of their fields: 2^24 - 1, and
    /// 2^23 - 1 for the lossy part.
    pub const fn new(lossless: u32, lossy: u32, data: u32, nonce_echo: bool) -> Self {
        const fn cut(value: u32, max: u32) -> u32 {
            if value > max { max } else { value }
        }
        Self {
            lossless: cut(lossless, 0xff_ffff),
            nonce_echo,
            lossy: cut(lossy, 0x7f_ffff),
            data: cut(data, 0xff_ffff),
        }
    }

    /// Packets of its lossless part.
    pub const fn lossless(self) -> u32 {
        self.lossless
    }

    /// Packets of its lossy part.
    pub const fn lossy(self) -> u32 {
        self.lossy
    }

    /// Data packets in it.
    pub const fn data(self) -> u32 {
        self.data
    }

    /// Sum of the ECN nonces of its lossless part.
    pub const fn nonce_echo(self) -> bool {
        self.nonce_echo
    }

    /// Its bytes on the wire.
    pub const fn to_bytes(self) -> [u8; Self::WIRE_LEN] {
        let [_, a, b, c] = self.lossless.to_be_bytes();
        let [_, d, e, f] = (self.lossy | (self.nonce_echo as u32) << 23).to_be_bytes();
        let [_, g, h, i] = self.data.to_be_bytes();
        [a, b, c, d, e, f, g, h, i]
    }

    /// The interval of nine bytes.
    pub const fn from_bytes([a, b, c, d, e, f, g, h, i]: [u8; Self::WIRE_LEN]) -> Self {
        Self {
            lossless: u32::from_be_bytes([0, a, b, c]),
            nonce_echo: d & 0x80 != 0,
            lossy: u32::from_be_bytes([0, d & 0x7f, e, f]),
            data: u32::from_be_bytes([0, g, h, i]),
        }
    }
}

/// The intervals of a Loss Intervals option, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossIntervals<'a>(&'a [[u8; LossInterval::WIRE_LEN]]);

impl<'a> LossIntervals<'a> {
    /// Returns the intervals in the data of an option; `None` if the bytes are no whole number of
    /// them.
    pub fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        let (intervals, []) = bytes.as_chunks() else { return None };
        Some(Self(intervals))
    }

    /// Their bytes.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0.as_flattened()
    }

    /// Their number.
    pub const fn len(self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The intervals, newest first.
    pub fn iter(self) -> impl Iterator<Item = LossInterval> + 'a {
        self.0.iter().map(|bytes| LossInterval::from_bytes(*bytes))
    }
}
