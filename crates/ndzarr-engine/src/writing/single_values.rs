//! Stores and removes single values, such as documents, in a way that can be cancelled.

use std::future::ready;

use bytes::Bytes;
use ndzarr_store::{Fetched, Key, Of, Precondition, Prefix, Put, Store, StoreError, Wait, Want};

use crate::EngineCause;
use crate::cache::with_files;
use crate::threads::cancel::{Cancel, Publishing, Under, check_cancel, publishing};
use crate::threads::io::now;
use crate::threads::turn::{Patience, Taken, Turn};
use crate::writing::lost_lock::repeat_if_lock_lost;

/// Stores a value under the lock of its key, as [`Store::put`] does. The wait for the lock ends
/// when the work is stopped.
///
/// # Errors
/// The work was stopped; the store fails.
pub fn put_in_turn(
    store: &dyn Store,
    key: &Key,
    value: &Bytes,
    only_if: &Precondition,
    cancel: Option<&Cancel>,
) -> Result<Put, EngineCause> {
    let put = || {
        let taken = match only_if {
            // Callers set this condition only in stores without locks.
            Precondition::Current(_) => Taken::Unsupported,
            Precondition::None | Precondition::Absent => {
                Turn::take(store, key, Patience::Wait, cancel)?
            }
        };
        let Taken::Turn(mut turn) = taken else {
            let put = || store.put(key, std::slice::from_ref(value), only_if.clone());
            return publishing(cancel, || with_files(put));
        };
        if matches!(only_if, Precondition::Absent) {
            let Fetched::Missing = turn.fetch(Of::Any, Want::Size)? else {
                return Ok(Put::Conflict);
            };
        }
        turn.append(value)?;
        // Later calls may read without the lock, so they wait for a dropped one.
        let _waited_for = Publishing::begin(cancel, Under::Nothing)?;
        turn.end(|lock| lock.publish())
            .map(|pin| Put::Done(Some(pin)))
    };
    now(repeat_if_lock_lost(|| ready(put())))
}

/// Removes a value under the lock of its key, as [`Store::erase`] does. The wait for the lock ends
/// when the work is stopped.
///
/// # Errors
/// The work was stopped; the store fails.
pub fn erase_in_turn(
    store: &dyn Store,
    key: &Key,
    cancel: Option<&Cancel>,
) -> Result<(), EngineCause> {
    let erase_without_lock = || with_files(|| store.erase(key, Precondition::None)).map(drop);
    let erase = || {
        // It may be absent only from a cache of the system, which the store knows about.
        if !store.has(key)? {
            return publishing(cancel, erase_without_lock);
        }
        let Taken::Turn(turn) = Turn::take(store, key, Patience::Wait, cancel)? else {
            return publishing(cancel, erase_without_lock);
        };
        let _waited_for = Publishing::begin(cancel, Under::Nothing)?;
        turn.erase()
    };
    now(repeat_if_lock_lost(|| ready(erase())))
}

/// Removes all values below a prefix, as [`Store::erase_prefix`] does. A wait for a lock ends when
/// the work is stopped.
///
/// # Errors
/// The work was stopped; the store fails.
pub fn erase_prefix_in_turn(
    store: &dyn Store,
    prefix: &Prefix,
    cancel: Option<&Cancel>,
) -> Result<(), EngineCause> {
    let goes_on = || check_cancel(cancel).is_ok();
    let _publishing = Publishing::begin(cancel, Under::Nothing)?;
    match with_files(|| store.erase_prefix(prefix, Wait::While(&goes_on))) {
        Err(StoreError::Busy { .. }) if !goes_on() => Err(EngineCause::Cancelled),
        erased => Ok(erased?),
    }
}
