//! Locks that are lost, and renewed.

use super::*;

/// A whole value needs nothing that was read before, so it is written again.
#[test]
fn a_put_that_loses_its_lock_begins_again() -> Outcome {
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
    put(
        &Machine::with("over there", meanwhile).store(&setup),
        Precondition::None,
    )?;
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("new value"), vec!["b".to_owned()])
    );
    Ok(())
}

/// A host that was asleep may have lost its lock; an erasure would remove the value of another
/// writer.
#[test]
fn an_erasure_looks_at_its_lock_first() -> Outcome {
    let setup = Setup::new()?;
    let here = Machine::new("here");
    let there = Machine::new("over there");
    let store = here.store(&setup);
    let lost = locked(&there.store(&setup))?;
    assert!(matches!(store.lock(&key()?, Wait::Try)?, Locked::Busy));
    here.pass(LEASE);
    there.pass(LEASE);
    put(&store, Precondition::None)?;
    assert!(matches!(lost.erase(), Err(StoreError::LockLost { .. })));
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("new value"), vec!["b".to_owned()])
    );
    Ok(())
}

/// The owner that was asleep does not remove the lock that is another's by now.
#[test]
fn a_lost_lock_is_let_go_without_harm() -> Outcome {
    let setup = Setup::new()?;
    let here = Machine::new("here");
    let there = Machine::new("over there");
    let store = here.store(&setup);
    let lost = locked(&there.store(&setup))?;
    assert!(matches!(store.lock(&key()?, Wait::Try)?, Locked::Busy));
    here.pass(LEASE);
    there.pass(LEASE);
    let lock = locked(&store)?;
    drop(lost);
    assert!(setup.lock_file().exists());
    lock.publish()?;
    Ok(())
}

/// A renewal changes what a waiter sees even if no clock moves, and never a lock file that is
/// another's.
#[test]
fn a_renewal_shows() -> Outcome {
    let setup = Setup::new()?;
    let here = Machine::new("here");
    let there = Machine::new("over there");
    let store = here.store(&setup);
    let lock = locked(&there.store(&setup))?;
    for _ in 0..5 {
        let before = fs::metadata(setup.lock_file())?.modified()?;
        there.pass(LEASE / 4);
        renew(&setup);
        let after = fs::metadata(setup.lock_file())?.modified()?;
        assert!(
            after.duration_since(before)? >= Duration::from_secs(1),
            "as far as some file systems tell"
        );
        here.pass(LEASE - Duration::from_millis(1));
        assert!(matches!(store.lock(&key()?, Wait::Try)?, Locked::Busy));
    }
    // Too early to do it again.
    let before = fs::metadata(setup.lock_file())?.modified()?;
    renew(&setup);
    assert_eq!(fs::metadata(setup.lock_file())?.modified()?, before);
    fs::write(
        setup.lock_file(),
        "of a program that knows nothing of all this",
    )?;
    let before = fs::metadata(setup.lock_file())?.modified()?;
    there.pass(LEASE / 4);
    renew(&setup);
    assert_eq!(fs::metadata(setup.lock_file())?.modified()?, before);
    assert!(matches!(lock.publish(), Err(StoreError::LockLost { .. })));
    assert_eq!(setup.value()?.as_deref(), Some("old value"));
    Ok(())
}
