//! Tests of locks of files that reach other hosts, or forbid them to read, and of leases of SMB.

use super::*;

/// Locks of files reach other hosts on NFS 4. One that is stopped before it has named itself in its
/// lock file keeps it locked, and does not renew it.
#[test]
fn a_locked_lock_file_that_names_no_owner_is_taken_over_after_the_lease() -> Outcome {
    let setup = Setup::new()?;
    let here = Machine::new("here");
    here.locks_reach_others.store(true, Ordering::Relaxed);
    let (store, waiter, file) = (here.store(&setup), here.clone(), setup.lock_file());
    let (give, take) = std::sync::mpsc::channel();
    let meanwhile = Faulty::meanwhile("write_at", move || {
        let key = key().expect("a key");
        let size = fs::metadata(&file).expect("it was made").len();
        assert!(matches!(store.lock(&key, Wait::Try), Ok(Locked::Busy)));
        waiter.pass(LEASE - Duration::from_millis(1));
        assert!(
            matches!(store.lock(&key, Wait::Try), Ok(Locked::Busy)),
            "not yet"
        );
        waiter.pass(Duration::from_millis(1));
        let _ = give.send((size, store.lock(&key, Wait::Try)));
    });
    let there = Machine::with("over there", meanwhile);
    there.locks_reach_others.store(true, Ordering::Relaxed);
    // It goes on: its file has no name any more.
    let stopped = locked(&there.store(&setup))?;
    let (0, Ok(Locked::Held(mut lock))) = take.recv()? else {
        panic!("its lease is over")
    };
    lock.append(b"of the other")?;
    lock.publish()?;
    assert!(matches!(
        stopped.publish(),
        Err(StoreError::LockLost { .. })
    ));
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("of the other"), vec!["b".to_owned()])
    );
    Ok(())
}

/// Linux gives EIO for a file of NFS 4 whose locks it has lost, as it may while its process is
/// stopped.
#[test]
fn whoever_loses_the_lock_file_that_it_makes_waits_for_the_other() -> Outcome {
    for call in ["lock", "write_at"] {
        let setup = Setup::new()?;
        let here = Machine::new("here");
        let store = here.store(&setup);
        let (give, take) = std::sync::mpsc::channel();
        let faults = Faulty::meanwhile(call, move || {
            let key = key().expect("a key");
            assert!(matches!(store.lock(&key, Wait::Try), Ok(Locked::Busy)));
            here.pass(LEASE);
            let _ = give.send(store.lock(&key, Wait::Try));
        });
        held(&faults.once).push_back((call, Errno::IO));
        let there = Machine::with("over there", faults);
        assert!(
            matches!(there.store(&setup).lock(&key()?, Wait::Try)?, Locked::Busy),
            "{call}"
        );
        let Locked::Held(mut lock) = take.recv()?? else {
            panic!("its lease is over")
        };
        lock.append(b"of the other")?;
        lock.publish()?;
        assert_eq!(
            (setup.value()?.as_deref(), setup.files()?),
            (Some("of the other"), vec!["b".to_owned()])
        );

        // A fault of the disk is an error.
        let broken = Machine::with("over there", Faulty::once(call, Errno::IO));
        let Err(error) = put(&broken.store(&setup), Precondition::None) else {
            panic!("unnoticed")
        };
        assert_eq!(errno(&error), Some(Errno::IO.raw_os_error()));
    }
    Ok(())
}

/// The lock file that a process looked at when it was stopped has been removed.
#[test]
fn a_lock_file_that_is_lost_while_it_is_looked_at_is_looked_at_again() -> Outcome {
    let setup = Setup::new()?;
    let there = Machine::new("over there");
    let lock = locked(&there.store(&setup))?;
    let here = Machine::with("here", Faulty::once("read_at", Errno::IO));
    assert!(matches!(
        here.store(&setup).lock(&key()?, Wait::Try)?,
        Locked::Busy
    ));
    let broken = Machine::with("here", Faulty::always("read_at", Errno::IO));
    let Err(error) = put(&broken.store(&setup), Precondition::None) else {
        panic!("unnoticed")
    };
    assert_eq!(errno(&error), Some(Errno::IO.raw_os_error()));
    lock.publish()?;
    Ok(())
}

/// As tensorstore does. It names no owner, and where a lock forbids to read, as on SMB, nothing is
/// read.
#[test]
fn a_program_that_locks_all_of_the_lock_file_is_waited_for() -> Outcome {
    for reads in [Faulty::default(), Faulty::always("read_at", Errno::ACCESS)] {
        let setup = Setup::new()?;
        let machine = Machine::with("here", reads);
        machine.locks_reach_others.store(true, Ordering::Relaxed);
        let store = machine.store(&setup);
        let file = File::create_new(setup.lock_file())?;
        assert!(System.lock(&file, Part::Whole, Wait::Try)?);
        for _ in 0..4 {
            assert!(matches!(store.lock(&key()?, Wait::Try)?, Locked::Busy));
            machine.pass(LEASE);
        }
        drop(file);
        assert!(
            matches!(store.lock(&key()?, Wait::Try)?, Locked::Busy),
            "its lease begins anew"
        );
        machine.pass(LEASE);
        assert!(matches!(store.lock(&key()?, Wait::Try)?, Locked::Held(_)));
    }
    Ok(())
}

/// Of a lock with a lease others can read the owner where a lock forbids it.
#[test]
fn the_owner_that_a_lock_file_names_is_not_locked() -> Outcome {
    let setup = Setup::new()?;
    let machine = Machine::new("here");
    machine.locks_reach_others.store(true, Ordering::Relaxed);
    let lock = locked(&machine.store(&setup))?;
    let file = File::open(setup.lock_file())?;
    assert!(System.lock_to_read(&file, Part::Owner)?);
    assert!(
        !System.lock_to_read(&file, Part::Whole)?,
        "tensorstore does not get it"
    );
    drop(lock);
    Ok(())
}

/// The error of sshfs for a file that exists already: SFTP has one word for everything.
#[test]
fn a_file_that_exists_may_not_be_permitted() -> Outcome {
    let setup = Setup::new()?;
    let here = Machine::with("here", Faulty::once("create", Errno::PERM));
    put(&here.store(&setup), Precondition::None)?;
    assert_eq!(setup.value()?.as_deref(), Some("new value"));
    let never = Machine::with("here", Faulty::always("create", Errno::PERM));
    let Err(error) = put(&never.store(&setup), Precondition::None) else {
        panic!("unnoticed")
    };
    assert_eq!(errno(&error), Some(Errno::PERM.raw_os_error()));
    Ok(())
}

/// Linux gives EINVAL for a file of SMB that it has open under another name, by a lease.
#[test]
fn a_share_that_refuses_a_lock_file_for_its_leases_is_an_error_that_says_so() -> Outcome {
    let setup = Setup::new()?;
    let here = Machine::with("here", Faulty::once("create", Errno::INVAL));
    put(&here.store(&setup), Precondition::None)?;
    assert_eq!(setup.value()?.as_deref(), Some("new value"));
    let never = Machine::with("here", Faulty::always("create", Errno::INVAL));
    let Err(StoreError::Io { source, .. }) = put(&never.store(&setup), Precondition::None) else {
        panic!("unnoticed")
    };
    assert!(source.to_string().contains("`nolease`"), "{source}");
    Ok(())
}

/// Linux remembers, of SMB, the name of a lock file that another host has removed: who would create
/// it is told that it exists, and who opens it that it does not.
#[test]
fn a_lock_file_that_is_only_remembered_is_waited_for_with_pauses() -> Outcome {
    let setup = Setup::new()?;
    let faults = Faulty::always("create", Errno::EXIST);
    let remembered = faults.always.clone();
    let machine = Machine::with("here", faults);
    let store = FsStore::builder(setup.folder.path())
        .locking(Locking::Portable)
        .lock_timeout(Duration::from_secs(3))
        .build_on(machine.clone());
    assert!(matches!(store.lock(&key()?, Wait::Try)?, Locked::Busy));
    assert!(
        matches!(store.lock(&key()?, Wait::While(&|| false))?, Locked::Busy),
        "cancelled"
    );
    let Err(StoreError::Busy {
        waited,
        holder: None,
        ..
    }) = put(&store, Precondition::None)
    else {
        panic!("it waits without end")
    };
    assert_eq!(waited, Duration::from_secs(3));
    assert_eq!(setup.value()?.as_deref(), Some("old value"));

    // The system forgets it after a second.
    let forgets_at = machine.now() + Duration::from_secs(1);
    let clock = Arc::downgrade(&machine);
    *held(&machine.at_pause) = Some(AtPause(Box::new(move || {
        if clock
            .upgrade()
            .is_some_and(|machine| machine.now() >= forgets_at)
        {
            held(&remembered).clear();
        }
    })));
    put(&store, Precondition::None)?;
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("new value"), vec!["b".to_owned()])
    );
    Ok(())
}

/// The owner is stopped before it renames its temporary, which another host then removes. It has
/// the temporary open, so SMB still shows it, and the renaming looks as if the value were open
/// elsewhere.
#[test]
fn a_temporary_that_is_removed_while_it_is_open_is_a_lost_lock() -> Outcome {
    let setup = Setup::new()?;
    let here = Machine::new("here");
    let store = here.store(&setup);
    let meanwhile = Faulty::meanwhile("rename", move || {
        let key = key().expect("a key");
        assert!(matches!(store.lock(&key, Wait::Try), Ok(Locked::Busy)));
        here.pass(LEASE);
        store
            .put(&key, &["of the other".into()], Precondition::None)
            .expect("its lease is over");
    });
    let there = Machine::with("over there", meanwhile);
    there.keeps_names.store(true, Ordering::Relaxed);
    let mut lock = locked(&there.store(&setup))?;
    lock.append(b"late")?;
    let Err(error) = lock.publish() else {
        panic!("an update is undone")
    };
    assert!(matches!(error, StoreError::LockLost { .. }), "{error:?}");
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("of the other"), vec!["b".to_owned()])
    );
    Ok(())
}
