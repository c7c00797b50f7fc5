//! `ArrayBuilder`: describes a new array and creates it.

mod create;

use std::fmt;
use std::marker::PhantomData;

use ndzarr_codec::CodecRegistry;
use ndzarr_metadata::{
    ArrayRequest, CodecRequest, CreateOptions, Existing, FillRequest, Format, Limits, N5Axes,
    N5GroupDocuments, Order,
};
use ndzarr_model::{
    ChunkEdges, CodecSpec, ConcurrentUpdate, CustomChunkGrid, DataType, EdgeBlocks, Endian, Foreign,
};
use serde_json::Value;

use crate::element_types::element_type::{Any, ElementType};
use crate::mode::Blocking;
use crate::selections::to_shape::ToShape;

/// Describes a new array. See [`Array::builder`](crate::Array::builder).
///
/// The defaults are Zarr v3, little endian, C order, uncompressed, zero as fill value, and chunks
/// of about 1 MiB.
///
/// ```
/// use ndzarr::{Array, Format, MemoryStore, codec};
///
/// let store = MemoryStore::new();
/// let a = Array::<i16>::builder([100, 100]).create((&store, "plain"))?;
/// assert_eq!((a.format(), a.chunk_shape()), (Format::Zarr3, vec![100, 100]));
///
/// let a = Array::<i16>::builder([100, 100])
///     .format(Format::Zarr2)
///     .chunks([50, 20])
///     .codecs([codec::gzip(6)])
///     .fill_value(-1)
///     .create((&store, "chosen"))?;
/// assert_eq!(a.read([99..100, 0..1])?[[0, 0]], -1);
/// assert_eq!(store.keys(), [".zgroup", "chosen/.zarray", "plain/zarr.json", "zarr.json"]);
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Clone)]
pub struct ArrayBuilder<E: ElementType = Any, M = Blocking> {
    request: ArrayRequest,
    chunk_shape: Option<Vec<u64>>,
    attributes: Value,
    options: CreateOptions,
    /// `None`: the registry of the group in which the array is created, or the default one of this
    /// build.
    registry: Option<CodecRegistry>,
    data_type: Option<DataType>,
    fill: Option<E::Fill>,
    or_open: bool,
    mode: PhantomData<M>,
}

impl<E: ElementType, M> fmt::Debug for ArrayBuilder<E, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrayBuilder")
            .field("request", &self.request)
            .field("data_type", &self.data_type)
            .finish_non_exhaustive()
    }
}

impl<E: ElementType, M> ArrayBuilder<E, M> {
    pub(crate) fn new(shape: &[u64]) -> Self {
        Self {
            // The builder's type replaces it once it is known.
            request: ArrayRequest::new(
                shape.to_vec(),
                Vec::new(),
                E::new_type().unwrap_or(DataType::Bool),
            ),
            chunk_shape: None,
            attributes: Value::Null,
            options: CreateOptions::new(Format::Zarr3),
            registry: None,
            data_type: E::new_type(),
            fill: None,
            or_open: false,
            mode: PhantomData,
        }
    }

    /// Type of the elements, where the Rust type leaves a choice: the unit of dates and durations,
    /// the length of strings and byte strings, numbers below 8 bits. Default: follows from the Rust
    /// type. Required for an [`AnyArray`](crate::AnyArray).
    ///
    /// ```
    /// use ndarray::array;
    /// use ndzarr::{Array, DataType, Datetime64, MemoryStore, TimeUnit};
    ///
    /// let seconds = DataType::DateTime64 { unit: TimeUnit::Second, scale: 1 };
    /// let times = Array::<Datetime64>::builder([2])
    ///     .data_type(seconds)
    ///     .fill_value(Datetime64::NAT)
    ///     .create((MemoryStore::new(), "times"))?;
    /// times.write([0..1], &array![Datetime64(1_000_000_000)])?;
    /// assert!(times.read(..)?[[1]].is_nat());
    ///
    /// let names = Array::<String>::builder([2]).data_type(DataType::FixedUtf32 { chars: 4 });
    /// let names = names.create((MemoryStore::new(), "names"))?;
    /// names.write(.., &array!["Ada".to_owned(), "Åse".to_owned()].into_dyn())?;
    /// assert_eq!(names.read([1..2])?[0], "Åse");
    /// assert!(names.write([0..1], &array!["Grace".to_owned()]).is_err(), "too long");
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[must_use]
    pub fn data_type(mut self, data_type: DataType) -> Self {
        self.data_type = Some(data_type);
        self
    }

    /// Shape of a chunk, in elements; with [`shards`](Self::shards), of an inner chunk. Default:
    /// about 1 MiB per chunk.
    #[must_use]
    pub fn chunks(mut self, shape: impl ToShape) -> Self {
        self.chunk_shape = Some(shape.to_shape());
        self
    }

    /// Shape of a shard, in elements: a multiple of the chunk shape. Zarr v3 and the draft only.
    /// Default: no shards.
    #[must_use]
    pub fn shards(mut self, shape: impl ToShape) -> Self {
        self.request.shard_shape = Some(shape.to_shape());
        self
    }

    /// Zarr v3: lengths of the chunks along each axis, for a rectilinear grid. With
    /// [`shards`](Self::shards) they are the lengths of the shards, and the shape given there is
    /// ignored. When the array grows beyond the last chunk, one more is added; a new shard is as
    /// long as its inner chunks need.
    ///
    /// ```
    /// use ndzarr::{Array, ChunkEdges, MemoryStore};
    ///
    /// // One chunk for each month of a quarter, in days.
    /// let months = ChunkEdges::Listed(vec![(31, 1), (28, 1), (31, 1)]);
    /// let a = Array::<f32>::builder([90, 8])
    ///     .chunk_edges([months, ChunkEdges::Repeated(4)])
    ///     .create((&MemoryStore::new(), "a"))?;
    /// let february = a.chunks().nth(2).unwrap();
    /// assert_eq!((february.index, february.ranges), (vec![1, 0], vec![31..59, 0..4]));
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[must_use]
    pub fn chunk_edges(mut self, edges: impl IntoIterator<Item = ChunkEdges>) -> Self {
        self.request.chunk_edges = Some(edges.into_iter().collect());
        self
    }

    /// Zarr v3: a custom chunk grid. With [`shards`](Self::shards) it is the grid of the shards,
    /// and the shape given there is ignored. A program that opens the array needs the grid too, see
    /// [`Extensions`](crate::Extensions); the guide has an example.
    #[must_use]
    pub fn chunk_grid(mut self, grid: CustomChunkGrid) -> Self {
        self.request.custom_grid = Some(grid);
        self
    }

    /// How chunks are compressed, in encoding order: see [`codec`](crate::codec). Default:
    /// uncompressed.
    #[must_use]
    pub fn codecs(mut self, codecs: impl IntoIterator<Item = CodecSpec>) -> Self {
        self.request.codecs = CodecRequest::Neutral(codecs.into_iter().collect());
        self
    }

    /// The codecs as raw metadata of the format, for what [`codecs`](Self::codecs) cannot express.
    /// For Zarr v3, the whole list of a chunk (of an inner chunk with [`shards`](Self::shards)),
    /// including the array→bytes codec; for Zarr v2, an object of `filters` and `compressor`.
    ///
    /// ```
    /// use ndzarr::{Array, MemoryStore};
    /// use serde_json::json;
    ///
    /// let percent = Array::<f32>::builder([4])
    ///     .codecs_json(json!([
    ///         {"name": "scale_offset", "configuration": {"scale": 200.0}},
    ///         {"name": "cast_value", "configuration": {"data_type": "uint8"}},
    ///         "bytes",
    ///     ]))
    ///     .create((MemoryStore::new(), "percent"))?;
    /// percent.write([0..4], &ndarray::arr1(&[0.0, 0.25, 0.501, 1.0]))?;
    /// assert_eq!(percent.read([0..4])?, ndarray::arr1(&[0.0, 0.25, 0.5, 1.0]));
    /// assert_eq!(percent.units().encoded(&[0])?.as_deref(), Some(&[0, 50, 100, 200][..]));
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[must_use]
    pub fn codecs_json(mut self, codecs: Value) -> Self {
        self.request.codecs = CodecRequest::Json(codecs);
        self
    }

    /// The registry of custom codecs, for [`codec::named`](crate::codec::named). To open the array
    /// again, give it to [`OpenOptions`](crate::OpenOptions).
    #[must_use]
    pub fn registry(mut self, registry: CodecRegistry) -> Self {
        self.registry = Some(registry);
        self
    }

    pub(crate) fn registry_if_none(mut self, registry: &CodecRegistry) -> Self {
        self.registry.get_or_insert_with(|| registry.clone());
        self
    }

    /// Value of elements that were never written; for an [`AnyArray`](crate::AnyArray), a
    /// [`FillRequest`](ndzarr_metadata::FillRequest). Default: zero.
    #[must_use]
    pub fn fill_value(mut self, value: E::Fill) -> Self {
        self.fill = Some(value);
        self
    }

    /// Sets no fill value (`null`; Zarr v2 and draft dialect B): elements that were never written
    /// are zero, and every chunk that is written is stored.
    #[must_use]
    pub fn no_fill_value(mut self) -> Self {
        self.fill = None;
        self.request.fill_value = FillRequest::Undefined;
        self
    }

    /// Names of the dimensions.
    #[must_use]
    pub fn dimension_names<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.request.dimension_names =
            Some(names.into_iter().map(|name| Some(name.into())).collect());
        self
    }

    /// The user's attributes, a JSON object.
    #[must_use]
    pub fn attributes(mut self, attributes: Value) -> Self {
        self.attributes = attributes;
        self
    }

    /// The format to write. Default: Zarr v3.
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.options.format = format;
        self
    }

    /// Byte order of stored numbers. Default: little; big in N5, which has no other.
    #[must_use]
    pub fn endian(mut self, endian: Endian) -> Self {
        self.request.endian = Some(endian);
        self
    }

    /// Order of the elements inside a chunk. Default: C. Not for N5, where
    /// [`n5_axes`](Self::n5_axes) decides.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.request.order = order;
        self
    }

    /// The separator between the indices of a chunk key, `/` or `.`. Default: `.` in Zarr v2, else
    /// `/`.
    #[must_use]
    pub fn separator(mut self, separator: char) -> Self {
        self.request.separator = Some(separator);
        self
    }

    /// Zarr v3: the chunk key encoding, `default` or `v2`.
    #[must_use]
    pub fn key_encoding(mut self, name: impl Into<String>) -> Self {
        self.request.key_encoding = Some(name.into());
        self
    }

    /// N5: which dimension of the document is axis 0.
    #[must_use]
    pub fn n5_axes(mut self, axes: N5Axes) -> Self {
        self.options.n5_axes = axes;
        self
    }

    /// N5: how blocks at the end of the array are stored. Default: truncated.
    #[must_use]
    pub fn edge_blocks(mut self, edge_blocks: EdgeBlocks) -> Self {
        self.request.edge_blocks = edge_blocks;
        self
    }

    /// Limits for metadata documents, both those read to create the array and its own. The array
    /// keeps them for later calls. In a group, the group's limits apply instead.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.options.limits = limits;
        self
    }

    /// Policy for a store that cannot serialize writers. It applies to consolidated metadata above
    /// the array now, and to the array's chunks and documents later. In a group, the group's
    /// [options](crate::Group::with_options) apply instead.
    #[must_use]
    pub fn concurrent_update(mut self, concurrent_update: ConcurrentUpdate) -> Self {
        self.options.concurrent_update = concurrent_update;
        self
    }

    /// Replaces an array, or a group without nodes below it, with everything below the path. A
    /// group with nodes is not replaced: remove it with [`Group::erase`](crate::Group::erase)
    /// first. What does not belong to the node stays, and is an error unless this is
    /// [forced](Self::force). Default: an existing node is an error.
    #[must_use]
    pub fn overwrite(self) -> Self {
        self.existing(Existing::Replace)
    }

    /// With [`overwrite`](Self::overwrite), removes files that do not belong to the replaced node
    /// as well. Default: they are an error, and nothing is removed.
    #[must_use]
    pub fn force(mut self) -> Self {
        self.options.foreign = Foreign::Remove;
        self
    }

    /// Like [`overwrite`](Self::overwrite), or creates the array next to what exists there in
    /// another format.
    #[must_use]
    pub fn existing(mut self, existing: Existing) -> Self {
        self.options.existing = existing;
        self
    }

    /// Opens an array that exists already, if it has this type and is at least as long along each
    /// axis: it may have grown since. Its shape, chunks, codecs and attributes stay as they are.
    /// Concurrent calls that create it all get the same array.
    ///
    /// ```
    /// use ndzarr::{Array, ErrorKind, Format, Group, MemoryStore};
    ///
    /// let root = Group::create(MemoryStore::new(), Format::Zarr3)?;
    /// let signal = Array::<f32>::builder([100]).or_open();
    /// root.create_array("run/signal", signal.clone())?.fill(.., 1.0)?;
    /// assert_eq!(root.create_array("run/signal", signal)?.read((99,))?[[]], 1.0);
    ///
    /// let other = root.create_array("run/signal", Array::<f32>::builder([101]).or_open());
    /// assert_eq!(other.unwrap_err().kind(), ErrorKind::AlreadyExists);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[must_use]
    pub fn or_open(mut self) -> Self {
        self.or_open = true;
        self
    }

    /// N5: every group that is created gets a document, as zarr-python 2 needs. Default: only the
    /// root.
    #[must_use]
    pub fn n5_all_group_documents(mut self) -> Self {
        self.options.n5_group_documents = N5GroupDocuments::All;
        self
    }
}

impl<M> ArrayBuilder<Any, M> {
    /// Sets everything that a request contains, for example [`ArrayRequest::like`] another array,
    /// in place of what was set of it before, the shape of the builder included. A request does not
    /// contain the format, the codec registry and what happens to an array that exists: these stay.
    ///
    /// ```
    /// use ndzarr::{AnyArray, Array, ArrayRequest, MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let a = Array::<u16>::builder([40, 60]).chunks([4, 6]).fill_value(7).create((&store, "a"))?;
    /// let b = AnyArray::builder(a.shape()).request(ArrayRequest::like(a.spec())).create((&store, "b"))?;
    /// assert_eq!((b.shape(), b.chunk_shape()), (a.shape(), vec![4, 6]));
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[must_use]
    pub fn request(mut self, request: ArrayRequest) -> Self {
        self.data_type = Some(request.data_type.clone());
        self.chunk_shape = Some(request.chunk_shape.clone());
        self.attributes = Value::Null;
        self.fill = None;
        self.request = request;
        self
    }
}
