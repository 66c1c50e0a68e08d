//! From keys to what the simulator runs.

use super::{Objects, Size, Traffic, Udp, Web};
use fairwave_sim::world;
use fairwave_traffic::{self as traffic, OnOff, Page, Period, Source};
use fairwave_units::Duration;

impl Udp {
    pub(crate) fn to_world(&self) -> world::Traffic {
        let payload_bytes = self.payload.unwrap_or_default();
        world::Traffic::Datagrams(match self.traffic {
            Traffic::Saturate {} => {
                return world::Traffic::Saturate(world::SaturateFlow { payload_bytes });
            }
            Traffic::Cbr { interval } => Source::Cbr { payload_bytes, interval },
            Traffic::Poisson { interval } => Source::Poisson { payload_bytes, interval },
            Traffic::OnOff { interval, on, off, pareto_shape } => {
                let period = |mean| period(mean, pareto_shape);
                let (on, off) = (period(on), period(off));
                Source::OnOff(OnOff { payload_bytes, interval, on, off })
            }
            Traffic::Voip { interval, on, off } => {
                let (on, off) = (period(on, None), period(off, None));
                Source::OnOff(OnOff { payload_bytes, interval, on, off })
            }
            Traffic::Video(video) => video.to_world(payload_bytes),
            Traffic::Trace { ref emissions, repeat_every } => {
                let emissions = emissions.clone();
                Source::Trace(traffic::Trace { emissions, repeat_every })
            }
        })
    }
}

fn period(mean: Duration, shape: Option<f64>) -> Period {
    match shape {
        Some(shape) => Period::Pareto { mean, shape },
        None => Period::Exponential { mean },
    }
}

impl Web {
    pub(crate) fn to_world(&self) -> Page {
        Page {
            main: self.main_object.to_world(),
            embedded: self.embedded_object.to_world(),
            objects: match self.objects {
                Objects::Constant(n) => traffic::Objects::Constant(n),
                Objects::Pareto { least, shape, most } => {
                    traffic::Objects::Pareto { least, shape, most }
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
            Self::LogNormal { mean, deviation, least, most } => traffic::Size::LogNormal {
                mean: mean.0 as f64,
                deviation: deviation.0 as f64,
                least: least.0,
                most: most.0,
            },
            Self::Pareto { shape, least, most } => {
                traffic::Size::Pareto { least: least.0, shape, most: most.0 }
            }
        }
    }
}
