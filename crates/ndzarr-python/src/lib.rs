//! The native part of the Python package `ndzarr`: calls of the library over memory of NumPy,
//! without the GIL.
#![forbid(unsafe_code)]
// Keyword arguments of Python.
#![allow(clippy::too_many_arguments)]

mod array;
mod copy;
mod dtype;
mod error;
mod group;
mod json;
mod key;
mod memory;
mod ome;
mod options;
mod run;
mod turn;
mod verify;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _ndzarr {
    #[pymodule_export]
    use super::array::RawArray;
    #[pymodule_export]
    use super::copy::copy;
    #[pymodule_export]
    use super::group::{RawGroup, create_array, create_group, open};
    #[pymodule_export]
    use super::ome::{RawImage, create_image, images};
    #[pymodule_export]
    use super::run::{Stop, panic};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::memory::prepare(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
