//! Writes in stores that cannot serialize writers, and by writers that do not want to be
//! serialized.

use std::error::Error;
use std::num::NonZeroUsize;
use std::thread;

use ndarray::{Array1, array};
use ndzarr::{
    Array, ArrayBuilder, AttributeChange, ConcurrentUpdate, ErrorKind, Format, FsStore, Group,
    MemoryStore, RunOptions, Storage, asynchronous,
};
use ndzarr_testkit::PlainStore;
use serde_json::json;

type Outcome = Result<(), Box<dyn Error>>;

fn last_writer_wins() -> RunOptions {
    RunOptions::default().concurrent_update(ConcurrentUpdate::LastWriterWins)
}

/// Formats with chunks or blocks, and shards of four inner chunks.
fn layouts() -> Vec<(&'static str, ArrayBuilder<u16>)> {
    let plain = |format| Array::<u16>::builder([10]).chunks([8]).format(format);
    let sharded = |format| {
        Array::<u16>::builder([10])
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

fn each_layout(check: impl Fn(&str, Array<u16>) -> Outcome) -> Outcome {
    for (name, builder) in layouts() {
        let storage = Storage::blocking(PlainStore::new(MemoryStore::new()));
        check(
            name,
            builder
                .create((&storage, "a"))
                .map_err(|error| format!("{name}: {error:?}"))?,
        )?;
    }
    Ok(())
}

#[test]
fn whole_chunks_are_overwritten_without_locks() -> Outcome {
    each_layout(|name, a| {
        a.write([0..8], &Array1::from_iter(1..9))?;
        // The whole part inside the array of the chunk at its end.
        a.write([8..10], &array![9, 10])?;
        assert_eq!(a.read([0..10])?, Array1::from_iter(1..11), "{name}");
        a.fill([0..8], 0)?;
        assert_eq!(a.units().encoded(&[0])?, None, "{name}");
        ndzarr_store::block_on(
            asynchronous::Array::from(a.clone()).write([0..8], &Array1::from_iter(11..19)),
        )?;
        assert_eq!(a.read([0..2])?, array![11, 12], "{name}");
        Ok(())
    })
}

#[test]
fn a_partial_update_without_locks_is_an_error_that_names_the_option() -> Outcome {
    each_layout(|name, a| {
        a.write([0..8], &Array1::from_iter(1..9))?;
        let blocking = a
            .write([2..5], &array![0, 0, 0])
            .expect_err("the store has no locks");
        let pooled = ndzarr_store::block_on(
            asynchronous::Array::from(a.clone()).write([2..5], &array![0, 0, 0]),
        );
        for error in [blocking, pooled.expect_err("the store has no locks")] {
            assert_eq!(error.kind(), ErrorKind::NoLocking, "{name}");
            assert!(
                error.to_string().contains("the last writer"),
                "{name}: {error}"
            );
            assert_eq!(
                (error.key(), error.chunk()),
                (Some(&a.units().key(&[0])[..]), Some(&[0][..])),
                "{name}"
            );
        }
        assert_eq!(a.read([0..8])?, Array1::from_iter(1..9), "{name}");
        Ok(())
    })
}

#[test]
fn the_last_writer_wins_where_that_is_wanted() -> Outcome {
    each_layout(|name, a| {
        let a = a.with_options(last_writer_wins());
        a.write([0..8], &Array1::from_iter(1..9))?;
        a.write([2..5], &array![20, 30, 40])?;
        ndzarr_store::block_on(asynchronous::Array::from(a.clone()).write([9..10], &array![90]))?;
        assert_eq!(
            a.read([0..10])?,
            array![1, 2, 20, 30, 40, 6, 7, 8, 0, 90],
            "{name}"
        );
        Ok(())
    })
}

#[test]
fn attributes_are_not_changed_without_locks() -> Outcome {
    let storage = Storage::blocking(PlainStore::new(MemoryStore::new()));
    let mut group = Group::create((&storage, "g"), Format::Zarr3)?;
    let error = group
        .merge_attributes(json!({"a": 1}))
        .expect_err("the store has no locks");
    assert_eq!(
        (error.kind(), error.store()),
        (ErrorKind::NoLocking, Some("memory"))
    );
    assert!(error.to_string().contains("the last writer"), "{error}");
    assert_eq!(error.key(), Some("g/zarr.json"));
    Ok(())
}

#[test]
fn attributes_and_shapes_are_changed_without_locks_where_that_is_wanted() -> Outcome {
    each_layout(|name, a| {
        let storage = a.storage().clone();
        let mut a = a.with_options(last_writer_wins());
        a.write([0..10], &Array1::from_iter(1..11))?;
        a.merge_attributes(json!({"a": 1}))?;
        a.change_attributes(&AttributeChange::Replace(serde_json::Map::from_iter([(
            "b".to_owned(),
            json!(2),
        )])))?;
        a.resize([6])?;
        a.resize([10])?;
        assert_eq!(
            a.read([0..10])?,
            array![1, 2, 3, 4, 5, 6, 0, 0, 0, 0],
            "{name}"
        );
        let root = Group::create((&storage, "g"), a.format())?.with_options(last_writer_wins());
        let mut child = root.create_group("child")?;
        child.merge_attributes(json!({"c": 3}))?;
        // Nodes opened through a group have its options.
        let mut again = root.group("child")?;
        again.merge_attributes(json!({"d": 4}))?;
        assert_eq!(
            serde_json::to_value(again.attributes())?,
            json!({"c": 3, "d": 4}),
            "{name}"
        );
        let mut array = root.create_array("x", Array::<u8>::builder([4]).chunks([4]))?;
        array.fill([1..2], 1)?;
        root.array::<u8>("x")?.fill([2..3], 1)?;
        array.merge_attributes(json!({"e": 5}))?;
        let b = Array::<u16>::open((&storage, "a"))?;
        assert_eq!(
            serde_json::to_value(b.attributes())?,
            json!({"b": 2}),
            "{name}"
        );
        Ok(())
    })
}

/// A call that cannot be completed is not begun.
#[test]
fn shrinking_without_locks_removes_nothing() -> Outcome {
    each_layout(|name, mut a| {
        a.write([0..8], &Array1::from_iter(1..9))?;
        a.write([8..10], &array![9, 10])?;
        // Removes a whole chunk, which needs no lock, or half of one as well.
        for shape in [8, 4] {
            let error = a.resize([shape]).expect_err("the store has no locks");
            assert_eq!(error.kind(), ErrorKind::NoLocking, "{name}");
            assert_eq!(a.read([0..10])?, Array1::from_iter(1..11), "{name}");
        }
        Ok(())
    })
}

/// A writer that waits for no lock must not block the pool, on which another one encodes under the
/// lock.
#[test]
fn both_policies_on_one_shard_come_to_an_end() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    let a = Array::<u32>::builder([4096])
        .chunks([64])
        .shards([2048])
        .create((&store, "a"))?;
    let threads = NonZeroUsize::new(4);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..8u64)
            .map(|i| {
                let policy = if i % 2 == 0 {
                    ConcurrentUpdate::Merge
                } else {
                    ConcurrentUpdate::LastWriterWins
                };
                let options = RunOptions::default()
                    .concurrent_update(policy)
                    .threads(threads);
                let a = a.clone().with_options(options);
                scope.spawn(move || {
                    // Both shards, neither of them completely.
                    (0..40).try_for_each(|n| {
                        a.write(
                            [i + 1..4096 - i - 1],
                            &Array1::from_elem(4094 - 2 * i as usize, n),
                        )
                    })
                })
            })
            .collect();
        for writer in writers {
            writer.join().expect("no writer panics")?;
        }
        Ok::<_, ndzarr::Error>(())
    })?;
    assert_eq!(a.read([2048..2049])?, array![39]);
    Ok(())
}
