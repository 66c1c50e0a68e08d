//! Fields that say how HT, VHT and HE frames were sent, and in which A-MPDU (radiotap.org).

use crate::reader::{Reader, Truncated};

/// Modulation of an HT frame (radiotap.org, "MCS").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mcs {
    /// Bitmap of the known fields.
    pub known: u8,
    /// Width, guard interval and the like.
    pub flags: u8,
    /// MCS index, which counts the streams too.
    pub index: u8,
}

impl Mcs {
    const BANDWIDTH_KNOWN: u8 = 0x01;
    const INDEX_KNOWN: u8 = 0x02;
    const GUARD_KNOWN: u8 = 0x04;
    const FORMAT_KNOWN: u8 = 0x08;
    const FEC_KNOWN: u8 = 0x10;
    const STBC_KNOWN: u8 = 0x20;
    const EXTENSION_STREAMS_KNOWN: u8 = 0x40;
    const MHZ_40: u8 = 0x01;
    const SHORT_GUARD: u8 = 0x04;

    /// An HT-mixed frame with a convolutional code, 20 or 40 MHz wide; `index` is 0 to 31.
    pub const fn mixed(index: u8, is_40_mhz: bool, has_short_guard: bool) -> Self {
        let rate = Self::BANDWIDTH_KNOWN | Self::INDEX_KNOWN | Self::GUARD_KNOWN;
        let streams = Self::STBC_KNOWN | Self::EXTENSION_STREAMS_KNOWN;
        let width = if is_40_mhz { Self::MHZ_40 } else { 0 };
        let guard = if has_short_guard { Self::SHORT_GUARD } else { 0 };
        Self {
            known: rate | Self::FORMAT_KNOWN | Self::FEC_KNOWN | streams,
            flags: width | guard,
            index,
        }
    }

    pub(super) fn parse(field: &mut Reader<'_>) -> Result<Self, Truncated> {
        let [known, flags, index] = field.array("mcs")?;
        Ok(Self { known, flags, index })
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.extend([self.known, self.flags, self.index]);
    }
}

/// To which A-MPDU a frame belongs (radiotap.org, "A-MPDU status").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AmpduStatus {
    /// The same for all frames of an A-MPDU.
    pub reference: u32,
    /// Flags: see the constants.
    pub flags: u16,
}

impl AmpduStatus {
    /// It is known which frame is the last.
    pub const LAST_KNOWN: u16 = 0x0004;
    /// This is the last frame.
    pub const LAST: u16 = 0x0008;
    /// The EOF bit of the delimiter is set: the frame is alone.
    pub const EOF: u16 = 0x0040;
    /// The EOF bit is known.
    pub const EOF_KNOWN: u16 = 0x0080;

    pub(super) fn parse(field: &mut Reader<'_>) -> Result<Self, Truncated> {
        Ok(Self {
            reference: field.u32_le("a-mpdu reference")?,
            flags: field.u16_le("a-mpdu flags")?,
        })
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.extend(self.reference.to_le_bytes());
        out.extend(self.flags.to_le_bytes());
        // The delimiter's CRC, not known, and a reserved byte.
        out.extend([0; 2]);
    }
}

/// Modulation of a VHT frame (radiotap.org, "VHT").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vht {
    /// Bitmap of the known fields.
    pub known: u16,
    /// Guard interval and the like.
    pub flags: u8,
    /// Code of the width.
    pub bandwidth: u8,
    /// For up to four users: MCS in the upper, streams in the lower half.
    pub mcs_nss: [u8; 4],
    /// Bit for each user whose code is LDPC.
    pub coding: u8,
    /// Group identifier.
    pub group_id: u8,
    /// Partial association identifier.
    pub partial_aid: u16,
}

impl Vht {
    const STBC_KNOWN: u16 = 0x0001;
    const GUARD_KNOWN: u16 = 0x0004;
    const BANDWIDTH_KNOWN: u16 = 0x0040;
    const SHORT_GUARD: u8 = 0x04;

    /// A frame for one receiver with a convolutional code; `None` unless the width is 20, 40, 80
    /// or 160 MHz, the MCS below 10 and the streams 1 to 8.
    pub fn single(width_mhz: u16, has_short_guard: bool, mcs: u8, streams: u8) -> Option<Self> {
        let bandwidth = match width_mhz {
            20 => 0,
            40 => 1,
            80 => 4,
            160 => 11,
            _ => return None,
        };
        let is_valid = mcs < 10 && (1..=8).contains(&streams);
        is_valid.then_some(Self {
            known: Self::STBC_KNOWN | Self::GUARD_KNOWN | Self::BANDWIDTH_KNOWN,
            flags: if has_short_guard { Self::SHORT_GUARD } else { 0 },
            bandwidth,
            mcs_nss: [mcs << 4 | streams, 0, 0, 0],
            ..Self::default()
        })
    }

    pub(super) fn parse(field: &mut Reader<'_>) -> Result<Self, Truncated> {
        Ok(Self {
            known: field.u16_le("vht known")?,
            flags: field.u8("vht flags")?,
            bandwidth: field.u8("vht bandwidth")?,
            mcs_nss: field.array("vht mcs and nss")?,
            coding: field.u8("vht coding")?,
            group_id: field.u8("vht group id")?,
            partial_aid: field.u16_le("vht partial aid")?,
        })
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.extend(self.known.to_le_bytes());
        out.extend([self.flags, self.bandwidth]);
        out.extend(self.mcs_nss);
        out.extend([self.coding, self.group_id]);
        out.extend(self.partial_aid.to_le_bytes());
    }
}

/// Modulation of an HE frame (radiotap.org, "HE"): its six words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct He(pub [u16; 6]);

impl He {
    const MCS_KNOWN: u16 = 0x0020;
    const CODING_KNOWN: u16 = 0x0080;
    const WIDTH_KNOWN: u16 = 0x4000;
    const GUARD_KNOWN: u16 = 0x0002;
    const LDPC: u16 = 0x2000;

    /// A frame in the single-user format; `None` unless the width is 20, 40, 80 or 160 MHz, the
    /// guard interval 800, 1600 or 3200 ns, the MCS below 12 and the streams 1 to 8.
    pub fn single(
        width_mhz: u16,
        guard_ns: u16,
        mcs: u8,
        streams: u8,
        is_ldpc: bool,
    ) -> Option<Self> {
        let width = match width_mhz {
            20 => 0,
            40 => 1,
            80 => 2,
            160 => 3,
            _ => return None,
        };
        let guard = match guard_ns {
            800 => 0,
            1600 => 1,
            3200 => 2,
            _ => return None,
        };
        let coding = if is_ldpc { Self::LDPC } else { 0 };
        let is_valid = mcs < 12 && (1..=8).contains(&streams);
        is_valid.then_some(Self([
            Self::MCS_KNOWN | Self::CODING_KNOWN | Self::WIDTH_KNOWN,
            Self::GUARD_KNOWN,
            u16::from(mcs) << 8 | coding,
            0,
            width | guard << 4,
            u16::from(streams),
        ]))
    }

    pub(super) fn parse(field: &mut Reader<'_>) -> Result<Self, Truncated> {
        let mut words = [0; 6];
        for word in &mut words {
            *word = field.u16_le("he")?;
        }
        Ok(Self(words))
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        for word in self.0 {
            out.extend(word.to_le_bytes());
        }
    }
}
