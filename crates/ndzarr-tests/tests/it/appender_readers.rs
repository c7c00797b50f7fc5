//! What readers see while an appender publishes.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use ndzarr::store::{
    Fetched, Key, KeyLock, Locked, Of, Pin, Precondition, Put, StoreError, Wait, Want,
};
use ndzarr::{Array, ConcurrentUpdate, FsStore, MemoryStore, Result, RunOptions, Storage, Store};
use ndzarr_store::Temporary;
use ndzarr_testkit::forward;

use crate::appender::{frame, frames, layouts, movie, stored};

/// A store with locks that calls back after each publication.
struct Watched {
    inner: Arc<dyn Store>,
    watch: Arc<Watch>,
}

type Watch = dyn Fn() + Send + Sync;

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watched")
    }
}

struct WatchedLock {
    inner: Box<dyn KeyLock>,
    watch: Arc<Watch>,
}

struct WatchedTemporary {
    inner: Box<dyn Temporary>,
    watch: Arc<Watch>,
}

impl fmt::Debug for WatchedTemporary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WatchedTemporary")
    }
}

impl Store for Watched {
    forward!(inner: name, fetch, list_dir, list_prefix, can);

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        let put = self.inner.put(key, parts, only_if);
        (self.watch)();
        put
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.inner.erase(key, only_if)
    }

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        Ok(match self.inner.lock(key, wait)? {
            Locked::Held(lock) => Locked::Held(Box::new(WatchedLock {
                inner: lock,
                watch: Arc::clone(&self.watch),
            })),
            other => other,
        })
    }

    fn temporary(&self, key: &Key) -> Result<Option<Box<dyn Temporary>>, StoreError> {
        let watched = |inner| -> Box<dyn Temporary> {
            Box::new(WatchedTemporary {
                inner,
                watch: Arc::clone(&self.watch),
            })
        };
        Ok(self.inner.temporary(key)?.map(watched))
    }
}

impl KeyLock for WatchedLock {
    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError> {
        self.inner.fetch(of, want)
    }

    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError> {
        self.inner.append(part)
    }

    fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.inner.write_at(at, part)
    }

    fn publish(self: Box<Self>) -> Result<Pin, StoreError> {
        let pin = self.inner.publish();
        (self.watch)();
        pin
    }

    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        let erased = self.inner.erase();
        (self.watch)();
        erased
    }
}

impl Temporary for WatchedTemporary {
    fn append(&self, part: &[u8]) -> Result<u64, StoreError> {
        self.inner.append(part)
    }

    fn write_at(&self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.inner.write_at(at, part)
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.inner.read(range)
    }

    fn publish(self: Box<Self>, lock: Box<dyn KeyLock>) -> Result<Pin, StoreError> {
        let pin = self.inner.publish(lock);
        (self.watch)();
        pin
    }
}

/// Reads after each change of the store. A store without locks has no other writer.
#[test]
fn readers_see_only_whole_frames() {
    let last_writer_wins =
        RunOptions::default().concurrent_update(ConcurrentUpdate::LastWriterWins);
    for (name, builder) in layouts() {
        let folder = tempfile::tempdir().expect("a folder");
        let stores: [(Arc<dyn Store>, _); 2] = [
            (Arc::new(FsStore::new(folder.path())), RunOptions::default()),
            (Arc::new(MemoryStore::new()), last_writer_wins.clone()),
        ];
        for (inner, options) in stores {
            let plain = Storage::blocking(Arc::clone(&inner));
            let a = builder.clone().create((&plain, "a")).expect("a new array");
            a.write(.., &frames(0..2)).expect("a write");
            let seen = Arc::new(Mutex::new(Vec::new()));
            let watch = {
                let seen = Arc::clone(&seen);
                move || {
                    let now = stored(&plain);
                    let n = now.shape()[0];
                    assert_eq!(now, frames(0..n).into_dyn(), "{name}");
                    seen.lock().expect("no panic").push(n);
                }
            };
            let watched = Watched {
                inner,
                watch: Arc::new(watch),
            };
            let a = Array::<u16>::open((Storage::blocking(watched), "a")).expect("the array");
            let mut a = a.with_options(options);
            let mut appender = a.appender(0).expect("an appender");
            for n in 2..19 {
                appender.push(&frame(n)).expect("a push");
                if n % 5 != 0 {
                    appender.publish().expect("published");
                }
            }
            appender.finish().expect("published");
            a.refresh().expect("the array");
            a.append(0, &frames(19..26)).expect("an append");
            let seen = seen.lock().expect("no panic");
            assert!(
                seen.is_sorted() && seen.contains(&3) && seen.last() == Some(&26),
                "{name}: {seen:?}"
            );
        }
    }
}

/// One thread appends, another reads through a handle of its own.
#[test]
fn a_follower_reads_every_frame_once_it_is_published() -> Result<()> {
    const FRAMES: u64 = 60;
    let folder = tempfile::tempdir().expect("a folder");
    let a = movie(&Storage::folder(folder.path()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut appender = a.appender(0).expect("an appender");
            for n in 0..FRAMES as usize {
                appender.push(&frame(n)).expect("a push");
                appender.publish().expect("published");
            }
        });
        let mut follower = Array::<u16>::open((folder.path(), "a")).expect("the array");
        let mut seen = 0;
        while seen < FRAMES {
            follower.refresh().expect("the array");
            for n in seen..follower.shape()[0] {
                assert_eq!(
                    follower.read((n, .., ..)).expect("a read"),
                    frame(n as usize)
                );
            }
            seen = follower.shape()[0];
        }
    });
    Ok(())
}
