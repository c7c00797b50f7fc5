//! Tests in which other processes change files between two system calls.

use ndzarr_store::{Locked, Prefix, Wait};

use super::*;

/// Between opening the lock file and locking it, another writer makes it the live value. Nothing
/// may be written to it.
#[test]
fn the_lock_file_that_became_the_value_is_left_alone() -> Outcome {
    let setup = Setup::new()?;
    let (other, key) = (setup.good.clone(), key()?);
    let (give, take) = std::sync::mpsc::channel();
    let faulty = Faulty::meanwhile("lock", move || {
        // The file that the store under test has just opened becomes the value.
        let done = other.put(
            &key,
            &["a longer value of another".into()],
            Precondition::None,
        );
        let _ = give.send(done);
    });
    put(&setup.faulty(faulty), Precondition::None)?;
    let Put::Done(Some(pin)) = take.recv()?? else {
        panic!("no precondition")
    };
    // The pin is of the other's file: had it been written into, the snapshot would show it.
    let fetch = Fetch {
        key: self::key()?,
        of: Of::Snapshot(pin),
        want: Want::Whole { limit: 100 },
    };
    let Fetched::Parts { parts, .. } = setup.good.fetch(&fetch)? else {
        panic!("it is pinned")
    };
    assert_eq!(parts[..], ["a longer value of another"]);
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("new value"), vec!["b".to_owned()])
    );
    Ok(())
}

#[test]
fn the_lock_file_that_was_removed_is_no_lock() -> Outcome {
    let setup = Setup::new()?;
    let (other, key) = (setup.good.clone(), key()?);
    let faulty = Faulty::meanwhile("lock", move || {
        let _ = other.erase(&key, Precondition::None);
    });
    let store = setup.faulty(faulty);
    // Its folder is gone too by then.
    let Locked::Held(lock) = store.lock(&self::key()?, Wait::Try)? else {
        panic!("it is free")
    };
    assert!(setup.lock_file().exists());
    assert!(matches!(
        setup.good.lock(&self::key()?, Wait::Try)?,
        Locked::Busy
    ));
    drop(lock);
    assert_eq!(setup.value()?, None);
    assert!(
        setup
            .lock_file()
            .parent()
            .is_some_and(|folder| !folder.exists()),
        "it was made for the lock"
    );
    Ok(())
}

#[test]
fn a_folder_that_goes_away_is_made_again() -> Outcome {
    for call in ["create", "make_folder"] {
        let setup = Setup::new()?;
        setup.good.erase(&key()?, Precondition::None)?;
        let folder = setup.folder.path().to_owned();
        fs::create_dir(folder.join("a"))?;
        let faulty = Faulty::meanwhile(call, move || {
            let _ = fs::remove_dir(folder.join("a"));
            let _ = fs::remove_dir(&folder);
        });
        put(&setup.faulty(faulty), Precondition::None)?;
        assert_eq!(setup.value()?.as_deref(), Some("new value"));
    }
    Ok(())
}

#[test]
fn the_rest_of_a_killed_writer_goes() -> Outcome {
    let setup = Setup::new()?;
    fs::write(
        setup.lock_file(),
        "far more than the new value has, from a writer that was killed",
    )?;
    put(&setup.good, Precondition::None)?;
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("new value"), vec!["b".to_owned()])
    );

    fs::write(setup.lock_file(), "rest")?;
    let Locked::Held(lock) = setup.good.lock(&key()?, Wait::Try)? else {
        panic!("nobody holds it")
    };
    lock.publish()?;
    assert_eq!(setup.value()?.as_deref(), Some(""));

    fs::write(setup.lock_file(), "rest")?;
    setup.good.erase(&key()?, Precondition::None)?;
    assert_eq!(setup.value()?, None);
    Ok(())
}

/// A lock file of another user may not be written to, but the folder may: so it can be removed once
/// it is free.
#[test]
fn the_rest_of_another_users_killed_writer_goes() -> Outcome {
    let setup = Setup::new()?;
    let store = setup.faulty(Faulty::always("reopen", Errno::ACCESS));
    fs::write(setup.lock_file(), "rest")?;
    put(&store, Precondition::None)?;
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("new value"), vec!["b".to_owned()])
    );

    let Locked::Held(lock) = setup.good.lock(&key()?, Wait::Try)? else {
        panic!("it is free")
    };
    assert!(
        matches!(store.lock(&key()?, Wait::Try)?, Locked::Busy),
        "its writer lives"
    );
    drop(lock);

    // Where the folder may not be written either, the error says so.
    fs::write(setup.lock_file(), "rest")?;
    let faulty = Faulty::always("reopen", Errno::ACCESS);
    held(&faulty.always).push(("rename", Errno::ACCESS));
    let Err(error) = put(&setup.faulty(faulty), Precondition::None) else {
        panic!("unnoticed")
    };
    assert_eq!(errno(&error), Some(Errno::ACCESS.raw_os_error()));
    Ok(())
}

/// As long as it takes is not for everybody.
#[test]
fn every_wait_has_a_limit_if_it_is_set() -> Outcome {
    let setup = Setup::new()?;
    let limited = FsStore::builder(setup.folder.path())
        .lock_timeout(Duration::ZERO)
        .build();
    let Locked::Held(lock) = setup.good.lock(&key()?, Wait::Try)? else {
        panic!("it is free")
    };
    let errors = [
        limited.lock(&key()?, Wait::Block).err(),
        limited.lock(&key()?, Wait::While(&|| true)).err(),
        put(&limited, Precondition::None).err(),
        limited.erase(&key()?, Precondition::None).err(),
        limited.erase_prefix(&Prefix::root(), Wait::Block).err(),
        limited.erase_prefix(&Prefix::new("a/")?, Wait::Block).err(),
    ];
    for (i, error) in errors.into_iter().enumerate() {
        let Some(StoreError::Busy { key, .. }) = error else {
            panic!("{i}: {error:?}")
        };
        assert_eq!(key, "a/b", "{i}");
    }
    assert!(matches!(limited.lock(&key()?, Wait::Try)?, Locked::Busy));
    assert!(matches!(
        limited.lock(&key()?, Wait::While(&|| false))?,
        Locked::Busy
    ));
    drop(lock);
    put(&limited, Precondition::None)?;
    Ok(())
}

/// A copy of the store made of hard links has the same leftover lock file: it must not be written
/// into.
#[test]
fn a_lock_file_with_another_name_is_not_written_into() -> Outcome {
    let setup = Setup::new()?;
    let copy = setup.folder.path().join("precious");
    fs::write(&copy, "precious")?;
    fs::hard_link(&copy, setup.lock_file())?;
    put(&setup.good, Precondition::None)?;
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("new value"), vec!["b".to_owned()])
    );
    assert_eq!(fs::read_to_string(copy)?, "precious");
    Ok(())
}

/// A store may come from anywhere. Its lock files must not lead writers to other files.
#[test]
fn a_lock_file_that_is_a_link_is_refused() -> Outcome {
    let setup = Setup::new()?;
    let precious = setup.folder.path().join("precious");
    fs::write(&precious, "precious")?;
    for target in [
        precious.clone(),
        setup.folder.path().join("absent"),
        setup.lock_file(),
    ] {
        std::os::unix::fs::symlink(target, setup.lock_file())?;
        let Err(error) = put(&setup.good, Precondition::None) else {
            panic!("written through a link")
        };
        assert_eq!(errno(&error), Some(Errno::LOOP.raw_os_error()));
        fs::remove_file(setup.lock_file())?;
    }
    assert_eq!(fs::read_to_string(precious)?, "precious");
    assert_eq!(setup.value()?.as_deref(), Some("old value"));
    Ok(())
}

/// A writer that puts a value before every attempt to remove the folder keeps the folder, but not
/// what was there before.
#[test]
fn erasing_a_prefix_ends_beside_a_writer_that_never_stops() -> Outcome {
    let setup = Setup::new()?;
    let prefix = Prefix::new("a/")?;
    setup
        .faulty(Faulty::always("remove_folder", Errno::NOTEMPTY))
        .erase_prefix(&prefix, Wait::Block)?;
    assert_eq!((setup.value()?, setup.files()?.len()), (None, 0));

    let Err(error) = setup
        .faulty(Faulty::always("remove_folder", Errno::IO))
        .erase_prefix(&prefix, Wait::Block)
    else {
        panic!("the folder is still there")
    };
    assert_eq!(errno(&error), Some(Errno::IO.raw_os_error()));
    Ok(())
}

/// The writer whose temporary was erased goes away late. By then another one has a temporary of
/// that name.
#[test]
fn an_outdated_temporary_does_not_take_another_one_with_it() -> Outcome {
    let setup = Setup::new()?;
    let temporary = || -> Result<_, Box<dyn Error>> {
        let temporary = setup
            .good
            .temporary(&key()?)?
            .ok_or("a file system has room")?;
        temporary.append(b"from a temporary")?;
        Ok(temporary)
    };
    let outdated = temporary()?;
    setup.good.erase_prefix(&Prefix::new("a/")?, Wait::Block)?;
    let newer = temporary()?;
    drop(outdated);
    let Locked::Held(lock) = setup.good.lock(&key()?, Wait::Try)? else {
        panic!("it is free")
    };
    newer.publish(lock)?;
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("from a temporary"), vec!["b".to_owned()])
    );
    Ok(())
}
