//! A handle takes the shape and attributes that others gave the array.

use ndzarr::store::block_on;
use ndzarr::{
    Array, ChunkEdges, ErrorKind, Format, Group, MemoryStore, N5Axes, OpenOptions, Storage,
    asynchronous, codec,
};
use serde_json::json;

const FORMATS: [Format; 5] = [
    Format::Zarr3,
    Format::Zarr2,
    Format::N5,
    Format::DraftA,
    Format::DraftB,
];

#[test]
fn a_handle_follows_what_others_append() {
    for format in FORMATS {
        let storage = Storage::blocking(MemoryStore::new());
        let builder = Array::<u16>::builder([0, 3]).chunks([2, 3]).format(format);
        let mut writer = builder.create((&storage, "a")).expect("a new array");
        let mut follower = Array::<u16>::open((&storage, "a")).expect("the array");
        let mut future =
            block_on(asynchronous::Array::<u16>::open((&storage, "a"))).expect("the array");
        for n in 1..=5_u64 {
            writer
                .append(0, &ndarray::Array2::from_elem((1, 3), n as u16))
                .expect("an append");
            writer
                .merge_attributes(json!({ "frames": n }))
                .expect("a change");
            follower.refresh().expect("the array");
            block_on(future.refresh()).expect("the array");
            let read = block_on(future.read((-1, ..))).expect("a read");
            assert_eq!(read.to_vec(), [n as u16; 3], "{format}");
            assert_eq!(
                (follower.shape(), future.shape()),
                (&[n, 3][..], &[n, 3][..]),
                "{format}"
            );
            assert_eq!(follower.attributes()["frames"], n, "{format}");
            assert_eq!(
                follower.read((-1, ..)).expect("a read").to_vec(),
                [n as u16; 3],
                "{format}"
            );
        }
        writer.resize([2, 3]).expect("a resize");
        follower.refresh().expect("the array");
        assert_eq!(
            follower.read(..).expect("a read").shape(),
            [2, 3],
            "{format}"
        );
    }
}

#[test]
fn what_the_array_was_opened_with_stays() {
    let store = MemoryStore::new();
    let reversed = OpenOptions::new().n5_axes(N5Axes::Reversed);
    Array::<u8>::builder([2, 3])
        .format(Format::N5)
        .create((&store, "n5"))
        .expect("a new array");
    let mut handle = reversed
        .open_array::<u8>((&store, "n5"))
        .expect("the array");
    let mut other = Array::<u8>::open((&store, "n5")).expect("the array");
    assert_eq!((handle.shape(), other.shape()), (&[3, 2][..], &[2, 3][..]));
    other.resize([2, 5]).expect("a resize");
    handle.refresh().expect("the array");
    assert_eq!(handle.shape(), [5, 2]);

    // The document does not say that the separator is "/".
    let nested = br#"{"zarr_format":2,"shape":[4,2],"chunks":[2,2],"dtype":"|u1","compressor":null,"fill_value":7,"order":"C","filters":null}"#;
    store
        .set("nested/.zarray", nested.to_vec())
        .expect("a document");
    store.set("nested/1/0", vec![1, 2, 3, 4]).expect("a chunk");
    let mut handle = OpenOptions::new()
        .separator('/')
        .open_array::<u8>((&store, "nested"))
        .expect("the array");
    handle.refresh().expect("the array");
    handle
        .merge_attributes(json!({"unit": "K"}))
        .expect("a change");
    assert_eq!(handle.units().key(&[1, 0]), "nested/1/0");
    assert_eq!(handle.read((2, ..)).expect("a read").to_vec(), [1, 2]);

    let mut uneven =
        Array::<u8>::builder([5]).chunk_edges([ChunkEdges::Listed(vec![(2, 1), (3, 1)])]);
    uneven = uneven.codecs([codec::gzip(1)]);
    let mut writer = uneven.create((&store, "uneven")).expect("a new array");
    let mut follower = Array::<u8>::open((&store, "uneven")).expect("the array");
    writer.append(0, &[9; 4]).expect("an append");
    follower.refresh().expect("the array");
    assert_eq!(
        follower.read([4..9]).expect("a read").to_vec(),
        [0, 9, 9, 9, 9]
    );
}

#[test]
fn another_array_is_not_taken() {
    for format in FORMATS {
        let store = MemoryStore::new();
        let root = Group::create(&store, format).expect("a new group");
        let made = |builder: ndzarr::ArrayBuilder<u16>| {
            root.create_array("a", builder).expect("a new array")
        };
        let builder = || Array::<u16>::builder([4, 4]).chunks([2, 2]);
        made(builder()).fill(.., 5).expect("a write");
        let mut handle = Array::<u16>::open((&store, "a")).expect("the array");
        for other in [builder().chunks([4, 2]), builder().codecs([codec::gzip(9)])] {
            made(other.overwrite());
            let error = handle.refresh().expect_err("another array");
            assert_eq!(
                error.kind(),
                ErrorKind::InvalidMetadata,
                "{format}: {error}"
            );
            assert_eq!(handle.shape(), [4, 4]);
        }
        root.create_array(
            "a",
            Array::<f32>::builder([4, 4]).chunks([2, 2]).overwrite(),
        )
        .expect("a new array");
        assert_eq!(
            handle.refresh().expect_err("another type").kind(),
            ErrorKind::InvalidMetadata,
            "{format}"
        );
        made(builder().overwrite());
        handle.refresh().expect("an array like it");
        root.erase("a").expect("an array to erase");
        assert_eq!(
            handle.refresh().expect_err("it is gone").kind(),
            ErrorKind::NotFound,
            "{format}"
        );
    }
}
