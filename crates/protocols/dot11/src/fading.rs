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

/// Sinusoids of one pair of radios.
#[derive(Clone, Debug)]
pub(crate) struct Waves([Oscillator; OSCILLATORS]);

impl Waves {
    /// Sinusoids with angles and phases drawn from `stream`.
    pub(crate) fn new(fading: Fading, mut stream: Stream) -> Self {
        let mut angle = || (2.0 * stream.unit() - 1.0) * PI;
        let m = OSCILLATORS as f64;
        // Each component has the variance 1/2 of the scattered share of the power.
        let amplitude = (2.0 / (m * (fading.rice_k + 1.0))).sqrt();
        let theta = angle();
        Self(core::array::from_fn(|n| {
            let arrival = (TAU * (n + 1) as f64 - PI + theta) / (4.0 * m);
            let (phase, psi) = (angle(), angle());
            Oscillator {
                radians_per_second: TAU * fading.doppler_hz * math::cos(arrival),
                phase,
                amplitude: (amplitude * math::cos(psi), amplitude * math::sin(psi)),
            }
        }))
    }

    /// The scattered part of the complex gain.
    fn scattered(&self, seconds: f64) -> (f64, f64) {
        self.0.iter().fold((0.0, 0.0), |(re, im), o| {
            let wave = math::cos(o.radians_per_second * seconds + o.phase);
            (re + o.amplitude.0 * wave, im + o.amplitude.1 * wave)
        })
    }
}

/// Parameters of fading that all pairs of radios share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    direct: f64,
    /// Nanoseconds between grid points; zero for gains that do not change.
    step: f64,
}

impl Process {
    pub(crate) fn new(fading: Fading) -> Self {
        let moves = fading.doppler_hz > 0.0;
        Self {
            direct: (fading.rice_k / (fading.rice_k + 1.0)).sqrt(),
            step: if moves { 1e9 / (GRID * fading.doppler_hz) } else { 0.0 },
        }
    }

    /// Whether gains change with time.
    pub(crate) fn moves(&self) -> bool {
        self.step > 0.0
    }

    /// Number of the grid point before a time, and the part of the way to the next.
    pub(crate) fn place(&self, at: Instant) -> (u64, f64) {
        if !self.moves() {
            return (0, 0.0);
        }
        let place = at.as_nanos() as f64 / self.step;
        let cell = place as u64;
        (cell, place - cell as f64)
    }

    /// Power gain, as a factor with mean 1, so far on the way between two grid points.
    pub(crate) fn power(&self, points: &Points, part: f64) -> f64 {
        let between = |from: f64, to: f64| from + part * (to - from);
        let re = self.direct + between(points.before.0, points.after.0);
        let im = between(points.before.1, points.after.1);
        re * re + im * im
    }
}

/// The scattered part of the complex gain of a pair at two grid points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Points {
    /// Number of the first.
    cell: u64,
    before: (f64, f64),
    after: (f64, f64),
}

impl Points {
    /// Those of a pair that was not asked for yet.
    pub(crate) const NONE: Self = Self { cell: u64::MAX, before: (0.0, 0.0), after: (0.0, 0.0) };

    /// Whether the first has this number.
    pub(crate) fn are_at(&self, cell: u64) -> bool {
        self.cell == cell
    }

    /// Computes the point of this number and the next.
    pub(crate) fn go_to(&mut self, cell: u64, process: &Process, waves: &Waves) {
        let point = |cell: u64| waves.scattered(cell as f64 * process.step / 1e9);
        let follows = self.cell.checked_add(1) == Some(cell);
        self.before = if follows { self.after } else { point(cell) };
        self.after = point(cell + 1);
        self.cell = cell;
    }
}

/// The fading of one pair of radios, the same in both directions.
#[derive(Clone, Debug)]
pub struct FadingLink {
    process: Process,
    waves: Box<Waves>,
    points: Points,
}

impl FadingLink {
    /// A link with angles and phases drawn from `stream`.
    pub fn new(fading: Fading, stream: Stream) -> Self {
        let (process, waves) = (Process::new(fading), Waves::new(fading, stream));
        Self { process, waves: Box::new(waves), points: Points::NONE }
    }

    /// Power gain at `at`, as a factor with mean 1.
    pub fn gain(&mut self, at: Instant) -> f64 {
        let (cell, part) = self.process.place(at);
        if !self.points.are_at(cell) {
            self.points.go_to(cell, &self.process, &self.waves);
        }
        self.process.power(&self.points, part)
    }
}

#[cfg(test)]
mod tests;
