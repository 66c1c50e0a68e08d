//! Small-scale fading: Rayleigh and Rician with the Doppler spectrum of Clarke and Jakes.
//!
//! The scattered part is a sum of sinusoids (Zheng and Xiao, "Improved models for the generation
//! of multiple uncorrelated Rayleigh fading waveforms", IEEE Communications Letters 6(6), 2002),
//! so a gain is a function of the random stream and the time alone and costs no event. It is
//! computed on a grid of 32 points for each period of the Doppler frequency; between them the
//! complex gain is interpolated, at an error 46 dB below the signal.

use core::f64::consts::{PI, TAU};
use fairwave_units::{Instant, Stream, math};

/// Sinusoids of one process.
const OSCILLATORS: usize = 20;

/// Grid points in a period of the Doppler frequency.
const GRID: f64 = 32.0;

/// Variation of the gain between two radios around its mean of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fading {
    /// Power of the direct path over that of the scattered ones, as a factor: the K of Rice. Zero
    /// is Rayleigh fading.
    pub rice_k: f64,
    /// Greatest Doppler shift in hertz, speed over wavelength: walking at 1.5 m/s makes 12 Hz at
    /// 2.4 GHz. At zero a link keeps the gain that it drew.
    pub doppler_hz: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Oscillator {
    radians_per_second: f64,
    phase: f64,
    /// Its part in the real and in the imaginary component.
    amplitude: (f64, f64),
}

/// The fading of one pair of radios, the same in both directions.
#[derive(Clone, Debug)]
pub struct FadingLink {
    oscillators: Box<[Oscillator; OSCILLATORS]>,
    direct: f64,
    /// Nanoseconds between grid points; zero for a gain that does not change.
    step: f64,
    /// Number of the grid point before the last time asked for, and the scattered part there and
    /// at the next.
    cell: u64,
    before: (f64, f64),
    after: (f64, f64),
}

impl FadingLink {
    /// A link with angles and phases drawn from `stream`.
    pub fn new(fading: Fading, mut stream: Stream) -> Self {
        let mut angle = || (2.0 * stream.unit() - 1.0) * PI;
        let m = OSCILLATORS as f64;
        // Each component has the variance 1/2 of the scattered share of the power.
        let amplitude = (2.0 / (m * (fading.rice_k + 1.0))).sqrt();
        let theta = angle();
        let oscillators = core::array::from_fn(|n| {
            let arrival = (TAU * (n + 1) as f64 - PI + theta) / (4.0 * m);
            let (phase, psi) = (angle(), angle());
            Oscillator {
                radians_per_second: TAU * fading.doppler_hz * math::cos(arrival),
                phase,
                amplitude: (amplitude * math::cos(psi), amplitude * math::sin(psi)),
            }
        });
        let moves = fading.doppler_hz > 0.0;
        let mut link = Self {
            oscillators: Box::new(oscillators),
            direct: (fading.rice_k / (fading.rice_k + 1.0)).sqrt(),
            step: if moves { 1e9 / (GRID * fading.doppler_hz) } else { 0.0 },
            cell: 0,
            before: (0.0, 0.0),
            after: (0.0, 0.0),
        };
        link.before = link.scattered(0);
        link.after = link.scattered(1);
        link
    }

    /// Power gain at `at`, as a factor with mean 1.
    pub fn gain(&mut self, at: Instant) -> f64 {
        let mut part = 0.0;
        if self.step > 0.0 {
            let place = at.as_nanos() as f64 / self.step;
            let cell = place as u64;
            part = place - cell as f64;
            self.go_to(cell);
        }
        let between = |from: f64, to: f64| from + part * (to - from);
        let re = self.direct + between(self.before.0, self.after.0);
        let im = between(self.before.1, self.after.1);
        re * re + im * im
    }

    fn go_to(&mut self, cell: u64) {
        if cell == self.cell {
            return;
        }
        let follows = cell == self.cell + 1;
        self.before = if follows { self.after } else { self.scattered(cell) };
        self.after = self.scattered(cell + 1);
        self.cell = cell;
    }

    /// The scattered part of the complex gain at a grid point.
    fn scattered(&self, cell: u64) -> (f64, f64) {
        let seconds = cell as f64 * self.step / 1e9;
        self.oscillators.iter().fold((0.0, 0.0), |(re, im), o| {
            let wave = math::cos(o.radians_per_second * seconds + o.phase);
            (re + o.amplitude.0 * wave, im + o.amplitude.1 * wave)
        })
    }
}

#[cfg(test)]
mod tests;
