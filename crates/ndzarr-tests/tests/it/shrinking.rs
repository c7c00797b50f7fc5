//! Interrupted shrinking, and what it leaves.

use std::error::Error;

use ndarray::{Array1, array};
use ndzarr::store::StoreError;
use ndzarr::{
    AnyArray, Array, ArrayBuilder, Cancel, ErrorKind, Format, FsStore, MemoryStore, RunOptions,
    Storage,
};
use ndzarr_testkit::{Call, FaultStore};

type Outcome = Result<(), Box<dyn Error>>;

/// Formats with units of eight elements, forty in total: shrinking to 12 cuts unit 1 and removes
/// the next three.
fn layouts() -> Vec<(&'static str, ArrayBuilder<u16>)> {
    let plain = |format| Array::<u16>::builder([40]).chunks([8]).format(format);
    let sharded = |format| {
        Array::<u16>::builder([40])
            .chunks([2])
            .shards([8])
            .format(format)
    };
    vec![
        ("v2", plain(Format::Zarr2)),
        ("v3", plain(Format::Zarr3)),
        ("v3 shards", sharded(Format::Zarr3)),
        ("draft", plain(Format::DraftA)),
        ("draft shards", sharded(Format::DraftB)),
        ("n5", plain(Format::N5)),
    ]
}

/// A chunk at the new end cannot be read: nothing is removed, and the array keeps its shape.
#[test]
fn a_broken_chunk_at_the_end_stops_shrinking_before_anything_is_removed() -> Outcome {
    for (name, builder) in layouts() {
        let store = MemoryStore::new();
        let mut a = builder.create((&store, "a"))?;
        a.write([0..40], &Array1::from_iter(1..41))?;
        store.set(&a.units().key(&[1]), "odd")?;
        let before: Vec<_> = store
            .keys()
            .iter()
            .map(|key| (key.clone(), store.get(key)))
            .collect();
        let error = a.resize([12]).expect_err("it cannot be trimmed");
        assert_eq!(
            (error.kind(), error.chunk()),
            (ErrorKind::Corrupt, Some(&[1][..])),
            "{name}"
        );
        let after: Vec<_> = store
            .keys()
            .iter()
            .map(|key| (key.clone(), store.get(key)))
            .collect();
        assert_eq!((after, a.shape()), (before, &[40][..]), "{name}");
        // Overwriting it allows the shrink.
        a.fill([8..16], 3)?;
        a.resize([12])?;
        a.resize([20])?;
        assert_eq!(a.read([6..14])?, array![7, 8, 3, 3, 3, 3, 0, 0], "{name}");
    }
    Ok(())
}

/// An N5 block of varying length is not part of an array: at the new end it stays whole, and
/// shrinking is an error.
#[test]
fn an_n5_block_of_varying_length_stays_as_it_is() -> Outcome {
    let store = MemoryStore::new();
    let mut a = Array::<u8>::builder([40])
        .chunks([8])
        .format(Format::N5)
        .create((&store, "a"))?;
    a.fill([0..40], 1)?;
    // Mode 1, one dimension of 8, 3 elements.
    let block = [&[0u8, 1, 0, 1, 0, 0, 0, 8, 0, 0, 0, 3][..], &[7, 8, 9]].concat();
    store.set("a/1", block.clone())?;
    let error = a.resize([12]).expect_err("such a block is not trimmed");
    assert_eq!(error.key(), Some("a/1"), "{error}");
    assert_eq!(AnyArray::open((&store, "a"))?.shape(), [40]);
    assert!(store.get("a/1").is_some_and(|now| now == block) && store.get("a/4").is_some());
    // Elsewhere it is not in the way.
    a.resize([18])?;
    assert!(store.get("a/1").is_some_and(|now| now == block) && store.get("a/4").is_none());
    a.resize([8])?;
    assert!(store.get("a/1").is_none());
    Ok(())
}

/// Stopped after each of its steps, it can be repeated, and elements beyond the end never reappear.
#[test]
fn a_stopped_shrinking_goes_on() -> Outcome {
    for (name, builder) in layouts() {
        for after in 0..8 {
            let folder = tempfile::tempdir()?;
            let storage = Storage::folder(folder.path());
            let a = builder.clone().create((&storage, "a"))?;
            a.write([0..40], &Array1::from_iter(1..41))?;
            let cancel = Cancel::new();
            let stop = cancel.clone();
            let options = RunOptions::default()
                .threads(std::num::NonZeroUsize::new(1))
                .cancel(cancel)
                .progress(move |progress| {
                    if progress.done > after {
                        stop.cancel();
                    }
                });
            let stopped = a.with_options(options).resize([12]);
            let mut a = Array::<u16>::open((&storage, "a"))?;
            let n = a.shape()[0];
            // Four units are affected; the document is changed after the last one.
            assert_eq!(
                (stopped.is_err(), n),
                if after < 4 { (true, 40) } else { (false, 12) },
                "{name} {after}"
            );
            let found = a.read([0..n])?;
            assert!(
                found
                    .iter()
                    .zip(1..)
                    .all(|(&e, i)| e == i || i > 12 && e == 0),
                "{name} {after}: {found}"
            );
            a.resize([12])?;
            a.resize([50])?;
            let expected = (1..=50).map(|i| if i <= 12 { i } else { 0 });
            assert_eq!(
                a.read([0..50])?,
                Array1::from_iter(expected),
                "{name} {after}"
            );
        }
    }
    Ok(())
}

#[test]
fn a_document_that_cannot_be_written_keeps_the_shape() -> Outcome {
    for (name, builder) in layouts() {
        let folder = tempfile::tempdir()?;
        let store = FaultStore::new(FsStore::new(folder.path()));
        let storage = Storage::blocking(store.clone());
        let mut a = builder.create((&storage, "a"))?;
        a.write([0..40], &Array1::from_iter(1..41))?;
        // The last publication.
        store.fail_nth(Call::Publish, 1, StoreError::Unsupported("publish"));
        assert!(a.resize([12]).is_err(), "{name}");
        assert_eq!((a.shape(), store.heal_unused()), (&[40][..], 0), "{name}");
        assert_eq!(
            Array::<u16>::open((&storage, "a"))?.read([10..14])?,
            array![11, 12, 0, 0],
            "{name}"
        );
    }
    Ok(())
}
