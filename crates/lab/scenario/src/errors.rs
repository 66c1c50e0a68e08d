//! Frame losses besides collisions: `cell.errors`.

use crate::diagnostic::Refusal;
use crate::keys::{Keyed, Kind, keys, reference, written};
use crate::kinds::{probability, within};
use crate::value::{Data, Value};
use fairwave_sim::world;
use fairwave_units::Db;
use serde_json::{Value as Json, json};

/// Frame losses besides collisions.
#[derive(Clone, Debug, PartialEq)]
pub enum Errors {
    /// By signal to interference and noise, with hard decisions.
    Snr,
    /// The same, by curves of decoding with soft decisions.
    Table,
    /// Each frame independently.
    Rate(ErrorRate),
    /// Data frames in bursts.
    Bursts(ErrorBursts),
    /// Data frames by their level over noise.
    Slope(ErrorSlope),
    /// By level over noise and length, with the bit errors of PSK (802.11b).
    Psk,
}

keys! {
    /// Each frame is lost independently.
    pub struct ErrorRate [Copy] |r| {
        /// Probability that a data frame is not decoded.
        data: f64 = probability().or(0.0);
        /// The same for ACK, RTS and CTS.
        control: f64 = probability().or(0.0);
    }
}

keys! {
    /// Data frames are lost in bursts, by the chain of Gilbert and Elliott, one for each
    /// transmitter and receiver. It moves with each frame.
    pub struct ErrorBursts [Copy] |reader| {
        /// Probability of going from the good to the bad state.
        p: f64 = probability().required("p = 0.02");
        /// Probability of going back.
        r: f64 = probability().required("r = 0.25");
        /// Probability that a data frame is lost in the good state.
        good: f64 = probability().or(0.0);
        /// The same in the bad state.
        bad: f64 = probability().or(1.0);
    }
}

keys! {
    /// Data frames are lost by their level over noise, along a slope; other frames are intact.
    pub struct ErrorSlope [Copy] |r| {
        /// The level over noise at which half of the frames arrive.
        middle: Db = within(Db(-50.0), Db(100.0)).required("middle = \"5 dB\"");
        /// Over this to either side the odds of arriving change by a factor of e.
        width: Db = within(Db(0.01), Db(20.0)).required("width = \"1 dB\"");
    }
}

/// The key `errors` of a cell.
pub(crate) fn errors() -> Kind<Errors> {
    let read = |value: &Value| match &value.data {
        Data::Table(table) if table.get("p").is_some() || table.get("r").is_some() => {
            ErrorBursts::nested(value, &(), "").map(Errors::Bursts)
        }
        Data::Table(table) if table.get("middle").is_some() || table.get("width").is_some() => {
            ErrorSlope::nested(value, &(), "").map(Errors::Slope)
        }
        Data::Table(_) => ErrorRate::nested(value, &(), "").map(Errors::Rate),
        Data::Text(text) if text == "snr" => Ok(Errors::Snr),
        Data::Text(text) if text == "table" => Ok(Errors::Table),
        Data::Text(text) if text == "psk" => Ok(Errors::Psk),
        _ => Err(Refusal::new("this must be \"snr\", \"table\", \"psk\" or a table")
            .help("write errors = \"snr\", or errors = { data = 0.1, control = 0.0 }")),
    };
    Kind::new(read, json_of, |definitions| {
        json!({ "anyOf": [
            { "enum": ["snr", "table", "psk"] },
            reference::<ErrorRate>(definitions),
            reference::<ErrorBursts>(definitions),
            reference::<ErrorSlope>(definitions),
        ] })
    })
}

fn json_of(errors: &Errors) -> Json {
    match errors {
        Errors::Snr => json!("snr"),
        Errors::Table => json!("table"),
        Errors::Psk => json!("psk"),
        Errors::Rate(table) => Json::Object(written(table)),
        Errors::Bursts(table) => Json::Object(written(table)),
        Errors::Slope(table) => Json::Object(written(table)),
    }
}

impl Errors {
    /// The simulator's inputs.
    pub(crate) fn to_world(&self) -> world::ErrorModel {
        match *self {
            Self::Snr => world::ErrorModel::Snr,
            Self::Table => world::ErrorModel::Table,
            Self::Psk => world::ErrorModel::Psk,
            Self::Rate(ErrorRate { data, control }) => world::ErrorModel::Rate { data, control },
            Self::Bursts(ErrorBursts { p, r, good, bad }) => {
                world::ErrorModel::Bursts(world::GilbertElliott { p, r, good, bad })
            }
            Self::Slope(ErrorSlope { middle, width }) => {
                world::ErrorModel::Slope(world::DeliverySlope { middle, width })
            }
        }
    }
}
