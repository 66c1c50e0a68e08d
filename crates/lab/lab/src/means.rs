//! Means over runs in the form of JSON.

use crate::stats::Estimate;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// A figure over runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeanSummary {
    /// Number of runs that measured it.
    pub n: usize,
    /// Their arithmetic mean.
    #[schemars(extend("unit" = "that of the figure"))]
    pub mean: f64,
    /// Their standard deviation (n - 1 in the denominator); zero for one run.
    #[schemars(extend("unit" = "that of the figure"))]
    pub std_dev: f64,
    /// Half the width of Student's 95 % confidence interval of the mean; null for one run.
    #[schemars(extend("unit" = "that of the figure"))]
    pub half_width: Option<f64>,
}

impl From<Estimate> for MeanSummary {
    fn from(Estimate { n, mean, std_dev, half_width }: Estimate) -> Self {
        Self { n, mean, std_dev, half_width }
    }
}

/// A mean as text, with the number of runs that measured it where these are not all.
pub(crate) fn text(of: &Estimate, runs: usize, digits: usize) -> String {
    let Estimate { n, mean, .. } = of;
    match *n < runs {
        true => format!("{mean:.digits$} ({n} of {runs})"),
        false => format!("{mean:.digits$}"),
    }
}

/// Writes a field as [`MeanSummary`].
pub(crate) fn serialize<S: Serializer>(of: &Estimate, serializer: S) -> Result<S::Ok, S::Error> {
    MeanSummary::from(*of).serialize(serializer)
}
