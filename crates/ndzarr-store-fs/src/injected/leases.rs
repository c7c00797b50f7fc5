//! Tests of the portable protocol, with a clock that advances when the store pauses, and with
//! simulated hosts.

mod lost_locks;
mod machine;
#[cfg(target_os = "linux")]
mod shares;

use std::sync::atomic::Ordering;

use ndzarr_store::{Locked, Prefix, Wait};

use super::*;
use crate::Locking;
use crate::injected::leases::machine::{AtPause, LEASE, Machine};
use crate::locks::renewal::held_by_this_process;
use crate::names::lock_names::lock_path;

fn locked(store: &FsStore) -> Result<Box<dyn ndzarr_store::KeyLock>, Box<dyn Error>> {
    match store.lock(&key()?, Wait::Block)? {
        Locked::Held(lock) => Ok(lock),
        other => Err(format!("{other:?}").into()),
    }
}

/// The thread that renews locks goes by the clock of the machine; here everything does.
fn renew(setup: &Setup) {
    let lock = setup.lock_file();
    held_by_this_process(&lock)
        .expect("it is held")
        .renew_in_time();
}

#[test]
fn a_value_is_written_next_to_the_lock_file() -> Outcome {
    let setup = Setup::new()?;
    let machine = Machine::new("a");
    let store = machine.store(&setup);
    let mut lock = locked(&store)?;
    lock.append(b"new ")?;
    lock.append(b"value")?;
    let files = setup.files()?;
    assert_eq!(files.len(), 3, "{files:?}");
    assert!(fs::read_to_string(setup.lock_file())?.starts_with("ndzarr lock 1\nhost a\n"));
    assert_eq!(store.list_prefix(&Prefix::root())?, [key()?]);
    assert!(matches!(
        machine.store(&setup).lock(&key()?, Wait::Try)?,
        Locked::Busy
    ));
    lock.publish()?;
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("new value"), vec!["b".to_owned()])
    );
    drop(locked(&store)?);
    locked(&store)?.erase()?;
    assert_eq!(
        (setup.value()?, fs::read_dir(setup.folder.path())?.count()),
        (None, 0)
    );
    Ok(())
}

#[test]
fn a_lock_of_another_host_is_waited_for_as_long_as_it_is_renewed() -> Outcome {
    let setup = Setup::new()?;
    let (here, there) = (Machine::new("here"), Machine::new("over there"));
    let mut lock = locked(&there.store(&setup))?;
    lock.append(b"of the other")?;
    // Ten leases go by, in which the owner renews it when it is time to. Then it publishes.
    let (owner, held_lock) = (there.clone(), Mutex::new(Some(lock)));
    let mut paused = 0_u64;
    let waiter = here.clone();
    let file = setup.lock_file();
    *held(&here.at_pause) = Some(AtPause(Box::new(move || {
        waiter.pass(LEASE / 10);
        owner.pass(LEASE / 10);
        paused += 1;
        if paused < 100 {
            if let Some(held) = held_by_this_process(&file) {
                held.renew_in_time();
            }
            return;
        }
        let lock = held(&held_lock).take();
        if let Some(lock) = lock {
            lock.publish().expect("it is still its own");
        }
    })));
    let store = here.store(&setup);
    let mut lock = locked(&store)?;
    assert_eq!(setup.value()?.as_deref(), Some("of the other"));
    lock.append(b"mine")?;
    lock.publish()?;
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("mine"), vec!["b".to_owned()])
    );
    Ok(())
}

#[test]
fn a_lock_that_is_not_renewed_is_taken_over_with_its_temporary() -> Outcome {
    let setup = Setup::new()?;
    let (here, there) = (Machine::new("here"), Machine::new("over there"));
    let store = here.store(&setup);
    let mut lost = locked(&there.store(&setup))?;
    lost.append(b"of the stopped one")?;
    assert!(matches!(store.lock(&key()?, Wait::Try)?, Locked::Busy));
    here.pass(LEASE - Duration::from_millis(1));
    assert!(
        matches!(store.lock(&key()?, Wait::Try)?, Locked::Busy),
        "not yet"
    );
    here.pass(Duration::from_millis(1));
    let Locked::Held(mut mine) = store.lock(&key()?, Wait::Try)? else {
        panic!("its lease is over")
    };
    assert_eq!(
        setup.files()?,
        ["b", "b.__lock"],
        "the temporary file is gone"
    );
    mine.append(b"mine")?;
    // The one that was stopped goes on, and finds out.
    let Err(error) = lost.publish() else {
        panic!("published without a lock")
    };
    assert!(matches!(error, StoreError::LockLost { .. }), "{error:?}");
    assert_eq!(setup.value()?.as_deref(), Some("old value"));
    mine.publish()?;
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("mine"), vec!["b".to_owned()])
    );
    Ok(())
}

/// Between its last look at its lock and its renaming, the owner is stopped for longer than the
/// lease.
#[test]
fn whoever_is_stopped_before_the_very_renaming_publishes_nothing() -> Outcome {
    let setup = Setup::new()?;
    let here = Machine::new("here");
    let store = here.store(&setup);
    let folder = setup.folder.path().to_owned();
    let file = setup.lock_file();
    let meanwhile = Faulty::meanwhile("rename", move || {
        let key = key().expect("a key");
        assert!(matches!(store.lock(&key, Wait::Try), Ok(Locked::Busy)));
        here.pass(LEASE);
        store
            .put(&key, &["of the other".into()], Precondition::None)
            .expect("its lease is over");
        assert!(folder.exists() && !file.exists());
    });
    let there = Machine::with("over there", meanwhile);
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

/// On its own host it is known at once that an owner was killed.
#[test]
fn the_lock_of_a_killed_process_of_this_host_is_taken_over_at_once() -> Outcome {
    let setup = Setup::new()?;
    let machine = Machine::new("here");
    let mut lock = locked(&machine.store(&setup))?;
    lock.append(b"half")?;
    std::mem::forget(lock);
    let other = machine.store(&setup);
    assert!(matches!(other.lock(&key()?, Wait::Try)?, Locked::Busy));
    machine.is_dead.store(true, Ordering::Relaxed);
    let elsewhere = Machine::new("elsewhere");
    elsewhere.is_dead.store(true, Ordering::Relaxed);
    assert!(
        matches!(
            elsewhere.store(&setup).lock(&key()?, Wait::Try)?,
            Locked::Busy
        ),
        "who knows"
    );
    machine.is_locked.store(true, Ordering::Relaxed);
    assert!(
        matches!(other.lock(&key()?, Wait::Try)?, Locked::Busy),
        "it only looks dead"
    );
    machine.is_locked.store(false, Ordering::Relaxed);
    let Locked::Held(lock) = other.lock(&key()?, Wait::Try)? else {
        panic!("its owner is dead")
    };
    drop(lock);
    assert_eq!(setup.files()?, ["b"]);
    Ok(())
}

/// Two find the same lock old. The second renames the lock that the first has made by then, and
/// puts it back.
#[test]
fn a_new_lock_that_is_renamed_as_an_old_one_is_put_back() -> Outcome {
    for no_links in [false, true] {
        let setup = Setup::new()?;
        let dead = Machine::new("dead");
        std::mem::forget(locked(&dead.store(&setup))?);
        let first = Machine::new("first");
        let store = first.store(&setup);
        let (give, take) = std::sync::mpsc::channel();
        assert!(matches!(store.lock(&key()?, Wait::Try)?, Locked::Busy));
        first.pass(LEASE);
        let faults = Faulty::meanwhile("rename", move || {
            let _ = give.send(store.lock(&key().expect("a key"), Wait::Try));
        });
        if no_links {
            held(&faults.always).push(("link", Errno::PERM));
        }
        let second = Machine::with("second", faults);
        let store = second.store(&setup);
        assert!(matches!(store.lock(&key()?, Wait::Try)?, Locked::Busy));
        second.pass(LEASE);
        assert!(
            matches!(store.lock(&key()?, Wait::Try)?, Locked::Busy),
            "the first one's, which is new"
        );
        let Locked::Held(mut lock) = take.recv()?? else {
            panic!("the lease of the dead one is over")
        };
        lock.append(b"of the first")?;
        lock.publish()?;
        assert_eq!(
            (setup.value()?.as_deref(), setup.files()?),
            (Some("of the first"), vec!["b".to_owned()])
        );
    }
    Ok(())
}

/// It says nothing of its owner, who may be a program that never renews a lock, or was killed
/// before it wrote anything.
#[test]
fn a_lock_file_that_says_nothing_is_waited_for_once() -> Outcome {
    for bytes in ["", "half a value of a killed writer", "ndzarr lock 1\nhost"] {
        let setup = Setup::new()?;
        let machine = Machine::new("here");
        let store = machine.store(&setup);
        fs::write(setup.lock_file(), bytes)?;
        assert!(
            matches!(store.lock(&key()?, Wait::Try)?, Locked::Busy),
            "{bytes:?}"
        );
        machine.pass(LEASE / 2);
        fs::write(setup.lock_file(), format!("{bytes}, and more"))?;
        assert!(
            matches!(store.lock(&key()?, Wait::Try)?, Locked::Busy),
            "it changed"
        );
        machine.pass(LEASE / 2);
        assert!(matches!(store.lock(&key()?, Wait::Try)?, Locked::Busy));
        machine.pass(LEASE / 2);
        put(&store, Precondition::None)?;
        assert_eq!(
            (setup.value()?.as_deref(), setup.files()?),
            (Some("new value"), vec!["b".to_owned()])
        );
    }
    Ok(())
}

/// To a writer on the host whose disk it is, the file system is a local one.
#[test]
fn a_lock_of_another_host_is_respected_on_a_local_file_system() -> Outcome {
    let setup = Setup::new()?;
    let there = Machine::new("over there");
    let mut lock = locked(&there.store(&setup))?;
    lock.append(b"of the other")?;
    let server = FsStore::builder(setup.folder.path())
        .lock_timeout(Duration::ZERO)
        .build();
    assert!(matches!(server.lock(&key()?, Wait::Try)?, Locked::Busy));
    let Err(StoreError::Busy {
        key,
        holder: Some(holder),
        ..
    }) = put(&server, Precondition::None)
    else {
        panic!("it is locked")
    };
    assert_eq!(
        (key.as_str(), holder),
        (
            "a/b",
            format!("process {} on another host", std::process::id())
        )
    );
    lock.publish()?;
    put(&server, Precondition::None)?;
    assert_eq!(setup.value()?.as_deref(), Some("new value"));
    Ok(())
}

#[test]
fn a_wait_ends_at_the_limit_and_says_who_holds_the_lock() -> Outcome {
    let setup = Setup::new()?;
    let machine = Machine::new("here");
    let lock = locked(&machine.store(&setup))?;
    let waiting = FsStore::builder(setup.folder.path())
        .locking(Locking::Portable)
        .lock_timeout(Duration::from_secs(3))
        .build_on(machine.clone());
    let prefix = Prefix::new("a/")?;
    let errors = [
        waiting.lock(&key()?, Wait::Block).err(),
        waiting.lock(&key()?, Wait::While(&|| true)).err(),
        put(&waiting, Precondition::None).err(),
        waiting.erase(&key()?, Precondition::None).err(),
        waiting.erase_prefix(&prefix, Wait::Block).err(),
    ];
    for (i, error) in errors.into_iter().enumerate() {
        let Some(StoreError::Busy {
            key,
            waited,
            holder,
        }) = error
        else {
            panic!("{i}: {error:?}")
        };
        assert_eq!(
            (key.as_str(), waited),
            ("a/b", Duration::from_secs(3)),
            "{i}"
        );
        assert_eq!(
            holder,
            Some(format!("process {} on this host", std::process::id())),
            "{i}"
        );
    }
    drop(lock);
    put(&waiting, Precondition::None)?;
    Ok(())
}

/// The value of a `ShardWriter`, whose own lock and the key's are both renewed and both looked at.
#[test]
fn a_temporary_is_published_under_the_lock_of_its_key() -> Outcome {
    let setup = Setup::new()?;
    let (here, there) = (Machine::new("here"), Machine::new("over there"));
    let store = there.store(&setup);
    let temporary = store.temporary(&key()?)?.expect("a file system has room");
    temporary.append(b"from a temporary")?;
    temporary.publish(locked(&store)?)?;
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("from a temporary"), vec!["b".to_owned()])
    );

    let temporary = store.temporary(&key()?)?.expect("a file system has room");
    temporary.append(b"late")?;
    let lock = locked(&store)?;
    let other = here.store(&setup);
    assert!(matches!(other.lock(&key()?, Wait::Try)?, Locked::Busy));
    here.pass(LEASE);
    there.pass(LEASE);
    put(&other, Precondition::None)?;
    assert!(matches!(
        temporary.publish(lock),
        Err(StoreError::LockLost { .. })
    ));
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("new value"), vec!["b".to_owned()])
    );

    // Left-overs of a killed process go with the next process of its host, or with the folder.
    let temporary = store.temporary(&key()?)?.expect("a file system has room");
    temporary.append(b"half")?;
    std::mem::forget(temporary);
    there.is_dead.store(true, Ordering::Relaxed);
    assert!(lock_path(&setup.folder.path().join("a/b.part0")).exists());
    drop(there.store(&setup).temporary(&key()?)?);
    assert_eq!(setup.files()?, ["b"]);
    Ok(())
}

/// Another program may look at every new file for a moment.
#[test]
fn files_that_are_open_for_a_moment_are_waited_for() -> Outcome {
    for call in ["rename", "unlink"] {
        let setup = Setup::new()?;
        let store = Machine::with("a", Faulty::once(call, Errno::BUSY)).store(&setup);
        let temporary = store.temporary(&key()?)?.ok_or("a file system has room")?;
        temporary.append(b"from a temporary")?;
        temporary.publish(locked(&store)?)?;
        assert_eq!(
            (setup.value()?.as_deref(), setup.files()?),
            (Some("from a temporary"), vec!["b".to_owned()])
        );
    }
    Ok(())
}
