//! Shards assembled from inner chunks in any order.

use std::path::Path;
use std::sync::Arc;

use ndarray::{ArrayD, IxDyn};
use ndzarr::store::Key;
use ndzarr::{
    Array, ArrayBuilder, ErrorKind, Format, FsStore, MemoryStore, Order, Storage, Store,
    asynchronous, codec, s,
};
use ndzarr_store::Temporary;
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency, Random, block_on};

use crate::folder_files::files_below;

type Form = (&'static str, fn(ArrayBuilder<u16>) -> ArrayBuilder<u16>);

const FORMS: [Form; 3] = [
    ("zarr3", |b| b.codecs([codec::zstd(1)])),
    ("zarr3 F", |b| {
        b.order(Order::F).codecs([codec::gzip(1), codec::crc32c()])
    }),
    ("draft A", |b| b.format(Format::DraftA)),
];

/// 11 x 7 x 5 elements in shards of 8 x 4 x 6.
fn sharded(form: &Form, storage: &Storage) -> Array<u16> {
    let builder = Array::<u16>::builder([11, 7, 5])
        .chunks([2, 4, 3])
        .shards([8, 4, 6])
        .fill_value(9);
    form.1(builder).create((storage, "a")).expect("a new array")
}

pub(crate) fn storages(folder: &Path) -> Vec<(&'static str, Storage)> {
    vec![
        ("memory", MemoryStore::new().into()),
        ("files", folder.into()),
        (
            "futures",
            Storage::asynchronous(AsyncMemoryStore::new(Latency::default())),
        ),
    ]
}

pub(crate) fn temporaries(folder: &Path) -> usize {
    files_below(folder)
        .iter()
        .filter(|name| name.contains("__lock"))
        .count()
}

#[test]
fn inner_chunks_come_in_any_order_from_eight_threads() {
    for form in &FORMS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, storage) in storages(folder.path()) {
            let mut random = Random::seeded(&format!("{} {name}", form.0));
            let a = sharded(form, &storage);
            let mut model = ArrayD::from_elem(IxDyn(&[11, 7, 5]), 9u16);
            for round in 0..12 {
                let shard = [random.below(2), random.below(2), 0];
                let writer = a.shard_writer(&shard).expect("a writer");
                let mut chunks: Vec<_> = writer.chunks().collect();
                // All of them in the first rounds, then some, and occasionally one twice.
                for i in (1..chunks.len()).rev() {
                    chunks.swap(i, random.below(i as u64 + 1) as usize);
                }
                if round > 3 {
                    chunks.truncate(random.below(chunks.len() as u64 + 1) as usize);
                }
                if random.below(3) == 0 && !chunks.is_empty() {
                    chunks.push(chunks[0].clone());
                }
                let value = |index: &[u64]| {
                    if round % 4 == 3 {
                        9
                    } else {
                        round * 100 + index[0] as u16
                    }
                };
                std::thread::scope(|scope| {
                    for part in chunks.chunks(chunks.len().div_ceil(8).max(1)) {
                        let writer = &writer;
                        scope.spawn(move || {
                            for chunk in part {
                                let shape: Vec<usize> = chunk
                                    .ranges
                                    .iter()
                                    .map(|r| (r.end - r.start) as usize)
                                    .collect();
                                let data = ArrayD::from_elem(IxDyn(&shape), value(&chunk.index));
                                writer
                                    .write_chunk(&chunk.index, &data)
                                    .expect("an inner chunk");
                            }
                        });
                    }
                });
                let at = format!("{} {name} {round}", form.0);
                assert_eq!(
                    a.read(..).expect("it can be read"),
                    model,
                    "{at}: before the end"
                );
                if random.below(4) == 0 {
                    drop(writer);
                } else {
                    if random.below(2) == 0 {
                        writer.finish().expect("a shard");
                    } else {
                        block_on(asynchronous::ShardWriter::from(writer).finish())
                            .expect("a shard");
                    }
                    for chunk in &chunks {
                        let slice = |axis: ndarray::AxisDescription| {
                            let range = &chunk.ranges[axis.axis.0];
                            ndarray::Slice::from(range.start as usize..range.end as usize)
                        };
                        model.slice_each_axis_mut(slice).fill(value(&chunk.index));
                    }
                }
                assert_eq!(a.read(..).expect("it can be read"), model, "{at}");
                assert_eq!(temporaries(folder.path()), 0, "{at}");
            }
        }
    }
}

#[test]
fn updates_between_begin_and_end_are_not_lost() {
    for form in &FORMS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, storage) in storages(folder.path()) {
            let a = sharded(form, &storage);
            let writer = a.shard_writer(&[0, 0, 0]).expect("a writer");
            let other = a.shard_writer(&[0, 0, 0]).expect("another writer");
            writer
                .write_chunk(&[0, 0, 0], &ArrayD::from_elem(IxDyn(&[2, 4, 3]), 1))
                .expect("an inner chunk");
            other
                .write_chunk(&[3, 0, 1], &ArrayD::from_elem(IxDyn(&[2, 4, 2]), 4))
                .expect("an inner chunk");
            a.fill([2..3, 0..1, 0..1], 2).expect("a write");
            writer.finish().expect("a shard");
            a.fill([4..5, 0..1, 0..1], 3).expect("a write");
            other.finish().expect("a shard");
            let column = a.read(s![..8, 0, 0]).expect("it can be read");
            assert_eq!(
                column.to_vec(),
                [1, 1, 2, 9, 3, 9, 9, 9],
                "{} {name}",
                form.0
            );
            let column = a.read(s![4..8, 3, 4]).expect("it can be read");
            assert_eq!(column.to_vec(), [9, 9, 4, 4], "{} {name}", form.0);
            assert_eq!(temporaries(folder.path()), 0);
        }
    }
}

#[test]
fn many_writers_of_one_shard_lose_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for storage in [Storage::from(folder.path()), MemoryStore::new().into()] {
        let a = Array::<u32>::builder([64])
            .chunks([2])
            .shards([64])
            .create((&storage, "a"))
            .expect("a new array");
        std::thread::scope(|scope| {
            for thread in 0..8u64 {
                let a = &a;
                scope.spawn(move || {
                    for round in 0..10u32 {
                        for half in [0, 8] {
                            let writer = a.shard_writer(&[0]).expect("a writer");
                            for chunk in [thread + half, thread + half + 16] {
                                let data =
                                    ArrayD::from_elem(IxDyn(&[2]), round * 100 + chunk as u32);
                                writer.write_chunk(&[chunk], &data).expect("an inner chunk");
                            }
                            writer.finish().expect("a shard");
                        }
                    }
                });
            }
        });
        let expected: Vec<u32> = (0..64).map(|i| 900 + i / 2).collect();
        assert_eq!(a.read(s![..]).expect("it can be read").to_vec(), expected);
    }
    assert_eq!(temporaries(folder.path()), 0);
}

#[test]
fn inner_chunks_that_are_not_given_keep_their_bytes() {
    let store = Arc::new(CountingStore::new(MemoryStore::new()));
    let storage = Storage::blocking(Arc::clone(&store));
    let a = Array::<u16>::builder([8])
        .chunks([2])
        .shards([8])
        .create((&storage, "a"))
        .expect("a new array");
    a.fill([0..8], 1).expect("a write");
    store.reset();
    let writer = a.shard_writer(&[0]).expect("a writer");
    writer
        .write_chunk(&[1], &ArrayD::from_elem(IxDyn(&[2]), 5))
        .expect("an inner chunk");
    assert_eq!(
        store.counts().fetches + store.counts().puts,
        0,
        "nothing is asked of the store before the end"
    );
    writer.finish().expect("a shard");
    let counts = store.counts();
    // The array's document, the index, and the three others; the shard, once.
    assert_eq!(
        (counts.fetches, counts.ranges, counts.puts),
        (3, 5, 1),
        "{counts:?}"
    );
    let writer = a.shard_writer(&[0]).expect("a writer");
    for chunk in 0..4 {
        writer
            .write_chunk(&[chunk], &ArrayD::from_elem(IxDyn(&[2]), 6))
            .expect("an inner chunk");
    }
    store.reset();
    writer.finish().expect("a shard");
    assert_eq!(
        (store.counts().fetches, store.counts().puts),
        (1, 1),
        "only the document is read"
    );
    assert_eq!(a.read(s![..]).expect("it can be read").sum(), 48);
}

#[test]
fn temporaries_are_hidden_and_taken_over() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = FsStore::new(folder.path());
    let a = Array::<u16>::builder([8])
        .chunks([2])
        .shards([8])
        .create((&store, "a"))
        .expect("a new array");
    let writer = a.shard_writer(&[0]).expect("a writer");
    writer
        .write_chunk(&[1], &ArrayD::from_elem(IxDyn(&[2]), 5))
        .expect("an inner chunk");
    assert_eq!(temporaries(folder.path()), 1);
    let prefix = ndzarr::store::Prefix::root();
    let keys: Vec<String> = store
        .list_prefix(&prefix)
        .expect("a listing")
        .iter()
        .map(Key::to_string)
        .collect();
    assert!(
        keys.iter().all(|key| key.ends_with("zarr.json")),
        "{keys:?}"
    );
    // As a killed process leaves it: the file exists, and no process holds its lock.
    let left = files_below(folder.path())
        .into_iter()
        .find(|name| name.contains("__lock"))
        .expect("a temporary");
    let content = std::fs::read(&left).expect("a file");
    drop(writer);
    assert_eq!(temporaries(folder.path()), 0);
    std::fs::create_dir_all(Path::new(&left).parent().expect("a folder")).expect("a folder");
    std::fs::write(&left, [&content[..], &[77; 1000]].concat()).expect("a file");
    let writer = a.shard_writer(&[0]).expect("a writer");
    assert_eq!(temporaries(folder.path()), 1, "it is taken over");
    writer
        .write_chunk(&[3], &ArrayD::from_elem(IxDyn(&[2]), 6))
        .expect("an inner chunk");
    writer.finish().expect("a shard");
    assert_eq!(temporaries(folder.path()), 0);
    assert_eq!(
        a.read(s![..]).expect("it can be read").to_vec(),
        [0, 0, 0, 0, 0, 0, 6, 6]
    );
    // One inner chunk of 4 bytes, and the index with its checksum: no leftovers.
    assert_eq!(
        a.units()
            .encoded(&[0])
            .expect("it can be read")
            .expect("a shard")
            .len(),
        4 + 4 * 16 + 4
    );
}

#[test]
fn a_temporary_of_the_store_is_written_and_read() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = FsStore::new(folder.path());
    let key = Key::new("c/0").expect("a key");
    let temporary: Box<dyn Temporary> = store.temporary(&key).expect("a temporary").expect("locks");
    assert_eq!(temporary.append(b"one").expect("a part"), 0);
    assert_eq!(temporary.append(b"two").expect("a part"), 3);
    temporary.write_at(1, b"NE").expect("a part");
    assert_eq!(&temporary.read(0..6).expect("a part")[..], b"oNEtwo");
    drop(temporary);
    assert!(!folder.path().join("c").exists(), "the folder goes with it");
    assert!(
        MemoryStore::new()
            .temporary(&key)
            .expect("no error")
            .is_none()
    );
}

/// Of as many inner chunks as a document may declare.
#[test]
fn a_shard_of_too_many_inner_chunks_is_out_of_memory() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, storage) in storages(folder.path()) {
        let create = |path, len: u64| {
            let builder = Array::<u8>::builder([len])
                .chunks([1_u64])
                .shards([1_u64 << 50]);
            builder.create((&storage, path)).expect("a new array")
        };
        let full = create("full", 1 << 50);
        let writer = full.shard_writer(&[0]).expect_err("too many");
        let mut appender = create("empty", 0).appender(0).expect("an appender");
        let pushed = appender.push(&[1]).expect_err("too many");
        for error in [writer, pushed, full.fill([0..1], 1).expect_err("too many")] {
            assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{name}: {error}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let store = MemoryStore::new();
    let plain = Array::<u16>::builder([8])
        .chunks([2])
        .create((&store, "plain"))
        .expect("a new array");
    assert_eq!(
        plain.shard_writer(&[0]).expect_err("no shards").kind(),
        ErrorKind::InvalidArgument
    );
    let a = Array::<u16>::builder([8, 9])
        .chunks([2, 2])
        .shards([4, 4])
        .create((&store, "a"))
        .expect("a new array");
    for shard in [&[2, 0][..], &[0, 3], &[0], &[0, 0, 0]] {
        assert_eq!(
            a.shard_writer(shard).expect_err("no such shard").kind(),
            ErrorKind::WrongShape
        );
    }
    let writer = a.shard_writer(&[1, 2]).expect("a writer");
    let indices: Vec<_> = writer.chunks().map(|chunk| chunk.index).collect();
    assert_eq!(indices, [[2, 4], [3, 4]]);
    for (inner, shape) in [
        (&[0, 0][..], [2, 2]),
        (&[2, 5], [2, 1]),
        (&[4, 4], [2, 1]),
        (&[2, 4], [2, 2]),
        (&[2], [2, 1]),
    ] {
        let error = writer
            .write_chunk(inner, &ArrayD::ones(IxDyn(&shape)))
            .expect_err("it does not fit");
        assert_eq!(error.kind(), ErrorKind::WrongShape, "{inner:?}");
    }
    writer
        .write_chunk(&[2, 4], &ArrayD::ones(IxDyn(&[2, 1])))
        .expect("it fits");
    writer.finish().expect("a shard");
    assert_eq!(a.read(..).expect("it can be read").sum(), 2);
}
