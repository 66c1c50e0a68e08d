//! Web pages that a user fetches: `flow.web`.

use crate::diagnostic::Refusal;
use crate::keys::{Keyed, Kind, keys, reference, written};
use crate::kinds::{count, real, size, within};
use crate::limits::DAY;
use crate::reader::{self, Reader};
use crate::value::{Data, Value};
use fairwave_traffic::{self as traffic, Page};
use fairwave_units::{Bytes, Duration};
use serde_json::{Value as Json, json};

/// A terabyte.
const MAX_OBJECT: Bytes = Bytes(1_000_000_000_000);
/// Limit at which object sizes are cut off.
const DEFAULT_MAX: Bytes = Bytes(2_000_000);

keys! {
    /// Web pages that a user at `to` fetches from `from`, over TCP connections that `to` opens. The
    /// defaults are those of 3GPP2 C.R1002-0.
    pub struct Web |r| {
        let page = Page::default();
        let times = || within(Duration::ZERO, DAY);
        /// Connections at once.
        connections: u32 = count(1, 32).or(page.connections);
        /// Size of a request.
        request: u32 = size(1, 65_536).or(page.request_bytes);
        /// Mean time to read a page, exponential.
        reading: Duration = times().or(page.reading);
        /// Mean time from the main object to the first embedded ones, exponential.
        parsing: Duration = times().or(page.parsing);
        /// Embedded objects of a page: a number, or a table.
        objects: Objects = objects().or(Objects::Pareto(ParetoObjects::USUAL));
        /// Size of the main object: a size, or a table with a mean (log-normal) or a shape
        /// (Pareto).
        main_object: Size = sizes().or(log_normal(10_710, 25_032, 100));
        /// Size of an embedded object: a size, or a table as for the main object.
        embedded_object: Size = sizes().or(log_normal(7_758, 126_168, 50));
    }
}

/// Number of embedded objects of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Objects {
    /// A fixed number.
    Constant(u32),
    /// A Pareto number.
    Pareto(ParetoObjects),
}

keys! {
    /// A Pareto number up to `max`, less `min`.
    pub struct ParetoObjects [Copy] |r| {
        /// Minimum value before it is taken off.
        min: u32 = count(1, 1000).or(Self::USUAL.min);
        /// The exponent.
        shape: f64 = real(0.1, 10.0).or(Self::USUAL.shape);
        /// Greatest value before `min` is taken off.
        max: u32 = count(1, 1000).or(Self::USUAL.max);
    }
    check |this, r| check_max(r, &this.min, &this.max);
}

impl ParetoObjects {
    const USUAL: Self = Self { min: 2, shape: 1.1, max: 55 };
}

fn check_max<T: PartialOrd + core::fmt::Display>(r: &Reader<'_>, min: &T, max: &T) {
    if max < min {
        let message = format!("max is {max}, which is less than min, {min}");
        r.refuse("max", Refusal::new(message));
    }
}

fn objects() -> Kind<Objects> {
    let read = |value: &Value| match &value.data {
        Data::Table(_) => ParetoObjects::nested(value, &(), "").map(Objects::Pareto),
        _ => reader::count(0, 1000)(value).map(Objects::Constant),
    };
    let write = |objects: &Objects| match objects {
        Objects::Constant(n) => json!(n),
        Objects::Pareto(table) => Json::Object(written(table)),
    };
    Kind::new(read, write, |definitions| {
        let number = json!({ "type": "integer", "minimum": 0, "maximum": 1000 });
        json!({ "anyOf": [number, reference::<ParetoObjects>(definitions)] })
    })
}

/// Size of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// Always the same.
    Constant(Bytes),
    /// Log-normal.
    LogNormal(LogNormalSize),
    /// Pareto.
    Pareto(ParetoSize),
}

fn bytes() -> Kind<Bytes> {
    within(Bytes(1), MAX_OBJECT)
}

keys! {
    /// A log-normal size.
    pub struct LogNormalSize [Copy] |r| {
        /// Mean before truncation.
        mean: Bytes = bytes().required("mean = \"10 KB\", or shape = 1.2");
        /// Standard deviation before truncation.
        deviation: Bytes = within(Bytes(0), MAX_OBJECT).or(mean).phrase("the mean");
        /// Smaller ones are drawn again.
        min: Bytes = bytes().or(Bytes(1));
        /// Greater ones are drawn again.
        max: Bytes = bytes().or(DEFAULT_MAX);
    }
    check |this, r| check_max(r, &this.min, &this.max);
}

keys! {
    /// A Pareto size.
    pub struct ParetoSize [Copy] |r| {
        let () = r.meaningless(&["mean", "deviation"], "with a shape the size is Pareto");
        /// The exponent.
        shape: f64 = real(0.1, 10.0).required("shape = 1.2");
        /// Lower end of the distribution.
        min: Bytes = bytes().required("min = \"1 KB\"");
        /// Limit at which it is cut off.
        max: Bytes = bytes().or(DEFAULT_MAX);
    }
    check |this, r| check_max(r, &this.min, &this.max);
}

const fn log_normal(mean: u64, deviation: u64, min: u64) -> Size {
    let (mean, deviation, min) = (Bytes(mean), Bytes(deviation), Bytes(min));
    Size::LogNormal(LogNormalSize { mean, deviation, min, max: DEFAULT_MAX })
}

fn sizes() -> Kind<Size> {
    let read = |value: &Value| match &value.data {
        Data::Table(table) if table.get("shape").is_some() => {
            ParetoSize::nested(value, &(), "").map(Size::Pareto)
        }
        Data::Table(_) => LogNormalSize::nested(value, &(), "").map(Size::LogNormal),
        _ => reader::within(Bytes(1), MAX_OBJECT)(value).map(Size::Constant),
    };
    let write = |size: &Size| match size {
        Size::Constant(bytes) => json!(bytes.to_string()),
        Size::LogNormal(table) => Json::Object(written(table)),
        Size::Pareto(table) => Json::Object(written(table)),
    };
    Kind::new(read, write, |definitions| {
        let tables =
            [reference::<LogNormalSize>(definitions), reference::<ParetoSize>(definitions)];
        json!({ "anyOf": [{ "type": "string" }, tables[0], tables[1]] })
    })
}

impl Web {
    pub(crate) fn to_world(&self) -> Page {
        Page {
            main: self.main_object.to_world(),
            embedded: self.embedded_object.to_world(),
            objects: match self.objects {
                Objects::Constant(n) => traffic::Objects::Constant(n),
                Objects::Pareto(ParetoObjects { min, shape, max }) => {
                    traffic::Objects::Pareto { least: min, shape, most: max }
                }
            },
            reading: self.reading,
            parsing: self.parsing,
            request_bytes: self.request,
            connections: self.connections,
        }
    }
}

impl Size {
    fn to_world(&self) -> traffic::Size {
        match *self {
            Self::Constant(bytes) => traffic::Size::Constant(bytes.0),
            Self::LogNormal(LogNormalSize { mean, deviation, min, max }) => {
                traffic::Size::LogNormal {
                    mean: mean.0 as f64,
                    deviation: deviation.0 as f64,
                    least: min.0,
                    most: max.0,
                }
            }
            Self::Pareto(ParetoSize { shape, min, max }) => {
                traffic::Size::Pareto { least: min.0, shape, most: max.0 }
            }
        }
    }
}
