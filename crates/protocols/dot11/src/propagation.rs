//! Path loss and noise.

use fairwave_units::{Db, Dbm, Hertz, Metres, math};

const SPEED_OF_LIGHT: f64 = 299_792_458.0;

/// Log-distance path loss: free space (Friis) up to one metre, then 10 dB times `exponent` per
/// decade. Distances below one metre count as one metre.
pub fn path_loss(frequency: Hertz, exponent: f64, distance: Metres) -> Db {
    path_loss_beyond(loss_at_one_metre(frequency), exponent, distance)
}

/// Path loss of free space (Friis) over one metre.
pub(crate) fn loss_at_one_metre(frequency: Hertz) -> Db {
    let wavelength = SPEED_OF_LIGHT / frequency.0 as f64;
    Db(20.0 * math::log10(4.0 * core::f64::consts::PI / wavelength))
}

/// As [`path_loss`], from the loss over one metre; this saves its computation for many distances.
pub(crate) fn path_loss_beyond(at_one_metre: Db, exponent: f64, distance: Metres) -> Db {
    Db(at_one_metre.0 + 10.0 * exponent * math::log10(distance.0.max(1.0)))
}

/// Thermal noise at 290 K (-174 dBm/Hz) in `bandwidth`, plus the receiver's noise figure.
pub fn noise(bandwidth: Hertz, figure: Db) -> Dbm {
    Dbm(-174.0 + math::linear_to_db(bandwidth.0 as f64)) + figure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_at_one_metre_is_free_space() {
        let loss = |mhz: u64| path_loss(Hertz(mhz * 1_000_000), 3.0, Metres(1.0)).0;
        assert!((loss(5150) - 46.6777).abs() < 0.01, "{}", loss(5150));
        assert!((loss(2400) - 40.05).abs() < 0.01);
        assert!((loss(914) - 31.67).abs() < 0.01);
    }

    #[test]
    fn loss_grows_by_the_exponent() {
        let loss = |d| path_loss(Hertz(5_180_000_000), 3.0, Metres(d)).0;
        assert!((loss(10.0) - loss(1.0) - 30.0).abs() < 1e-9);
        assert_eq!(loss(0.1), loss(1.0));
    }

    #[test]
    fn noise_in_a_dsss_channel() {
        assert!((noise(Hertz(22_000_000), Db(7.0)).0 + 93.5758).abs() < 0.03);
    }
}
