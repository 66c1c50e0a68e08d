//! Target of a sender with TCP-AV.

use crate::Fraction;
use fairwave_units::{BitRate, Duration};

/// Target of a sender with TCP-AV, and its pursuit. The default has no target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpAvConfig {
    /// B_T, the rate of acknowledged payload to reach; `None` or zero is plain Reno.
    pub target: Option<BitRate>,
    /// m: the algorithm steers towards this many times the target, since a mean on the target
    /// leaves half of all intervals below it.
    pub margin: Fraction,
    /// T_h: the debt is remembered up to the target's data of this time, and losses are averaged
    /// over it.
    pub horizon: Duration,
    /// T_c: the time in which the target window would repay the debt.
    pub catch_up: Duration,
    /// k_max: the target window never asks for more than this many times the target.
    pub most: Fraction,
    /// sigma_max: the share of segments lost from which on a loss halves the window.
    pub severe: Fraction,
    /// Stop growing, above the target window, while there is no debt; otherwise bandwidth beyond
    /// the target is shared as Reno shares it.
    pub cap_to_target: bool,
    /// Never lower the window further than Reno would, even where the target asks for less.
    pub floor_at_reno: bool,
}

impl TcpAvConfig {
    /// No target, and the parameters that one would meet.
    pub const DEFAULT: Self = Self {
        target: None,
        margin: Fraction::new(105, 100),
        horizon: Duration::from_secs(5),
        catch_up: Duration::from_secs(1),
        most: Fraction::new(2, 1),
        severe: Fraction::new(5, 100),
        cap_to_target: false,
        floor_at_reno: false,
    };
}

impl Default for TcpAvConfig {
    fn default() -> Self {
        Self::DEFAULT
    }
}
