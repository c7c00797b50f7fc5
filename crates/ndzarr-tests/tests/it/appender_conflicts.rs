//! Appenders while others append, write and resize.

use std::fmt;
use std::sync::Mutex;

use bytes::Bytes;
use ndarray::Axis;
use ndzarr::store::{Key, Precondition, Put, StoreError};
use ndzarr::{
    Appender, Array, ConcurrentUpdate, ErrorKind, MemoryStore, Result, RunOptions, Storage, Store,
};
use ndzarr_testkit::forward;

use crate::appender::{frame, frames, movie, stored};

#[test]
fn of_two_appenders_one_is_refused_and_nothing_is_lost() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    for storage in [
        Storage::folder(folder.path()),
        Storage::from(MemoryStore::new()),
    ] {
        let mut a = movie(&storage);
        let (mut one, mut two) = (a.appender(0)?, a.appender(0)?);
        let refused = |mut appender: Appender<u16>| {
            let error = appender.publish().expect_err("another was faster");
            assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
            // It cannot be used any more.
            assert_eq!(
                appender.publish().expect_err("it is of no use").kind(),
                ErrorKind::Cancelled
            );
            assert_eq!(
                appender
                    .push(&frame(0))
                    .expect_err("it is of no use")
                    .kind(),
                ErrorKind::Cancelled
            );
        };
        one.push(&frame(0))?;
        two.push(&frame(7))?;
        two.push(&frame(8))?;
        one.publish()?;
        refused(two);
        assert_eq!(stored(&storage), frames(0..1).into_dyn());
        // An append, and a resize.
        one.push(&frame(7))?;
        a.append(0, &frames(1..2))?;
        refused(one);
        let mut three = a.appender(0)?;
        three.push(&frame(9))?;
        a.append(0, &frames(7..8))?;
        a.resize([2, 5, 4])?;
        // It is as long as it was: nothing is in the way.
        three.publish()?;
        a.resize([2, 5, 4])?;
        // The fourth frame fills the shard.
        assert_eq!(
            three.push(&frame(9)).expect_err("it is shorter").kind(),
            ErrorKind::Conflict
        );
        assert_eq!(stored(&storage), frames(0..2).into_dyn());
        // A write to published elements comes between, and stays.
        let mut four = a.appender(0)?;
        four.push(&frame(2))?;
        a.write_chunk(&[1, 0, 0], &frames(9..10))?;
        four.publish()?;
        a.write_chunk(&[0, 0, 0], &frames(8..9))?;
        four.push(&frame(3))?;
        four.finish()?;
        let expected = ndarray::concatenate![Axis(0), frames(8..10), frames(2..4)];
        assert_eq!(stored(&storage), expected.into_dyn());
        a.refresh()?;
        a.resize([6, 5, 4])?;
        assert_eq!(
            a.read((4..6, .., ..))?.sum(),
            0,
            "what was refused is not stored"
        );
    }
    Ok(())
}

/// A store without locks, in which another writer comes after the first value is written whose key
/// begins like this.
struct Meanwhile {
    inner: MemoryStore,
    after: &'static str,
    other: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meanwhile")
    }
}

impl Store for Meanwhile {
    forward!(inner: name, fetch, erase, list_dir, list_prefix, can);

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        let put = self.inner.put(key, parts, only_if);
        if key.as_str().starts_with(self.after) {
            let other = self.other.lock().expect("no panic").take();
            other.into_iter().for_each(|other| other());
        }
        put
    }
}

#[test]
fn what_others_append_to_the_shard_meanwhile_stays() -> Result<()> {
    let memory = MemoryStore::new();
    movie(&Storage::from(memory.clone()));
    let own = memory.clone();
    let other = move || {
        let mut a = Array::<u16>::open((&own, "a")).expect("the array");
        a.append(0, &frames(1..2)).expect("an append");
    };
    let store = Meanwhile {
        inner: memory.clone(),
        after: "a/zarr.json",
        other: Mutex::new(Some(Box::new(other))),
    };
    let a = Array::<u16>::open((Storage::blocking(store), "a"))?;
    let mut appender = a.appender(0)?;
    appender.push(&frame(0))?;
    appender.publish()?;
    assert_eq!(stored(&Storage::from(memory)), frames(0..2).into_dyn());
    Ok(())
}

/// The shards of an only writer come before the shape.
#[test]
fn an_attribute_that_is_set_after_the_shards_is_a_conflict() -> Result<()> {
    let memory = MemoryStore::new();
    movie(&Storage::from(memory.clone()));
    let own = memory.clone();
    let other = move || {
        let mut a = Array::<u16>::open((&own, "a")).expect("the array");
        a.set_attribute("n", &1).expect("an attribute");
    };
    let store = Meanwhile {
        inner: memory.clone(),
        after: "a/c/",
        other: Mutex::new(Some(Box::new(other))),
    };
    let run = RunOptions::default().concurrent_update(ConcurrentUpdate::LastWriterWins);
    let a = Array::<u16>::open((Storage::blocking(store), "a"))?.with_options(run);
    // The frames fill a shard, which is published.
    let error = a
        .appender(0)?
        .push(&frames(0..4))
        .expect_err("the document was changed");
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    let mut a = Array::<u16>::open((&memory, "a"))?;
    assert_eq!(a.shape(), [0, 5, 4]);
    assert_eq!(a.attribute::<u32>("n")?, Some(1));
    a.resize([4, 5, 4])?;
    assert_eq!(a.read(..)?.sum(), 0, "what was refused is not stored");
    Ok(())
}

#[test]
fn a_resize_across_the_axis_is_a_conflict() -> Result<()> {
    let memory = MemoryStore::new();
    let mut a = movie(&Storage::from(memory));
    let mut appender = a.appender(0)?;
    appender.push(&frame(0))?;
    a.resize([0, 6, 4])?;
    assert_eq!(
        appender.publish().expect_err("it was resized").kind(),
        ErrorKind::Conflict
    );
    Ok(())
}
