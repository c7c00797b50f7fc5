//! Tests on file systems that cannot lock files.

use ndzarr_store::Locked;

use super::*;

const SAY_NO: [Errno; 5] = [
    Errno::NOLCK,
    Errno::NOSYS,
    Errno::INVAL,
    Errno::OPNOTSUPP,
    Errno::NOTSUP,
];

#[test]
fn writes_go_on_without_locks() -> Outcome {
    for errno in SAY_NO {
        let setup = Setup::new()?;
        let store = setup.faulty(Faulty::always("lock", errno));
        for wait in [Wait::Try, Wait::Block] {
            assert!(matches!(store.lock(&key()?, wait)?, Locked::Unsupported));
        }
        let Put::Done(Some(pin)) = put(&store, Precondition::None)? else {
            panic!("no precondition")
        };
        assert_eq!(setup.value()?.as_deref(), Some("new value"));
        let fetch = Fetch {
            key: key()?,
            of: Of::IfCurrent(pin.clone()),
            want: Want::Size,
        };
        assert!(matches!(
            store.fetch(&fetch)?,
            Fetched::Parts { size: 9, .. }
        ));
        // The store refuses what it cannot guarantee.
        assert!(matches!(
            put(&store, Precondition::Absent)?,
            Put::Unsupported
        ));
        assert!(matches!(
            put(&store, Precondition::Current(pin.clone()))?,
            Put::Unsupported
        ));
        assert!(matches!(
            store.erase(&key()?, Precondition::Current(pin))?,
            Put::Unsupported
        ));
        assert_eq!(
            store.list_prefix(&ndzarr_store::Prefix::root())?,
            [key()?],
            "temporaries do not show"
        );
        if errno != Errno::NOLCK {
            assert_eq!(setup.files()?, ["b"]);
        }
        assert!(matches!(
            store.erase(&key()?, Precondition::None)?,
            Put::Done(None)
        ));
        assert_eq!(setup.value()?, None);
        store.put(&Key::new("x/y/z")?, &["made".into()], Precondition::None)?;
        store.erase_prefix(&ndzarr_store::Prefix::root(), Wait::Block)?;
        assert_eq!(store.list_prefix(&ndzarr_store::Prefix::root())?, []);
        if errno != Errno::NOLCK {
            assert_eq!(fs::read_dir(setup.folder.path())?.count(), 0);
        }
    }
    Ok(())
}

/// It may be the temporary of a writer that is at work.
#[test]
fn nothing_is_left_for_sure_without_locks() -> Outcome {
    for errno in SAY_NO {
        let setup = Setup::new()?;
        let temporary = setup.folder.path().join("a/b.1f.__lock");
        fs::write(&temporary, "half of it")?;
        let faulty = Faulty::always("lock", errno);
        held(&faulty.always).push(("lock_to_read", errno));
        let store = setup.faulty(faulty);
        assert_eq!(store.leftovers(&ndzarr_store::Prefix::root())?, []);
        let known = setup.good.leftovers(&ndzarr_store::Prefix::root())?;
        assert_eq!(known.len(), 1, "with locks it is known");
        assert!(!store.remove_leftover(&known[0])?);
        assert!(temporary.exists());
        assert!(setup.good.remove_leftover(&known[0])?);
        assert!(!temporary.exists());
    }
    Ok(())
}

/// ENOLCK may be a passing shortage: another writer may hold the lock, so its file stays.
#[test]
fn a_shortage_of_locks_leaves_the_lock_file_alone() -> Outcome {
    let setup = Setup::new()?;
    let Locked::Held(mut lock) = setup.good.lock(&key()?, Wait::Try)? else {
        panic!("it is free")
    };
    put(
        &setup.faulty(Faulty::always("lock", Errno::NOLCK)),
        Precondition::None,
    )?;
    assert_eq!(setup.value()?.as_deref(), Some("new value"));
    lock.append(b"from under the lock")?;
    lock.publish()?;
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("from under the lock"), vec!["b".to_owned()])
    );
    Ok(())
}

/// Under the name of a lock file that was removed, a third writer would lock another one while the
/// first still writes.
#[test]
fn erasing_in_a_shortage_of_locks_leaves_the_lock_file_alone() -> Outcome {
    let setup = Setup::new()?;
    let Locked::Held(mut lock) = setup.good.lock(&key()?, Wait::Try)? else {
        panic!("it is free")
    };
    let prefix = ndzarr_store::Prefix::new("a/")?;
    setup
        .faulty(Faulty::always("lock", Errno::NOLCK))
        .erase_prefix(&prefix, Wait::Block)?;
    assert_eq!(setup.value()?, None);
    assert!(matches!(setup.good.lock(&key()?, Wait::Try)?, Locked::Busy));
    lock.append(b"from under the lock")?;
    lock.publish()?;
    assert_eq!(setup.value()?.as_deref(), Some("from under the lock"));
    Ok(())
}

#[test]
fn a_put_without_a_lock_that_fails_leaves_nothing() -> Outcome {
    for (call, action) in [
        ("write_at", "write"),
        ("sync", "sync"),
        ("rename", "publish"),
    ] {
        let setup = Setup::new()?;
        let faulty = Faulty::always("lock", Errno::NOSYS);
        held(&faulty.once).push_back((call, Errno::NOSPC));
        let store = setup.faulty_with(faulty, |b| b.durability(Durability::Data));
        let Err(error) = put(&store, Precondition::None) else {
            panic!("{call} failed unnoticed")
        };
        assert_eq!(error.to_string(), format!("{action} a/b"));
        assert_eq!(
            (setup.value()?.as_deref(), setup.files()?),
            (Some("old value"), vec!["b".to_owned()])
        );
    }
    Ok(())
}
