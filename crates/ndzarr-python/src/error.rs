//! Errors of the library as exceptions of Python.

use std::error::Error as _;

use ndzarr::Error;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The exception of an error, with its causes in the message.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let mut message = error.to_string();
    let mut errno = None;
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(cause) = cause.downcast_ref::<std::io::Error>() {
            errno = errno.or(cause.raw_os_error());
        }
        let text = cause.to_string();
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        source = cause.source();
    }
    let kind = format!("{:?}", error.kind());
    made(py, &kind, &message, error.key(), error.chunk(), errno)
}

/// An exception of a kind, without a key.
pub(crate) fn of_kind(py: Python<'_>, kind: &str, message: &str) -> PyErr {
    made(py, kind, message, None, None, None)
}

/// `ndzarr._errors.make` knows the class of each kind.
fn made(
    py: Python<'_>,
    kind: &str,
    message: &str,
    key: Option<&str>,
    chunk: Option<&[u64]>,
    errno: Option<i32>,
) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let make = MAKE.import(py, "ndzarr._errors", "make")?;
        let chunk = chunk.map(|chunk| PyTuple::new(py, chunk)).transpose()?;
        Ok(PyErr::from_value(make.call1((kind, message, key, chunk, errno))?))
    };
    make().unwrap_or_else(|error| error)
}
