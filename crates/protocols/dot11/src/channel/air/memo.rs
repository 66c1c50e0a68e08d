//! The last probabilities computed for pairs of radios: their SNR does not change, and frames
//! mostly repeat.

use super::Transmission;
use crate::Mode;

/// Probabilities for each pair: frames of different lengths alternate on the air, such as data,
/// TCP's ACKs and the MAC's ACKs.
const EACH: usize = 4;

/// Maximum number of probabilities, which the pairs of a large cell share.
const MAX: usize = 1 << 14;

/// A frame between two radios, and the probability that it is decoded.
#[derive(Clone, Copy, Debug)]
struct Memo {
    pair: usize,
    mode: Mode,
    bytes: u32,
    /// Two A-MPDUs of the same length may have MPDUs of different lengths.
    mpdus: u32,
    success: f64,
}

#[derive(Debug)]
pub(super) struct Memos {
    radios: usize,
    /// Empty where the SNR of a pair changes.
    slots: Vec<Option<Memo>>,
}

impl Memos {
    /// An empty memo for `radios` radios. It stays empty unless the SNR of pairs `is_constant`.
    pub(super) fn new(radios: usize, is_constant: bool) -> Self {
        let count = if is_constant { (radios * radios * EACH).min(MAX) } else { 0 };
        Self { radios, slots: vec![None; count] }
    }

    /// The probability that `radio` decodes `tx`, which `compute` gives where it is not known.
    pub(super) fn success(
        &mut self,
        tx: &Transmission,
        radio: u32,
        compute: impl FnOnce() -> f64,
    ) -> f64 {
        let pair = tx.from as usize * self.radios + radio as usize;
        let slot = (pair * EACH + (tx.bytes as usize / 2) % EACH).checked_rem(self.slots.len());
        let Some(slot) = slot.map(|slot| &mut self.slots[slot]) else { return compute() };
        let frame = (pair, tx.bytes, tx.mpdus);
        let known = slot.filter(|memo| (memo.pair, memo.bytes, memo.mpdus) == frame);
        match known.filter(|memo| memo.mode == tx.mode) {
            Some(memo) => memo.success,
            None => {
                let success = compute();
                let Transmission { mode, bytes, mpdus, .. } = *tx;
                *slot = Some(Memo { pair, mode, bytes, mpdus, success });
                success
            }
        }
    }
}
