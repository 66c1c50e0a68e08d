//! The average loss interval (RFC 5348, sections 5.4 and 5.5): recent intervals have the largest
//! weights, and a long interval without loss lowers the weights of the older ones.

#[cfg(test)]
mod tests;

/// Maximum number of closed loss intervals that are averaged, n of RFC 5348, section 5.4.
pub const N: usize = 8;

/// A loss interval as it is averaged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighed {
    /// Its length in packets.
    pub packets: f64,
    /// Its discount factor, DF_i of section 5.5; 1 without discounting.
    pub discount: f64,
}

/// Parameters of the average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Method {
    /// The closed intervals that count, n, at most [`N`].
    pub n: usize,
    /// The smallest general discount factor, THRESHOLD of section 5.5; `None` discounts nothing.
    pub threshold: Option<f64>,
}

impl Default for Method {
    fn default() -> Self {
        Self { n: N, threshold: None }
    }
}

/// Result of [`average`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Average {
    /// The average loss interval, 1/p, in packets.
    pub interval: f64,
    /// The general discount factor, DF of section 5.5.
    pub discount: f64,
}

/// The weight of interval `i` of `n`: 1 for the newer half, falling to almost nothing.
pub fn weight(i: usize, n: usize) -> f64 {
    if 2 * i < n { 1.0 } else { 2.0 * (n - i) as f64 / (n + 2) as f64 }
}

/// Averages `intervals`, of which the first is the open one, I_0, and the others are closed,
/// newest first. The open one counts only if it makes the average longer. `None` without a closed
/// interval.
pub fn average(intervals: &[Weighed], method: Method) -> Option<Average> {
    let (open, closed) = intervals.split_first()?;
    let n = method.n.clamp(1, N);
    let closed = &closed[..closed.len().min(n)];
    let without = weighed_sums(closed, |i| weight(i, n));
    if without.weights <= 0.0 {
        return None;
    }
    let closed_mean = without.packets / without.weights;
    let discount = general_discount(open.packets, closed_mean, method.threshold);
    debug_assert!(discount > 0.0 && discount <= 1.0, "DF is {discount}");
    let with = weighed_sums(&closed[..closed.len() - 1], |i| weight(i + 1, n) * discount);
    let w_0 = weight(0, n);
    let open_mean = (with.packets + open.packets * w_0) / (with.weights + w_0);
    Some(Average { interval: closed_mean.max(open_mean), discount })
}

/// The general discount factor: an open interval of more than twice the mean of the closed ones
/// takes weight from them (section 5.5).
fn general_discount(open: f64, closed_mean: f64, threshold: Option<f64>) -> f64 {
    match threshold {
        Some(minimum) if open > 2.0 * closed_mean => (2.0 * closed_mean / open).max(minimum),
        _ => 1.0,
    }
}

struct Sums {
    packets: f64,
    weights: f64,
}

fn weighed_sums(intervals: &[Weighed], weight: impl Fn(usize) -> f64) -> Sums {
    let mut sums = Sums { packets: 0.0, weights: 0.0 };
    for (i, interval) in intervals.iter().enumerate() {
        let w = weight(i) * interval.discount;
        sums.packets += interval.packets * w;
        sums.weights += w;
    }
    sums
}
