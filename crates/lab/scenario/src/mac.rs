//! MAC layers by their names: whose choices the keys of a cell default to.

use fairwave_units::{Db, Duration};

/// The spellings of [`Mac`].
pub(crate) const MACS: &[(&str, Mac)] = &[
    ("802.11", Mac::Standard),
    ("ns-2", Mac::Ns2),
    ("ns-2-ext", Mac::Ns2Ext),
    ("wavelan", Mac::WaveLan),
];

/// A MAC layer with the choices that its authors shipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mac {
    /// IEEE 802.11 with the defaults of its MIB, and receivers of today.
    #[default]
    Standard,
    /// `Mac/802_11` of ns-2 (`tcl/lib/ns-default.tcl` of release 2.35): every data frame asks by
    /// RTS, a frame that began earlier is never given up for a stronger one, no beacons.
    Ns2,
    /// `Mac/802_11Ext` of ns-2 (Chen, Schmidt-Eisenlohr, Jiang, Torrent-Moreno, Delgrossi and
    /// Hartenstein, MSWiM 2007) as its examples have it: no RTS below 3000 bytes, preambles are
    /// detected from 4 dB on, no capture of data.
    Ns2Ext,
    /// WaveLAN before 802.11 (Tuch, AT&T Technical Journal 72(4), 1993): carrier sense with
    /// backoff, and neither acknowledgements, nor RTS, nor beacons.
    WaveLan,
}

impl Mac {
    /// Data frames, and A-MPDUs as a whole, of this size in bytes and above use RTS
    /// (dot11RTSThreshold).
    pub(crate) fn rts_threshold(self) -> Option<u32> {
        match self {
            Mac::Standard | Mac::WaveLan => None,
            Mac::Ns2 => Some(0),
            Mac::Ns2Ext => Some(3000),
        }
    }

    /// Minimum SINR at which a preamble is detected.
    pub(crate) fn preamble_detection(self) -> Option<Db> {
        (self != Mac::Ns2).then_some(Db(4.0))
    }

    /// Excess level at which a later frame takes over the receiver.
    pub(crate) fn capture(self) -> Option<Db> {
        matches!(self, Mac::Standard | Mac::WaveLan).then_some(Db(10.0))
    }

    /// Whether frames to one receiver are acknowledged and repeated.
    pub(crate) fn acknowledges(self) -> bool {
        self != Mac::WaveLan
    }

    /// Beacon interval.
    pub(crate) fn beacon_interval(self) -> Option<Duration> {
        (self == Mac::Standard).then_some(Duration::from_micros(102_400))
    }
}
