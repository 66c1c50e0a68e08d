//! Rate controls in Python, behind [`RateControl`].

use super::Raised;
use super::object::{Object, attribute, method, of};
use fairwave_dot11::rate_control::{self as dot11, RateControl};
use fairwave_units::Instant;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

/// Cost of a frame at one rate.
#[pyclass(frozen, get_all, module = "fairwave.rate_control")]
#[derive(Clone, Copy)]
pub(crate) struct Rate {
    /// Time of the data of an MPDU of usual length.
    mpdu_ns: u64,
    /// Time that a PPDU takes besides, whatever the number of its MPDUs.
    overhead_ns: u64,
    /// Spatial streams.
    streams: u8,
    /// Number of the rate's group: the rates of one format, number of streams and width.
    group: usize,
}

/// Parameters of a new rate control.
#[pyclass(frozen, get_all, module = "fairwave.rate_control")]
#[derive(Clone)]
pub(crate) struct Setup {
    /// The rates: group by group in ascending order, slowest first within each; not empty.
    rates: Vec<Rate>,
    /// Index of the first attempt's rate; `None` leaves it to the algorithm.
    initial: Option<usize>,
    /// Seed for algorithms that draw.
    seed: u64,
}

/// The rate of an attempt.
#[pyclass(frozen, get_all, from_py_object, module = "fairwave.rate_control")]
#[derive(Clone, Copy)]
pub(crate) struct Choice {
    /// Its index.
    rate: usize,
    /// Whether the attempt only measures a rate, or is the retry of such a one. It has a single
    /// MPDU.
    is_sample: bool,
}

#[pymethods]
impl Choice {
    #[new]
    #[pyo3(signature = (rate, is_sample = false))]
    const fn new(rate: usize, is_sample: bool) -> Self {
        Self { rate, is_sample }
    }
}

/// Return value of `choose`.
#[derive(FromPyObject)]
enum Chosen {
    /// The index of a rate.
    Rate(usize),
    /// A choice.
    Choice(Choice),
}

impl From<dot11::Setup> for Setup {
    fn from(mut setup: dot11::Setup) -> Self {
        let rate = |rate: &dot11::Rate| Rate {
            mpdu_ns: rate.mpdu.as_nanos(),
            overhead_ns: rate.overhead.as_nanos(),
            streams: rate.streams,
            group: rate.group,
        };
        let rates = setup.rates.iter().map(rate).collect();
        Self { rates, initial: setup.initial, seed: setup.stream.next_u64() }
    }
}

/// A rate control in Python.
#[derive(Debug)]
struct InPython {
    object: Object,
    /// Number of rates.
    rates: usize,
    /// Its attribute of this name, which is read after each event.
    current: usize,
}

/// Makes rate controls by the function `make` of Python.
pub(super) fn maker(
    make: Py<PyAny>,
    raised: Raised,
) -> impl Fn(dot11::Setup) -> Box<dyn RateControl> + Send + Sync + 'static {
    move |setup| {
        let rates = setup.rates.len();
        let setup = Setup::from(setup);
        let (object, read) = Object::new(
            &raised,
            |py| make.bind(py).call1((setup,)),
            |object| current(object, rates),
        );
        Box::new(InPython { object, rates, current: read.unwrap_or_default() })
    }
}

fn current(object: &Bound<'_, PyAny>, rates: usize) -> PyResult<usize> {
    let current = attribute(object, intern!(object.py(), "current"))?;
    checked(current, rates, "current")
}

/// An index of one of `rates` rates.
fn checked(rate: usize, rates: usize, name: &str) -> PyResult<usize> {
    if rate < rates {
        return Ok(rate);
    }
    Err(PyValueError::new_err(format!("{name} = {rate}: there are {rates} rates, from 0 on")))
}

impl InPython {
    /// Calls a method, and reads the preferred rate that it leaves.
    fn call<T>(
        &mut self,
        method: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let rates = self.rates;
        let (returned, current) = self.object.call(|object| {
            let returned = method(object)?;
            Ok((returned, current(object, rates)?))
        })?;
        self.current = current;
        Some(returned)
    }
}

impl RateControl for InPython {
    fn choose(&mut self, now: Instant, attempt: u32) -> dot11::Choice {
        let (now_ns, rates) = (now.as_nanos(), self.rates);
        let choice = self.call(|object| {
            let (rate, is_sample) = match of(&method!(object.choose(now_ns, attempt))?, "choose()")?
            {
                Chosen::Rate(rate) => (rate, false),
                Chosen::Choice(Choice { rate, is_sample }) => (rate, is_sample),
            };
            Ok(dot11::Choice { rate: checked(rate, rates, "choose()")?, is_sample })
        });
        choice.unwrap_or(dot11::Choice::usual(self.current))
    }

    fn current(&self) -> usize {
        self.current
    }

    fn on_attempt(&mut self, now: Instant, rate: usize, sent: u32, acknowledged: u32) {
        let now_ns = now.as_nanos();
        self.call(|object| method!(object.on_attempt(now_ns, rate, sent, acknowledged)).map(drop));
    }
}
