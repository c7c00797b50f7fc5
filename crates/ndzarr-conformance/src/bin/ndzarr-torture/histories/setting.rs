//! The choice of array and store.

use std::path::{Path, PathBuf};

use ndzarr::{
    Array, ArrayBuilder, ChunkEdges, ConcurrentUpdate, Format, FsStore, Group, MemoryStore,
    RunOptions, Storage, codec,
};
use ndzarr_testkit::{AsyncMemoryStore, FaultStore, Latency, PlainStore, Random};
use serde_json::{Value, json};

use super::Checked;

/// A store of one of the kinds.
pub(super) struct Place {
    pub(super) kind: Kind,
    pub(super) storage: Storage,
    /// The folder, of a store of files.
    pub(super) root: Option<PathBuf>,
    pub(super) faults: Option<Faults>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Locks serialize writers.
    Folder,
    /// By conditional puts.
    Memory,
    /// By conditional puts, with futures.
    Futures,
    /// Not at all.
    Plain,
}

/// A store that fails on request.
pub(super) enum Faults {
    Folder(FaultStore<FsStore>),
    Memory(FaultStore<MemoryStore>),
}

impl Place {
    pub(super) fn any(random: &mut Random, folder: &Path) -> Self {
        let kinds = [
            Kind::Folder,
            Kind::Folder,
            Kind::Memory,
            Kind::Futures,
            Kind::Plain,
        ];
        let kind = kinds[random.below(kinds.len() as u64) as usize];
        let mut root = None;
        let mut faults = None;
        let storage = match kind {
            Kind::Folder => {
                let store = FaultStore::new(FsStore::new(folder));
                root = Some(folder.to_owned());
                faults = Some(Faults::Folder(store.clone()));
                Storage::blocking(store)
            }
            Kind::Memory => {
                let store = FaultStore::new(MemoryStore::new());
                faults = Some(Faults::Memory(store.clone()));
                Storage::blocking(store)
            }
            Kind::Futures => {
                let store =
                    AsyncMemoryStore::new(Latency::default()).with_polls(random.below(4) as u32);
                Storage::asynchronous(store)
            }
            Kind::Plain => Storage::blocking(PlainStore::new(MemoryStore::new())),
        };
        Self {
            kind,
            storage,
            root,
            faults,
        }
    }

    /// True if several writers may be at work.
    pub(super) fn takes_turns(&self) -> bool {
        self.kind != Kind::Plain
    }

    pub(super) fn options(&self, random: &mut Random) -> RunOptions {
        let concurrent_update = if self.takes_turns() {
            ConcurrentUpdate::Merge
        } else {
            ConcurrentUpdate::LastWriterWins
        };
        // 0 for the default.
        let threads = std::num::NonZeroUsize::new(random.below(4) as usize);
        RunOptions::default()
            .concurrent_update(concurrent_update)
            .threads(threads)
    }
}

/// The kind of array.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    pub(super) layout: &'static str,
    pub(super) format: Format,
    pub(super) shape: Vec<u64>,
    /// The unit stored under one key.
    pub(super) unit: Vec<u64>,
    /// The unit decoded at once.
    pub(super) inner: Vec<u64>,
    pub(super) fill: u32,
    pub(super) slow: bool,
    pub(super) consolidated: bool,
}

const LAYOUTS: [(&str, Format); 9] = [
    ("chunks", Format::Zarr2),
    ("chunks", Format::Zarr3),
    ("shards", Format::Zarr3),
    ("nested", Format::Zarr3),
    ("rectilinear", Format::Zarr3),
    ("rectilinear shards", Format::Zarr3),
    ("shards", Format::DraftA),
    ("chunks", Format::DraftB),
    ("chunks", Format::N5),
];

impl Spec {
    pub(super) fn any(random: &mut Random) -> Self {
        let (layout, format) = LAYOUTS[random.below(LAYOUTS.len() as u64) as usize];
        // Large ones take long enough to encode that calls are abandoned in the middle.
        let slow = random.below(3) == 0;
        let rank = if slow { 1 } else { 1 + random.below(3) };
        let most = if slow { 20_000 } else { 5 };
        let ratio = if layout == "chunks" || layout == "rectilinear" {
            1
        } else {
            2
        };
        let inner: Vec<u64> = (0..rank).map(|_| 1 + random.below(most)).collect();
        let unit: Vec<u64> = inner
            .iter()
            .map(|&n| {
                n * if ratio == 1 {
                    1
                } else {
                    4 / (1 + random.below(2))
                }
            })
            .collect();
        let shape = unit.iter().map(|&n| random.below(4 * n) + 1).collect();
        let fill = if format == Format::N5 {
            0
        } else {
            [0, 9][random.below(2) as usize]
        };
        let consolidated = matches!(format, Format::Zarr2 | Format::Zarr3) && random.below(2) == 0;
        Self {
            layout,
            format,
            shape,
            unit,
            inner,
            fill,
            slow,
            consolidated,
        }
    }

    pub(super) fn has_shards(&self) -> bool {
        self.layout == "shards"
    }

    pub(super) fn is_rectilinear(&self) -> bool {
        self.layout.starts_with("rectilinear")
    }

    /// The shape of a unit, where all have one.
    pub(super) fn regular_unit(&self) -> Option<Vec<u64>> {
        (!self.is_rectilinear()).then(|| self.unit.clone())
    }

    pub(super) fn builder(&self) -> ArrayBuilder<u32> {
        let builder = Array::<u32>::builder(&self.shape)
            .format(self.format)
            .fill_value(self.fill);
        let builder = match self.layout {
            "shards" => builder.chunks(&self.inner).shards(&self.unit),
            "nested" => return builder.chunks(&self.unit).codecs_json(self.nested()),
            "rectilinear" => builder.chunk_edges(
                self.shape
                    .iter()
                    .zip(&self.unit)
                    .map(|(&n, &edge)| edges(n, edge, 1)),
            ),
            "rectilinear shards" => {
                // Lengths that inner chunks divide, the last of which may extend past the array.
                let edges = |((&n, &unit), &inner)| edges(n, unit, inner);
                let edges = self
                    .shape
                    .iter()
                    .zip(&self.unit)
                    .zip(&self.inner)
                    .map(edges);
                builder
                    .chunks(&self.inner)
                    .shards(&self.unit)
                    .chunk_edges(edges)
            }
            _ => builder.chunks(&self.unit),
        };
        if self.slow {
            builder.codecs([codec::gzip(6)])
        } else {
            builder.codecs([])
        }
    }

    /// Shards in shards.
    fn nested(&self) -> Value {
        let index =
            json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
        let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
        let gzip = json!({"name": "gzip", "configuration": {"level": 6}});
        let shard = |chunks: &[u64], codecs: Value| {
            let configuration = json!({"chunk_shape": chunks, "codecs": codecs, "index_codecs": index, "index_location": "end"});
            json!([{"name": "sharding_indexed", "configuration": configuration}])
        };
        let innermost = if self.slow {
            json!([bytes, gzip])
        } else {
            json!([bytes])
        };
        shard(&self.unit, shard(&self.inner, innermost))
    }

    /// Makes the array `a`, and the group above it.
    pub(super) fn create(&self, place: &Place, options: RunOptions) -> Checked<Array<u32>> {
        let to = |error: ndzarr::Error| format!("it cannot be created: {error}");
        let root = Group::create(&place.storage, self.format).map_err(to)?;
        let array = self.builder().create((&place.storage, "a")).map_err(to)?;
        if self.consolidated && place.takes_turns() {
            root.with_options(options.clone())
                .consolidate()
                .map_err(to)?;
        }
        Ok(array.with_options(options))
    }
}

/// Chunks of one length, and one that is longer by a step.
fn edges(n: u64, edge: u64, step: u64) -> ChunkEdges {
    let first = if step == 1 {
        n.min(edge + 1)
    } else {
        edge + step
    };
    let rest = n.saturating_sub(first);
    let mut edges = vec![(first, 1)];
    edges.extend((rest > 0).then_some((edge, rest.div_ceil(edge))));
    ChunkEdges::Listed(edges)
}
