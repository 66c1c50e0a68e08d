//! Cost of simulations, and their speed.

use schemars::JsonSchema;
use serde::Serialize;

/// Cost of a command's work. The laboratory has no clock: the caller measures the times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Wall-clock time in seconds.
    pub wall_s: f64,
    /// Processor time in seconds, over all workers; `None` where it is not known.
    pub cpu_s: Option<f64>,
}

/// Speed of the simulator.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    /// Time that the work took.
    pub cost: Cost,
    /// Virtual time of all runs, in seconds.
    pub simulated_s: f64,
    /// Frames on the air in all runs.
    pub frames: u64,
}

/// Cost of the simulation.
#[derive(Serialize, JsonSchema)]
pub struct SpeedSummary {
    /// Wall-clock time.
    pub wall_s: f64,
    /// Processor time of all threads; null if unknown.
    pub cpu_s: Option<f64>,
    /// Virtual time of all runs.
    pub simulated_s: f64,
    /// Frames put on the air in all runs.
    pub frames: u64,
    /// Virtual seconds per second of processor time; null if that is unknown.
    pub simulated_s_per_cpu_s: Option<f64>,
    /// Frames simulated per second of processor time; null if that is unknown.
    pub frames_per_cpu_s: Option<f64>,
}

impl Speed {
    fn per_cpu_s(&self, amount: f64) -> Option<f64> {
        self.cost.cpu_s.filter(|&cpu_s| cpu_s > 0.0).map(|cpu_s| amount / cpu_s)
    }

    /// The speed in one line.
    pub fn line(&self) -> String {
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

    /// The speed for JSON.
    pub fn summary(&self) -> SpeedSummary {
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
