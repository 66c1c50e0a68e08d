//! From SoC to weight, and from weights to shares (paper, section 4.3).

use fairwave_units::Db;
use thiserror::Error;

/// Share of the channel for a host beside others: a number from 0 to 1 in 65536ths, whole so that a
/// scheduler's virtual time can be whole too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(pub u32);

impl Weight {
    /// Nothing is sent to the host.
    pub const ZERO: Self = Self(0);
    /// A full share.
    pub const ONE: Self = Self(1 << 16);

    /// The nearest weight; below 0 and NaN it is 0, above 1 it is 1.
    pub fn from_fraction(fraction: f64) -> Self {
        Self((fraction * f64::from(Self::ONE.0)).round() as u32).min(Self::ONE)
    }

    /// As a number from 0 to 1.
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ONE.0)
    }
}

/// A class of traffic: position of its curve in [`Policies::curves`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(pub u8);

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// The SoC.
    pub soc: Db,
    /// The weight there, 0 to 1.
    pub weight: f64,
}

/// Interpolation of a curve between its knots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// A straight line, as section 4.3 says and Table 2's column of weights has it.
    #[default]
    Linear,
    /// The weight of the knot above: Table 2's column of shares follows from it. See
    /// `docs/models/soc.md`.
    UpperStep,
}

/// A weight for each SoC.
#[derive(Clone, Debug, PartialEq)]
pub enum Curve {
    /// The same for everybody: 1.
    Equal,
    /// "Good or bad": 1 above the threshold, 0 at and below it.
    GoodOrBad(Db),
    /// Knots by rising SoC, and the interpolation between them; made by [`Curve::through`].
    Knots(Vec<CurvePoint>, Rule),
}

/// Reason for which points make no curve.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum CurveError {
    /// There are none.
    #[error("a curve needs at least one knot")]
    Empty,
    /// One is not above the one before.
    #[error("knot {index} is at {soc}, not above the one before it: SoC must rise")]
    Order {
        /// Its position, from 0.
        index: usize,
        /// Its SoC.
        soc: Db,
    },
    /// A weight that is none.
    #[error("knot {index} has the weight {weight}, not one from 0 to 1")]
    Weight {
        /// Its position, from 0.
        index: usize,
        /// The weight.
        weight: f64,
    },
}

impl Curve {
    /// The curve through these knots; below the first and above the last it is flat.
    ///
    /// # Errors
    /// Without knots, where the SoC does not rise, and for weights outside 0..=1.
    pub fn through(knots: &[CurvePoint], rule: Rule) -> Result<Self, CurveError> {
        if knots.is_empty() {
            return Err(CurveError::Empty);
        }
        for (index, &CurvePoint { soc, weight }) in knots.iter().enumerate() {
            let rises = index == 0 || soc.0 > knots[index - 1].soc.0;
            if !soc.0.is_finite() || !rises {
                return Err(CurveError::Order { index, soc });
            }
            if !(0.0..=1.0).contains(&weight) {
                return Err(CurveError::Weight { index, weight });
            }
        }
        Ok(Self::Knots(knots.to_vec(), rule))
    }

    /// The weight at this SoC, 0 to 1.
    pub fn at(&self, soc: Db) -> f64 {
        match self {
            Self::Equal => 1.0,
            Self::GoodOrBad(threshold) => f64::from(u8::from(soc.0 > threshold.0)),
            Self::Knots(knots, rule) => {
                let above = knots.partition_point(|knot| knot.soc.0 < soc.0);
                let Some(upper) = knots.get(above) else { return last_weight(knots) };
                let lower = above.checked_sub(1).map_or(upper, |below| &knots[below]);
                match rule {
                    Rule::UpperStep => upper.weight,
                    Rule::Linear => line(lower, upper, soc),
                }
            }
        }
    }
}

fn last_weight(knots: &[CurvePoint]) -> f64 {
    knots.last().map_or(1.0, |knot| knot.weight)
}

/// On the line between two knots; at and below the lower one if they are the same.
fn line(lower: &CurvePoint, upper: &CurvePoint, soc: Db) -> f64 {
    let (span, way) = (upper.soc.0 - lower.soc.0, soc.0 - lower.soc.0);
    if span <= 0.0 {
        upper.weight
    } else {
        lower.weight + (upper.weight - lower.weight) * way / span
    }
}

/// The curves of an access point.
#[derive(Clone, Debug, PartialEq)]
pub struct Policies {
    /// One for each class of traffic; a single one weighs hosts, whatever they are sent.
    pub curves: Vec<Curve>,
    /// Rise of the SoC that is needed before it counts, once it has fallen. Zero in the paper.
    /// Fairwave's choice is the play of a gear: the counted value stays within this much below the
    /// SoC and follows it down at once, so that a threshold is crossed upwards this much higher.
    pub hysteresis: Db,
}

impl Policies {
    /// One curve for all that a host is sent.
    pub fn per_host(curve: Curve) -> Self {
        Self { curves: vec![curve], hysteresis: Db(0.0) }
    }

    /// A curve for each class of traffic, by [`Class`].
    pub fn per_class(curves: Vec<Curve>) -> Self {
        Self { curves, hysteresis: Db(0.0) }
    }

    /// The SoC that counts, after `counted` did and now that it is `soc`.
    pub fn play(&self, counted: Option<Db>, soc: Db) -> Db {
        match counted {
            Some(counted) if counted.0 <= soc.0 => Db(counted.0.max(soc.0 - self.hysteresis.0)),
            _ => soc,
        }
    }

    /// The classes.
    pub fn classes(&self) -> impl Iterator<Item = Class> + use<> {
        (0..self.curves.len().min(256)).map(|index| Class(index as u8))
    }

    /// Weight of this class at this SoC; that of the first curve if it has none of its own.
    pub fn weight(&self, class: Class, soc: Db) -> f64 {
        let own = self.curves.get(usize::from(class.0));
        own.or(self.curves.first()).map_or(1.0, |curve| curve.at(soc))
    }
}

/// A curve as users choose it.
#[derive(Clone, Copy, Debug)]
pub struct PolicyKind {
    /// Its spelling in scenarios.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Origin of the policy.
    pub source: &'static str,
    /// It.
    pub curve: fn() -> Curve,
}

/// Knots of the paper's experiments (section 5.1): D in dB, w.
const EXPERIMENT: [(f64, f64); 4] = [(0.0, 0.0), (4.0, 0.2), (10.0, 0.8), (14.0, 1.0)];
/// Knots of its Fig. 6.
const EXAMPLE: [(f64, f64); 4] = [(2.0, 0.0), (4.0, 0.2), (6.0, 0.8), (8.0, 1.0)];

fn knots(points: [(f64, f64); 4], rule: Rule) -> Curve {
    Curve::Knots(points.map(|(soc, weight)| CurvePoint { soc: Db(soc), weight }).to_vec(), rule)
}

/// Every curve with a name, in the order in which it is listed.
pub const ALL: &[PolicyKind] = &[
    PolicyKind { name: "equal", summary: "1 whatever the SoC", source: "", curve: || Curve::Equal },
    PolicyKind {
        name: "gb1",
        summary: "1 above 12 dB, else 0",
        source: "Aida, Tobe, Tokuda 2003, section 5.1",
        curve: || Curve::GoodOrBad(Db(12.0)),
    },
    PolicyKind {
        name: "gb2",
        summary: "1 above 6 dB, else 0",
        source: "Aida, Tobe, Tokuda 2003, section 5.1",
        curve: || Curve::GoodOrBad(Db(6.0)),
    },
    PolicyKind {
        name: "gb3",
        summary: "1 above 1 dB, else 0",
        source: "Aida, Tobe, Tokuda 2003, section 5.1",
        curve: || Curve::GoodOrBad(Db(1.0)),
    },
    PolicyKind {
        name: "pw",
        summary: "lines through (0 dB, 0) (4, 0.2) (10, 0.8) (14, 1)",
        source: "Aida, Tobe, Tokuda 2003, section 5.1",
        curve: || knots(EXPERIMENT, Rule::Linear),
    },
    PolicyKind {
        name: "pw-step",
        summary: "the knots of pw, each level up to its knot",
        source: "read from Aida, Tobe, Tokuda 2003, Table 2",
        curve: || knots(EXPERIMENT, Rule::UpperStep),
    },
    PolicyKind {
        name: "gb-example",
        summary: "1 above 5 dB, else 0",
        source: "Aida, Tobe, Tokuda 2003, Fig. 5",
        curve: || Curve::GoodOrBad(Db(5.0)),
    },
    PolicyKind {
        name: "pw-example",
        summary: "lines through (2 dB, 0) (4, 0.2) (6, 0.8) (8, 1)",
        source: "Aida, Tobe, Tokuda 2003, Fig. 6",
        curve: || knots(EXAMPLE, Rule::Linear),
    },
    PolicyKind {
        name: "pw-example-step",
        summary: "the knots of pw-example, each level up to its knot",
        source: "read from Aida, Tobe, Tokuda 2003, Table 2",
        curve: || knots(EXAMPLE, Rule::UpperStep),
    },
];

/// Weight of hosts if all weights are 0, which the paper leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllZero {
    /// Nothing.
    #[default]
    Nothing,
    /// Equal shares.
    Equal,
}

/// Shares of 100 units, C = 100 w / sum of w, over active hosts with these weights.
pub fn shares(weights: &[f64], all_zero: AllZero) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    let even = 100.0 / weights.len() as f64;
    let share = |weight: &f64| match all_zero {
        _ if sum > 0.0 => 100.0 * weight / sum,
        AllZero::Nothing => 0.0,
        AllZero::Equal => even,
    };
    weights.iter().map(share).collect()
}

#[cfg(test)]
mod tests;
