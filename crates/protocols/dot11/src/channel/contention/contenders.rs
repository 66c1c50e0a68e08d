//! State of each contender, and the reception of its radio.

use super::slots::{BlockSet, OUT, padded, zero};

/// The time of an event that does not come by itself: the medium is busy.
pub(super) const BUSY: u64 = u64::MAX;

/// A transmission as received by a radio that sensed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sensed {
    /// It made the medium busy, no more.
    #[default]
    Energy,
    /// Its preamble was detected but not its frame decoded: EIFS follows.
    Errored,
    /// It was decoded, and reserves nothing here: it is for this radio.
    Addressed,
    /// It was decoded and reserves the medium.
    Decoded {
        /// Until when, in nanoseconds.
        until: u64,
        /// Its number if it is an RTS, else zero.
        rts: u64,
    },
}

/// Receptions of a frame, or of several that end together, by all radios that sense them, in the
/// order of their places.
#[derive(Debug, Default)]
pub(crate) struct Receptions {
    /// By place: [`Receptions::ENERGY`], [`Receptions::ERRORED`] or [`Receptions::DECODED`].
    pub(crate) kinds: Vec<u8>,
    /// By place: [`Receptions::LATE`] if it received anything but energy, so that it counts slots
    /// later than those that did not; else zero.
    pub(crate) late: Vec<i32>,
    /// Blocks of places with receptions of more than energy, and maybe others.
    pub(crate) touched: BlockSet,
    /// The meaning of [`Receptions::DECODED`].
    pub(crate) decoded: Sensed,
}

impl Receptions {
    pub(crate) const ENERGY: u8 = 0;
    pub(crate) const ERRORED: u8 = 1;
    pub(crate) const DECODED: u8 = 2;
    /// The mark of a radio that received anything but energy.
    pub(crate) const LATE: i32 = OUT;

    /// Receptions of energy only by this number of radios.
    pub(crate) fn clear(&mut self, radios: usize) {
        self.kinds.resize(padded(radios), Self::ENERGY);
        self.late.resize(padded(radios), 0);
        self.touched.for_each(|block| {
            zero(&mut self.kinds, block);
            zero(&mut self.late, block);
        });
        self.touched.clear();
    }

    /// Sets the reception at one place, whose block is among those touched if that is more than
    /// energy.
    pub(crate) fn set(&mut self, place: usize, kind: u8) {
        self.kinds[place] = kind;
        self.late[place] = if kind == Self::ENERGY { 0 } else { Self::LATE };
    }

    /// A reception of this kind.
    pub(super) const fn sensed(&self, kind: u8) -> Sensed {
        match kind {
            Self::ENERGY => Sensed::Energy,
            Self::ERRORED => Sensed::Errored,
            _ => self.decoded,
        }
    }
}

/// Time at which a slot is taken off a backoff, and when a frame may begin that needs none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// DCF: a slot is counted once it was idle until its end (clause 10.3.4.3), and a frame that
    /// finds the medium idle for DIFS goes at once (clause 10.3.4.2).
    WholeSlots,
    /// EDCA: at each slot boundary, the end of AIFS being the first, a slot is taken off or a
    /// frame begins (clause 10.23.2.4). A backoff that a transmission interrupts has therefore
    /// lost one slot more than under DCF.
    Boundaries,
}

/// A backoff begun since the medium was last busy, or one of no slots: its start may be its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fresh {
    /// From when slots are counted; [`BUSY`]: from when the radio's state says.
    pub(super) start: u64,
    pub(super) slots: u32,
    pub(super) is_listed: bool,
}

/// State of each contender, and the group of each radio. One array per field.
#[derive(Debug)]
pub(super) struct Contenders {
    pub(super) slot: u64,
    pub(super) counting: Counting,
    /// EIFS - AIFS.
    pub(super) extension: u64,
    pub(super) categories: usize,
    /// Per radio: its group, its place there, and its carrier-sense state.
    pub(super) group: Vec<u32>,
    pub(super) place: Vec<u32>,
    pub(super) state: Vec<u32>,
    /// Per contender: whether a backoff was drawn and not withdrawn. It may have ended since.
    pub(super) pending: Vec<bool>,
    /// Whether the contender has a frame to send when its backoff ends.
    pub(super) wants: Vec<bool>,
    pub(super) fresh: Vec<Fresh>,
}

impl Contenders {
    /// Radio and category of a contender.
    pub(super) fn split(&self, contender: u32) -> (u32, usize) {
        if self.categories == 1 {
            return (contender, 0);
        }
        let categories = self.categories as u32;
        (contender / categories, (contender % categories) as usize)
    }

    /// Whether the contender counts slots from a time of its own, in this idle period.
    pub(super) fn has_own_start(&self, contender: u32) -> bool {
        let fresh = &self.fresh[contender as usize];
        fresh.is_listed && fresh.start != BUSY
    }
}
