//! One behaviour suite that every store must pass.
//!
//! ```
//! use ndzarr_store::MemoryStore;
//!
//! let supports = ndzarr_testkit::check_store(|| Box::new(MemoryStore::new()));
//! assert!(supports.preconditions && supports.lists && !supports.locks);
//! ```

mod calls;
mod listing;
mod locks;
mod pins;
mod preconditions;
mod turns;
mod values;

use calls::{key, ok};
use ndzarr_store::{AsyncStore, Locked, Precondition, Prefix, Put, Store, Wait};

use crate::BlockOn;

/// The abilities, beyond reading, writing and erasing, of a store that passed. The rest of the
/// suite was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supports {
    /// Writes with a precondition.
    pub preconditions: bool,
    /// Locks.
    pub locks: bool,
    /// Listing and erasing of prefixes.
    pub lists: bool,
}

/// Panics unless the empty stores that `make` creates behave as [`Store`] documents.
pub fn check_store(make: impl Fn() -> Box<dyn Store>) -> Supports {
    let supports = probe(&*make());
    values::check(&make);
    pins::check(&make);
    if supports.preconditions {
        preconditions::check(&make);
        turns::by_precondition(&*make());
    } else {
        preconditions::check_unsupported(&*make());
    }
    if supports.locks {
        locks::check(&make);
        turns::by_lock(&*make());
    }
    if supports.locks && supports.preconditions {
        turns::by_both(&*make());
    }
    turns::readers_see_whole_values(&*make());
    if supports.lists {
        listing::check(&make);
    }
    supports
}

/// The same for async stores.
pub fn check_async_store(make: impl Fn() -> Box<dyn AsyncStore>) -> Supports {
    check_store(|| Box::new(BlockOn(make())))
}

fn probe(store: &dyn Store) -> Supports {
    let at = key("probe");
    let preconditions = !matches!(ok(store.put(&at, &["x".into()], Precondition::Absent)), Put::Unsupported);
    let locks = !matches!(ok(store.lock(&at, Wait::Try)), Locked::Unsupported);
    let lists = store.list_dir(&Prefix::root()).is_ok();
    Supports { preconditions, locks, lists }
}
