//! Targets of TCP-AV.

use crate::keys::keys;
use crate::kinds::{boolean, real, within};
use crate::limits::{HOUR, MILLISECOND};
use fairwave_cc::{Fraction, TcpAvConfig};
use fairwave_units::{BitRate, Duration};

/// Parts of one in which numbers become fractions.
const PARTS: u32 = 1_000_000;

/// Forms in which a target may be written.
pub(crate) const HELP: &str = "write av = { target = \"5 Mbps\" }";

keys! {
    /// Target of the congestion control algorithm `tcp-av`.
    pub struct Av |r| {
        let times = || within(MILLISECOND, HOUR);
        /// Rate of acknowledged payload to reach.
        target: BitRate =
            within(BitRate(1_000), BitRate::mbps(100_000)).required("target = \"5 Mbps\"");
        /// The window is steered towards this many times the target.
        margin: f64 = real(1.0, 2.0).or(1.05);
        /// Time whose data at the target rate bounds the remembered debt, and over which losses are
        /// averaged.
        horizon: Duration = times().or(Duration::from_secs(5));
        /// Time in which the target window repays the debt.
        catch_up: Duration = times().or(Duration::from_secs(1));
        /// The target window asks for at most this many times the target.
        max: f64 = real(1.0, 100.0).or(2.0);
        /// Share of segments lost from which on a loss halves the window.
        severe_loss: f64 = real(0.0001, 1.0).or(0.05);
        /// Do not grow beyond the target window while nothing is owed.
        cap_to_target: bool = boolean().or(false);
        /// A loss leaves at least half the window, as with Reno.
        floor_at_reno: bool = boolean().or(false);
    }
}

impl Av {
    fn config(&self) -> TcpAvConfig {
        let parts = |x: f64| Fraction::new((x * f64::from(PARTS)).round() as u32, PARTS);
        TcpAvConfig {
            target: Some(self.target),
            margin: parts(self.margin),
            horizon: self.horizon,
            catch_up: self.catch_up,
            most: parts(self.max),
            severe: parts(self.severe_loss),
            cap_to_target: self.cap_to_target,
            floor_at_reno: self.floor_at_reno,
        }
    }
}

/// Target of a connection; `None` without a table.
pub(crate) fn aim(av: Option<&Av>) -> TcpAvConfig {
    av.map_or(TcpAvConfig::DEFAULT, Av::config)
}
