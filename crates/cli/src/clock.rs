//! Cost of a command: wall-clock time and processor time.

use fairwave_lab::report::cost::Cost;

/// The day in UTC, as 2026-11-23.
pub(crate) fn today() -> String {
    jiff::Timestamp::now().strftime("%F").to_string()
}

/// A stopwatch that starts with the work.
pub(crate) struct Stopwatch {
    #[expect(clippy::disallowed_types, reason = "how long the user waited is a fact of the wall")]
    started: std::time::Instant,
    cpu_at_start_s: Option<f64>,
}

impl Stopwatch {
    #[expect(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        reason = "how long the user waited is a fact of the wall; no result depends on it"
    )]
    pub(crate) fn start() -> Self {
        Self { started: std::time::Instant::now(), cpu_at_start_s: cpu_s() }
    }

    /// Time that the work has taken so far.
    pub(crate) fn cost(&self) -> Cost {
        let cpu_s = cpu_s().zip(self.cpu_at_start_s).map(|(now, before)| now - before);
        Cost { wall_s: self.started.elapsed().as_secs_f64(), cpu_s }
    }
}

/// Processor time of this process so far, all threads together.
#[cfg(unix)]
fn cpu_s() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
}

/// `None`: the processor time is unknown on this platform.
#[cfg(not(unix))]
fn cpu_s() -> Option<f64> {
    None
}
