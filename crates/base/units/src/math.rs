//! Transcendental functions that give the same bits on every platform.
//!
//! `std` forwards to the system's libm, whose last bit differs between systems. The `libm`
//! crate is pure Rust, so results are a function of the arguments alone. `clippy.toml` bans
//! the `std` methods everywhere.

/// e to the power of `x`.
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// Natural logarithm.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// Logarithm to base 10.
pub fn log10(x: f64) -> f64 {
    libm::log10(x)
}

/// `base` to the power of `exponent`.
pub fn pow(base: f64, exponent: f64) -> f64 {
    libm::pow(base, exponent)
}

/// Complementary error function.
pub fn erfc(x: f64) -> f64 {
    libm::erfc(x)
}

/// Sine of an angle in radians.
pub fn sin(x: f64) -> f64 {
    libm::sin(x)
}

/// Cosine of an angle in radians.
pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}

/// Length of the hypotenuse of a right-angled triangle.
pub fn hypot(x: f64, y: f64) -> f64 {
    libm::hypot(x, y)
}

/// A power ratio in dB as a linear factor.
pub fn db_to_linear(db: f64) -> f64 {
    pow(10.0, db / 10.0)
}

/// A linear power ratio in dB.
pub fn linear_to_db(ratio: f64) -> f64 {
    10.0 * log10(ratio)
}
