//! Writes in stores that cannot serialize writers, and by writers that do not want to be
//! serialized.

use std::error::Error;
use std::num::NonZeroUsize;
use std::thread;

use ndarray::{Array1, array};
use ndzarr::store::{Fetch, Fetched, Key, KeyLock, Locked, Of, Pin, StoreError, Wait, Want};
use ndzarr::{
    Array, ArrayBuilder, AttributeChange, ConcurrentUpdate, ErrorKind, Format, FsStore, Group,
    MemoryStore, RunOptions, Storage, Store, asynchronous,
};
use ndzarr_testkit::{PlainStore, forward};
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

/// Another program has the lock of each chunk, or of its value, for ever. The store does not wait
/// for it.
#[derive(Debug)]
struct NeverFree {
    files: FsStore,
    of_values: bool,
}

struct LockedValue(Box<dyn KeyLock>);

impl Store for NeverFree {
    forward!(files: name, fetch, put, erase, list_dir);

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        if key.as_str().ends_with(".json") {
            return self.files.lock(key, wait);
        }
        if !self.of_values {
            return Ok(Locked::Busy);
        }
        Ok(match self.files.lock(key, wait)? {
            Locked::Held(lock) => Locked::Held(Box::new(LockedValue(lock))),
            other => other,
        })
    }
}

impl KeyLock for LockedValue {
    fn lock_value(&mut self, _: Wait<'_>) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError> {
        self.0.fetch(of, want)
    }

    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError> {
        self.0.append(part)
    }

    fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.0.write_at(at, part)
    }

    fn publish(self: Box<Self>) -> Result<Pin, StoreError> {
        self.0.publish()
    }

    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        self.0.erase()
    }
}

/// Blocks of N5, whose values other programs lock.
#[test]
fn a_lock_that_the_store_does_not_wait_for_is_an_error() -> Outcome {
    for of_values in [false, true] {
        let folder = tempfile::tempdir()?;
        let files = FsStore::new(folder.path());
        let plain = Array::<u16>::builder([8])
            .chunks([8])
            .format(Format::N5)
            .create((&files, "a"))?;
        plain.write(.., &Array1::from_iter(1..9))?;
        let a = Array::<u16>::open((Storage::blocking(NeverFree { files, of_values }), "a"))?;
        let part = array![0, 0, 0];
        let pooled =
            ndzarr_store::block_on(asynchronous::Array::from(a.clone()).write([2..5], &part));
        let mut written = vec![a.write([2..5], &part), pooled];
        if !of_values {
            written.push(a.fill(.., 7));
        }
        for written in written {
            let error = written.expect_err("nothing was written");
            assert_eq!(error.kind(), ErrorKind::Store, "{error:?}");
            assert_eq!(error.key(), Some("a/0"), "{error:?}");
        }
        assert_eq!(plain.read([0..8])?, Array1::from_iter(1..9));
    }
    Ok(())
}

/// Asked for a chunk as it is now, it answers that the chunk has changed.
#[derive(Debug)]
struct AlwaysChanged(MemoryStore);

impl Store for AlwaysChanged {
    forward!(0: name, put, erase, list_dir);

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        if fetch.key.as_str().starts_with("a/c/") && matches!(fetch.of, Of::Any) {
            return Ok(Fetched::Changed);
        }
        self.0.fetch(fetch)
    }
}

#[test]
fn what_is_kept_of_a_chunk_is_not_lost_to_a_wrong_answer() -> Outcome {
    let whole = Array::<u16>::builder([8]).chunks([8]);
    for builder in [whole.clone(), whole.chunks([2]).shards([8])] {
        let store = MemoryStore::new();
        let plain = builder.create((&store, "a"))?;
        plain.write(.., &Array1::from_iter(1..9))?;
        let a = Array::<u16>::open((Storage::blocking(AlwaysChanged(store)), "a"))?;
        let mut written = vec![a.write([2..5], &array![0, 0, 0])];
        if let Ok(writer) = a.shard_writer(&[0]) {
            writer.write_chunk(&[0], &array![9, 9])?;
            written.push(writer.finish());
        }
        for written in written {
            let error = written.expect_err("nothing was written");
            assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}");
        }
        assert_eq!(plain.read([0..8])?, Array1::from_iter(1..9));
    }
    Ok(())
}
