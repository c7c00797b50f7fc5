//! Tests of the lock of a value itself, which Java N5 takes.

use ndzarr_store::Locked;

use super::*;

/// A host of NFS 4 loses an open value that another host replaces: locking it gives ESTALE or EIO.
#[test]
fn a_value_that_is_lost_while_it_is_locked_is_opened_again() -> Outcome {
    let lock_value = |faulty: Faulty| -> Result<bool, Box<dyn Error>> {
        let setup = Setup::new()?;
        let Locked::Held(mut lock) = setup.faulty(faulty).lock(&key()?, Wait::Block)? else {
            panic!("it is free")
        };
        let is_locked = lock.lock_value(Wait::Block)?;
        lock.append(b"new value")?;
        lock.publish()?;
        assert_eq!(setup.value()?.as_deref(), Some("new value"));
        Ok(is_locked)
    };
    for errno in [Errno::IO, Errno::STALE] {
        assert!(lock_value(Faulty::once("lock_to_read", errno))?);
    }
    // A fault of the disk is an error.
    let Err(error) = lock_value(Faulty::always("lock_to_read", Errno::IO)) else {
        panic!("unnoticed")
    };
    assert_eq!(error.to_string(), "lock a/b");
    Ok(())
}
