//! Options of a copy.

use ndarray::SliceInfoElem;
use ndzarr_engine::{AnyStore, RunOptions, StopOnDrop};
use ndzarr_metadata::{
    CodecRequest, CreateOptions, Existing, Format, Limits, N5Axes, N5GroupDocuments,
};
use ndzarr_model::{CodecSpec, DataType, IndexLocation};

use crate::copy::planning::conversion::Numbers;
use crate::copy::report::CopyLevel;
use crate::element_types::number::Cast;
use crate::mode::Blocking;
use crate::places::open_options::OpenOptions;
use crate::places::place::Place;
use crate::selections::to_shape::ToShape;

/// Options of [`copy`](crate::copy()).
///
/// ```
/// use ndzarr::{Array, CopyOptions, MemoryStore, codec, copy};
///
/// let store = MemoryStore::new();
/// Array::<u16>::builder([8, 8]).chunks([1, 8]).create((&store, "rows"))?.fill(.., 7)?;
///
/// let options = CopyOptions::new().chunks([8, 2]).codecs([codec::zstd(3)]).memory(64 << 20);
/// copy((&store, "rows"), (&store, "columns"), &options)?;
/// let columns = Array::<u16>::open((&store, "columns"))?;
/// assert_eq!((columns.chunk_shape(), columns.read(..)?.sum()), (vec![8, 2], 7 * 64));
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// `None`: that of the source.
    pub(crate) format: Option<Format>,
    /// Its format is replaced by the one above.
    pub(crate) create: CreateOptions,
    pub(crate) open: OpenOptions<Blocking>,
    /// What is copied of the source; `None`: everything.
    pub(crate) slices: Option<Vec<SliceInfoElem>>,
    pub(crate) layout: Layout,
    pub(crate) numbers: Numbers,
    pub(crate) memory: Option<u64>,
    /// Chunks that need more memory get it.
    pub(crate) more_memory: bool,
    pub(crate) temporary: Option<Place>,
    pub(crate) resume: bool,
    pub(crate) at_most: CopyLevel,
    pub(crate) record_losses: bool,
    /// Files that belong to no array or group are copied.
    pub(crate) other_files: bool,
    pub(crate) dry_run: bool,
    pub(crate) run: RunOptions,
}

/// How arrays of the target are cut and encoded, as far as that is not as in the source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub(crate) chunks: Option<Vec<u64>>,
    /// `Some(None)`: no shards.
    pub(crate) shards: Option<Option<Vec<u64>>>,
    pub(crate) codecs: Option<CodecRequest>,
    /// Where the index of a shard is.
    pub(crate) index: Option<IndexLocation>,
}

impl Default for CopyOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl CopyOptions {
    /// The defaults: everything as in the source, and no loss.
    #[must_use]
    pub fn new() -> Self {
        Self {
            format: None,
            create: CreateOptions::new(Format::Zarr3),
            open: OpenOptions::new(),
            slices: None,
            layout: Layout::default(),
            numbers: Numbers::default(),
            memory: None,
            more_memory: false,
            temporary: None,
            resume: false,
            at_most: CopyLevel::Reencoded,
            record_losses: false,
            other_files: true,
            dry_run: false,
            run: RunOptions::default(),
        }
    }

    /// The options of a copy to this store as a future, and what stops it.
    pub(crate) fn part_of_future(&self, target: &AnyStore) -> (StopOnDrop, Self) {
        let (stop, run) = self.run.part_of_future(target);
        (
            stop,
            Self {
                run,
                ..self.clone()
            },
        )
    }

    pub(crate) fn existing_nodes(&self) -> Existing {
        self.create.existing
    }

    pub(crate) fn take_temporary(&mut self) -> Option<Place> {
        self.temporary.take()
    }

    /// Copies a part of an array, see [`s!`](crate::s): a range for each axis, with a step where
    /// not every index is wanted. Attributes stay as they are, also those that describe places or
    /// sizes.
    ///
    /// A copy fails if its source is a group, or if a slice is a single index: it has the axes of
    /// its source.
    ///
    /// ```
    /// use ndzarr::{Array, CopyOptions, MemoryStore, copy, s};
    ///
    /// let store = MemoryStore::new();
    /// let a = Array::<u16>::builder([4, 6]).chunks([2, 4]).create((&store, "a"))?;
    /// a.write(.., &ndarray::Array2::from_shape_fn((4, 6), |(y, x)| (10 * y + x) as u16))?;
    ///
    /// copy((&store, "a"), (&store, "part"), &CopyOptions::new().select(s![1..3, ..;2]))?;
    /// let part = Array::<u16>::open((&store, "part"))?;
    /// assert_eq!(part.read((.., ..))?, ndarray::array![[10, 12, 14], [20, 22, 24]]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[must_use]
    pub fn select(mut self, slices: impl AsRef<[SliceInfoElem]>) -> Self {
        self.slices = Some(slices.as_ref().to_vec());
        self
    }

    /// The format of the target. Default: that of the source.
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// Shape of a chunk, in elements; of an inner chunk, if there are shards. Default: that of the
    /// source. In a group it applies to the arrays with this number of axes.
    #[must_use]
    pub fn chunks(mut self, shape: impl ToShape) -> Self {
        self.layout.chunks = Some(shape.to_shape());
        self
    }

    /// Shape of a shard, in elements. Default: that of the source, if the chunks divide it and the
    /// format has shards; otherwise none. In a group it applies to the arrays with this number of
    /// axes.
    #[must_use]
    pub fn shards(mut self, shape: impl ToShape) -> Self {
        self.layout.shards = Some(Some(shape.to_shape()));
        self
    }

    /// No shards.
    #[must_use]
    pub fn no_shards(mut self) -> Self {
        self.layout.shards = Some(None);
        self
    }

    /// Where the index of a shard is. Default: as in the source. Only for Zarr v3.
    #[must_use]
    pub fn index_location(mut self, location: IndexLocation) -> Self {
        self.layout.index = Some(location);
        self
    }

    /// How chunks are compressed, see [`codec`](crate::codec). Default: as in the source, as far as
    /// the format can express that; else with its compressor, with gzip, or not, and the report
    /// says so.
    #[must_use]
    pub fn codecs(mut self, codecs: impl IntoIterator<Item = CodecSpec>) -> Self {
        self.layout.codecs = Some(CodecRequest::Neutral(codecs.into_iter().collect()));
        self
    }

    /// Type of the elements, which must be real numbers in both. Default: that of the source.
    /// [`cast`](Self::cast) says what happens to numbers that are out of its range. In a group it
    /// applies to the arrays of real numbers.
    #[must_use]
    pub fn data_type(mut self, data_type: DataType) -> Self {
        self.numbers.data_type = Some(data_type);
        self
    }

    /// Multiplies each number by this one, in `f64`, before [`offset`](Self::offset) is added. The
    /// fill value is converted in the same way.
    ///
    /// ```
    /// use ndzarr::{Array, CopyOptions, DataType, MemoryStore, copy};
    ///
    /// let store = MemoryStore::new();
    /// let packed = Array::<i16>::builder([3]).create((&store, "packed"))?;
    /// packed.write(.., &ndarray::array![0, 10, -20])?;
    ///
    /// let float = DataType::Float { bits: 32 };
    /// let options = CopyOptions::new().data_type(float).scale(0.5).offset(273.0);
    /// copy((&store, "packed"), (&store, "kelvin"), &options)?;
    /// let kelvin = Array::<f32>::open((&store, "kelvin"))?;
    /// assert_eq!(kelvin.read(..)?.into_raw_vec_and_offset().0, [273.0, 278.0, 263.0]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[must_use]
    pub fn scale(mut self, scale: f64) -> Self {
        self.numbers.scale = scale;
        self
    }

    /// Adds this to each number, after [`scale`](Self::scale).
    #[must_use]
    pub fn offset(mut self, offset: f64) -> Self {
        self.numbers.offset = offset;
        self
    }

    /// What happens to numbers that are out of range of the new type.
    #[must_use]
    pub fn cast(mut self, cast: Cast) -> Self {
        self.numbers.cast = cast;
        self
    }

    /// How much memory, in bytes, elements that are encoded again may take. Default: 256 MiB, or
    /// what the chunks need if that is more. Within it, source chunks are decoded as few times as
    /// possible.
    ///
    /// Elements of variable size are copied chunk by chunk of the target, or shard by shard, on
    /// fewer threads the less memory there is; what they take is only known once they are read.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Takes more than [`memory`](Self::memory) where chunks need it. Default: an error that names
    /// the least.
    #[must_use]
    pub fn more_memory(mut self) -> Self {
        self.more_memory = true;
        self
    }

    /// Where to put a temporary array, as large as the decoded source. It is made only if chunks of
    /// the source would otherwise be decoded more than 2.5 times. Default: next to the chunks of a
    /// target in a folder; other targets have none.
    #[must_use]
    pub fn temporary(mut self, place: impl Into<Place>) -> Self {
        self.temporary = Some(place.into());
        self
    }

    /// Continues a copy that was killed, failed or cancelled and had the same source and options;
    /// chunks that it wrote stay. `memory`, `run` and `temporary` may differ. Default: chunks at
    /// the target are an error.
    #[must_use]
    pub fn resume(mut self) -> Self {
        self.resume = true;
        self
    }

    /// How the source is opened. Its codecs are also available for the target.
    #[must_use]
    pub fn open(mut self, options: OpenOptions<Blocking>) -> Self {
        self.open = options;
        self
    }

    /// The costliest level allowed.
    #[must_use]
    pub fn at_most(mut self, level: CopyLevel) -> Self {
        self.at_most = level;
        self
    }

    /// Leaves out whatever the format cannot express and records it in the report. Otherwise that
    /// is an error which names it, before anything is written.
    #[must_use]
    pub fn record_losses(mut self) -> Self {
        self.record_losses = true;
        self
    }

    /// Leaves out files that belong to no array or group: the tables and texts that other programs
    /// keep next to them. Default: they are copied byte for byte. The
    /// [account](crate::CopyReport::account) names them either way.
    #[must_use]
    pub fn no_other_files(mut self) -> Self {
        self.other_files = false;
        self
    }

    /// Only plans the copy and checks its target: the report says what would be done, and nothing
    /// is written.
    ///
    /// ```
    /// use ndzarr::{Array, CopyLevel, CopyOptions, Format, MemoryStore, copy};
    ///
    /// let store = MemoryStore::new();
    /// Array::<u16>::builder([8]).chunks([2]).create((&store, "a"))?;
    /// let report = copy((&store, "a"), (&store, "b"), &CopyOptions::new().chunks([4]).dry_run())?;
    /// assert_eq!((report.nodes[0].level, report.nodes[0].n_chunks), (CopyLevel::Reencoded, 2));
    /// assert!(Array::<u16>::open((&store, "b")).is_err());
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Threads, cancellation, update policy and progress, which counts the chunks, or shards, of
    /// all arrays together.
    #[must_use]
    pub fn run(mut self, run: RunOptions) -> Self {
        self.run = run;
        self
    }

    /// How the axes of a new N5 array are interpreted.
    #[must_use]
    pub fn n5_axes(mut self, axes: N5Axes) -> Self {
        self.create.n5_axes = axes;
        self
    }

    /// N5: every group that is created gets a document, as zarr-python 2 needs. Default: only the
    /// root.
    #[must_use]
    pub fn n5_all_group_documents(mut self) -> Self {
        self.create.n5_group_documents = N5GroupDocuments::All;
        self
    }

    /// What to do about existing nodes at the target. Default: an error.
    #[must_use]
    pub fn existing(mut self, existing: Existing) -> Self {
        self.create.existing = existing;
        self
    }

    /// Limits for new documents.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.create.limits = limits;
        self
    }
}
