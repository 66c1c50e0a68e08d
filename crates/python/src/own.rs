//! Algorithms that Python brings: what scenarios may name beside Fairwave's lists.

mod attached;
mod cc;
mod object;
mod raised;
mod rate_control;
mod scheduler;

pub(crate) use cc::{AckEvent, Initial, LossEvent, RateSample, RtoEvent};
pub(crate) use raised::Raised;
pub(crate) use rate_control::{Choice, Rate, Setup};
pub(crate) use scheduler::Backlog;

use crate::errors::ScenarioError;
use fairwave_scenario::{NameError, OwnAlgorithms};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An algorithm as Python registers it: its kind, its name, and a function that makes its state.
#[derive(FromPyObject)]
pub(crate) struct Registered {
    #[pyo3(item(0))]
    kind: String,
    #[pyo3(item(1))]
    name: String,
    #[pyo3(item(2))]
    make: Py<PyAny>,
}

/// Checks the name of an algorithm.
#[pyfunction]
pub(crate) fn check_own(algorithm: Registered) -> PyResult<()> {
    algorithms(vec![algorithm]).map(drop)
}

/// The algorithms as Rust calls them, and where they leave exceptions.
pub(crate) fn algorithms(registered: Vec<Registered>) -> PyResult<(OwnAlgorithms, Raised)> {
    let mut own = OwnAlgorithms::default();
    let raised = Raised::new(own.failure().clone());
    own.surround(attached::around);
    for Registered { kind, name, make } in registered {
        let raised = raised.clone();
        let added = match &*kind {
            "congestion_control" => {
                own.add_congestion_control(&name, cc::maker(&name, make, raised))
            }
            "scheduler" => own.add_scheduler(&name, scheduler::maker(make, raised)),
            "rate_control" => own.add_rate_control(&name, rate_control::maker(make, raised)),
            _ => return Err(PyValueError::new_err(format!("{kind:?} is no kind of algorithm"))),
        };
        added.map_err(|error: NameError| ScenarioError::new_err(error.to_string()))?;
    }
    Ok((own, raised))
}
