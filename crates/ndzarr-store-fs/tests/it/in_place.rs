//! Programs that lock the file of a value itself, cut it, and write it in place, as Java N5 does.

use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ndzarr_store::{Fetch, Fetched, Key, KeyLock, Locked, Of, Pin, Store, StoreError, Wait, Want};
use ndzarr_store_fs::{FsStore, Locking};
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Locks the whole file for writing. Java's lock belongs to the process; this one belongs to the
/// file that is open, so that threads of one process can stand for several. Each excludes the
/// other.
fn lock_file(file: &File, wait: bool) -> nix::Result<()> {
    let whole = libc::flock {
        l_type: libc::F_WRLCK as _,
        l_whence: libc::SEEK_SET as _,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    let how = if wait {
        FcntlArg::F_OFD_SETLKW(&whole)
    } else {
        FcntlArg::F_OFD_SETLK(&whole)
    };
    fcntl(file, how).map(drop)
}

fn open(path: &Path) -> Outcome<File> {
    Ok(OpenOptions::new().read(true).write(true).open(path)?)
}

/// A store with a value, a program that has locked and cut it, and what that program goes on to
/// write.
struct BlankValue {
    _folder: tempfile::TempDir,
    store: FsStore,
    path: PathBuf,
    writer: Option<File>,
}

impl BlankValue {
    fn new() -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a");
        fs::write(&path, "old value")?;
        let writer = open(&path)?;
        lock_file(&writer, false)?;
        writer.set_len(0)?;
        let store = FsStore::new(folder.path());
        Ok(Self {
            _folder: folder,
            store,
            path,
            writer: Some(writer),
        })
    }

    /// Ends the writing.
    fn end(writer: &mut Option<File>) {
        if let Some(mut writer) = writer.take() {
            writer.write_all(b"new value").expect("room for it");
        }
    }
}

fn key() -> Key {
    Key::new("a").expect("a key")
}

fn read(store: &FsStore) -> Outcome<(Pin, String)> {
    let fetch = Fetch {
        key: key(),
        of: Of::Any,
        want: Want::Whole { limit: 100 },
    };
    let Fetched::Parts { pin, parts, .. } = store.fetch(&fetch)? else {
        return Err("it exists".into());
    };
    Ok((pin, String::from_utf8(parts[0].to_vec())?))
}

fn lock(store: &FsStore) -> Outcome<Box<dyn KeyLock>> {
    match store.lock(&key(), Wait::Block)? {
        Locked::Held(lock) => Ok(lock),
        other => Err(format!("{other:?}").into()),
    }
}

/// What is done while something is waited for: the wait goes on afterwards.
fn when_waited_for(done: impl FnOnce() + Send) -> impl Fn() -> bool + Sync {
    let done = std::sync::Mutex::new(Some(done));
    move || {
        let done = done.lock().expect("no panic").take();
        if let Some(done) = done {
            done();
        }
        true
    }
}

#[test]
fn a_reader_waits_for_the_writer_of_a_blank_value() -> Outcome {
    let BlankValue {
        store,
        mut writer,
        _folder,
        ..
    } = BlankValue::new()?;
    let (pin, value) = read(&store)?;
    assert_eq!(value, "");
    let goes_on = when_waited_for(move || BlankValue::end(&mut writer));
    assert!(
        !store.stays(&key(), &pin, Wait::While(&goes_on))?,
        "it was written meanwhile"
    );
    assert_eq!(read(&store)?.1, "new value");
    Ok(())
}

#[test]
fn a_reader_that_is_stopped_waits_no_longer() -> Outcome {
    let blank = BlankValue::new()?;
    let (pin, _) = read(&blank.store)?;
    assert!(blank.store.stays(&key(), &pin, Wait::Try)?);
    assert!(blank.store.stays(&key(), &pin, Wait::While(&|| false))?);
    assert!(blank.writer.is_some(), "it still has the lock");
    Ok(())
}

#[test]
fn waits_for_locks_of_values_have_the_limit_of_others() -> Outcome {
    let blank = BlankValue::new()?;
    let store = FsStore::builder(blank.store.root())
        .lock_timeout(Duration::from_millis(1))
        .build();
    let (pin, _) = read(&store)?;
    let error = store
        .stays(&key(), &pin, Wait::Block)
        .expect_err("it is locked");
    assert!(
        matches!(&error, StoreError::Busy { key, .. } if key == "a"),
        "{error:?}"
    );
    assert!(error.to_string().contains("as Java N5 does"), "{error}");
    let error = lock(&store)?
        .lock_value(Wait::Block)
        .expect_err("it is locked");
    assert!(matches!(error, StoreError::Busy { .. }), "{error:?}");
    Ok(())
}

/// It was written long ago: there is no writer to wait for.
#[test]
fn a_value_that_no_program_writes_stays() -> Outcome {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("a"), "")?;
    let old = std::time::SystemTime::now() - Duration::from_secs(60);
    open(&folder.path().join("a"))?.set_modified(old)?;
    let store = FsStore::new(folder.path());
    let (pin, _) = read(&store)?;
    // Its time of change is recent all the same: it is read again once.
    while !store.stays(&key(), &pin, Wait::Block)? {}
    fs::write(folder.path().join("a"), "other")?;
    assert!(!store.stays(&key(), &pin, Wait::Block)?, "another value");
    fs::remove_file(folder.path().join("a"))?;
    assert!(!store.stays(&key(), &pin, Wait::Block)?, "none");
    Ok(())
}

#[test]
fn a_writer_reads_what_the_other_has_written() -> Outcome {
    let BlankValue {
        store,
        path,
        mut writer,
        _folder,
    } = BlankValue::new()?;
    let mut ours = lock(&store)?;
    assert!(!ours.lock_value(Wait::Try)?, "the other has it");
    let goes_on = when_waited_for(move || BlankValue::end(&mut writer));
    assert!(ours.lock_value(Wait::While(&goes_on))?);
    let Fetched::Parts { parts, .. } = ours.fetch(Of::Any, Want::Whole { limit: 100 })? else {
        return Err("it exists".into());
    };
    assert_eq!(&parts[0][..], b"new value");
    let other = open(&path)?;
    assert!(
        lock_file(&other, false).is_err(),
        "no other may write before ours is published"
    );
    ours.append(b"ours")?;
    ours.publish()?;
    lock_file(&other, false)?;
    assert_eq!(read(&store)?.1, "ours");
    Ok(())
}

/// The value that it waited for is not the one that has the name in the end.
#[test]
fn a_lock_is_that_of_the_present_value() -> Outcome {
    let BlankValue {
        store,
        path,
        mut writer,
        _folder,
    } = BlankValue::new()?;
    let replacement = path.with_file_name("replacement");
    fs::write(&replacement, "replaced")?;
    let goes_on = when_waited_for(|| {
        fs::rename(&replacement, &path).expect("it exists");
        BlankValue::end(&mut writer);
    });
    let mut ours = lock(&store)?;
    assert!(ours.lock_value(Wait::While(&goes_on))?);
    assert!(
        lock_file(&open(&path)?, false).is_err(),
        "the one under the name is locked"
    );
    drop(ours);
    lock_file(&open(&path)?, false)?;
    Ok(())
}

/// Java N5 4 opens the path once more when it has the lock, and writes what it finds there.
#[test]
fn who_waited_for_a_replaced_value_writes_the_next_one() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a");
    fs::write(&path, "old value")?;
    let store = FsStore::new(folder.path());
    let mut ours = lock(&store)?;
    assert!(ours.lock_value(Wait::Block)?);
    let (tell, hear) = mpsc::channel();
    let other = thread::spawn({
        let path = path.clone();
        move || {
            let locked = open(&path).expect("it exists");
            tell.send(()).expect("it is heard");
            lock_file(&locked, true).expect("a lock");
            let mut file = open(&path).expect("it exists");
            file.set_len(0).expect("it can be cut");
            file.write_all(b"theirs").expect("room for it");
        }
    });
    hear.recv()?;
    ours.append(b"ours")?;
    ours.publish()?;
    // Not before the other has written, so that no reader sees the value in between.
    assert_eq!(read(&store)?.1, "theirs");
    other.join().expect("no panic");
    Ok(())
}

#[test]
fn an_absent_value_and_one_on_several_hosts_need_no_lock() -> Outcome {
    let folder = tempfile::tempdir()?;
    assert!(lock(&FsStore::new(folder.path()))?.lock_value(Wait::Try)?);
    let BlankValue {
        store,
        _folder,
        writer,
        ..
    } = BlankValue::new()?;
    let store = FsStore::builder(store.root())
        .locking(Locking::Portable)
        .build();
    assert!(
        lock(&store)?.lock_value(Wait::Try)?,
        "their locks are not known there"
    );
    drop(writer);
    Ok(())
}
