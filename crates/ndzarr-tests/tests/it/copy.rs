//! Copies to another chunking, sharding, encoding, type and place, compared with the elements.

use std::num::NonZeroUsize;

use ndarray::{Array1, Array3};
use ndzarr::{
    Any, AnyArray, Array, ArrayBuilder, ChunkEdges, CopyLevel, CopyOptions, DataType, ErrorKind,
    Format, Group, MemoryStore, Order, RunOptions, Storage, asynchronous, codec, copy, s,
};
use ndzarr_testkit::{AsyncMemoryStore, Latency, block_on};
use serde_json::json;

/// Memory that a call with two threads takes besides that of elements, in bytes.
pub(crate) const OVERHEAD: u64 = 2 << 20;

pub(crate) fn two_threads() -> RunOptions {
    RunOptions::default().threads(NonZeroUsize::new(2))
}

pub(crate) fn numbers(shape: [usize; 3]) -> Array3<u16> {
    let mut next = 0u32;
    Array3::from_shape_simple_fn(shape, || {
        next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (next >> 20) as u16
    })
}

const SHAPE: [u64; 3] = [40, 34, 27];

fn sources() -> Vec<(&'static str, ArrayBuilder<u16>)> {
    let new = || Array::<u16>::builder(SHAPE).fill_value(7);
    vec![
        ("v3", new().chunks([8, 9, 7]).codecs([codec::zstd(1)])),
        (
            "v3, shards",
            new()
                .chunks([5, 4, 3])
                .shards([20, 8, 9])
                .codecs([codec::transpose([2, 0, 1]), codec::gzip(1)]),
        ),
        (
            "v3, rectilinear",
            new().chunk_edges([
                ChunkEdges::Listed(vec![(13, 2), (14, 1)]),
                ChunkEdges::Repeated(10),
                ChunkEdges::Listed(vec![(20, 1), (7, 1)]),
            ]),
        ),
        (
            "v2, order F",
            new()
                .format(Format::Zarr2)
                .chunks([40, 3, 11])
                .order(Order::F)
                .codecs([codec::zlib(1)]),
        ),
        ("draft", new().format(Format::DraftA).chunks([7, 34, 5])),
    ]
}

/// Each layout into each other, with little memory, so that blocks are small.
#[test]
fn any_layout_becomes_any_other() {
    let data = numbers([40, 34, 27]);
    for (name, source) in sources() {
        let store = MemoryStore::new();
        let a = source.create((&store, "a")).expect("a new array");
        // Some chunks are not stored.
        a.write(
            s![8..40, .., 0..20],
            &data.slice(ndarray::s![8..40, .., 0..20]),
        )
        .expect("elements");
        let expected = a.read(..).expect("elements");
        for format in [Format::Zarr2, Format::Zarr3, Format::DraftB] {
            for (chunks, shards) in [
                ([10, 10, 10], None),
                ([3, 34, 27], None),
                ([5, 5, 6], Some([10, 10, 18])),
                ([40, 1, 1], None),
            ] {
                if shards.is_some() && format == Format::Zarr2 {
                    continue;
                }
                for extra in [12_000, 40_000, 1 << 20] {
                    let mut options = CopyOptions::new()
                        .format(format)
                        .chunks(chunks)
                        .run(two_threads());
                    options = options.memory(OVERHEAD + 40_000 + 40 * 34 * 27 + extra);
                    if let Some(shards) = shards {
                        options = options.shards(shards);
                    }
                    let what = format!("{name} to {format} {chunks:?} {shards:?} {extra}");
                    let other = MemoryStore::new();
                    let report = copy((&store, "a"), (&other, "b"), &options);
                    let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert_eq!(report.nodes[0].level, CopyLevel::Reencoded, "{what}");
                    let b = Array::<u16>::open((&other, "b")).expect("the copy");
                    assert_eq!(
                        (b.format(), b.chunk_shape(), b.fill_value()),
                        (format, chunks.to_vec(), 7),
                        "{what}"
                    );
                    assert_eq!(
                        b.shard_shape(),
                        shards.as_ref().map(|shards| &shards[..]),
                        "{what}"
                    );
                    assert!(b.read(..).expect("elements") == expected, "{what}");
                    assert!(
                        !other.keys().iter().any(|key| key.contains(".ndzarr")),
                        "{what}: {:?}",
                        other.keys()
                    );
                }
            }
        }
    }
}

#[test]
fn n5_becomes_other_n5_and_back() {
    let data = numbers([40, 34, 27]);
    let store = MemoryStore::new();
    let other = MemoryStore::new();
    let a = Array::<u16>::builder(SHAPE)
        .format(Format::N5)
        .chunks([7, 8, 9])
        .codecs([codec::gzip(1)]);
    a.create((&store, "a"))
        .expect("a new array")
        .write(.., &data)
        .expect("elements");
    let options = CopyOptions::new().chunks([9, 40, 4]);
    copy((&store, "a"), (&other, "b"), &options).expect("a copy");
    let b = Array::<u16>::open((&other, "b")).expect("the copy");
    assert_eq!((b.format(), b.chunk_shape()), (Format::N5, vec![9, 40, 4]));
    assert_eq!(b.read(..).expect("elements"), data.clone().into_dyn());
    let back = CopyOptions::new()
        .format(Format::Zarr3)
        .chunks([4, 4, 4])
        .shards([8, 8, 8]);
    copy((&other, "b"), (&store, "c"), &back).expect("a copy");
    let c = Array::<u16>::open((&store, "c")).expect("the copy");
    assert_eq!(
        (c.shard_shape(), c.read(..).expect("elements")),
        (Some(&[8, 8, 8][..]), data.into_dyn())
    );
}

#[test]
fn arrays_without_axes_or_elements_are_copied() {
    for (shape, chunks) in [
        (vec![], vec![]),
        (vec![0, 5], vec![2, 2]),
        (vec![1], vec![1]),
    ] {
        let store = MemoryStore::new();
        let a = Array::<f32>::builder(&shape)
            .chunks(&chunks)
            .create((&store, "a"))
            .expect("a new array");
        a.fill(.., 2.5).expect("elements");
        let options = CopyOptions::new().codecs([codec::gzip(1)]).memory(64 << 20);
        copy((&store, "a"), (&store, "b"), &options).expect("a copy");
        let b = Array::<f32>::open((&store, "b")).expect("the copy");
        assert_eq!(
            b.read(..).expect("elements"),
            a.read(..).expect("elements"),
            "{shape:?}"
        );
    }
}

#[test]
fn texts_and_structures_are_copied() {
    let store = MemoryStore::new();
    let texts = Array1::from_iter((0..50).map(|i| "x".repeat(i % 7)));
    let a = Array::<String>::builder([50])
        .chunks([8])
        .create((&store, "a"))
        .expect("a new array");
    a.write([3..50], &texts.slice(ndarray::s![3..]))
        .expect("elements");
    let options = CopyOptions::new().chunks([5]).shards([15]).memory(1);
    copy((&store, "a"), (&store, "b"), &options).expect("a copy");
    let b = Array::<String>::open((&store, "b")).expect("the copy");
    assert_eq!(b.read(..).expect("elements"), a.read(..).expect("elements"));

    let fields = [
        ndzarr::Field::new("id", DataType::UInt { bits: 8 }),
        ndzarr::Field::new("mass", DataType::Float { bits: 32 }),
    ];
    let data_type = DataType::Struct(ndzarr::StructType::new(fields).expect("two names"));
    let stars = AnyArray::builder([20])
        .chunks([6])
        .data_type(data_type)
        .create((&store, "c"))
        .expect("a new array");
    let bytes: Vec<u8> = (0..100).collect();
    stars.write_bytes(.., &bytes).expect("elements");
    copy(
        (&store, "c"),
        (&store, "d"),
        &CopyOptions::new().chunks([9]),
    )
    .expect("a copy");
    assert_eq!(
        AnyArray::open((&store, "d"))
            .expect("the copy")
            .read_bytes(..)
            .expect("elements"),
        bytes
    );
}

/// All of the source's codecs, where the format has them.
#[test]
fn cli_08_codecs_are_those_of_the_source() {
    let store = MemoryStore::new();
    let document = |path: &str| -> serde_json::Value {
        serde_json::from_slice(&store.get(path).expect("it was made")).expect("JSON")
    };
    let a = Array::<u16>::builder([20, 10]).chunks([4, 5]);
    let a = a
        .codecs([codec::transpose([1, 0]), codec::zstd(7), codec::crc32c()])
        .create((&store, "a"));
    a.expect("a new array").fill(.., 3).expect("elements");
    let report = copy(
        (&store, "a"),
        (&store, "b"),
        &CopyOptions::new().chunks([5, 10]),
    )
    .expect("a copy");
    assert_eq!(
        document("b/zarr.json")["codecs"],
        document("a/zarr.json")["codecs"],
        "{report:?}"
    );
    assert!(report.nodes[0].notes.is_empty(), "{report:?}");

    let filters = json!({"compressor": {"id": "zlib", "level": 4}, "filters": [{"id": "delta", "dtype": "<u2"}]});
    let a = Array::<u16>::builder([20, 10])
        .chunks([4, 5])
        .format(Format::Zarr2)
        .order(Order::F)
        .codecs_json(filters);
    a.create((&store, "c"))
        .expect("a new array")
        .fill(.., 3)
        .expect("elements");
    copy(
        (&store, "c"),
        (&store, "d"),
        &CopyOptions::new().chunks([5, 10]),
    )
    .expect("a copy");
    assert_eq!(document("d/.zarray")["filters"][0]["id"], "delta");
    for key in ["compressor", "order"] {
        assert_eq!(
            document("d/.zarray")[key],
            document("c/.zarray")[key],
            "{key}"
        );
    }
    // N5 has no checksums after its compression.
    let report = copy(
        (&store, "a"),
        (MemoryStore::new(), "e"),
        &CopyOptions::new().format(Format::N5),
    );
    let notes = report.expect("a copy").nodes.remove(0).notes;
    assert!(
        notes.iter().any(|note| note.contains("without [crc32c]")),
        "{notes:?}"
    );
}

#[test]
fn the_layout_of_a_group_applies_where_it_fits() {
    let store = MemoryStore::new();
    let root = Group::create((&store, "g"), Format::Zarr3).expect("a new group");
    let big = root
        .create_array("a/big", Array::<u16>::builder([20, 20]).chunks([4, 4]))
        .expect("a new array");
    big.fill(.., 1).expect("elements");
    let line = root
        .create_array("line", Array::<f64>::builder([20]).chunks([4]))
        .expect("a new array");
    line.fill(.., 0.5).expect("elements");
    let names = root
        .create_array("names", Array::<String>::builder([2, 2]))
        .expect("a new array");
    names.fill(.., "n".to_owned()).expect("elements");
    let options = CopyOptions::new()
        .chunks([5, 20])
        .data_type(DataType::Float { bits: 32 });
    let report = copy((&store, "g"), (&store, "h"), &options).expect("a copy");
    assert_eq!(report.nodes.len(), 5);
    let copied = Group::open((&store, "h")).expect("the copy");
    let big = copied.array::<f32>("a/big").expect("floats");
    assert_eq!(
        (big.chunk_shape(), big.read(..).expect("elements").sum()),
        (vec![5, 20], 400.0)
    );
    let line = copied.array::<f32>("line").expect("floats");
    assert_eq!(
        (line.chunk_shape(), line.read(..).expect("elements").sum()),
        (vec![4], 10.0)
    );
    assert_eq!(
        copied
            .array::<String>("names")
            .expect("texts")
            .read(..)
            .expect("elements")[[1, 1]],
        "n"
    );
    assert!(
        !store.keys().iter().any(|key| key.contains(".ndzarr")),
        "{:?}",
        store.keys()
    );
    // A layout for a single array must fit.
    let error = copy((&store, "g/line"), (&store, "i"), &options).expect_err("two axes");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_report_says_what_becomes_different() {
    let store = MemoryStore::new();
    let edges = [ChunkEdges::Listed(vec![(3, 1), (5, 1)])];
    Array::<u8>::builder([8])
        .chunk_edges(edges)
        .create((&store, "a"))
        .expect("a new array");
    let options = CopyOptions::new().codecs([codec::zstd(3)]);
    let report = copy((&store, "a"), (&store, "b"), &options).expect("a copy");
    assert_eq!(report.nodes[0].notes, ["its chunks become regular, of [5]"]);
    let f = Array::<u8>::builder([4, 6])
        .chunks([2, 3])
        .format(Format::Zarr2)
        .order(Order::F);
    f.create((&store, "f")).expect("a new array");
    let options = CopyOptions::new().data_type(DataType::Float { bits: 32 });
    let report = copy((&store, "f"), (&store, "g"), &options).expect("a copy");
    assert_eq!(
        report.nodes[0].notes,
        ["its elements are stored in C order"]
    );
}

#[test]
fn futures_copy_between_all_kinds_of_stores() {
    let data = numbers([40, 34, 27]);
    let memory = MemoryStore::new();
    let a = Array::<u16>::builder(SHAPE)
        .chunks([8, 9, 7])
        .create((&memory, "a"))
        .expect("a new array");
    a.write(.., &data).expect("elements");
    let slow = Storage::asynchronous(AsyncMemoryStore::new(Latency::default()));
    copy((&memory, "a"), (&slow, "a"), &CopyOptions::new()).expect("a copy");
    let stores = [Storage::from(&memory), slow];
    let options = CopyOptions::new()
        .chunks([10, 10, 10])
        .data_type(DataType::Float { bits: 32 })
        .run(two_threads());
    let options = options.memory(6 << 20);
    let mut copies = Vec::new();
    for (i, from) in stores.iter().enumerate() {
        for (j, to) in stores.iter().enumerate() {
            let name = format!("{i}{j}");
            copy((from, "a"), (to, &name), &options).expect("a copy");
            copies.push(asynchronous::copy(
                (from, "a"),
                (to, format!("{name}f")),
                &options,
            ));
        }
    }
    // All on one thread.
    for copied in block_on(futures_util::future::join_all(copies)) {
        copied.expect("a copy");
    }
    let expected = data.mapv(f32::from).into_dyn();
    for i in 0..2 {
        for (j, to) in stores.iter().enumerate() {
            for name in [format!("{i}{j}"), format!("{i}{j}f")] {
                let copy = Array::<f32>::open((to, &name)).expect("the copy");
                assert!(copy.read(..).expect("elements") == expected, "{name}");
            }
        }
    }
}

#[test]
fn chunks_that_stay_are_copied_as_they_are() {
    let store = MemoryStore::new();
    let a = Array::<u16>::builder([20, 10])
        .chunks([4, 5])
        .codecs([codec::zstd(3)])
        .create((&store, "a"));
    a.expect("a new array").fill(.., 3).expect("elements");
    for options in [
        CopyOptions::new(),
        CopyOptions::new().chunks([4, 5]),
        CopyOptions::new().no_shards(),
    ] {
        let other = MemoryStore::new();
        let report = copy((&store, "a"), (&other, "a"), &options).expect("a copy");
        assert_eq!(
            (report.nodes[0].level, report.nodes[0].n_chunks),
            (CopyLevel::Rekeyed, 10)
        );
        let values = |store: &MemoryStore| {
            store
                .keys()
                .into_iter()
                .map(|key| (store.get(&key), key))
                .collect::<Vec<_>>()
        };
        assert_eq!(values(&other), values(&store));
    }
    // In place nothing is left to do.
    let error = copy((&store, "a"), (&store, "a"), &CopyOptions::new()).expect_err("itself");
    assert!(
        [ErrorKind::AlreadyExists, ErrorKind::InvalidArgument].contains(&error.kind()),
        "{error:?}"
    );
    let error = copy(
        (&store, "a"),
        (&store, "a"),
        &CopyOptions::new().chunks([5, 5]),
    )
    .expect_err("in place");
    assert!(error.to_string().contains("another target"), "{error}");
    let _: AnyArray = ndzarr::OpenOptions::new()
        .open_array::<Any>((&store, "a"))
        .expect("it stays");
}
