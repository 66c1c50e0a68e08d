//! Probabilities of the MPDUs of an A-MPDU at its receiver.
//!
//! Interference is summed up once for each part of the A-MPDU in which it does not change. MPDUs of
//! one length within the same part have the same probability, which is computed once.

use super::odds::Odds;
use super::{Air, Part, Stretch, Transmission};
use crate::error_model::Decoder;
use core::ops::Range;

/// The probability that a number of bits is decoded at an SINR.
#[derive(Clone, Copy, Debug)]
struct Known {
    sinr: f64,
    bits: f64,
    success: f64,
}

impl Air {
    /// The probability that the receiver of `tx`, an A-MPDU just received, decoded each MPDU;
    /// they end at `ends` (bytes), one after the other.
    pub(in super::super) fn shares(
        &mut self,
        tx: &Transmission,
        ends: &[(usize, u32)],
        shares: &mut Vec<f64>,
    ) {
        shares.clear();
        let odds = self.odds_of(tx.mode);
        let level = self.levels.received(tx.from, tx.to, tx.start);
        self.divide(tx, level);
        let mut known = Known { sinr: f64::NAN, bits: 0.0, success: 0.0 };
        let mut begin = 0.0;
        for &(_, end) in ends {
            let end = 8.0 * f64::from(end);
            shares.push(match self.decoder {
                Some(decoder) => self.share(tx, decoder, &odds, begin..end, &mut known),
                None => self.set_share(tx, level, begin..end),
            });
            begin = end;
        }
    }

    /// Divides `tx`, which its receiver gets at `level`, into parts. A frame that overlapped others
    /// has been cut into stretches by `Air::cut`.
    fn divide(&mut self, tx: &Transmission, level: f64) {
        if !tx.overlapped {
            self.stretches.clear();
            self.stretches.push(Stretch { from: tx.start, bits: tx.mpdu_bits() });
        }
        let mut parts = core::mem::take(&mut self.parts);
        parts.clear();
        let (whole, mut end) = (f64::from(tx.mpdus), 0.0);
        for stretch in &self.stretches {
            // Stretches have bits of a mean MPDU.
            end += stretch.bits * whole;
            let interference = self.interference(tx, tx.to, stretch.from);
            parts.push(Part { end, interference, sinr: self.sinr(tx, level, interference) });
        }
        self.parts = parts;
    }

    /// The parts that have bits of `span`, and how many.
    fn within(&self, span: Range<f64>) -> impl Iterator<Item = (Part, f64)> {
        let mut at = 0.0;
        let bits = move |part: &Part| {
            let bits = part.end.min(span.end) - f64::max(at, span.start);
            at = part.end;
            (bits > 0.0).then_some((*part, bits))
        };
        self.parts.iter().filter_map(bits)
    }

    /// The probability that the receiver of `tx` decodes the bits `span`, by SINR.
    fn share(
        &self,
        tx: &Transmission,
        decoder: Decoder,
        odds: &Odds,
        span: Range<f64>,
        known: &mut Known,
    ) -> f64 {
        let mut success = 1.0;
        for (Part { sinr, .. }, bits) in self.within(span) {
            success *= odds.certain(sinr, bits).unwrap_or_else(|| {
                if (known.sinr, known.bits) != (sinr, bits) {
                    let success = decoder.success(tx.mode, sinr, bits);
                    *known = Known { sinr, bits, success };
                }
                known.success
            });
        }
        success
    }

    /// The probability that the receiver of `tx`, which gets it at `level`, decodes the bits
    /// `span`, by a set error rate.
    fn set_share(&mut self, tx: &Transmission, level: f64, span: Range<f64>) -> f64 {
        let worst = self.within(span).map(|(part, _)| part.interference).fold(0.0, f64::max);
        let captures = self.capture.is_some_and(|capture| level >= capture * worst);
        let survives = captures || worst < self.sense_mw;
        if survives { 1.0 - self.set_loss(tx, tx.to, level) } else { 0.0 }
    }
}
