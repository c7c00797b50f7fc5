//! Copies of a part of an array, compared with slices of ndarray.

use std::sync::Arc;

use ndarray::{Array1, Array3, SliceInfoElem, array};
use ndzarr::{
    Array, ArrayBuilder, Cancel, ChunkEdges, CopyLevel, CopyOptions, DataType, ErrorKind, Format,
    Group, MemoryStore, N5Axes, OpenOptions, Order, Progress, Storage, asynchronous, codec, copy,
    s,
};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency, block_on};

use crate::copy::{OVERHEAD, two_threads};

const SHAPE: [u64; 3] = [40, 34, 27];

fn data() -> Array3<u16> {
    Array3::from_shape_fn((40, 34, 27), |(i, j, k)| (i * 1000 + j * 28 + k + 1) as u16)
}

fn slice(start: isize, end: isize, step: isize) -> SliceInfoElem {
    SliceInfoElem::Slice {
        start,
        end: Some(end),
        step,
    }
}

/// Whole axes, one index, what begins and ends within chunks, steps both ways, nothing.
fn parts() -> Vec<[SliceInfoElem; 3]> {
    vec![
        [slice(0, 40, 1), slice(0, 34, 1), slice(0, 27, 1)],
        [slice(3, 38, 1), slice(9, 10, 1), slice(1, 27, 1)],
        [slice(8, 24, 1), slice(0, 18, 1), slice(7, 21, 1)],
        [slice(1, 40, 7), slice(0, 34, 2), slice(5, 26, 3)],
        [slice(0, 40, -1), slice(2, 33, -5), slice(0, 27, 2)],
        [slice(39, 40, 1), slice(33, 34, -1), slice(26, 27, 4)],
        [slice(5, 5, 1), slice(0, 34, 1), slice(0, 27, 1)],
    ]
}

fn sources() -> Vec<(&'static str, ArrayBuilder<u16>)> {
    let new = || Array::<u16>::builder(SHAPE).fill_value(7);
    let edges = [
        ChunkEdges::Listed(vec![(13, 2), (14, 1)]),
        ChunkEdges::Repeated(10),
        ChunkEdges::Repeated(27),
    ];
    vec![
        ("v3", new().chunks([8, 9, 7]).codecs([codec::zstd(1)])),
        (
            "v3, shards",
            new()
                .chunks([5, 4, 3])
                .shards([20, 8, 9])
                .codecs([codec::gzip(1)]),
        ),
        ("v3, rectilinear", new().chunk_edges(edges)),
        (
            "v2, order F",
            new()
                .format(Format::Zarr2)
                .chunks([40, 3, 11])
                .order(Order::F),
        ),
        (
            "N5",
            Array::<u16>::builder(SHAPE)
                .format(Format::N5)
                .chunks([7, 8, 9]),
        ),
    ]
}

#[test]
fn any_part_of_any_layout_is_copied_to_any_other() {
    for (name, source) in sources() {
        let store = MemoryStore::new();
        let a = source.create((&store, "a")).expect("a new array");
        // Some chunks are not stored.
        a.write(s![..32, .., ..], &data().slice(ndarray::s![..32, .., ..]))
            .expect("elements");
        let all = a.read(..).expect("elements");
        for part in parts() {
            let expected = all.slice(&part[..]);
            for (chunks, shards) in [
                (None, None),
                (Some([10, 10, 10]), None),
                (Some([5, 5, 6]), Some([10, 10, 18])),
                (Some([40, 1, 1]), None),
            ] {
                for extra in [12_000, 1 << 20] {
                    let options = CopyOptions::new()
                        .format(Format::Zarr3)
                        .select(part)
                        .run(two_threads());
                    let mut options = options.memory(OVERHEAD + 40_000 + 40 * 34 * 27 + extra);
                    if let Some(chunks) = chunks {
                        options = options.chunks(chunks);
                    }
                    if let Some(shards) = shards {
                        options = options.shards(shards);
                    }
                    let what = format!("{name} {part:?} to {chunks:?} {shards:?} {extra}");
                    let other = MemoryStore::new();
                    let report = copy((&store, "a"), (&other, "b"), &options);
                    let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert_eq!(report.nodes[0].level, CopyLevel::Reencoded, "{what}");
                    let b = Array::<u16>::open((&other, "b")).expect("the copy");
                    assert_eq!(b.fill_value(), a.fill_value(), "{what}");
                    assert!(b.read(..).expect("elements") == expected, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_part_of_reversed_axes_is_selected_in_the_order_that_is_shown() {
    let store = MemoryStore::new();
    let a = Array::<u16>::builder([40, 34, 27])
        .format(Format::N5)
        .n5_axes(N5Axes::Reversed)
        .chunks([8, 8, 8]);
    a.create((&store, "a"))
        .expect("a new array")
        .write(.., &data())
        .expect("elements");
    let open = OpenOptions::new().n5_axes(N5Axes::Reversed);
    let options = CopyOptions::new()
        .open(open.clone())
        .n5_axes(N5Axes::Reversed)
        .select(s![3..9, ..;4, 20..]);
    copy((&store, "a"), (&store, "b"), &options).expect("a copy");
    let b = open.open_array::<u16>((&store, "b")).expect("the copy");
    assert!(
        b.read(..).expect("elements") == data().slice(ndarray::s![3..9, ..;4, 20..]).into_dyn()
    );
}

#[test]
fn parts_of_texts_of_converted_numbers_and_of_planes_are_copied() {
    let store = MemoryStore::new();
    let texts = Array::<String>::builder([9])
        .chunks([4])
        .create((&store, "texts"))
        .expect("a new array");
    texts
        .write(.., &Array1::from_shape_fn(9, |i| format!("text {i}")))
        .expect("elements");
    copy(
        (&store, "texts"),
        (&store, "some"),
        &CopyOptions::new().select(s![1..8;-3]),
    )
    .expect("a copy");
    let some = Array::<String>::open((&store, "some"))
        .expect("the copy")
        .read((..,))
        .expect("elements");
    assert_eq!(some, array!["text 7", "text 4", "text 1"]);

    let a = Array::<u16>::builder(SHAPE)
        .chunks([8, 9, 7])
        .create((&store, "a"))
        .expect("a new array");
    a.write(.., &data()).expect("elements");
    let options = CopyOptions::new()
        .select(s![.., 30.., ..;5])
        .data_type(DataType::Float { bits: 32 });
    copy((&store, "a"), (&store, "half"), &options.scale(0.5)).expect("a copy");
    let half = Array::<f32>::open((&store, "half"))
        .expect("the copy")
        .read(..)
        .expect("elements");
    assert_eq!(
        half,
        data()
            .slice(ndarray::s![.., 30.., ..;5])
            .mapv(|number| f32::from(number) / 2.0)
            .into_dyn()
    );

    // Through a temporary array, which has the shape of the part.
    let folder = tempfile::tempdir().expect("a folder");
    let planes =
        Array3::from_shape_fn((64, 64, 64), |(i, j, k)| (i * 4096 + j * 64 + k) as u16 | 1);
    let a = Array::<u16>::builder([64, 64, 64])
        .chunks([1, 64, 64])
        .create((&store, "planes"));
    a.expect("a new array")
        .write(.., &planes)
        .expect("elements");
    let options = CopyOptions::new()
        .chunks([64, 4, 4])
        .run(two_threads())
        .memory(OVERHEAD + (160 << 10));
    let report = copy(
        (&store, "planes"),
        (folder.path(), "b"),
        &options.select(s![.., .., 1..;2]),
    )
    .expect("a copy");
    let notes = &report.nodes[0].notes;
    assert!(
        notes
            .iter()
            .any(|note| note.contains("temporary array of up to 262144 bytes")),
        "{notes:?}"
    );
    let b = Array::<u16>::open((folder.path(), "b")).expect("the copy");
    assert!(b.read(..).expect("elements") == planes.slice(ndarray::s![.., .., 1..;2]).into_dyn());
}

/// Only the chunks of the part are read, each once; of a large sparse array, only the stored ones.
#[test]
fn only_chunks_of_the_part_are_read() {
    let memory = MemoryStore::new();
    let a = Array::<u16>::builder(SHAPE)
        .chunks([8, 34, 27])
        .create((&memory, "a"))
        .expect("a new array");
    a.write(.., &data()).expect("elements");
    let counted = CountingStore::new(memory.clone());
    let counters = counted.clone();
    let options = CopyOptions::new()
        .select(s![8..24, .., 3..20])
        .chunks([4, 34, 17]);
    copy(
        (Storage::blocking(counted), "a"),
        (MemoryStore::new(), "b"),
        &options,
    )
    .expect("a copy");
    // Documents are read, and two_threads chunks.
    let n_documents = {
        let counted = CountingStore::new(memory.clone());
        let counters = counted.clone();
        Array::<u16>::open((Storage::blocking(counted), "a")).expect("an array");
        counters.counts().fetches
    };
    let fetches = counters.counts().fetches;
    assert!(
        fetches <= 2 * n_documents + 2 && fetches >= 3,
        "{fetches}, {n_documents}"
    );
    assert_eq!(counters.counts().lists, 0);

    let sparse = Array::<u8>::builder([1 << 40])
        .chunks([1 << 10])
        .create((&memory, "sparse"));
    sparse
        .expect("a new array")
        .fill([1 << 30..(1 << 30) + 10], 5)
        .expect("elements");
    let counted = CountingStore::new(memory);
    let counters = counted.clone();
    let other = MemoryStore::new();
    let part = s![1..1u64 << 39;2];
    copy(
        (Storage::blocking(counted), "sparse"),
        (&other, "b"),
        &CopyOptions::new().select(part),
    )
    .expect("a copy");
    assert!(counters.counts().fetches < 10, "{:?}", counters.counts());
    let b = Array::<u8>::open((&other, "b")).expect("the copy");
    assert_eq!(
        b.read([(1 << 29) - 1..(1 << 29) + 6]).expect("elements"),
        array![0, 5, 5, 5, 5, 5, 0]
    );
    assert_eq!(
        other
            .keys()
            .iter()
            .filter(|key| key.starts_with("b/c/"))
            .count(),
        1
    );
}

#[test]
fn parts_that_do_not_fit_are_refused_before_anything_is_written() {
    let store = MemoryStore::new();
    let root = Group::create((&store, "g"), Format::Zarr3).expect("a new group");
    root.create_array("a", Array::<u8>::builder([8, 8]))
        .expect("a new array");
    let keys = store.keys();
    for (source, part, kind) in [
        (
            "g",
            s![0..1, ..].as_ref().to_vec(),
            ErrorKind::InvalidArgument,
        ),
        (
            "g/a",
            s![0, ..].as_ref().to_vec(),
            ErrorKind::InvalidArgument,
        ),
        (
            "g/a",
            s![.., .., ndarray::NewAxis].as_ref().to_vec(),
            ErrorKind::InvalidArgument,
        ),
        ("g/a", s![0..1].as_ref().to_vec(), ErrorKind::WrongShape),
        ("g/a", s![0..9, ..].as_ref().to_vec(), ErrorKind::WrongShape),
    ] {
        let error = copy(
            (&store, source),
            (&store, "b"),
            &CopyOptions::new().select(&part),
        );
        assert_eq!(
            error.expect_err("it has none").kind(),
            kind,
            "{source} {part:?}"
        );
    }
    // A part needs another target.
    let options = CopyOptions::new()
        .format(Format::Zarr2)
        .select(s![0..1, ..]);
    let error =
        copy((&store, "g/a"), (&store, "g/a"), &options).expect_err("it needs another target");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(store.keys(), keys);
}

/// A copy goes on with its own part only.
#[test]
fn another_part_is_another_copy() {
    let store = MemoryStore::new();
    let a = Array::<u16>::builder(SHAPE)
        .chunks([8, 9, 7])
        .create((&store, "a"))
        .expect("a new array");
    a.write(.., &data()).expect("elements");
    let cancel = Cancel::new();
    let stop = cancel.clone();
    let run = two_threads()
        .cancel(cancel)
        .progress(move |progress: Progress| {
            if progress.done > 1 {
                stop.cancel();
            }
        });
    let part = |first: u64| {
        CopyOptions::new()
            .select(s![first..first + 30, .., ..])
            .chunks([2, 34, 27])
            .memory(OVERHEAD + 200_000)
    };
    let error = copy((&store, "a"), (&store, "b"), &part(2).run(run)).expect_err("it is cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let error = copy(
        (&store, "a"),
        (&store, "b"),
        &part(4).run(two_threads()).resume(),
    )
    .expect_err("another");
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    copy(
        (&store, "a"),
        (&store, "b"),
        &part(2).run(two_threads()).resume(),
    )
    .expect("the rest");
    let b = Array::<u16>::open((&store, "b")).expect("the copy");
    assert!(b.read(..).expect("elements") == data().slice(ndarray::s![2..32, .., ..]).into_dyn());
}

#[test]
fn futures_copy_parts() {
    let memory = MemoryStore::new();
    let a = Array::<u16>::builder(SHAPE)
        .chunks([8, 9, 7])
        .create((&memory, "a"))
        .expect("a new array");
    a.write(.., &data()).expect("elements");
    let slow = Storage::asynchronous(AsyncMemoryStore::new(Latency::default()));
    copy((&memory, "a"), (&slow, "a"), &CopyOptions::new()).expect("a copy");
    let part: Arc<[SliceInfoElem]> = parts()[4].into();
    let options = CopyOptions::new()
        .select(&part)
        .chunks([10, 10, 10])
        .run(two_threads())
        .memory(6 << 20);
    for (at, from) in [&Storage::from(&memory), &slow].into_iter().enumerate() {
        let to = (&slow, format!("b{at}"));
        block_on(asynchronous::copy((from, "a"), to.clone(), &options)).expect("a copy");
        let b = Array::<u16>::open(to).expect("the copy");
        assert!(
            b.read(..).expect("elements") == data().into_dyn().slice(&part[..]),
            "{at}"
        );
    }
}
