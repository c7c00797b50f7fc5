//! `AnyArray`: an array whose element type is known only at run time.

use std::ops::Range;

use bytes::Bytes;
use half::{bf16, f16};
use ndarray::{ArrayViewD, CowArray, IxDyn};
use ndzarr_codec::CodecRegistry;
use ndzarr_engine::RunOptions;
use ndzarr_metadata::{ArrayRequest, AttributeChange, CreateOptions, Format, Known, NodePath, OpenOptions};
use ndzarr_model::{Attributes, DataType};
use num_complex::Complex;
use serde_json::Value;

use crate::array::{Array, about_the_array, array_options};
use crate::byte_tile::{ByteSource, ByteTile};
use crate::chunks::Chunks;
use crate::core::{Colour, Core};
use crate::error::{Error, ErrorKind, Result};
use crate::source::ElementSource;
use crate::steps::Steps;
use crate::storage::Storage;
use crate::tile::ElementTile;
use crate::{Element, PlainElement, nodes, occupied};

/// An array whose element type is known at run time only. Cheap to clone; clones share it.
///
/// ```
/// use ndzarr_array::{AnyArray, Array};
/// use ndzarr_store::MemoryStore;
///
/// let store = MemoryStore::new();
/// Array::<f32>::builder([3]).fill_value(1.5).create(&store, "a")?;
///
/// let any = AnyArray::open_in(&store, "a")?;
/// assert_eq!(any.data_type().to_string(), "float32");
/// assert_eq!(any.read_bytes(&[0..1])?, 1.5f32.to_ne_bytes());
/// let typed: Array<f32> = any.typed()?;
/// # Ok::<(), ndzarr_array::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AnyArray {
    pub(crate) core: Core,
}

/// Runs `$body` with `$t` the Rust type of a data type, or `$raw` for those that have none.
macro_rules! with_type {
    ($data_type:expr, $t:ident => $body:expr, $raw:expr) => {
        match $data_type {
            DataType::Bool => {
                type $t = bool;
                $body
            }
            DataType::Int { bits: 8 } => {
                type $t = i8;
                $body
            }
            DataType::Int { bits: 16 } => {
                type $t = i16;
                $body
            }
            DataType::Int { bits: 32 } => {
                type $t = i32;
                $body
            }
            DataType::Int { bits: 64 } => {
                type $t = i64;
                $body
            }
            DataType::UInt { bits: 8 } => {
                type $t = u8;
                $body
            }
            DataType::UInt { bits: 16 } => {
                type $t = u16;
                $body
            }
            DataType::UInt { bits: 32 } => {
                type $t = u32;
                $body
            }
            DataType::UInt { bits: 64 } => {
                type $t = u64;
                $body
            }
            DataType::Float { bits: 16 } => {
                type $t = f16;
                $body
            }
            DataType::Float { bits: 32 } => {
                type $t = f32;
                $body
            }
            DataType::Float { bits: 64 } => {
                type $t = f64;
                $body
            }
            DataType::BFloat16 => {
                type $t = bf16;
                $body
            }
            DataType::Complex { bits: 64 } => {
                type $t = Complex<f32>;
                $body
            }
            DataType::Complex { bits: 128 } => {
                type $t = Complex<f64>;
                $body
            }
            _ => $raw,
        }
    };
}

impl AnyArray {
    about_the_array!();

    /// Opens an array of the local file system by the path of its folder, or a `file:` URL. Its format is detected. Of a node
    /// that is no folder (the draft of v3), and of one that only its container explains, the folders above are asked.
    ///
    /// # Errors
    /// No array is there; its documents are invalid or ask for what is not supported.
    #[cfg(feature = "fs")]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self> {
        let (storage, node) = nodes::open_path(path.as_ref(), &array_options())?;
        Ok(Self { core: Core::new(storage, node, &CodecRegistry::new())? })
    }

    /// Opens the array at a path of a store. Its format is detected.
    ///
    /// # Errors
    /// No array is there; its documents are invalid or ask for what is not supported.
    pub fn open_in(storage: impl Into<Storage>, path: &str) -> Result<Self> {
        let storage = storage.into();
        storage.wait(Self::open_async(&storage, path))
    }

    /// As [`open_in`](Self::open_in), without blocking where the store does not.
    ///
    /// # Errors
    /// As [`open_in`](Self::open_in).
    pub async fn open_async(storage: impl Into<Storage>, path: &str) -> Result<Self> {
        let storage = storage.into();
        let node = nodes::open(&storage, path, &array_options()).await?;
        Ok(Self { core: Core::new(storage, node, &CodecRegistry::new())? })
    }

    /// As [`open_in`](Self::open_in), with options and codecs of the caller's own.
    ///
    /// # Errors
    /// As [`open_in`](Self::open_in).
    pub fn open_with(
        storage: impl Into<Storage>,
        path: &str,
        options: &OpenOptions,
        registry: &CodecRegistry,
    ) -> Result<Self> {
        let storage = storage.into();
        let options = OpenOptions { wanted: ndzarr_metadata::Wanted::Array, ..options.clone() };
        let node = storage.wait(nodes::open(&storage, path, &options))?;
        Ok(Self { core: Core::new(storage, node, registry)? })
    }

    /// Creates an array at a path of a store, and the groups above it that its format asks for.
    ///
    /// # Errors
    /// The format cannot express the request; something is there already; the store.
    pub fn create(
        storage: impl Into<Storage>,
        path: &str,
        request: &ArrayRequest,
        options: &CreateOptions,
    ) -> Result<Self> {
        let storage = storage.into();
        storage.wait(Self::create_async(&storage, path, request, options))
    }

    /// As [`create`](Self::create), without blocking where the store does not.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub async fn create_async(
        storage: impl Into<Storage>,
        path: &str,
        request: &ArrayRequest,
        options: &CreateOptions,
    ) -> Result<Self> {
        Self::create_bound(storage.into(), path, request, options, &CodecRegistry::new()).await
    }

    pub(crate) async fn create_bound(
        storage: Storage,
        path: &str,
        request: &ArrayRequest,
        options: &CreateOptions,
        registry: &CodecRegistry,
    ) -> Result<Self> {
        let path = NodePath::new(path)?;
        let conclude = |known: &Known| ndzarr_metadata::create_array(&path, request, known, options);
        let creation = storage.conclude(&mut Known::new(), &options.limits, conclude).await?;
        // Whatever is wrong with the codecs is found before anything is written.
        let mut core =
            Core::new(storage.clone(), creation.node.clone(), registry).map_err(Error::of_request)?;
        core.options.concurrent_update = options.concurrent_update;
        core.data().map_err(Error::of_request)?;
        occupied::check(&storage, &creation, core.spec(), options.existing).await?;
        storage.create(&creation, options.concurrent_update).await?;
        Ok(Self { core })
    }

    pub(crate) fn from_core(core: Core) -> Self {
        Self { core }
    }

    /// The array with its element type.
    ///
    /// # Errors
    /// Its elements are not `T`.
    pub fn typed<T: Element>(self) -> Result<Array<T>> {
        Array::from_core(self.core)
    }

    /// The same array, read and written with these options.
    #[must_use]
    pub fn with_options(mut self, options: RunOptions) -> Self {
        self.core.options = options;
        self
    }

    /// Reads a region, one range for each axis: the elements in C order and this machine's byte order, packed. Elements of
    /// chunks that are not stored are the fill value. A bool is one byte, 0 or 1; a complex number its real, then its
    /// imaginary part.
    ///
    /// # Errors
    /// The region does not fit the array; a chunk that is broken; the store.
    pub fn read_bytes(&self, region: &[Range<u64>]) -> Result<Vec<u8>> {
        let resolved = self.core.resolve(&region)?;
        let shape = resolved.shape();
        let region = resolved.region();
        with_type!(self.data_type(), T => {
            let mut out = self.core.named(crate::output::blank::<T>(&shape))?;
            self.core.read(&region, Box::new(ElementTile::dense(out.view_mut(), true)))?;
            Ok(packed(&mut out))
        }, {
            let size = self.elem_size()?;
            let mut out = self.core.named(crate::output::blank::<u8>(&[&shape[..], &[size]].concat()))?;
            self.core.read(&region, Box::new(ByteTile { view: out.view_mut(), data_type: self.data_type() }))?;
            Ok(out.into_iter().collect())
        })
    }

    /// As [`read_bytes`](Self::read_bytes), without blocking the task: on an asynchronous store requests overlap, on a
    /// blocking one the work goes to the library's pool.
    ///
    /// # Errors
    /// As [`read_bytes`](Self::read_bytes).
    pub async fn read_bytes_async(&self, region: &[Range<u64>]) -> Result<Vec<u8>> {
        if self.core.storage.is_blocking() {
            let region = region.to_vec();
            return self.core.elsewhere(move |core| Self { core }.read_bytes(&region)).await;
        }
        let resolved = self.core.resolve(&region)?;
        let shape = resolved.shape();
        let region = resolved.region();
        with_type!(self.data_type(), T => {
            let mut out = self.core.named(crate::output::blank::<T>(&shape))?;
            self.core.read_async(&region, Box::new(ElementTile::dense(out.view_mut(), true))).await?;
            Ok(packed(&mut out))
        }, {
            let size = self.elem_size()?;
            let mut out = self.core.named(crate::output::blank::<u8>(&[&shape[..], &[size]].concat()))?;
            self.core.read_async(&region, Box::new(ByteTile { view: out.view_mut(), data_type: self.data_type() })).await?;
            Ok(out.into_iter().collect())
        })
    }

    /// Writes a region, one range for each axis, from elements in C order and this machine's byte order, packed.
    ///
    /// # Errors
    /// The region does not fit the array; `bytes` has another length than the region; the store.
    pub fn write_bytes(&self, region: &[Range<u64>], bytes: &[u8]) -> Result<()> {
        let resolved = self.core.resolve(&region)?;
        let shape = resolved.shape();
        let size = self.elem_size()?;
        self.check_elements(bytes.chunks_exact(size))?;
        let expected = shape.iter().try_fold(size, |len, &n| len.checked_mul(n));
        if expected != Some(bytes.len()) {
            let what =
                format!("{} bytes for a region of shape {shape:?} with {size} bytes each", bytes.len());
            return Err(self.core.name(Error::new(ErrorKind::WrongShape, what)));
        }
        let region = resolved.region();
        with_type!(self.data_type(), T => {
            let elements: Vec<T> = self.core.named(elements(bytes, size))?;
            let elements = CowArray::from(self.core.named(shaped(&shape, &elements))?);
            self.core.write(&region, &ElementSource { axes: vec![Steps::ALL; shape.len()], elements })
        }, {
            let view = self.core.named(shaped(&[&shape[..], &[size]].concat(), bytes))?;
            self.core.write(&region, &ByteSource { bytes: CowArray::from(view) })
        })
    }

    /// Grows the array along an axis by the elements of `bytes`, as [`Array::append`] does: in C order and this machine's
    /// byte order, packed. They have the array's shape but for its length along the axis, which follows.
    ///
    /// # Errors
    /// `bytes` is no whole number of such elements, or of nothing at all where other axes have length 0; as
    /// [`Array::append`].
    ///
    /// ```
    /// use ndzarr_array::{AnyArray, Array};
    /// use ndzarr_store::MemoryStore;
    ///
    /// let store = MemoryStore::new();
    /// Array::<u8>::builder([0, 2]).create(&store, "log")?;
    /// let mut log = AnyArray::open_in(&store, "log")?;
    /// log.append_bytes(0, &[1, 2, 3, 4])?;
    /// assert_eq!(log.shape(), [2, 2]);
    /// assert_eq!(log.read_bytes(&[1..2, 0..2])?, [3, 4]);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn append_bytes(&mut self, axis: usize, bytes: &[u8]) -> Result<()> {
        let storage = self.core.storage.clone();
        storage.wait(self.append_bytes_by(axis, bytes, Colour::Blocking))
    }

    /// As [`append_bytes`](Self::append_bytes), without blocking the task, apart from the document in a blocking store.
    ///
    /// # Errors
    /// As [`append_bytes`](Self::append_bytes).
    pub async fn append_bytes_async(&mut self, axis: usize, bytes: &[u8]) -> Result<()> {
        self.append_bytes_by(axis, bytes, Colour::Async).await
    }

    async fn append_bytes_by(&mut self, axis: usize, bytes: &[u8], colour: Colour) -> Result<()> {
        let wrong = |what: &str| {
            let what =
                format!("{} bytes along axis {axis} of an array of {:?}: {what}", bytes.len(), self.shape());
            self.core.name(Error::new(ErrorKind::WrongShape, what))
        };
        let size = self.elem_size()?;
        self.check_elements(bytes.chunks_exact(size))?;
        let mut shape: Vec<usize> = Vec::with_capacity(self.ndim());
        for &n in self.shape() {
            shape.push(usize::try_from(n).map_err(|_| wrong("it is too large"))?);
        }
        *shape.get_mut(axis).ok_or_else(|| wrong("there is no such axis"))? = 1;
        let row = shape.iter().try_fold(size, |len, &n| len.checked_mul(n)).filter(|&row| row > 0);
        let row = row.ok_or_else(|| wrong("it has no elements across the axis"))?;
        if !bytes.len().is_multiple_of(row) {
            return Err(wrong(&format!("not a multiple of {row}")));
        }
        shape[axis] = bytes.len() / row;
        let counts: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
        with_type!(self.data_type().clone(), T => {
            let elements: Vec<T> = self.core.named(elements(bytes, size))?;
            let elements = CowArray::from(self.core.named(shaped(&shape, &elements))?);
            let source = ElementSource { axes: vec![Steps::ALL; shape.len()], elements };
            self.core.append(axis, &counts, &source, colour).await
        }, {
            let view = self.core.named(shaped(&[&shape[..], &[size]].concat(), bytes))?;
            let source = ByteSource { bytes: CowArray::from(view) };
            self.core.append(axis, &counts, &source, colour).await
        })
    }

    fn elem_size(&self) -> Result<usize> {
        let size = self.data_type().elem_size().filter(|&size| size > 0);
        self.core.named(size.ok_or_else(|| {
            let what = format!("{} has no fixed size: read_vlen and write_vlen are for it", self.data_type());
            Error::new(ErrorKind::InvalidArgument, what)
        }))
    }
}

/// The elements that packed bytes are.
fn elements<T: PlainElement>(bytes: &[u8], size: usize) -> Result<Vec<T>> {
    if size == size_of::<T>() && bytes.len().is_multiple_of(size) {
        let mut elements = vec![T::zeroed(); bytes.len() / size];
        if let Some(reprs) = T::cast_slice_mut(&mut elements) {
            bytemuck::cast_slice_mut(reprs).copy_from_slice(bytes);
            return Ok(elements);
        }
    }
    bytes
        .chunks_exact(size)
        .map(|bytes| {
            let repr = bytemuck::pod_read_unaligned::<T::Repr>(bytes);
            T::is_valid(&repr).then(|| T::from_repr(repr))
        })
        .collect::<Option<Vec<T>>>()
        .ok_or_else(|| Error::new(ErrorKind::InvalidArgument, "bytes that are no element of the type"))
}

/// The elements in C order, without gaps.
fn packed<T: PlainElement>(elements: &mut ndarray::ArrayD<T>) -> Vec<u8> {
    if let Some(reprs) = elements.as_slice_mut().and_then(T::cast_slice_mut) {
        return bytemuck::cast_slice(reprs).to_vec();
    }
    let mut bytes = Vec::with_capacity(elements.len() * size_of::<T::Repr>());
    for element in elements {
        bytes.extend_from_slice(bytemuck::bytes_of(&element.to_repr()));
    }
    bytes
}

pub(crate) fn shaped<'e, T>(shape: &[usize], elements: &'e [T]) -> Result<ArrayViewD<'e, T>> {
    ArrayViewD::from_shape(IxDyn(shape), elements).map_err(|error| Error::new(ErrorKind::WrongShape, error))
}
