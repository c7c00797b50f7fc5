//! `RawArray`: an array for `ndzarr._array`, which builds the interface for users on it.

use ndzarr::{AnyArray, AnyElements, RunOptions};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::dtype::{self, Memory};
use crate::error::{of_kind, raised};
use crate::json;
use crate::key::Key;
use crate::memory::{Access, Call, append, contents, fills, is_usable, vlen_elements};
use crate::run::{Watch, look};
use crate::turn::Known;
use crate::verify;

/// An opened array.
#[pyclass(frozen, module = "ndzarr._ndzarr")]
pub(crate) struct RawArray {
    known: Known<AnyArray>,
    options: RunOptions,
    dtype: Py<PyAny>,
    memory: Memory,
}

impl RawArray {
    pub(crate) fn new(py: Python<'_>, any: AnyArray, options: RunOptions) -> PyResult<Self> {
        let dtype = dtype::dtype(py, any.data_type())?.unbind();
        let memory = Memory::of(any.data_type());
        Ok(Self {
            known: Known::new(any),
            options,
            dtype,
            memory,
        })
    }

    /// The array with the metadata that are known.
    pub(crate) fn array(&self, py: Python<'_>) -> AnyArray {
        self.known.get(py)
    }

    fn call<'c>(&'c self, any: &'c AnyArray, watch: &'c Watch) -> Call<'c> {
        Call {
            any,
            options: &self.options,
            watch,
        }
    }

    fn change(
        &self,
        py: Python<'_>,
        watch: &Watch,
        change: impl FnOnce(&mut AnyArray) -> ndzarr::Result<()> + Send,
    ) -> PyResult<()> {
        self.known
            .change(py, watch, self.options.clone(), |any, options| {
                let mut any = any.with_options(options);
                change(&mut any)?;
                Ok(any.with_options(RunOptions::default()))
            })
    }

    /// A new array of NumPy for a selection.
    fn new_memory<'py>(&self, py: Python<'py>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
        let empty = py.import("numpy")?.getattr("empty")?;
        empty
            .call1((PyTuple::new(py, shape)?, &self.dtype))
            .map_err(|error| {
                of_kind(
                    py,
                    "OutOfMemory",
                    &format!("there is no memory for elements of shape {shape:?}: {error}"),
                )
            })
    }

    fn shape_of(py: Python<'_>, any: &AnyArray, key: &Key) -> PyResult<Vec<usize>> {
        let resolved = ndzarr::Selection::resolve(key, any.shape());
        Ok(resolved.map_err(|error| raised(py, &error))?.shape())
    }
}

#[pymethods]
impl RawArray {
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.known.get(py).shape())
    }

    #[getter]
    fn chunks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.known.get(py).chunk_shape())
    }

    #[getter]
    fn shards<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.known
            .get(py)
            .shard_shape()
            .map(|shape| PyTuple::new(py, shape))
            .transpose()
    }

    #[getter]
    fn dtype(&self, py: Python<'_>) -> Py<PyAny> {
        self.dtype.clone_ref(py)
    }

    /// The content of elements of variable size: "string", "bytes", "json" or "list"; `None` for
    /// elements of a fixed size.
    #[getter]
    fn objects(&self, py: Python<'_>) -> Option<&'static str> {
        (self.memory == Memory::Objects).then(|| dtype::content(self.known.get(py).data_type()))
    }

    /// The dtype of the numbers of a "list".
    #[getter]
    fn listed<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        dtype::listed(self.known.get(py).data_type())
            .map(|elements| dtype::dtype(py, elements))
            .transpose()
    }

    #[getter]
    fn data_type(&self, py: Python<'_>) -> String {
        self.known.get(py).data_type().to_string()
    }

    #[getter]
    fn format(&self, py: Python<'_>) -> String {
        self.known.get(py).format().to_string()
    }

    #[getter]
    fn path(&self, py: Python<'_>) -> String {
        self.known.get(py).path().to_owned()
    }

    #[getter]
    fn store(&self, py: Python<'_>) -> String {
        self.known.get(py).storage().name()
    }

    #[getter]
    fn codecs(&self, py: Python<'_>) -> Vec<String> {
        let any = self.known.get(py);
        let inner = any.spec().inner_chunks();
        let codecs = inner
            .last()
            .map_or(&any.spec().codecs[..], |(_, codecs)| codecs);
        codecs
            .iter()
            .map(|codec| codec.config.name().to_owned())
            .collect()
    }

    #[getter]
    fn dimension_names(&self, py: Python<'_>) -> Option<Vec<Option<String>>> {
        self.known
            .get(py)
            .dimension_names()
            .map(<[Option<String>]>::to_vec)
    }

    #[getter]
    fn warnings(&self, py: Python<'_>) -> Vec<String> {
        self.known.get(py).warnings().to_vec()
    }

    /// The bytes of the fill value; `None` if the metadata have none.
    #[getter]
    fn fill_value<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let any = self.known.get(py);
        let value = &any.spec().fill_value;
        value.is_defined().then(|| PyBytes::new(py, value.bytes()))
    }

    #[getter]
    fn attributes(&self, py: Python<'_>) -> String {
        json::text(self.known.get(py).attributes())
    }

    /// Reads elements of a fixed size into a new array.
    fn read<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'_, PyAny>,
        watch: Watch,
    ) -> PyResult<Bound<'py, PyAny>> {
        let any = self.known.get(py);
        let key = Key::new(key, any.shape())?;
        let shape = Self::shape_of(py, &any, &key)?;
        let out = self.new_memory(py, &shape)?;
        // Strides of an array without elements may be anything, which ndarray does not allow.
        if !shape.contains(&0) {
            self.call(&any, &watch).read_into(&key, &out)?;
        }
        Ok(out)
    }

    /// Reads elements of a fixed size into `out`. Returns `False` if that memory cannot be used as
    /// it is.
    fn read_into(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        out: &Bound<'_, PyUntypedArray>,
        watch: Watch,
    ) -> PyResult<bool> {
        if !is_usable(out, self.dtype.bind(py), self.memory, Access::Write)? {
            return Ok(false);
        }
        let any = self.known.get(py);
        let key = Key::new(key, any.shape())?;
        if !out.is_empty() {
            self.call(&any, &watch).read_into(&key, out)?;
        }
        Ok(true)
    }

    /// Reads elements of variable size: their contents in C order, and the shape.
    fn read_objects<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'_, PyAny>,
        watch: Watch,
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyTuple>)> {
        let any = self.known.get(py);
        let key = Key::new(key, any.shape())?;
        let shape = Self::shape_of(py, &any, &key)?;
        let elements = self
            .call(&any, &watch)
            .look(py, move |any| any.read_vlen(&key))?;
        Ok((
            contents(py, any.data_type(), elements)?,
            PyTuple::new(py, shape)?,
        ))
    }

    /// The shape of the selection of a key.
    fn selected<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let any = self.known.get(py);
        PyTuple::new(py, Self::shape_of(py, &any, &Key::new(key, any.shape())?)?)
    }

    /// Writes an array of the dtype and of the selection's shape. Returns `False` if its memory
    /// cannot be used as it is.
    fn write(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        data: &Bound<'_, PyUntypedArray>,
        watch: Watch,
    ) -> PyResult<bool> {
        if !is_usable(data, self.dtype.bind(py), self.memory, Access::Read)? {
            return Ok(false);
        }
        let any = self.known.get(py);
        let key = Key::new(key, any.shape())?;
        if !data.is_empty() {
            self.call(&any, &watch).write(&key, data)?;
        }
        Ok(true)
    }

    /// Sets a selection to the one element of an array. Returns `False` if elements of its type
    /// have to be written instead.
    fn fill(&self, key: &Bound<'_, PyAny>, one: &Bound<'_, PyAny>, watch: Watch) -> PyResult<bool> {
        let any = self.known.get(key.py());
        if self.memory == Memory::Packed && !fills(any.data_type()) {
            return Ok(false);
        }
        self.call(&any, &watch)
            .fill(&Key::new(key, any.shape())?, one)?;
        Ok(true)
    }

    /// Writes the contents of elements of variable size.
    fn write_objects(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        elements: Vec<Vec<u8>>,
        watch: Watch,
    ) -> PyResult<()> {
        let any = self.known.get(py);
        let key = Key::new(key, any.shape())?;
        self.call(&any, &watch)
            .run(py, |any| any.write_vlen(&key, &elements))
    }

    /// Sets a selection to one text.
    fn fill_text(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        text: String,
        watch: Watch,
    ) -> PyResult<()> {
        let any = self.known.get(py);
        let key = Key::new(key, any.shape())?;
        self.call(&any, &watch).run(py, |any| any.fill(&key, text))
    }

    /// Appends an array of the dtype. Returns `False` if its memory cannot be used as it is.
    fn append(
        &self,
        py: Python<'_>,
        axis: usize,
        data: &Bound<'_, PyUntypedArray>,
        watch: Watch,
    ) -> PyResult<bool> {
        if !is_usable(data, self.dtype.bind(py), self.memory, Access::Read)? {
            return Ok(false);
        }
        append(data, self.known.get(py).data_type(), axis, |append| {
            self.change(py, &watch, append)
        })?;
        Ok(true)
    }

    /// Appends the contents of elements of variable size, of this shape.
    fn append_objects(
        &self,
        py: Python<'_>,
        axis: usize,
        shape: Vec<usize>,
        elements: Vec<Vec<u8>>,
        watch: Watch,
    ) -> PyResult<()> {
        let elements: AnyElements =
            vlen_elements(self.known.get(py).data_type(), &shape, elements)?;
        self.change(py, &watch, |any| any.append(axis, &elements))
    }

    fn resize(&self, py: Python<'_>, shape: Vec<u64>, watch: Watch) -> PyResult<()> {
        self.change(py, &watch, |any| any.resize(shape))
    }

    fn refresh(&self, py: Python<'_>, watch: Watch) -> PyResult<()> {
        self.change(py, &watch, AnyArray::refresh)
    }

    /// Changes attributes: "merge" and "replace" take an object, "remove" a list of names.
    fn change_attributes(
        &self,
        py: Python<'_>,
        how: &str,
        attributes: &str,
        watch: Watch,
    ) -> PyResult<()> {
        let change = json::attribute_change(how, attributes)?;
        self.change(py, &watch, move |any| any.change_attributes(&change))
    }

    /// The index and the number of bytes of each stored chunk, or shard.
    fn stored(&self, py: Python<'_>, watch: Watch) -> PyResult<Vec<(Vec<u64>, Option<u64>)>> {
        let any = self.known.get(py);
        let stored = self
            .call(&any, &watch)
            .look(py, |any| any.units().stored())?;
        Ok(stored.map(|unit| (unit.index, unit.byte_len)).collect())
    }

    /// The number of chunks, or shards, along each axis.
    #[getter]
    fn grid_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let grid = self.known.get(py).spec().grid();
        PyTuple::new(
            py,
            grid.map_err(|error| PyValueError::new_err(error.to_string()))?
                .grid_shape(),
        )
    }

    /// The range of elements of the chunks, or shards, from `first` to before `end` along an axis.
    fn block_range(
        &self,
        py: Python<'_>,
        axis: usize,
        first: u64,
        end: u64,
    ) -> PyResult<(u64, u64)> {
        if first >= end {
            return Ok((0, 0));
        }
        let any = self.known.get(py);
        let grid = any
            .spec()
            .grid()
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let last = grid.range_along(axis, end - 1);
        Ok((
            grid.range_along(axis, first).start,
            last.end.min(any.shape()[axis]),
        ))
    }

    /// Reads everything and returns the damaged chunks.
    fn verify<'py>(&self, py: Python<'py>, watch: Watch) -> PyResult<Bound<'py, PyList>> {
        let any = self.known.get(py);
        let found = look(py, &watch, self.options.clone(), move |options| {
            verify::damaged(&any, options)
        })?;
        let list = PyList::empty(py);
        for chunk in found {
            let item = PyDict::new(py);
            item.set_item("key", chunk.place.key)?;
            item.set_item("chunk", PyTuple::new(py, chunk.place.unit)?)?;
            item.set_item("inner_chunk", chunk.inner_chunk)?;
            item.set_item("codec", chunk.codec)?;
            item.set_item("what", chunk.what)?;
            list.append(item)?;
        }
        Ok(list)
    }
}
