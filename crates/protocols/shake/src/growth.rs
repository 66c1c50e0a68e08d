//! Growth of windows in congestion avoidance: each for itself, or coupled. Integers only.

use core::fmt::Debug;
use fairwave_units::Duration;

/// An increase is in these parts of a byte.
pub(crate) const PARTS: u64 = 1024;
/// Rates are bytes per microsecond times this, so that little is lost in dividing.
const RATE_SCALE: u128 = 1 << 16;
/// A shorter round-trip time counts as this.
const MIN_RTT: Duration = Duration::from_micros(100);

/// An algorithm's knowledge of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window in bytes, never zero.
    pub cwnd: u32,
    /// Segment size in bytes.
    pub mss: u32,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Bytes acknowledged since the last loss.
    pub since_loss: u64,
    /// Bytes acknowledged between the last two losses.
    pub between_losses: u64,
}

impl Window {
    /// Its rate, scaled.
    fn rate(&self) -> u128 {
        u128::from(self.cwnd) * RATE_SCALE / u128::from(self.srtt.max(MIN_RTT).as_micros())
    }
}

/// An algorithm of growth. Slow start and the effect of a timeout are the same for all (RFC 5681).
pub trait Growth: Debug + Send {
    /// Its name.
    fn name(&self) -> &'static str;

    /// By how much the window of `path`, an index into `windows`, grows for `acked` bytes in
    /// congestion avoidance, in 1024ths of a byte. `windows` are those of the paths that work.
    fn increase(&self, path: usize, acked: u32, windows: &[Window]) -> i64;

    /// The window of `path` after a loss with `flight` bytes on it, in bytes.
    fn after_loss(&self, path: usize, flight: u32, windows: &[Window]) -> u32 {
        let _ = (path, windows);
        flight / 2
    }
}

/// Each path as a connection of its own (Reno, RFC 5681), as in TCP SHAKE.
#[derive(Clone, Copy, Debug)]
pub struct Uncoupled;

/// The linked increases algorithm (RFC 6356): together no more than one connection on the best
/// path takes.
#[derive(Clone, Copy, Debug)]
pub struct Lia;

/// Opportunistic linked increases (Khalili et al., CoNEXT 2012).
#[derive(Clone, Copy, Debug)]
pub struct Olia;

/// The balanced linked adaptation (Peng et al., IEEE/ACM ToN 2016).
#[derive(Clone, Copy, Debug)]
pub struct Balia;

/// Returns Reno's growth: a segment per window.
fn reno(acked: u32, window: &Window) -> u64 {
    u64::from(acked) * u64::from(window.mss) * PARTS / u64::from(window.cwnd.max(1))
}

/// `acked * mss * numerator / denominator`, in [`PARTS`].
fn share(acked: u32, window: &Window, numerator: u128, denominator: u128) -> u64 {
    let acked = u128::from(acked) * u128::from(window.mss) * u128::from(PARTS);
    let parts = acked.saturating_mul(numerator) / denominator.max(1);
    u64::try_from(parts).unwrap_or(u64::MAX)
}

/// cwnd / rtt^2, scaled as the square of a rate.
fn pull(window: &Window) -> u128 {
    window.rate() * window.rate() / u128::from(window.cwnd.max(1))
}

/// The square of the sum of all rates.
fn total(windows: &[Window]) -> u128 {
    let sum: u128 = windows.iter().map(Window::rate).sum();
    sum.saturating_mul(sum)
}

fn signed(parts: u64) -> i64 {
    i64::try_from(parts).unwrap_or(i64::MAX)
}

impl Growth for Uncoupled {
    fn name(&self) -> &'static str {
        "uncoupled"
    }

    fn increase(&self, path: usize, acked: u32, windows: &[Window]) -> i64 {
        signed(reno(acked, &windows[path]))
    }
}

impl Growth for Lia {
    fn name(&self) -> &'static str {
        "lia"
    }

    fn increase(&self, path: usize, acked: u32, windows: &[Window]) -> i64 {
        let best = windows.iter().map(pull).max().unwrap_or(0);
        let coupled = share(acked, &windows[path], best, total(windows));
        signed(coupled.min(reno(acked, &windows[path])))
    }
}

impl Olia {
    /// Bytes between losses, squared, over the round-trip time: the quality of the path.
    fn promise(window: &Window) -> u128 {
        let bytes = u128::from(window.since_loss.max(window.between_losses).min(1 << 40));
        bytes * bytes / u128::from(window.srtt.max(MIN_RTT).as_micros())
    }

    /// alpha of the path: its sign, and the paths that share it.
    fn alpha(path: usize, windows: &[Window]) -> (i64, u64) {
        let best = windows.iter().map(Self::promise).max().unwrap_or(0);
        let widest = windows.iter().map(|w| w.cwnd).max().unwrap_or(0);
        let is_collected = |w: &Window| Self::promise(w) == best && w.cwnd < widest;
        let collected = windows.iter().filter(|w| is_collected(w)).count() as u64;
        let wide = windows.iter().filter(|w| w.cwnd == widest).count() as u64;
        match &windows[path] {
            _ if collected == 0 => (0, 1),
            w if is_collected(w) => (1, collected),
            w if w.cwnd == widest => (-1, wide),
            _ => (0, 1),
        }
    }
}

impl Growth for Olia {
    fn name(&self) -> &'static str {
        "olia"
    }

    fn increase(&self, path: usize, acked: u32, windows: &[Window]) -> i64 {
        let window = &windows[path];
        let kelly = share(acked, window, pull(window), total(windows));
        let (sign, sharers) = Self::alpha(path, windows);
        let moved = reno(acked, window) / (sharers * windows.len() as u64);
        signed(kelly) + sign * signed(moved)
    }
}

impl Growth for Balia {
    fn name(&self) -> &'static str {
        "balia"
    }

    fn increase(&self, path: usize, acked: u32, windows: &[Window]) -> i64 {
        let window = &windows[path];
        let (rate, maximum) = (window.rate(), windows.iter().map(Window::rate).max().unwrap_or(0));
        let numerator = (rate + maximum).saturating_mul(4 * rate + maximum);
        let denominator = total(windows).saturating_mul(10 * u128::from(window.cwnd.max(1)));
        signed(share(acked, window, numerator, denominator))
    }

    fn after_loss(&self, path: usize, flight: u32, windows: &[Window]) -> u32 {
        let rate = windows[path].rate().max(1);
        let maximum = windows.iter().map(Window::rate).max().unwrap_or(rate);
        // min(most / rate, 3/2) of the half.
        let part = (maximum * 2).min(rate * 3) * u128::from(flight) / (rate * 4);
        flight.saturating_sub(u32::try_from(part).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(segments: u32, ms: u64) -> Window {
        Window {
            cwnd: segments * 1000,
            mss: 1000,
            srtt: Duration::from_millis(ms),
            since_loss: 0,
            between_losses: 0,
        }
    }

    /// Bytes that a window of acknowledgements adds.
    fn per_window(algorithm: &dyn Growth, path: usize, windows: &[Window]) -> i64 {
        let acks = i64::from(windows[path].cwnd / windows[path].mss);
        acks * algorithm.increase(path, 1000, windows) / PARTS as i64
    }

    #[test]
    fn reno_adds_a_segment_a_window() {
        assert_eq!(per_window(&Uncoupled, 0, &[window(10, 100), window(20, 50)]), 1000);
        for algorithm in [&Lia as &dyn Growth, &Olia, &Balia] {
            let alone = per_window(algorithm, 0, &[window(10, 100)]);
            assert!((999..=1000).contains(&alone), "{}: {alone}", algorithm.name());
        }
    }

    /// Two equal paths: RFC 6356's alpha is 1/2, so an ACK adds a quarter of Reno's on a path:
    /// alpha * mss * acked / (2 w). So do OLIA's first term and BALIA with equal rates.
    #[test]
    fn equal_paths_share_one_increase() {
        let windows = [window(10, 100); 2];
        for algorithm in [&Lia as &dyn Growth, &Olia, &Balia] {
            assert!(
                (248..=250).contains(&per_window(algorithm, 0, &windows)),
                "{}",
                algorithm.name()
            );
        }
    }

    /// Rates 100 and 400 segments per second: LIA's best is 40/0.1^2 = 4000 over 500^2 is 0.016
    /// per ACK; 10 ACKs are 160 bytes. OLIA on the small path: 1000/500^2 = 0.004. BALIA: (1/0.1)
    /// * 100 / 500^2 * (1 + 4)/2 * (4 + 4)/5 = 0.016.
    #[test]
    fn unequal_paths_by_hand() {
        let windows = [window(10, 100), window(40, 100)];
        assert!((158..=160).contains(&per_window(&Lia, 0, &windows)));
        assert!((158..=160).contains(&per_window(&Balia, 0, &windows)));
        // Nobody promises anything: both are best, the wide one is not small, the small one is.
        assert_eq!(Olia::alpha(0, &windows), (1, 1));
        assert_eq!(Olia::alpha(1, &windows), (-1, 1));
        assert!((538..=540).contains(&per_window(&Olia, 0, &windows)), "40 and half a segment");
    }

    #[test]
    fn losses() {
        let windows = [window(10, 100), window(40, 100)];
        assert_eq!(Uncoupled.after_loss(0, 10_000, &windows), 5_000);
        assert_eq!(Balia.after_loss(1, 40_000, &windows), 20_000);
        assert_eq!(Balia.after_loss(0, 10_000, &windows), 2_500, "three halves of the half");
    }
}
