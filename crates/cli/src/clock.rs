//! Cost of a command: wall-clock time and processor time.

use crate::printed::SpeedSummary;
use fairwave_study::Cost;

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

/// Speed of the simulator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speed {
    /// Time that the work took.
    pub(crate) cost: Cost,
    /// Virtual time of all runs, in seconds.
    pub(crate) simulated_s: f64,
    /// Frames on the air in all runs.
    pub(crate) frames: u64,
}

impl Speed {
    fn per_cpu_s(&self, amount: f64) -> Option<f64> {
        self.cost.cpu_s.filter(|&cpu_s| cpu_s > 0.0).map(|cpu_s| amount / cpu_s)
    }

    /// The speed in one line.
    pub(crate) fn line(&self) -> String {
        let Self { cost, simulated_s, frames } = self;
        if *simulated_s == 0.0 {
            return "Nothing was left to simulate\n".to_owned();
        }
        let per_cpu = self.per_cpu_s(*simulated_s).zip(self.per_cpu_s(*frames as f64));
        let rates = per_cpu.map_or_else(String::new, |(seconds, frames)| {
            format!(": {seconds:.1} simulated s and {frames:.0} frames per CPU s")
        });
        let wall_s = cost.wall_s;
        format!("Simulated {simulated_s:.1} s, {frames} frames, in {wall_s:.2} s{rates}\n")
    }

    /// The speed as `--json` shows it.
    pub(crate) fn printed(&self) -> SpeedSummary {
        SpeedSummary {
            wall_s: self.cost.wall_s,
            cpu_s: self.cost.cpu_s,
            simulated_s: self.simulated_s,
            frames: self.frames,
            simulated_s_per_cpu_s: self.per_cpu_s(self.simulated_s),
            frames_per_cpu_s: self.per_cpu_s(self.frames as f64),
        }
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
