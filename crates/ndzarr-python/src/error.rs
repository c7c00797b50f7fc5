//! Errors of the library as exceptions of Python.

use std::error::Error as _;
use std::io;

use ndzarr::Error;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The exception of an error, with the number that the system gave it.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let mut errno = None;
    let mut source = error.source();
    while let Some(cause) = source {
        errno = errno.or(cause.downcast_ref().and_then(io::Error::raw_os_error));
        source = cause.source();
    }
    let kind = format!("{:?}", error.kind());
    let place = Place {
        key: error.key(),
        chunk: error.chunk(),
        inner_chunk: error.inner_chunk(),
    };
    made(py, &kind, &error.to_string(), &place, errno)
}

/// An exception of a kind, without a key.
pub(crate) fn of_kind(py: Python<'_>, kind: &str, message: &str) -> PyErr {
    made(py, kind, message, &Place::default(), None)
}

/// The key and the chunks that an error concerns.
#[derive(Default)]
struct Place<'r> {
    key: Option<&'r str>,
    chunk: Option<&'r [u64]>,
    inner_chunk: &'r [Vec<u64>],
}

/// An exception of the class that `ndzarr._errors.make` has for a kind.
fn made(
    py: Python<'_>,
    kind: &str,
    message: &str,
    &Place {
        key,
        chunk,
        inner_chunk,
    }: &Place<'_>,
    errno: Option<i32>,
) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let make = MAKE.import(py, "ndzarr._errors", "make")?;
        let chunk = chunk.map(|chunk| PyTuple::new(py, chunk)).transpose()?;
        let inner_chunk: Vec<_> = inner_chunk
            .iter()
            .map(|at| PyTuple::new(py, at))
            .collect::<Result<_, _>>()?;
        let inner_chunk = PyTuple::new(py, inner_chunk)?;
        Ok(PyErr::from_value(make.call1((
            kind,
            message,
            key,
            chunk,
            inner_chunk,
            errno,
        ))?))
    };
    make().unwrap_or_else(|error| error)
}
