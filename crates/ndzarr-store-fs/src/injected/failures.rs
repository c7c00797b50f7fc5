//! Tests in which single system calls fail.

use ndzarr_store::{Locked, Prefix};

use super::*;
use crate::Locking;

/// Every errno at every step of a replacement: the old value stays, nothing else is left, and the
/// error says which key it was and what was tried.
#[test]
fn a_put_that_fails_leaves_the_old_value_alone() -> Outcome {
    let steps = [
        ("create", "lock"),
        ("write_at", "write"),
        ("sync", "sync"),
        ("rename", "publish"),
    ];
    for (call, action) in steps {
        for failure in [
            Errno::NOSPC,
            Errno::IO,
            Errno::ACCESS,
            Errno::DQUOT,
            Errno::ROFS,
        ] {
            let setup = Setup::new()?;
            let store = setup.faulty_with(Faulty::once(call, failure), |b| {
                b.durability(Durability::Data)
            });
            let Err(error) = put(&store, Precondition::None) else {
                panic!("{call} failed unnoticed")
            };
            assert_eq!(errno(&error), Some(failure.raw_os_error()), "{call}");
            assert_eq!(error.to_string(), format!("{action} a/b"));
            assert_eq!(setup.value()?.as_deref(), Some("old value"), "{call}");
            assert_eq!(setup.files()?, ["b"], "{call}");
            // And the next one goes well.
            put(&store, Precondition::None)?;
            assert_eq!(setup.value()?.as_deref(), Some("new value"));
        }
    }
    Ok(())
}

#[test]
fn a_new_folder_that_cannot_be_made_is_an_error() -> Outcome {
    let setup = Setup::new()?;
    let store = setup.faulty(Faulty::always("make_folder", Errno::ACCESS));
    let Err(error) = store.put(&Key::new("x/y")?, &[], Precondition::None) else {
        panic!("unnoticed")
    };
    assert_eq!(
        (error.to_string().as_str(), errno(&error)),
        ("lock x/y", Some(Errno::ACCESS.raw_os_error()))
    );
    Ok(())
}

#[test]
fn an_erasure_that_fails_leaves_the_value() -> Outcome {
    let setup = Setup::new()?;
    let store = setup.faulty(Faulty::once("unlink", Errno::ACCESS));
    let Err(error) = store.erase(&key()?, Precondition::None) else {
        panic!("unnoticed")
    };
    assert_eq!(error.to_string(), "erase a/b");
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("old value"), vec!["b".to_owned()])
    );
    Ok(())
}

/// A value that cannot be read is not an absent one.
#[test]
fn a_fetch_that_fails_is_not_missing() -> Outcome {
    for (call, action) in [("open", "open"), ("file_stat", "open"), ("read_at", "read")] {
        for failure in [Errno::ACCESS, Errno::IO, Errno::NFILE] {
            let setup = Setup::new()?;
            let Err(error) = read(&setup.faulty(Faulty::once(call, failure))) else {
                panic!("{call} unnoticed")
            };
            assert_eq!(error.to_string(), format!("{action} a/b"));
            assert_eq!(errno(&error), Some(failure.raw_os_error()));
        }
    }
    let setup = Setup::new()?;
    assert!(
        setup
            .faulty(Faulty::once("list", Errno::ACCESS))
            .list_dir(&ndzarr_store::Prefix::root())
            .is_err()
    );
    Ok(())
}

#[test]
fn interruptions_are_carried_on_from() -> Outcome {
    let calls = [
        "open",
        "create",
        "read_at",
        "write_at",
        "sync",
        "file_stat",
        "stat",
        "link_stat",
        "lock",
        "unlock",
        "rename",
        "unlink",
        "list",
        "truncate",
        "make_folder",
        "sync_folder",
        "reopen",
    ];
    for call in calls {
        let setup = Setup::new()?;
        fs::write(setup.lock_file(), "the rest of a killed writer")?;
        let faulty = Faulty::once(call, Errno::INTR);
        held(&faulty.once).extend([(call, Errno::INTR), (call, Errno::INTR)]);
        let store = setup.faulty_with(faulty, |b| b.durability(Durability::Full));
        put(&store, Precondition::None)?;
        assert_eq!(read(&store)?.as_deref(), Some("new value"), "{call}");
        store.put(&Key::new("x/y")?, &[], Precondition::Absent)?;
        assert_eq!(
            store.list_prefix(&ndzarr_store::Prefix::root())?.len(),
            2,
            "{call}"
        );
        store.erase(&key()?, Precondition::None)?;
        assert_eq!(read(&store)?, None, "{call}");
        assert!(!setup.folder.path().join("a").exists(), "{call}");
    }
    Ok(())
}

#[test]
fn short_reads_and_writes_are_carried_on() -> Outcome {
    let setup = Setup::new()?;
    let store = setup.faulty(Faulty {
        at_once: 2,
        ..Faulty::default()
    });
    assert_eq!(read(&store)?.as_deref(), Some("old value"));
    put(&store, Precondition::None)?;
    assert_eq!(read(&store)?.as_deref(), Some("new value"));
    let fetch = Fetch {
        key: key()?,
        of: Of::Any,
        want: Want::Ranges(vec![4..9, 0..3, 5..5]),
    };
    let Fetched::Parts { parts, .. } = store.fetch(&fetch)? else {
        panic!("it exists")
    };
    assert_eq!(parts, ["value", "new", ""]);
    Ok(())
}

/// A caller that continues after a failed write must not publish the partial value.
#[test]
fn a_value_that_was_not_written_is_not_published() -> Outcome {
    let setup = Setup::new()?;
    let store = setup.faulty(Faulty::once("write_at", Errno::NOSPC));
    let Locked::Held(mut lock) = store.lock(&key()?, Wait::Block)? else {
        panic!("it is free")
    };
    assert!(lock.append(b"new").is_err());
    // Another part that can be written does not mend it.
    lock.write_at(3, b"er")?;
    assert!(lock.publish().is_err());
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("old value"), vec!["b".to_owned()])
    );
    Ok(())
}

/// What is published is published, whatever can be seen of its file afterwards.
#[test]
fn a_published_value_that_cannot_be_looked_at_is_published() -> Outcome {
    let setup = Setup::new()?;
    let store = || {
        let always: Arc<Mutex<Vec<_>>> = Arc::default();
        let fails = Arc::clone(&always);
        let meanwhile = move || held(&fails).push(("file_stat", Errno::NOENT));
        setup.faulty(Faulty {
            always,
            ..Faulty::meanwhile("rename", meanwhile)
        })
    };
    put(&store(), Precondition::None)?;
    assert_eq!(setup.value()?.as_deref(), Some("new value"));
    let Locked::Held(mut lock) = store().lock(&key()?, Wait::Block)? else {
        panic!("it is free")
    };
    lock.append(b"newer")?;
    let pin = lock.publish()?;
    assert_eq!(setup.value()?.as_deref(), Some("newer"));
    // It is the pin of no value.
    assert!(matches!(
        setup.good.put(&key()?, &[], Precondition::Current(pin))?,
        Put::Conflict
    ));
    Ok(())
}

/// What the system copies in pieces, or cannot copy, or fails to copy.
#[cfg(target_os = "linux")]
#[test]
fn a_part_of_the_old_value_is_copied_or_nothing_is() -> Outcome {
    let short = Faulty {
        at_once: 2,
        ..Faulty::default()
    };
    for (faulty, expected) in [
        (short, Ok(true)),
        (Faulty::once("copy", Errno::INTR), Ok(true)),
        (Faulty::once("copy", Errno::NOSYS), Ok(false)),
        (Faulty::once("copy", Errno::NOSPC), Err(Errno::NOSPC)),
    ] {
        let setup = Setup::new()?;
        let store = setup.faulty(faulty);
        let Locked::Held(mut lock) = store.lock(&key()?, Wait::Block)? else {
            panic!("it is free")
        };
        let Fetched::Parts { pin, .. } = lock.fetch(Of::Any, Want::Tail(1))? else {
            panic!("it exists")
        };
        lock.write_at(0, b"a ")?;
        let copied = lock.copy_at(2, &pin, 4..9);
        match (&copied, expected) {
            (Ok(copied), Ok(expected)) => assert_eq!(*copied, expected),
            (Err(error), Err(expected)) => assert_eq!(errno(error), Some(expected.raw_os_error())),
            other => panic!("{other:?}"),
        }
        match copied {
            // "old value" from its fifth byte on.
            Ok(true) => drop(lock.publish()?),
            Ok(false) => {
                lock.write_at(2, b"end")?;
                lock.publish()?;
            }
            Err(_) => assert!(lock.publish().is_err(), "it has a part that was not copied"),
        }
        let published = match expected {
            Ok(true) => "a value",
            Ok(false) => "a end",
            Err(_) => "old value",
        };
        assert_eq!(
            (setup.value()?.as_deref(), setup.files()?),
            (Some(published), vec!["b".to_owned()])
        );
    }
    // A range that the value does not have is left to the caller, who reads and finds out.
    let setup = Setup::new()?;
    let Locked::Held(mut lock) = setup.good.lock(&key()?, Wait::Block)? else {
        panic!("it is free")
    };
    let Fetched::Parts { pin, .. } = lock.fetch(Of::Any, Want::Tail(1))? else {
        panic!("it exists")
    };
    assert!(!lock.copy_at(0, &pin, 4..1000)?);
    Ok(())
}

/// The new value exists, only not known to stay after a power cut.
#[test]
fn a_folder_that_cannot_be_synced_is_an_error() -> Outcome {
    let setup = Setup::new()?;
    let faulty = Faulty::once("sync_folder", Errno::IO);
    let store = setup.faulty_with(faulty, |b| b.durability(Durability::Full));
    let Err(error) = put(&store, Precondition::None) else {
        panic!("unnoticed")
    };
    assert_eq!(error.to_string(), "sync the folder of a/b");
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("new value"), vec!["b".to_owned()])
    );
    assert!(matches!(
        setup.good.lock(&key()?, Wait::Try)?,
        Locked::Held(_)
    ));
    Ok(())
}

/// A caller with too many open files can close some and try again.
#[test]
fn a_lack_of_descriptors_is_told_from_other_errors() -> Outcome {
    for (failure, is_out_of_files) in [
        (Errno::MFILE, true),
        (Errno::NFILE, true),
        (Errno::ACCESS, false),
    ] {
        let setup = Setup::new()?;
        let errors = [
            read(&setup.faulty(Faulty::once("open", failure))).err(),
            put(
                &setup.faulty(Faulty::once("create", failure)),
                Precondition::None,
            )
            .err(),
            setup
                .faulty(Faulty::once("list", failure))
                .list_dir(&ndzarr_store::Prefix::root())
                .err(),
        ];
        for (i, error) in errors.into_iter().enumerate() {
            let Some(error) = error else {
                panic!("{i} unnoticed")
            };
            assert_eq!(error.is_out_of_files(), is_out_of_files, "{i}: {error:?}");
        }
    }
    Ok(())
}

/// On some network file systems a file that another host removed cannot be read any more, although
/// it is open.
#[test]
fn a_file_that_went_away_while_it_was_read_is_looked_for_again() -> Outcome {
    for call in ["open", "file_stat", "read_at"] {
        let setup = Setup::new()?;
        assert_eq!(
            read(&setup.faulty(Faulty::once(call, Errno::STALE)))?.as_deref(),
            Some("old value")
        );
        assert!(
            read(&setup.faulty(Faulty::always(call, Errno::STALE))).is_err(),
            "{call}"
        );
    }
    Ok(())
}

/// NFS and sshfs report some failed writes only when a file is flushed or closed, although the user
/// says that file locks reach every host.
#[test]
fn a_network_file_system_is_flushed_before_publishing() -> Outcome {
    const NFS: u32 = 0x6969;
    for locks in [None, Some(Errno::NOSYS)] {
        let setup = Setup::new()?;
        let faulty = Faulty {
            file_system: Some(NFS),
            ..Faulty::always("flush", Errno::DQUOT)
        };
        held(&faulty.always).extend(locks.map(|errno| ("lock", errno)));
        let store = setup.faulty_with(faulty, |b| b.locking(Locking::Local));
        let Err(error) = put(&store, Precondition::None) else {
            panic!("unnoticed")
        };
        assert_eq!(errno(&error), Some(Errno::DQUOT.raw_os_error()));
        assert_eq!(
            (setup.value()?.as_deref(), setup.files()?),
            (Some("old value"), vec!["b".to_owned()])
        );
    }
    Ok(())
}

/// As Windows keeps it: a file that was removed while it was open.
#[test]
fn erasing_does_not_wait_for_a_removed_file_that_is_open() -> Outcome {
    let setup = Setup::new()?;
    let removed = setup
        .folder
        .path()
        .join("a/.removed-0123456789abcdef01234567.__lock");
    fs::remove_file(setup.folder.path().join("a/b"))?;
    fs::write(&removed, "")?;
    let prefix = Prefix::new("a/")?;
    let faulty = setup.faulty(Faulty::always("unlink", Errno::BUSY));
    faulty.erase_prefix(&prefix, Wait::Block)?;
    assert_eq!(setup.files()?, [".removed-0123456789abcdef01234567.__lock"]);
    // Closed.
    setup.good.erase_prefix(&prefix, Wait::Block)?;
    assert!(!setup.folder.path().join("a").exists());
    Ok(())
}

/// As Windows reports a drive that was unplugged: no path on it is found, nor its root.
#[test]
fn what_is_on_a_drive_that_is_gone_is_not_absent() -> Outcome {
    let setup = Setup::new()?;
    let gone = Faulty::default();
    held(&gone.always)
        .extend(["open", "stat", "link_stat", "list"].map(|call| (call, Errno::NOENT)));
    let store = setup.faulty(gone);
    let prefix = Prefix::new("a/")?;
    for error in [
        read(&store).err(),
        store.has(&key()?).err(),
        store.list_dir(&prefix).err(),
        store.leftovers(&prefix).err(),
        store.erase(&key()?, Precondition::None).err(),
        store.erase_prefix(&prefix, Wait::Block).err(),
    ] {
        let Some(StoreError::Io { source, .. }) = error else {
            panic!("{error:?}")
        };
        assert_eq!(source.to_string(), "/ is not there");
    }
    // A store that was not made yet is empty.
    let empty = FsStore::new(setup.folder.path().join("none"));
    assert!(read(&empty)?.is_none() && !empty.has(&key()?)?);
    assert_eq!(
        empty.list_dir(&prefix)?,
        ndzarr_store::DirListing::default()
    );
    empty.erase(&key()?, Precondition::None)?;
    empty.erase_prefix(&prefix, Wait::Block)?;
    Ok(())
}

/// A power cut leaves no array that cannot be opened, and chunks do not wait for the disk.
#[test]
fn only_documents_are_synced_unless_it_is_asked_for() -> Outcome {
    type Publish = fn(&FsStore, &Key) -> Result<(), StoreError>;
    let publishes: [Publish; 3] = [
        |store, key| {
            store
                .put(key, &["new".into()], Precondition::None)
                .map(drop)
        },
        |store, key| {
            let Locked::Held(mut lock) = store.lock(key, Wait::Block)? else {
                panic!("it is free")
            };
            lock.append(b"new")?;
            lock.publish().map(drop)
        },
        |store, key| {
            let temporary = store.temporary(key)?.expect("a file system has room");
            let Locked::Held(lock) = store.lock(key, Wait::Block)? else {
                panic!("it is free")
            };
            temporary.publish(lock).map(drop)
        },
    ];
    let documents = [
        "a/zarr.json",
        ".zarray",
        "a/.zattrs",
        "a/.zmetadata",
        "attributes.json",
        "meta/root.array.json",
    ];
    let chunks = ["a/c/0/1", "a/c", "a/0.1", "a/0/1/2", "data/root/a/c0/1"];
    for (at, publish) in publishes.iter().enumerate() {
        for key in documents.iter().chain(&chunks) {
            let synced =
                |durability: Option<Durability>| -> Result<bool, Box<dyn Error>> {
                    let setup = Setup::new()?;
                    let store = setup.faulty_with(Faulty::always("sync", Errno::IO), |builder| {
                        match durability {
                            Some(durability) => builder.durability(durability),
                            None => builder,
                        }
                    });
                    let published = publish(&store, &Key::new(key)?);
                    let error = published.as_ref().err().map(ToString::to_string);
                    assert!(
                        error.is_none() || error == Some(format!("sync {key}")),
                        "{at} {published:?}"
                    );
                    Ok(error.is_some())
                };
            assert_eq!(synced(None)?, documents.contains(key), "{at} {key}");
            assert!(
                !synced(Some(Durability::None))? && synced(Some(Durability::Data))?,
                "{at} {key}"
            );
        }
    }
    // Without locks.
    for (key, is_synced) in [("zarr.json", true), ("c/0", false)] {
        let faulty = Faulty::always("lock", Errno::NOSYS);
        held(&faulty.always).push(("sync", Errno::IO));
        let put =
            Setup::new()?
                .faulty(faulty)
                .put(&Key::new(key)?, &["new".into()], Precondition::None);
        assert_eq!(put.is_err(), is_synced, "{key}: {put:?}");
    }
    Ok(())
}
