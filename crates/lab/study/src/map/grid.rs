//! A grid over the parameters that a paper leaves open.

/// One parameter that a paper leaves open, and the values that it may have had.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Its short name, by which files and the command line call it.
    pub key: String,
    /// Its name in words.
    pub name: String,
    /// Whether its values ascend, so that a threshold can be asked for.
    pub is_ordered: bool,
    /// Names of its values.
    pub labels: Vec<String>,
    /// The weight of each value in a share.
    pub weights: Vec<f64>,
    /// The value of the study's own scenario files: an index into `labels`; `None` where that is
    /// not tried.
    pub base: Option<usize>,
}

/// The combinations of all values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// The axes; the last one varies fastest.
    pub axes: Vec<Axis>,
    /// Whether only set-ups are tried that differ from the study's own on one axis at most: a small
    /// map, whose size is the sum of the numbers of values and not their product.
    pub is_star: bool,
}

/// One combination: for each axis an index of a value.
pub type SetUp = Vec<usize>;

impl Grid {
    /// Number of set-ups; one without axes.
    pub fn len(&self) -> usize {
        let values = self.axes.iter().map(|axis| axis.labels.len());
        match self.is_star {
            true => values.fold(1, |sum, values| sum + values.saturating_sub(1)),
            false => self.combinations(),
        }
    }

    fn combinations(&self) -> usize {
        self.axes.iter().fold(1, |product, axis| product.saturating_mul(axis.labels.len()))
    }

    /// Whether there is no set-up, because some axis has no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every set-up, the last axis fastest.
    pub fn set_ups(&self) -> impl Iterator<Item = SetUp> + '_ {
        let all = (0..self.combinations()).map(|index| self.set_up(index));
        all.filter(|set_up| !self.is_star || self.distance_from_base(set_up) <= 1)
    }

    fn set_up(&self, index: usize) -> SetUp {
        let mut stride = self.combinations();
        let step = |axis: &Axis| {
            stride /= axis.labels.len();
            index / stride % axis.labels.len()
        };
        self.axes.iter().map(step).collect()
    }

    /// The set-up of the study's own scenario files; `None` where that is not tried.
    pub fn base(&self) -> Option<SetUp> {
        self.axes.iter().map(|axis| axis.base).collect()
    }

    /// The weight of a set-up: the product of its values' weights.
    pub fn weight(&self, set_up: &[usize]) -> f64 {
        self.axes.iter().zip(set_up).map(|(axis, &value)| axis.weights[value]).product()
    }

    /// The grid of some axes, by their indices.
    #[must_use]
    pub fn of(&self, axes: &[usize]) -> Self {
        let axes = axes.iter().map(|&axis| self.axes[axis].clone()).collect();
        Self { axes, is_star: self.is_star }
    }

    /// The set-up as pairs of key and label.
    pub fn labels<'a>(&'a self, set_up: &'a [usize]) -> impl Iterator<Item = (&'a str, &'a str)> {
        let pair =
            |(axis, &value): (&'a Axis, &usize)| (axis.key.as_str(), axis.labels[value].as_str());
        self.axes.iter().zip(set_up).map(pair)
    }

    /// The same in words, such as `attempts = 4, stack = ns-2`.
    pub fn text(&self, set_up: &[usize]) -> String {
        let pairs = self.labels(set_up).map(|(key, label)| format!("{key} = {label}"));
        pairs.collect::<Vec<_>>().join(", ")
    }

    /// On how many axes a set-up differs from the study's own, where that is tried.
    pub fn distance_from_base(&self, set_up: &[usize]) -> usize {
        let differs = |(axis, value): &(&Axis, &usize)| axis.base.is_some_and(|b| b != **value);
        self.axes.iter().zip(set_up).filter(differs).count()
    }
}
