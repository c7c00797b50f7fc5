//! Chunks and units: counted, found by selections, listed, erased, and written encoded.

use std::collections::BTreeSet;
use std::thread;

use ndarray::{Array1, Array2, ArrayD, array};
use ndzarr::store::{Key, Precondition};
use ndzarr::{
    AnyArray, Array, ArrayBuilder, Cancel, ChunkEdges, ErrorKind, Format, FsStore, MemoryStore, N5Axes,
    OpenOptions, Points, Result, RunOptions, Selection, Storage, Store, asynchronous, codec,
};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency, PlainStore, Random, block_on};

const FORMATS: [Format; 5] = [Format::Zarr2, Format::Zarr3, Format::DraftA, Format::DraftB, Format::N5];

/// Along each axis, the ends of the chunks.
type Ends = [Vec<u64>; 2];

/// The chunk that has an element, by a search along each axis.
fn chunk_of(ends: &Ends, element: [u64; 2]) -> Vec<u64> {
    (0..2).map(|axis| ends[axis].iter().take_while(|end| **end <= element[axis]).count() as u64).collect()
}

fn met(a: &Array<u8>, selection: impl Selection) -> Vec<Vec<u64>> {
    let chunks = a.chunks_in(selection).expect("it fits");
    let n = chunks.len();
    let by_number: Vec<_> = (0..n).map(|i| chunks.get(i).expect("it is below the number").index).collect();
    assert_eq!(chunks.get(n), None);
    let all: Vec<_> = chunks.map(|chunk| chunk.index).collect();
    assert_eq!(all, by_number);
    all
}

#[test]
fn the_chunks_of_a_selection_are_those_that_have_its_elements() -> Result<()> {
    let every = |len: u64, n: u64| (1..=len.div_ceil(n)).map(|i| i * n).collect::<Vec<_>>();
    let edges = [ChunkEdges::Listed(vec![(3, 2), (1, 3), (7, 1), (5, 1)]), ChunkEdges::Repeated(4)];
    let arrays: [(ArrayBuilder<u8>, Ends); 3] = [
        (Array::builder([20, 17]).chunks([3, 5]), [every(20, 3), every(17, 5)]),
        (Array::builder([20, 17]).chunks([2, 3]).shards([4, 9]), [every(20, 2), every(17, 3)]),
        (Array::builder([20, 17]).chunk_edges(edges), [vec![3, 6, 7, 8, 9, 16, 21], every(17, 4)]),
    ];
    let mut random = Random::seeded("chunks of selections");
    for (builder, ends) in arrays {
        let a = builder.create((MemoryStore::new(), "a"))?;
        let all: Vec<_> = a.chunks().map(|chunk| chunk.index).collect();
        let expected: BTreeSet<_> = (0..20).flat_map(|y| (0..17).map(move |x| [y, x])).collect();
        let expected: BTreeSet<_> = expected.into_iter().map(|element| chunk_of(&ends, element)).collect();
        assert_eq!(all, expected.into_iter().collect::<Vec<_>>());
        assert_eq!(a.chunks().grid_shape(), ends.clone().map(|ends| ends.len() as u64));
        for _ in 0..200 {
            let of = |elements: &[[u64; 2]]| -> Vec<Vec<u64>> {
                let chunks: BTreeSet<_> = elements.iter().map(|element| chunk_of(&ends, *element)).collect();
                chunks.into_iter().collect()
            };
            let cross = |rows: &[u64], columns: &[u64]| -> Vec<[u64; 2]> {
                rows.iter().flat_map(|y| columns.iter().map(|x| [*y, *x])).collect()
            };
            // Ranges with steps.
            let region = random.region(a.shape());
            let steps = [1 + random.below(9), 1 + random.below(9)];
            let along =
                |axis: usize| -> Vec<u64> { region[axis].clone().step_by(steps[axis] as usize).collect() };
            let slices = ndzarr::s![
                region[0].clone(); steps[0] as isize,
                region[1].clone(); steps[1] as isize
            ];
            assert_eq!(met(&a, slices), of(&cross(&along(0), &along(1))), "{region:?} {steps:?}");
            // Lists, in any order.
            let lists: [Vec<u64>; 2] =
                [20, 17].map(|n| (0..random.below(6)).map(|_| random.below(n)).collect());
            let list = |axis: usize| -> Vec<usize> { lists[axis].iter().map(|at| *at as usize).collect() };
            assert_eq!(met(&a, (list(0), list(1))), of(&cross(&lists[0], &lists[1])), "{lists:?}");
            assert_eq!(
                met(&a, (list(0), region[1].clone())),
                of(&cross(&lists[0], &region[1].clone().collect::<Vec<_>>()))
            );
            // Points and masks.
            let points: Vec<[u64; 2]> =
                (0..random.below(8)).map(|_| [random.below(20), random.below(17)]).collect();
            let ys: Vec<i64> = points.iter().map(|point| point[0] as i64).collect();
            let xs: Vec<i64> = points.iter().map(|point| point[1] as i64).collect();
            assert_eq!(met(&a, Points::by_axis([ys, xs])), of(&points), "{points:?}");
            let mask = Array2::from_shape_fn((20, 17), |(y, x)| points.contains(&[y as u64, x as u64]));
            assert_eq!(met(&a, &mask), of(&points), "{points:?}");
        }
        // What a chunk says fits the array and the selection.
        for chunk in a.chunks_in([2..9, 4..16])? {
            let read = a.read(&chunk)?;
            assert_eq!(read.shape(), chunk.shape());
            assert_eq!(read, a.read_chunk(&chunk.index)?);
            for (axis, (overlap, range)) in chunk.overlap.iter().zip(&chunk.ranges).enumerate() {
                let selected = [2..9, 4..16][axis].clone();
                assert_eq!(*overlap, range.start.max(selected.start)..range.end.min(selected.end));
            }
        }
    }
    Ok(())
}

#[test]
fn numbers_count_on_from_what_was_taken() -> Result<()> {
    let a = Array::<u8>::builder([7, 3]).chunks([2, 2]).create((MemoryStore::new(), "a"))?;
    let all: Vec<_> = a.chunks().collect();
    assert_eq!((all.len(), a.chunks().size_hint()), (8, (8, Some(8))));
    let mut chunks = a.chunks();
    assert_eq!(chunks.nth(2).as_ref(), Some(&all[2]));
    assert_eq!(
        (chunks.len(), chunks.get(0).as_ref(), chunks.get(4).as_ref()),
        (5, Some(&all[3]), Some(&all[7]))
    );
    assert_eq!((chunks.clone().nth(5), chunks.get(5)), (None, None));
    assert_eq!(chunks.by_ref().skip(1).step_by(2).collect::<Vec<_>>(), [all[4].clone(), all[6].clone()]);
    assert_eq!((chunks.next(), chunks.len()), (None, 0));
    Ok(())
}

#[test]
fn grids_without_chunks_and_huge_ones() -> Result<()> {
    let memory = MemoryStore::new();
    let empty = Array::<u8>::builder([4, 0]).chunks([2, 2]).create((&memory, "empty"))?;
    assert_eq!(
        (empty.chunks().len(), empty.chunks().next(), empty.chunks().grid_shape()),
        (0, None, vec![2, 0])
    );
    assert_eq!((empty.units().iter().len(), empty.units().stored()?.len()), (0, 0));
    assert_eq!(empty.chunks_in(..)?.len(), 0);
    assert_eq!(empty.units().is_stored(&[0, 0]).expect_err("there is none").kind(), ErrorKind::WrongShape);

    let scalar = Array::<u8>::builder([0u64; 0]).create((&memory, "scalar"))?;
    assert_eq!((scalar.chunks().len(), scalar.chunks().grid_shape()), (1, vec![]));
    scalar.write((), &ndarray::arr0(3))?;
    assert_eq!(scalar.chunks_in(())?.next().expect("one").index, Vec::<u64>::new());
    assert!(scalar.units().is_stored(&[])?);
    assert_eq!(scalar.units().stored()?.map(|unit| unit.byte_len).collect::<Vec<_>>(), [Some(1)]);
    scalar.units().erase(&[])?;
    assert_eq!(scalar.read(())?, ndarray::arr0(0));

    let huge = Array::<u8>::builder([1 << 50, 3]).chunks([1 << 10, 1]).create((&memory, "huge"))?;
    // With 32 bits, there are more than a usize counts.
    assert_eq!(huge.chunks().len(), usize::try_from(3_u64 << 40).unwrap_or(usize::MAX));
    if cfg!(target_pointer_width = "64") {
        let last = huge.chunks().last_of();
        assert_eq!(
            (last.index, last.ranges),
            (vec![(1 << 40) - 1, 2], vec![(1 << 50) - 1024..1 << 50, 2..3])
        );
    }
    let far = huge.chunks_in(ndzarr::s![0..1u64 << 49; 1 << 30, 1]);
    if cfg!(target_pointer_width = "64") {
        let far = far?;
        assert_eq!((far.len(), far.get(511).expect("the last").index), (1 << 19, vec![511 << 20, 1]));
    } else {
        // ndarray's slices have an `isize`.
        assert_eq!(far.expect_err("it is too long").kind(), ErrorKind::WrongShape);
    }
    huge.write([0..1, 0..1], &array![[5]])?;
    assert_eq!(huge.units().stored()?.len(), 1);
    // More than any number.
    let most = Array::<u8>::builder([u64::MAX, u64::MAX]).chunks([1, 1]).create((&memory, "most"))?;
    // A bound above `isize::MAX` is refused: the range is not empty.
    for bounds in [ndzarr::s![5..u64::MAX, 1], ndzarr::s![u64::MAX - 1.., 1]] {
        assert_eq!(most.chunks_in(bounds).expect_err("it is too long").kind(), ErrorKind::WrongShape);
    }
    assert_eq!((most.chunks().len(), most.chunks().nth(3).expect("one").index), (usize::MAX, vec![0, 3]));
    most.write([0..1, 5..6], &array![[5]])?;
    assert_eq!(most.units().stored()?.map(|unit| unit.index).collect::<Vec<_>>(), [[0, 5]]);
    most.write([2..3, 5..6], &array![[5]])?;
    let error = most.units().stored().expect_err("it has no number");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("most/c/2/5 is not listed"), "{error}");
    Ok(())
}

trait Last {
    fn last_of(self) -> ndzarr::Chunk;
}

impl<I: ExactSizeIterator<Item = ndzarr::Chunk>> Last for I {
    fn last_of(mut self) -> ndzarr::Chunk {
        let n = self.len();
        self.nth(n - 1).expect("the last")
    }
}

/// Arrays of every format, with and without shards.
fn kinds() -> Vec<(&'static str, ArrayBuilder<u16>)> {
    let plain = |format| Array::<u16>::builder([9, 7]).chunks([2, 3]).format(format);
    let little = serde_json::json!({"name": "bytes", "configuration": {"endian": "little"}});
    let shards = |chunks: [u64; 2], codec: serde_json::Value| {
        serde_json::json!({"name": "sharding_indexed", "configuration": {
            "chunk_shape": chunks, "codecs": [codec], "index_codecs": [little, {"name": "crc32c"}]}})
    };
    let nested = serde_json::json!([shards([2, 3], shards([1, 3], little.clone()))]);
    vec![
        ("v2", plain(Format::Zarr2).order(ndzarr::Order::F).codecs([codec::gzip(1)])),
        ("v2 folders", plain(Format::Zarr2).separator('/')),
        ("v3", plain(Format::Zarr3)),
        ("v3 dots", plain(Format::Zarr3).key_encoding("v2")),
        ("shards", plain(Format::Zarr3).shards([4, 6]).codecs([codec::zstd(1)])),
        ("nested shards", Array::<u16>::builder([9, 7]).chunks([4, 6]).codecs_json(nested)),
        ("draft A", plain(Format::DraftA)),
        ("draft B", plain(Format::DraftB).shards([4, 6])),
        ("n5", plain(Format::N5)),
        ("n5 reversed", plain(Format::N5).n5_axes(N5Axes::Reversed)),
    ]
}

/// Runs a test on stores of each kind.
fn on_each(run: impl Fn(&Storage, &str, ArrayBuilder<u16>) -> Result<()>) {
    for (name, builder) in kinds() {
        let folder = tempfile::tempdir().expect("a folder");
        let storages = [
            Storage::from(MemoryStore::new()),
            Storage::folder(folder.path()),
            Storage::blocking(PlainStore::new(MemoryStore::new())),
            Storage::asynchronous(AsyncMemoryStore::new(Latency::default())),
        ];
        for storage in &storages {
            // It reads before it writes a part of a shard, and nothing else writes.
            let run = run(storage, name, builder.clone());
            run.unwrap_or_else(|error| panic!("{name} in {}: {error}", storage.name()));
        }
    }
}

#[test]
fn units_are_listed_copied_and_erased_in_every_format() {
    on_each(|storage, name, builder| {
        let (a, copy) = (builder.clone().create((storage, "a"))?, builder.clone().create((storage, "copy"))?);
        let units: Vec<_> = a.units().iter().collect();
        assert_eq!(units, a.units().into_iter().collect::<Vec<_>>());
        assert_eq!(units.len(), if a.shard_shape().is_some() { 6 } else { 15 }, "{name}");
        assert_eq!(a.units().stored()?.len(), 0);
        // All but the second.
        for unit in units.iter().filter(|unit| *unit != &units[1]) {
            let elements =
                ArrayD::from_elem(unit.shape(), 1 + unit.index[0] as u16 * 10 + unit.index[1] as u16);
            a.write(unit, &elements)?;
            assert!(a.units().is_stored(&unit.index)?);
        }
        assert!(!a.units().is_stored(&units[1].index)? && a.units().encoded(&units[1].index)?.is_none());
        let stored: Vec<_> = a.units().stored()?.collect();
        let expected: Vec<_> = units.iter().filter(|unit| *unit != &units[1]).collect();
        assert_eq!(
            stored.iter().map(|unit| &unit.index).collect::<Vec<_>>(),
            expected.iter().map(|unit| &unit.index).collect::<Vec<_>>(),
            "{name}"
        );
        for unit in &stored {
            let bytes = a.units().encoded(&unit.index)?.expect("it is stored");
            assert_eq!(unit.byte_len, Some(bytes.len() as u64), "{name}");
            copy.units().write_encoded(&unit.index, bytes)?;
        }
        assert_eq!(copy.read(..)?, a.read(..)?, "{name}");
        let mut left = a.read(..)?;
        for range in [&units[0], &units[3]] {
            copy.units().erase(&range.index)?;
            copy.units().erase(&range.index)?;
            left.slice_each_axis_mut(|axis| {
                let range = &range.ranges[axis.axis.0];
                (range.start as isize..range.end as isize).into()
            })
            .fill(0);
        }
        assert_eq!(copy.read(..)?, left, "{name}");
        assert_eq!(copy.units().stored()?.len(), stored.len() - 2);

        // As futures, and without a type.
        let future = asynchronous::Array::from(a.clone());
        block_on(async {
            assert_eq!(future.units().stored().await?.collect::<Vec<_>>(), stored);
            let bytes = future.units().encoded(&units[0].index).await?.expect("it is stored");
            let copy = asynchronous::Array::from(copy.clone());
            copy.units().write_encoded(&units[0].index, bytes).await?;
            assert!(copy.units().is_stored(&units[0].index).await?);
            copy.units().erase(&units[2].index).await?;
            assert!(!copy.units().is_stored(&units[2].index).await?);
            assert_eq!(copy.read(&units[0]).await?, a.read(&units[0])?);
            Ok::<_, ndzarr::Error>(())
        })?;
        let any = AnyArray::from(a.clone());
        assert_eq!(any.units().stored()?.collect::<Vec<_>>(), stored);
        assert_eq!(any.units().key(&[1, 0]), a.units().key(&[1, 0]));
        Ok(())
    });
}

#[test]
fn a_list_has_neither_other_keys_nor_what_is_outside() -> Result<()> {
    for format in FORMATS {
        let memory = MemoryStore::new();
        let mut a = Array::<u8>::builder([6]).chunks([2]).format(format).create((&memory, "a"))?;
        a.fill(.., 1)?;
        let beyond = a.units().key(&[2]);
        let value = memory.get(&beyond).expect("it is stored");
        a.resize([4])?;
        // Another writer had a larger array in mind.
        memory.set(&beyond, value)?;
        for other in ["x", "01", "-1", "c/x", "0/0/0", "0.part"] {
            memory.set(&a.units().key(&[1]).replace('1', other), "other")?;
        }
        let stored: Vec<_> = a.units().stored()?.map(|unit| unit.index[0]).collect();
        assert_eq!(stored, [0, 1], "{format}");
        assert_eq!(a.units().encoded(&[2]).expect_err("outside").kind(), ErrorKind::WrongShape);
    }
    Ok(())
}

#[test]
fn a_damaged_unit_is_listed_and_can_be_replaced() -> Result<()> {
    let (memory, good) = (MemoryStore::new(), MemoryStore::new());
    let shards = Array::<u8>::builder([8]).chunks([2]).shards([4]);
    let (a, b) = (shards.clone().create((&memory, "a"))?, shards.create((&good, "a"))?);
    a.fill(.., 1)?;
    b.fill(.., 2)?;
    memory.set("a/c/1", "odd")?;
    assert_eq!(a.read(..).expect_err("it is broken").kind(), ErrorKind::Corrupt);
    assert_eq!(a.units().stored()?.map(|unit| unit.byte_len).last(), Some(Some(3)));
    a.units().write_encoded(&[1], b.units().encoded(&[1])?.expect("it is stored"))?;
    assert_eq!(a.read(..)?.into_raw_vec_and_offset().0, [1, 1, 1, 1, 2, 2, 2, 2]);
    // What is written is not examined.
    a.units().write_encoded(&[0], "odd")?;
    assert_eq!(a.read([0..1]).expect_err("it is broken").kind(), ErrorKind::Corrupt);
    a.units().erase(&[0])?;
    assert_eq!(a.read([0..4])?.to_vec(), [0; 4]);
    Ok(())
}

/// `c` is the key of some writers for the only chunk of a 0-d array, `c0` that of others.
#[test]
fn the_other_key_of_a_scalar_counts_too() -> Result<()> {
    let memory = MemoryStore::new();
    let a = Array::<u8>::builder([0u64; 0]).format(Format::DraftB).create((&memory, "a"))?;
    memory.set("data/root/a/c", vec![5])?;
    assert!(a.units().is_stored(&[])?);
    assert_eq!(a.units().encoded(&[])?.as_deref(), Some(&[5][..]));
    assert_eq!(a.units().stored()?.map(|unit| unit.byte_len).collect::<Vec<_>>(), [Some(1)]);
    memory.set("data/root/a/c0", vec![6, 7])?;
    assert_eq!(a.units().stored()?.map(|unit| unit.byte_len).collect::<Vec<_>>(), [Some(2)]);
    a.units().write_encoded(&[], vec![8])?;
    assert_eq!((a.read(())?.into_scalar(), memory.get("data/root/a/c")), (8, None));
    memory.set("data/root/a/c", vec![5])?;
    a.units().erase(&[])?;
    assert!(!a.units().is_stored(&[])? && a.read(())?.into_scalar() == 0);
    Ok(())
}

#[test]
fn a_list_reads_no_value() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let store = CountingStore::new(FsStore::new(folder.path()));
    let a = Array::<u8>::builder([40]).chunks([4]).create((Storage::blocking(store.clone()), "a"))?;
    a.fill([0..32], 1)?;
    store.reset();
    assert_eq!(a.units().stored()?.filter_map(|unit| unit.byte_len).sum::<u64>(), 32);
    assert!(a.units().is_stored(&[0])? && !a.units().is_stored(&[9])?);
    assert_eq!(store.counts().bytes_read, 0);
    Ok(())
}

/// Two chunks of each shard for each thread.
#[test]
fn writers_of_chunks_of_one_shard_lose_nothing() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    for storage in [Storage::folder(folder.path()), Storage::from(MemoryStore::new())] {
        let a = Array::<u16>::builder([64]).chunks([2]).shards([16]).create((&storage, "a"))?;
        thread::scope(|scope| {
            for writer in 0..4 {
                let a = &a;
                scope.spawn(move || {
                    for chunk in (0..32).filter(|chunk| chunk % 4 == writer) {
                        a.write_chunk(&[chunk], &Array1::from_elem(2, 1 + chunk as u16)).expect("a write");
                    }
                });
            }
        });
        assert_eq!(a.read(..)?.into_raw_vec_and_offset().0, (0..64).map(|i| 1 + i / 2).collect::<Vec<u16>>());
        assert_eq!(a.units().stored()?.len(), 4);
    }
    Ok(())
}

#[test]
fn cancelled_calls_change_no_unit() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    for storage in [Storage::folder(folder.path()), Storage::from(MemoryStore::new())] {
        let a = Array::<u8>::builder([4]).chunks([2]).create((&storage, "a"))?;
        a.fill(.., 1)?;
        let cancel = Cancel::new();
        let b = a.clone().with_options(RunOptions::default().cancel(cancel.clone()));
        cancel.cancel();
        for result in [b.units().write_encoded(&[0], vec![9, 9]), b.units().erase(&[0])] {
            assert_eq!(result.expect_err("cancelled").kind(), ErrorKind::Cancelled);
        }
        let future = asynchronous::Array::from(b);
        for result in block_on(async {
            [future.units().write_encoded(&[0], vec![9, 9]).await, future.units().erase(&[0]).await]
        }) {
            assert_eq!(result.expect_err("cancelled").kind(), ErrorKind::Cancelled);
        }
        assert_eq!(a.read(..)?.into_raw_vec_and_offset().0, [1; 4]);
    }
    Ok(())
}

/// A read-only store says so.
#[test]
fn stores_that_cannot_list_or_write_say_so() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.zip");
    let archive = ndzarr::store::ZipWriter::create_file(&path)?;
    Array::<u8>::builder([4]).chunks([2]).create((&archive, "a"))?.fill(.., 1)?;
    archive.finish()?;
    let url = format!("{}|zip:a", path.to_str().expect("a name"));
    let a = OpenOptions::new().open_array::<u8>(&*url)?;
    assert_eq!(a.units().stored()?.filter_map(|unit| unit.byte_len).sum::<u64>(), 4);
    assert!(a.units().erase(&[0]).is_err() && a.units().write_encoded(&[0], vec![1, 2]).is_err());
    Ok(())
}

#[test]
fn a_store_without_lengths_in_its_lists_asks_for_each() -> Result<()> {
    let memory = MemoryStore::new();
    let a = Array::<u8>::builder([6])
        .chunks([2])
        .create((Storage::blocking(PlainStore::new(memory.clone())), "a"))?;
    a.fill(.., 1)?;
    memory.erase(&Key::new("a/c/1")?, Precondition::None)?;
    assert_eq!(a.units().stored()?.map(|unit| unit.index[0]).collect::<Vec<_>>(), [0, 2]);
    Ok(())
}
