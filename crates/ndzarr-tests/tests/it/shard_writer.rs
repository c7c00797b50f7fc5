//! Shards assembled from inner chunks in any order.

use std::path::Path;
use std::sync::Arc;

use ndarray::{ArrayD, IxDyn};
use ndzarr::store::Key;
use ndzarr::{
    Array, ArrayBuilder, Error, ErrorKind, Format, FsStore, Group, MemoryStore, Order, ShardWriter, Storage,
    Store, asynchronous, codec, s,
};
use ndzarr_store::Temporary;
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency, Random, block_on};

type Form = (&'static str, fn(ArrayBuilder<u16>) -> ArrayBuilder<u16>);

const FORMS: [Form; 3] = [
    ("zarr3", |b| b.codecs([codec::zstd(1)])),
    ("zarr3 F", |b| b.order(Order::F).codecs([codec::gzip(1), codec::crc32c()])),
    ("draft A", |b| b.format(Format::DraftA)),
];

/// 11 x 7 x 5 elements in shards of 8 x 4 x 6.
fn sharded(form: &Form, storage: &Storage) -> Array<u16> {
    let builder = Array::<u16>::builder([11, 7, 5]).chunks([2, 4, 3]).shards([8, 4, 6]).fill_value(9);
    form.1(builder).create((storage, "a")).expect("a new array")
}

fn storages(folder: &Path) -> Vec<(&'static str, Storage)> {
    vec![
        ("memory", MemoryStore::new().into()),
        ("files", folder.into()),
        ("futures", Storage::asynchronous(AsyncMemoryStore::new(Latency::default()))),
    ]
}

/// Names of all files below a folder.
fn files(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(path) = pending.pop() {
        for entry in std::fs::read_dir(path).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { pending.push(path) } else { names.push(path.display().to_string()) }
        }
    }
    names
}

fn temporaries(folder: &Path) -> usize {
    files(folder).iter().filter(|name| name.contains("__lock")).count()
}

#[test]
fn any_order_from_eight_threads() {
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
                let value = |index: &[u64]| if round % 4 == 3 { 9 } else { round * 100 + index[0] as u16 };
                std::thread::scope(|scope| {
                    for part in chunks.chunks(chunks.len().div_ceil(8).max(1)) {
                        let writer = &writer;
                        scope.spawn(move || {
                            for chunk in part {
                                let shape: Vec<usize> =
                                    chunk.ranges.iter().map(|r| (r.end - r.start) as usize).collect();
                                let data = ArrayD::from_elem(IxDyn(&shape), value(&chunk.index));
                                writer.write_chunk(&chunk.index, &data).expect("an inner chunk");
                            }
                        });
                    }
                });
                let at = format!("{} {name} {round}", form.0);
                assert_eq!(a.read(..).expect("it can be read"), model, "{at}: before the end");
                if random.below(4) == 0 {
                    drop(writer);
                } else {
                    if random.below(2) == 0 {
                        writer.finish().expect("a shard");
                    } else {
                        block_on(asynchronous::ShardWriter::from(writer).finish()).expect("a shard");
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
            writer.write_chunk(&[0, 0, 0], &ArrayD::from_elem(IxDyn(&[2, 4, 3]), 1)).expect("an inner chunk");
            other.write_chunk(&[3, 0, 1], &ArrayD::from_elem(IxDyn(&[2, 4, 2]), 4)).expect("an inner chunk");
            a.fill([2..3, 0..1, 0..1], 2).expect("a write");
            writer.finish().expect("a shard");
            a.fill([4..5, 0..1, 0..1], 3).expect("a write");
            other.finish().expect("a shard");
            let column = a.read(s![..8, 0, 0]).expect("it can be read");
            assert_eq!(column.to_vec(), [1, 1, 2, 9, 3, 9, 9, 9], "{} {name}", form.0);
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
                                let data = ArrayD::from_elem(IxDyn(&[2]), round * 100 + chunk as u32);
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
fn what_is_not_given_keeps_its_bytes() {
    let store = Arc::new(CountingStore::new(MemoryStore::new()));
    let storage = Storage::blocking(Arc::clone(&store));
    let a = Array::<u16>::builder([8]).chunks([2]).shards([8]).create((&storage, "a")).expect("a new array");
    a.fill([0..8], 1).expect("a write");
    store.reset();
    let writer = a.shard_writer(&[0]).expect("a writer");
    writer.write_chunk(&[1], &ArrayD::from_elem(IxDyn(&[2]), 5)).expect("an inner chunk");
    assert_eq!(
        store.counts().fetches + store.counts().puts,
        0,
        "nothing is asked of the store before the end"
    );
    writer.finish().expect("a shard");
    let counts = store.counts();
    // The array's document, the index, and the three others; the shard, once.
    assert_eq!((counts.fetches, counts.ranges, counts.puts), (3, 5, 1), "{counts:?}");
    let writer = a.shard_writer(&[0]).expect("a writer");
    for chunk in 0..4 {
        writer.write_chunk(&[chunk], &ArrayD::from_elem(IxDyn(&[2]), 6)).expect("an inner chunk");
    }
    store.reset();
    writer.finish().expect("a shard");
    assert_eq!((store.counts().fetches, store.counts().puts), (1, 1), "the document alone is read");
    assert_eq!(a.read(s![..]).expect("it can be read").sum(), 48);
}

#[test]
fn temporaries_are_hidden_and_taken_over() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = FsStore::new(folder.path());
    let a = Array::<u16>::builder([8]).chunks([2]).shards([8]).create((&store, "a")).expect("a new array");
    let writer = a.shard_writer(&[0]).expect("a writer");
    writer.write_chunk(&[1], &ArrayD::from_elem(IxDyn(&[2]), 5)).expect("an inner chunk");
    assert_eq!(temporaries(folder.path()), 1);
    let prefix = ndzarr::store::Prefix::root();
    let keys: Vec<String> =
        store.list_prefix(&prefix).expect("a listing").iter().map(Key::to_string).collect();
    assert!(keys.iter().all(|key| key.ends_with("zarr.json")), "{keys:?}");
    // As a killed process leaves it: the file is there, and no process holds its lock.
    let left = files(folder.path()).into_iter().find(|name| name.contains("__lock")).expect("a temporary");
    let content = std::fs::read(&left).expect("a file");
    drop(writer);
    assert_eq!(temporaries(folder.path()), 0);
    std::fs::create_dir_all(Path::new(&left).parent().expect("a folder")).expect("a folder");
    std::fs::write(&left, [&content[..], &[77; 1000]].concat()).expect("a file");
    let writer = a.shard_writer(&[0]).expect("a writer");
    assert_eq!(temporaries(folder.path()), 1, "it is taken over");
    writer.write_chunk(&[3], &ArrayD::from_elem(IxDyn(&[2]), 6)).expect("an inner chunk");
    writer.finish().expect("a shard");
    assert_eq!(temporaries(folder.path()), 0);
    assert_eq!(a.read(s![..]).expect("it can be read").to_vec(), [0, 0, 0, 0, 0, 0, 6, 6]);
    // One inner chunk of 4 bytes, and the index with its checksum: no leftovers.
    assert_eq!(a.units().encoded(&[0]).expect("it can be read").expect("a shard").len(), 4 + 4 * 16 + 4);
}

#[test]
fn temporaries_of_the_store() {
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
    assert!(MemoryStore::new().temporary(&key).expect("no error").is_none());
}

/// Of as many inner chunks as a document may declare.
#[test]
fn a_shard_of_too_many_inner_chunks_is_out_of_memory() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, storage) in storages(folder.path()) {
        let create = |path, len: u64| {
            let builder = Array::<u8>::builder([len]).chunks([1_u64]).shards([1_u64 << 50]);
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

type End = fn(ShardWriter<u8>) -> Result<(), Error>;

/// The ways to end a writer.
const ENDS: [End; 2] =
    [|writer| writer.finish(), |writer| block_on(asynchronous::ShardWriter::from(writer).finish())];

fn line(format: Format, storage: &Storage) -> Array<u8> {
    let builder = Array::<u8>::builder([64]).chunks([4]).shards([16]).format(format).overwrite();
    builder.create((storage, "a")).expect("a new array")
}

#[test]
fn a_shard_that_was_cut_off_is_not_stored() {
    for format in [Format::Zarr3, Format::DraftB] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, storage) in storages(folder.path()) {
            for finish in ENDS {
                // The whole shard is cut off, a part of it, or nothing.
                for (len, shard, fits) in
                    [(8, 3, false), (56, 3, false), (20, 1, false), (20, 0, true), (64, 3, true)]
                {
                    let mut a = line(format, &storage);
                    let stale = a.clone();
                    a.fill(.., 1).expect("a write");
                    let early = a.shard_writer(&[shard]).expect("a writer");
                    a.resize([len]).expect("a resize");
                    let late = stale.shard_writer(&[shard]).expect("a writer");
                    for writer in [early, late] {
                        for inner in writer.chunks() {
                            let data = ArrayD::from_elem(IxDyn(&[4]), 9);
                            writer.write_chunk(&inner.index, &data).expect("an inner chunk");
                        }
                        match finish(writer) {
                            Ok(()) => assert!(fits, "{name} {format}: [{shard}] of {len} is stored"),
                            Err(error) => {
                                assert!(!fits, "{name} {format}: [{shard}] of {len}: {error}");
                                assert_eq!(error.kind(), ErrorKind::WrongShape, "{error}");
                                let message = error.to_string();
                                assert!(message.contains(&format!("resized to [{len}]")), "{message}");
                            }
                        }
                    }
                    assert_eq!(temporaries(folder.path()), 0, "{name}");
                    a.resize([64]).expect("a resize");
                    for (i, &value) in a.read([0..64]).expect("elements").iter().enumerate() {
                        let is_given = fits && (i as u64) / 16 == shard;
                        let expected = if is_given { 9 } else { u8::from((i as u64) < len) };
                        assert_eq!(value, expected, "{name} {format}: element {i} after {len}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_shard_of_an_array_that_is_gone_is_not_stored() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, storage) in storages(folder.path()) {
        let root = Group::create(&storage, Format::Zarr3).expect("a new group");
        for finish in ENDS {
            let a = line(Format::Zarr3, &storage);
            let early = a.shard_writer(&[0]).expect("a writer");
            root.erase("a").expect("it is there");
            let late = a.shard_writer(&[0]).expect("a writer");
            for writer in [early, late] {
                // The temporary of the first may be gone.
                let _ = writer.write_chunk(&[0], &ArrayD::from_elem(IxDyn(&[4]), 9));
                assert_eq!(finish(writer).map_err(|error| error.kind()), Err(ErrorKind::NotFound), "{name}");
            }
            assert!(root.walk().expect("a listing").is_empty(), "{name}");
            let a = line(Format::Zarr3, &storage);
            assert_eq!(a.read([0..64]).expect("elements").iter().max(), Some(&0), "{name}");
            root.erase("a").expect("it is there");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let store = MemoryStore::new();
    let plain = Array::<u16>::builder([8]).chunks([2]).create((&store, "plain")).expect("a new array");
    assert_eq!(plain.shard_writer(&[0]).expect_err("no shards").kind(), ErrorKind::InvalidArgument);
    let a = Array::<u16>::builder([8, 9])
        .chunks([2, 2])
        .shards([4, 4])
        .create((&store, "a"))
        .expect("a new array");
    for shard in [&[2, 0][..], &[0, 3], &[0], &[0, 0, 0]] {
        assert_eq!(a.shard_writer(shard).expect_err("no such shard").kind(), ErrorKind::WrongShape);
    }
    let writer = a.shard_writer(&[1, 2]).expect("a writer");
    let indices: Vec<_> = writer.chunks().map(|chunk| chunk.index).collect();
    assert_eq!(indices, [[2, 4], [3, 4]]);
    for (inner, shape) in
        [(&[0, 0][..], [2, 2]), (&[2, 5], [2, 1]), (&[4, 4], [2, 1]), (&[2, 4], [2, 2]), (&[2], [2, 1])]
    {
        let error = writer.write_chunk(inner, &ArrayD::ones(IxDyn(&shape))).expect_err("it does not fit");
        assert_eq!(error.kind(), ErrorKind::WrongShape, "{inner:?}");
    }
    writer.write_chunk(&[2, 4], &ArrayD::ones(IxDyn(&[2, 1]))).expect("it fits");
    writer.finish().expect("a shard");
    assert_eq!(a.read(..).expect("it can be read").sum(), 2);
}
