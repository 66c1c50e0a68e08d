//! The native module of the Python package `fairwave`: plans, runs and tables.
//!
//! Classes and functions for people are in `crates/python/fairwave`. What is here has their names
//! and converts: scenarios to plans, results to Arrow, errors to exceptions. It reads the wall
//! clock nowhere and releases the GIL while it simulates, but for many callbacks into Python.

mod attended;
mod carried;
mod columns;
mod command;
mod errors;
mod own;
mod paths;
mod place;
mod plan;
mod reply;
mod steered;
mod stepper;
mod study;
mod table;
mod tables;

use pyo3::prelude::*;

/// Plans, runs and tables of Fairwave, for the package `fairwave`.
#[pymodule]
fn _fairwave(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ScenarioError", module.py().get_type::<errors::ScenarioError>())?;
    module.add("RunError", module.py().get_type::<errors::RunError>())?;
    module.add_function(wrap_pyfunction!(command::command, module)?)?;
    module.add_function(wrap_pyfunction!(study::code_version, module)?)?;
    module.add_function(wrap_pyfunction!(study::check_version, module)?)?;
    module.add_function(wrap_pyfunction!(study::make_run, module)?)?;
    module.add_function(wrap_pyfunction!(study::reproduce, module)?)?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<attended::Stop>()?;
    module.add_class::<place::Claim>()?;
    module.add_class::<stepper::Stepper>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<own::Initial>()?;
    module.add_class::<own::RateSample>()?;
    module.add_class::<own::AckEvent>()?;
    module.add_class::<own::LossEvent>()?;
    module.add_class::<own::RtoEvent>()?;
    module.add_class::<own::Backlog>()?;
    module.add_class::<own::Rate>()?;
    module.add_class::<own::Setup>()?;
    module.add_class::<own::Choice>()?;
    module.add_function(wrap_pyfunction!(own::check_own, module)?)?;
    module.add_function(wrap_pyfunction!(table::read_table, module)?)?;
    module.add_function(wrap_pyfunction!(table::series_of, module)?)?;
    module.add_function(wrap_pyfunction!(table::summary_table, module)?)
}
