//! Whether a target was reached, interval by interval.

use fairwave_units::{BitRate, Duration};

/// Numbers of equal intervals ("bins") in which a target was reached, missed or not offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Achieved {
    /// Bins whose mean rate was at or above the target.
    pub reached: u64,
    /// Bins whose mean rate was below the target although the client offered enough.
    pub missed: u64,
    /// Bins in which the client itself offered less than the target.
    pub not_offered: u64,
}

impl Achieved {
    /// Judges a bin in which the server acknowledged `bytes`. `held_up` is true if the client's
    /// data had to wait for the far leg during the bin: only then is the network the cause of a low
    /// rate.
    pub(crate) fn judge(&mut self, target: BitRate, bytes: u64, bin: Duration, held_up: bool) {
        match (BitRate::over(bytes, bin) >= target, held_up) {
            (true, _) => self.reached += 1,
            (false, true) => self.missed += 1,
            (false, false) => self.not_offered += 1,
        }
    }

    /// Adds the bins of `other`.
    pub(crate) fn add(&mut self, other: Self) {
        self.reached += other.reached;
        self.missed += other.missed;
        self.not_offered += other.not_offered;
    }

    /// AVR of Ando, Murase and Oguchi, section 6.1: the share of all bins that reached the target,
    /// from 0 to 1; `None` without a bin.
    pub fn avr(&self) -> Option<f64> {
        let all = self.reached + self.missed + self.not_offered;
        (all > 0).then(|| self.reached as f64 / all as f64)
    }

    /// Share of the bins with sufficient offered load that reached the target, from 0 to 1; `None`
    /// without such a bin.
    pub fn share(&self) -> Option<f64> {
        let judged = self.reached + self.missed;
        (judged > 0).then(|| self.reached as f64 / judged as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_in_which_the_client_offered_less_are_told_apart() {
        let (target, bin) = (BitRate::mbps(8), Duration::from_secs(5));
        let mut achieved = Achieved::default();
        assert_eq!((achieved.avr(), achieved.share()), (None, None));
        achieved.judge(target, 5_000_000, bin, false); // 8 Mbps
        achieved.judge(target, 4_999_999, bin, true);
        achieved.judge(target, 4_999_999, bin, false);
        achieved.judge(target, 6_000_000, bin, true);
        assert_eq!(achieved, Achieved { reached: 2, missed: 1, not_offered: 1 });
        assert_eq!((achieved.avr(), achieved.share()), (Some(0.5), Some(2.0 / 3.0)));
    }
}
