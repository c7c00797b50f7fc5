//! Values that change places with what replaces them.

use std::fs;

use ndzarr_store::{
    Exchanged, Fetch, Fetched, Locked, Of, Pin, Precondition, Prefix, Store, StoreError, Wait, Want,
};
use rustix::io::Errno;

use super::{Faulty, Outcome, Setup, key};
use crate::{Durability, FsStore};

/// A temporary of the value, with other bytes, and a store to exchange them in.
fn exchanged(setup: &Setup, faulty: Faulty) -> Result<Exchanged, StoreError> {
    let pin = pinned(&setup.good)?.expect("a value");
    exchanged_with(setup, faulty, &pin)
}

fn pinned(store: &FsStore) -> Result<Option<Pin>, StoreError> {
    let fetch = Fetch { key: key()?, of: Of::Any, want: Want::Size };
    Ok(match store.fetch(&fetch)? {
        Fetched::Parts { pin, .. } => Some(pin),
        Fetched::Missing | Fetched::Changed => None,
    })
}

fn exchanged_with(setup: &Setup, faulty: Faulty, pin: &Pin) -> Result<Exchanged, StoreError> {
    let store = setup.faulty(faulty);
    let temporary = store.temporary(&key()?)?.expect("a file system has room");
    assert!(temporary.shorten(0)?);
    temporary.append(b"new value")?;
    let Locked::Held(lock) = store.lock(&key()?, Wait::Try)? else { panic!("it is free") };
    temporary.exchange(lock, pin)
}

#[test]
#[cfg(target_os = "linux")]
fn the_value_before_can_be_written_to_once_nobody_reads_it() -> Outcome {
    let setup = Setup::new()?;
    let fetch = Fetch { key: key()?, of: Of::Any, want: Want::Whole { limit: 100 } };
    let Fetched::Parts { pin: reader, .. } = setup.good.fetch(&fetch)? else { panic!("it is there") };
    let (pin, before) = exchanged(&setup, Faulty::default())?;
    let before = before.ok_or("there was a value")?;
    assert_eq!(setup.value()?.as_deref(), Some("new value"));
    assert_eq!(setup.files()?, ["b", "b.part0.__lock"]);
    // No one else gets that file.
    let other = setup.good.temporary(&key()?)?.ok_or("a file system has room")?;
    assert_eq!(setup.files()?, ["b", "b.part0.__lock", "b.part1.__lock"]);
    drop(other);
    assert_eq!(setup.good.leftovers(&Prefix::root())?, []);

    assert!(!before.shorten(4)?, "it is read");
    drop(reader);
    assert!(before.shorten(4)?);
    assert_eq!(before.append(b"one")?, 4);
    assert_eq!(setup.value()?.as_deref(), Some("new value"));
    let Locked::Held(lock) = setup.good.lock(&key()?, Wait::Try)? else { panic!("it is free") };
    let (_, before) = before.exchange(lock, &pin)?;
    assert_eq!((setup.value()?.as_deref(), setup.files()?.len()), (Some("old one"), 2));
    // Its own pin is a reader as well.
    let before = before.ok_or("there was a value")?;
    assert!(!before.shorten(0)?);
    drop(pin);
    assert!(before.shorten(0)?);
    drop(before);
    assert_eq!(setup.files()?, ["b"]);
    Ok(())
}

#[test]
fn a_value_that_cannot_be_exchanged_is_replaced() -> Outcome {
    let setup = Setup::new()?;
    let (_, before) = exchanged(&setup, Faulty::once("exchange", Errno::NOSYS))?;
    assert!(before.is_none());
    assert_eq!((setup.value()?.as_deref(), setup.files()?), (Some("new value"), vec!["b".to_owned()]));
    let setup = Setup::new()?;
    assert!(exchanged(&setup, Faulty::once("exchange", Errno::IO)).is_err());
    assert_eq!((setup.value()?.as_deref(), setup.files()?), (Some("old value"), vec!["b".to_owned()]));
    let setup = Setup::new()?;
    let pin = pinned(&setup.good)?.ok_or("a value")?;
    setup.good.erase(&key()?, Precondition::None)?;
    assert!(exchanged_with(&setup, Faulty::default(), &pin)?.1.is_none());
    assert_eq!((setup.value()?.as_deref(), setup.files()?), (Some("new value"), vec!["b".to_owned()]));
    Ok(())
}

/// The value of a program without locks, which came last, is not written to.
#[test]
#[cfg(target_os = "linux")]
fn a_foreign_value_that_was_exchanged_goes() -> Outcome {
    let setup = Setup::new()?;
    let folder = setup.folder.path().join("a");
    let replace = move || {
        fs::write(folder.join("other"), "of another program").expect("a file");
        fs::rename(folder.join("other"), folder.join("b")).expect("renamed");
    };
    let (_, before) = exchanged(&setup, Faulty::meanwhile("exchange", replace))?;
    assert!(before.is_none());
    assert_eq!((setup.value()?.as_deref(), setup.files()?), (Some("new value"), vec!["b".to_owned()]));
    // A copy of hard links shows the old one for ever.
    let setup = Setup::new()?;
    let (value, copy) = (setup.folder.path().join("a/b"), setup.folder.path().join("copy"));
    fs::hard_link(&value, &copy)?;
    assert!(exchanged(&setup, Faulty::default())?.1.is_none());
    assert_eq!(fs::read_to_string(copy)?, "old value");
    Ok(())
}

/// Only the value that the writer knows is kept: what another program has made of it is not continued.
#[test]
#[cfg(target_os = "linux")]
fn another_value_than_the_expected_one_is_not_kept() -> Outcome {
    let setup = Setup::new()?;
    let pin = pinned(&setup.good)?.ok_or("a value")?;
    fs::write(setup.folder.path().join("a/b"), "of another program")?;
    assert!(exchanged_with(&setup, Faulty::default(), &pin)?.1.is_none());
    drop(pin);
    // Nor is one that is changed by a program that had it open.
    let (_, before) = exchanged(&setup, Faulty::default())?;
    let before = before.ok_or("there was a value")?;
    fs::write(setup.folder.path().join("a/b.part0.__lock"), "written late")?;
    assert!(!before.shorten(3)?);
    Ok(())
}

/// A killed writer leaves what was the value, which a reader may still have open.
#[test]
#[cfg(target_os = "linux")]
fn what_is_left_of_a_value_is_not_written_to_while_it_is_read() -> Outcome {
    let setup = Setup::new()?;
    let left = setup.folder.path().join("a/b.part0.__lock");
    fs::write(&left, "a shard")?;
    let reader = fs::File::open(&left)?;
    let temporary = setup.good.temporary(&key()?)?.ok_or("a file system has room")?;
    temporary.append(b"other")?;
    assert_eq!(setup.files()?, ["b", "b.part1.__lock"]);
    assert_eq!(std::io::read_to_string(reader)?, "a shard");
    Ok(())
}

/// After a power cut the older file may still have the name of the value: it is written to only once that
/// cannot be.
#[test]
#[cfg(target_os = "linux")]
fn the_exchange_is_on_disk_before_the_older_file_is_written_to() -> Outcome {
    let setup = Setup::new()?;
    let pin = pinned(&setup.good)?.ok_or("a value")?;
    let faulty = Faulty::always("sync_folder", Errno::IO);
    let store = setup.faulty_with(faulty, |builder| builder.durability(Durability::Data));
    let temporary = store.temporary(&key()?)?.ok_or("a file system has room")?;
    temporary.append(b"new value")?;
    let Locked::Held(lock) = store.lock(&key()?, Wait::Try)? else { panic!("it is free") };
    let (_, before) = temporary.exchange(lock, &pin)?;
    drop(pin);
    assert!(before.ok_or("there was a value")?.shorten(3).is_err());
    Ok(())
}
