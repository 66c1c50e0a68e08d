//! Sources of measurements: a station's signal-to-noise ratio (SNR), and an access point's view of
//! its stations.

use fairwave_soc::ApInput;
use fairwave_units::Db;
use fairwave_wire::ethernet::Mac;
use std::fs;
use std::path::PathBuf;

/// A station's measurement of its link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Signal-to-noise ratio.
    pub snr: Db,
    /// The access point that the station is associated with; `None` where that is not known.
    pub access_point: Option<Mac>,
}

impl Level {
    /// A level without a known access point.
    pub const fn of(snr: Db) -> Self {
        Self { snr, access_point: None }
    }
}

/// A source of a station's SNR.
pub trait SnrSource {
    /// Returns the present level; `None` if there is no link.
    ///
    /// # Errors
    /// A description of the failure; the next call may succeed.
    fn sample(&mut self) -> Result<Option<Level>, String>;
}

/// Observations of an access point's stations.
#[derive(Debug, Default)]
pub struct Observed {
    /// Changes since the last ones ([`ApInput::Joined`], [`ApInput::Left`]), and the present view
    /// of each station ([`ApInput::Seen`]).
    pub facts: Vec<ApInput>,
    /// A description of what could not be read; the next time it may be.
    pub trouble: Option<String>,
}

/// A source of an access point's view of its stations.
pub trait StationSource {
    /// Observes the stations.
    fn observe(&mut self) -> Observed;
}

/// A fixed level.
#[derive(Clone, Copy, Debug)]
pub struct Fixed(pub Db);

impl SnrSource for Fixed {
    fn sample(&mut self) -> Result<Option<Level>, String> {
        Ok(Some(Level::of(self.0)))
    }
}

/// A level in decibels, which is read from a file for each sample. An empty file stands for no
/// link.
#[derive(Clone, Debug)]
pub struct FromFile(pub PathBuf);

impl SnrSource for FromFile {
    fn sample(&mut self) -> Result<Option<Level>, String> {
        let place = self.0.display();
        let text = fs::read_to_string(&self.0).map_err(|error| format!("{place}: {error}"))?;
        let word = text.trim().trim_end_matches("dB").trim_end();
        if word.is_empty() {
            return Ok(None);
        }
        let level = word.parse::<f64>().ok().filter(|level| level.is_finite());
        let level = level.ok_or_else(|| format!("{place}: `{word}` is no number of decibels"))?;
        Ok(Some(Level::of(Db(level))))
    }
}

/// The source of an interface without a radio: it never reports a station.
#[derive(Clone, Copy, Debug)]
pub struct NoRadio;

impl StationSource for NoRadio {
    fn observe(&mut self) -> Observed {
        Observed::default()
    }
}
