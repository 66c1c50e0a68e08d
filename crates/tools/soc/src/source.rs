//! Where observations come from: a station's level over noise, and what an access point's radio
//! sees of stations.

use fairwave_soc::ApInput;
use fairwave_units::Db;
use fairwave_wire::ethernet::Mac;
use std::fs;
use std::path::PathBuf;

/// What a station is told of its link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Signal over noise.
    pub snr: Db,
    /// The access point that the station is associated with; `None` where that is not told.
    pub access_point: Option<Mac>,
}

impl Level {
    /// A level of which nobody says to whom the link leads.
    pub const fn of(snr: Db) -> Self {
        Self { snr, access_point: None }
    }
}

/// Tells a station's own level over noise.
pub trait SnrSource {
    /// The level now; `None` if there is no link.
    ///
    /// # Errors
    /// In words, if it cannot be told; the next call may tell again.
    fn sample(&mut self) -> Result<Option<Level>, String>;
}

/// Tells what an access point's radio sees.
pub trait StationSource {
    /// What happened since the last call, and what is seen of each station now:
    /// [`ApInput::Joined`], [`ApInput::Left`] and [`ApInput::Seen`].
    ///
    /// # Errors
    /// In words, if it cannot be told; the next call may tell again.
    fn facts(&mut self) -> Result<Vec<ApInput>, String>;
}

/// A level that was set by hand.
#[derive(Clone, Copy, Debug)]
pub struct Fixed(pub Db);

impl SnrSource for Fixed {
    fn sample(&mut self) -> Result<Option<Level>, String> {
        Ok(Some(Level::of(self.0)))
    }
}

/// A level that stands in a file, in decibels, and is read anew for each sample. An empty file
/// means that there is no link.
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

/// An interface without a radio.
#[derive(Clone, Copy, Debug)]
pub struct NoRadio;

impl StationSource for NoRadio {
    fn facts(&mut self) -> Result<Vec<ApInput>, String> {
        Ok(Vec::new())
    }
}
