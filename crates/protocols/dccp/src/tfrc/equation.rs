//! The throughput equation (RFC 5348, section 3.1) and its inverse.
//!
//! Rates are bytes a second, times seconds, all of them f64: `+ - * /` and `sqrt` are exact to the
//! last bit on every platform.

#[cfg(test)]
mod tests;

/// The highest loss event rate there is: every packet begins a loss event.
const P_MAX: f64 = 1.0;

/// The rate of a TCP connection with packets of `s` bytes, a round-trip time of `r` seconds and
/// the loss event rate `p`, in bytes a second: RFC 5348, section 3.1, with b = 1 and
/// t_RTO = 4 R. Infinite where nothing is lost or the round-trip time is zero.
pub fn throughput(s: f64, r: f64, p: f64) -> f64 {
    s / (r * f(p))
}

/// f(p) of X = s / (R f(p)): b = 1, t_RTO = 4 R.
fn f(p: f64) -> f64 {
    (2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p)
}

/// Returns the loss event rate at which [`throughput`] is within 5 % of `x` bytes a second (RFC
/// 5348, section 6.3.1). Found by bisection, much closer than the RFC asks. A rate below the
/// equation's minimum has a loss event rate of 1, one without bound has 0.
pub fn loss_rate_for(s: f64, r: f64, x: f64) -> f64 {
    let wanted = s / (r * x);
    if wanted.is_nan() || wanted >= f(P_MAX) {
        return P_MAX;
    }
    let (mut low, mut high) = (0.0, P_MAX);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if f(middle) < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    // The upper bound, so that its rate does not exceed `x`.
    high
}
