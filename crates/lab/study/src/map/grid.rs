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
    /// Whether its other values are tried with the study's own values of all other axes alone.
    pub is_alone: bool,
}

/// The combinations of all values; of an axis that stands alone only those along it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// The axes; the last one varies fastest.
    pub axes: Vec<Axis>,
    /// Whether only set-ups are tried that differ from the study's own on one axis at most: a small
    /// map, whose size is the sum of the numbers of values and not their product.
    pub is_star: bool,
}

impl Axis {
    const fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether a value is another than the study's own.
    fn leaves(&self, value: usize) -> bool {
        self.base.is_some_and(|base| base != value)
    }
}

/// One combination: for each axis an index of a value.
pub type SetUp = Vec<usize>;

impl Grid {
    /// Number of set-ups; one without axes.
    pub fn len(&self) -> usize {
        let (alone, together): (Vec<&Axis>, Vec<&Axis>) =
            self.axes.iter().partition(|axis| self.is_star || axis.is_alone);
        let product =
            together.iter().fold(1, |product: usize, axis| product.saturating_mul(axis.len()));
        alone.iter().fold(product, |sum, axis| sum.saturating_add(axis.len().saturating_sub(1)))
    }

    fn combinations(&self) -> usize {
        self.axes.iter().fold(1, |product, axis| product.saturating_mul(axis.len()))
    }

    /// Whether there is no set-up, because some axis has no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every set-up, the last axis fastest.
    pub fn set_ups(&self) -> impl Iterator<Item = SetUp> + '_ {
        let all = (0..self.combinations()).map(|index| self.set_up(index));
        all.filter(|set_up| self.is_tried(set_up))
    }

    /// Whether a combination is a set-up of the grid: one that leaves the study's own value on an
    /// axis that stands alone leaves it on no other axis.
    fn is_tried(&self, set_up: &[usize]) -> bool {
        let mut beside = self.axes.iter().zip(set_up).filter(|(axis, value)| axis.leaves(**value));
        let is_free = !self.is_star && beside.all(|(axis, _)| !axis.is_alone);
        is_free || self.distance_from_base(set_up) <= 1
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
        self.axes.iter().zip(set_up).filter(|(axis, value)| axis.leaves(**value)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(key: &str, values: usize, is_alone: bool) -> Axis {
        Axis {
            key: key.to_owned(),
            name: key.to_owned(),
            is_ordered: false,
            labels: (0..values).map(|value| value.to_string()).collect(),
            weights: vec![1.0; values],
            base: Some(0),
            is_alone,
        }
    }

    /// Two axes of two values make four set-ups; one of three that stands alone adds two.
    #[test]
    fn an_axis_alone_adds_its_values_instead_of_multiplying() {
        let axes = vec![axis("a", 2, false), axis("b", 3, true), axis("c", 2, false)];
        let grid = Grid { axes, is_star: false };
        let set_ups: Vec<SetUp> = grid.set_ups().collect();
        let expected =
            [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 2, 0], [1, 0, 0], [1, 0, 1]].map(Vec::from);
        assert_eq!((set_ups, grid.len()), (expected.to_vec(), 6));
        // On its own it is an axis like any other.
        assert_eq!(grid.of(&[1]).set_ups().count(), 3);
    }
}
