//! Objects of Python that take part in runs.

use super::Raised;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// An algorithm's state in Python.
#[derive(Debug)]
pub(super) struct Object {
    /// `None` if it could not be made.
    object: Option<Py<PyAny>>,
    raised: Raised,
}

impl Object {
    /// The object that `make` makes, and what `read` reads of it; `None` if one of them raises.
    pub(super) fn new<T>(
        raised: &Raised,
        make: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
        read: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
    ) -> (Self, Option<T>) {
        let made = raised.call(|py| {
            let object = make(py)?;
            let read = read(&object)?;
            Ok((object.unbind(), read))
        });
        let (object, read) = made.unzip();
        (Self { object, raised: raised.clone() }, read)
    }

    /// Calls it; `None` if it raises, or an algorithm of the plan has raised before.
    pub(super) fn call<T>(
        &self,
        call: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let object = self.object.as_ref()?;
        self.raised.call(|py| call(object.bind(py)))
    }
}

/// Calls a method by its name, which is made a Python text once.
macro_rules! method {
    ($object:ident.$method:ident($($argument:expr),*)) => {
        $object.call_method1(
            pyo3::intern!($object.py(), stringify!($method)),
            ($($argument,)*),
        )
    };
}
pub(super) use method;

/// The value of an attribute; an exception names the attribute.
pub(super) fn attribute<'py, T>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    of(&object.getattr(name)?, name)
}

/// A value as Rust has it; an exception names it.
pub(super) fn of<'py, T>(value: &Bound<'py, PyAny>, name: impl std::fmt::Display) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    value.extract().map_err(Into::<PyErr>::into).map_err(|error| {
        let py = value.py();
        let raised = PyTypeError::new_err(format!("{name} = {value}: {}", error.value(py)));
        raised.set_cause(py, Some(error));
        raised
    })
}
