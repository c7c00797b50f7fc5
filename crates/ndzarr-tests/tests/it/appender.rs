//! Appenders: what they publish, what they refuse, and what they leave in the store.

use std::ops::Range;

use ndarray::{Array2, Array3, ArrayD, Axis, IxDyn, Slice, array};
use ndzarr::{
    AnyArray, AnyElements, Array, ArrayBuilder, Cancel, ChunkEdges, ConcurrentUpdate, ErrorKind,
    Format, MemoryStore, N5Axes, OpenOptions, Order, Result, RunOptions, Storage, asynchronous,
    codec,
};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency, PlainStore, Random, block_on};

use crate::folder_files::files_below;

/// Arrays of two frames of 5 x 4 along axis 0, whose chunks end within frames or after several.
pub(crate) fn layouts() -> Vec<(&'static str, ArrayBuilder<u16>)> {
    let array = |chunks: [u64; 3]| Array::<u16>::builder([2, 5, 4]).chunks(chunks);
    let edges = [
        ChunkEdges::Repeated(6),
        ChunkEdges::Listed(vec![(4, 1), (2, 1)]),
        ChunkEdges::Repeated(4),
    ];
    let grows = [
        ChunkEdges::Listed(vec![(2, 1)]),
        ChunkEdges::Repeated(2),
        ChunkEdges::Repeated(4),
    ];
    vec![
        ("chunks", array([3, 2, 4])),
        (
            "v2 F",
            array([1, 5, 4]).format(Format::Zarr2).order(Order::F),
        ),
        ("n5", array([3, 2, 3]).format(Format::N5)),
        (
            "draft shards",
            array([1, 2, 2]).shards([4, 4, 4]).format(Format::DraftB),
        ),
        (
            "frames in shards",
            array([1, 5, 4]).shards([4, 5, 4]).codecs([codec::gzip(1)]),
        ),
        ("threes in shards", array([3, 2, 2]).shards([6, 4, 4])),
        (
            "transposed in shards",
            array([2, 5, 2])
                .shards([6, 5, 4])
                .codecs([codec::transpose([2, 0, 1])]),
        ),
        (
            "uneven shards",
            Array::builder([2, 5, 4])
                .chunks([2, 2, 2])
                .chunk_edges(edges)
                .shards([6, 4, 4]),
        ),
        (
            "chunks as appended",
            Array::builder([2, 5, 4]).chunk_edges(grows),
        ),
    ]
}

/// The elements of frame `n`, never the fill value.
pub(crate) fn frame(n: usize) -> Array2<u16> {
    Array2::from_shape_fn((5, 4), |(y, x)| 1 + (n * 20 + y * 4 + x) as u16)
}

pub(crate) fn frames(range: Range<usize>) -> Array3<u16> {
    let first = range.start;
    Array3::from_shape_fn((range.len(), 5, 4), |(n, y, x)| frame(first + n)[[y, x]])
}

pub(crate) fn stored(storage: &Storage) -> ArrayD<u16> {
    Array::<u16>::open((storage, "a"))
        .expect("the array")
        .read(..)
        .expect("a read")
}

#[test]
fn what_is_published_is_what_was_pushed() {
    let mut random = Random::seeded("appender");
    for (name, builder) in layouts() {
        let folder = tempfile::tempdir().expect("a folder");
        let storages = [
            Storage::folder(folder.path()),
            Storage::from(MemoryStore::new()),
            Storage::asynchronous(AsyncMemoryStore::new(Latency::default())),
        ];
        for storage in &storages {
            let a = builder
                .clone()
                .create((storage, "a"))
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            a.write(.., &frames(0..2)).expect("a write");
            let mut published = 2;
            let run = |result: Result<()>| {
                result.unwrap_or_else(|error| panic!("{name} in {}: {error}", storage.name()))
            };
            // Some are dropped, each in another state.
            for round in 0..4 {
                let mut appender = a.appender(0).expect("an appender");
                let mut pushed = published;
                for _ in 0..6 {
                    match random.below(4) {
                        0 => {
                            run(appender.push(&frame(pushed)));
                            pushed += 1;
                        }
                        1 => {
                            run(appender.publish());
                            published = pushed;
                            assert_eq!(
                                stored(storage),
                                frames(0..published).into_dyn(),
                                "{name} {round}"
                            );
                            continue;
                        }
                        n => {
                            let n = if n == 2 { 3 } else { random.below(9) as usize };
                            run(appender.push(&frames(pushed..pushed + n)));
                            pushed += n;
                        }
                    }
                    // Full rows were published.
                    let now = stored(storage);
                    assert!(
                        now.shape()[0] >= published && now.shape()[0] <= pushed,
                        "{name} {round}"
                    );
                    published = now.shape()[0];
                    assert_eq!(now, frames(0..published).into_dyn(), "{name} {round}");
                }
                if round == 3 {
                    run(appender.finish());
                    published = pushed;
                }
                assert_eq!(
                    stored(storage),
                    frames(0..published).into_dyn(),
                    "{name} {round}"
                );
            }
            // No element that was not published shows beyond the end.
            let mut a = Array::<u16>::open((storage, "a")).expect("the array");
            if name != "chunks as appended" {
                a.resize([published as u64 + 9, 5, 4]).expect("a resize");
                let beyond = a.read((published.., .., ..)).expect("a read");
                assert!(
                    beyond.iter().all(|element| *element == 0),
                    "{name} in {}",
                    storage.name()
                );
            }
        }
    }
}

#[test]
fn appenders_as_futures_and_of_any_type_publish_what_was_pushed() -> Result<()> {
    for (name, builder) in layouts() {
        let folder = tempfile::tempdir().expect("a folder");
        let storages = [
            Storage::folder(folder.path()),
            Storage::asynchronous(AsyncMemoryStore::new(Latency::default())),
        ];
        for storage in &storages {
            let a = builder.clone().create((storage, "a"))?;
            a.write(.., &frames(0..2))?;
            block_on(async {
                let a = asynchronous::Array::from(a.clone());
                let mut appender = a.appender(0).await?;
                for n in 2..8 {
                    appender.push(&frame(n)).await?;
                }
                appender.publish().await?;
                assert_eq!(stored(storage), frames(0..8).into_dyn(), "{name}");
                appender.push(&frames(8..19)).await?;
                appender.finish().await
            })?;
            let mut appender = AnyArray::from(a.clone()).appender(0)?;
            appender.push(&AnyElements::from(frames(19..21)))?;
            appender.push(&AnyElements::from(frame(21)))?;
            let wrong = appender
                .push(&AnyElements::from(array![[1u8]]))
                .expect_err("another type");
            assert_eq!(wrong.kind(), ErrorKind::WrongType);
            appender.finish()?;
            assert_eq!(stored(storage), frames(0..22).into_dyn(), "{name}");
            block_on(async {
                let a = asynchronous::AnyArray::from(AnyArray::from(a.clone()));
                let mut appender = a.appender(0).await?;
                appender.push(&AnyElements::from(frame(22))).await?;
                appender.finish().await
            })?;
            assert_eq!(stored(storage), frames(0..23).into_dyn(), "{name}");
        }
    }
    Ok(())
}

#[test]
fn axes_of_n5_as_they_were_opened_grow() -> Result<()> {
    let memory = MemoryStore::new();
    let a = Array::<u16>::builder([2, 5, 4])
        .chunks([3, 2, 3])
        .format(Format::N5)
        .n5_axes(N5Axes::Reversed);
    let a = a.create((&memory, "a"))?;
    a.write(.., &frames(0..2))?;
    let mut appender = a.appender(0)?;
    appender.push(&frames(2..7))?;
    appender.publish()?;
    appender.push(&frame(7))?;
    appender.finish()?;
    let reversed = OpenOptions::new().n5_axes(N5Axes::Reversed);
    assert_eq!(
        reversed.open_array::<u16>((&memory, "a"))?.read(..)?,
        frames(0..8).into_dyn()
    );
    Ok(())
}

#[test]
fn any_axis_grows_and_texts_too() -> Result<()> {
    let memory = MemoryStore::new();
    let a = Array::<u8>::builder([3, 0])
        .chunks([2, 2])
        .shards([4, 4])
        .create((&memory, "a"))?;
    let mut appender = a.appender(1)?;
    for n in 1..=5_u8 {
        appender.push(&[n, n + 10, n + 20])?;
    }
    appender.finish()?;
    let read = Array::<u8>::open((&memory, "a"))?.read((1, ..))?;
    assert_eq!(read.to_vec(), [11, 12, 13, 14, 15]);

    let texts = Array::<String>::builder([0])
        .chunks([2])
        .shards([4])
        .create((&memory, "texts"))?;
    let mut appender = texts.appender(0)?;
    appender.push(&["a".to_owned(), String::new(), "ccc".to_owned()])?;
    appender.publish()?;
    appender.push(&["dd".to_owned(), "e".to_owned()])?;
    appender.finish()?;
    assert_eq!(
        Array::<String>::open((&memory, "texts"))?
            .read(..)?
            .iter()
            .collect::<Vec<_>>(),
        ["a", "", "ccc", "dd", "e"]
    );
    // An array without elements grows as well.
    let none = Array::<u8>::builder([0, 0])
        .chunks([1, 1])
        .create((&memory, "none"))?;
    let mut appender = none.appender(0)?;
    appender.push(&Array2::<u8>::zeros((7, 0)))?;
    appender.finish()?;
    assert_eq!(Array::<u8>::open((&memory, "none"))?.shape(), [7, 0]);
    Ok(())
}

pub(crate) fn movie(storage: &Storage) -> Array<u16> {
    let movie = Array::<u16>::builder([0, 5, 4])
        .chunks([1, 5, 4])
        .shards([4, 5, 4]);
    movie.create((storage, "a")).expect("a new array")
}

#[test]
fn a_dropped_appender_leaves_no_file() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let files = || -> Vec<String> {
        let mut names: Vec<String> = files_below(folder.path());
        names.sort();
        names
    };
    let a = movie(&Storage::folder(folder.path()));
    let before = files();
    let mut appender = a.appender(0)?;
    appender.push(&frames(0..3))?;
    assert_ne!(files(), before, "encoded frames are in a file");
    drop(appender);
    assert_eq!(files(), before);
    // A future that was dropped before it was polled changes nothing, but the appender is of no
    // use.
    let mut appender = block_on(asynchronous::Array::from(a.clone()).appender(0))?;
    block_on(appender.push(&frame(0)))?;
    drop(appender.publish());
    block_on(appender.finish())?;
    assert_eq!(
        stored(&Storage::folder(folder.path())),
        frames(0..1).into_dyn()
    );
    Ok(())
}

#[test]
fn a_cancelled_appender_publishes_nothing() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    for storage in [
        Storage::folder(folder.path()),
        Storage::from(MemoryStore::new()),
    ] {
        let cancel = Cancel::new();
        let a = movie(&storage).with_options(RunOptions::default().cancel(cancel.clone()));
        let (mut one, mut two) = (a.appender(0)?, a.appender(0)?);
        one.push(&frame(0))?;
        cancel.cancel();
        assert_eq!(
            one.publish().expect_err("cancelled").kind(),
            ErrorKind::Cancelled
        );
        assert_eq!(
            two.push(&frames(0..8)).expect_err("cancelled").kind(),
            ErrorKind::Cancelled
        );
        assert_eq!(stored(&storage).shape(), [0, 5, 4]);
    }
    Ok(())
}

/// A shard that is published when it is full is written once; nothing of it is read.
#[test]
fn full_shards_are_written_once() -> Result<()> {
    let store = CountingStore::new(MemoryStore::new());
    let a = movie(&Storage::blocking(store.clone()));
    let mut appender = a.appender(0)?;
    store.reset();
    for n in 0..8 {
        appender.push(&frame(n))?;
    }
    let counts = store.reset();
    // 4 frames of 40 bytes, 4 entries of 16 bytes and a checksum; and the document.
    let shards = 2 * (4 * 40 + 4 * 16 + 4);
    assert!(
        counts.bytes_written >= shards && counts.puts == 4,
        "{counts:?}"
    );
    let document = counts.bytes_written - shards;
    assert!(document < 2 * 1000, "{document}");
    assert_eq!(stored(&Storage::blocking(store)), frames(0..8).into_dyn());
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused_and_the_appender_goes_on() -> Result<()> {
    let storage = Storage::blocking(PlainStore::new(MemoryStore::new()));
    let options = RunOptions::default().concurrent_update(ConcurrentUpdate::LastWriterWins);
    let a = movie(&storage).with_options(options);
    assert_eq!(
        a.appender(3).expect_err("no such axis").kind(),
        ErrorKind::InvalidArgument
    );
    let mut appender = a.appender(0)?;
    for wrong in [vec![5, 5], vec![1, 5, 5], vec![20], vec![1, 1, 5, 4]] {
        let error = appender
            .push(&ArrayD::<u16>::zeros(IxDyn(&wrong)))
            .expect_err("another shape");
        assert_eq!(error.kind(), ErrorKind::WrongShape, "{wrong:?}: {error}");
    }
    appender.push(&frames(0..0))?;
    appender.publish()?;
    let whole = frames(0..9);
    appender.push(&whole.slice_axis(Axis(0), Slice::from(0..9)))?;
    appender.finish()?;
    assert_eq!(stored(&storage), whole.into_dyn());
    Ok(())
}

#[test]
fn an_appender_ends_where_indices_do() -> Result<()> {
    let a = Array::<u8>::builder([u64::MAX - 5]).chunks([10]);
    let a = a.create((MemoryStore::new(), "a"))?;
    let mut appender = a.appender(0)?;
    appender.push(&[1, 2, 3])?;
    let error = appender
        .push(&[4, 5, 6, 7])
        .expect_err("the array would be too long");
    assert_eq!(error.kind(), ErrorKind::WrongShape, "{error}");
    appender.push(&[4, 5])?;
    appender.finish()
}
