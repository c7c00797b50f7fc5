//! One behaviour suite that every store must pass.
//!
//! ```
//! use ndzarr_store::MemoryStore;
//!
//! let can = ndzarr_testkit::check_store(|| Box::new(MemoryStore::new()));
//! assert!(can.put_if && can.list && !can.lock);
//! ```

mod calls;
mod listing;
mod locks;
mod pins;
mod preconditions;
mod turns;
mod values;

use calls::{key, ok};
use ndzarr_store::{AsyncStore, Can, Locked, Precondition, Prefix, Put, Store, Wait};

use crate::BlockOn;

/// Panics unless the empty stores that `make` creates behave as [`Store`] documents, and have the
/// abilities that [`Store::can`] states. An ability that they lack is not checked further.
pub fn check_store(make: impl Fn() -> Box<dyn Store>) -> Can {
    let can = probe(&*make());
    assert_eq!(
        make().can(),
        can,
        "the stated abilities are those that it has"
    );
    values::check(&make);
    pins::check(&make);
    if can.put_if {
        preconditions::check(&make);
        turns::by_precondition(&*make());
    } else {
        preconditions::check_unsupported(&*make());
    }
    if can.erase_if {
        preconditions::check_erase(&*make());
    } else {
        preconditions::check_erase_unsupported(&*make());
    }
    if can.lock {
        locks::check(&make);
        turns::by_lock(&*make());
    }
    if can.lock && can.put_if {
        turns::by_both(&*make());
    }
    turns::readers_see_whole_values(&*make());
    if can.list {
        listing::check(&make);
    }
    can
}

/// [`check_store`] for asynchronous stores.
pub fn check_async_store(make: impl Fn() -> Box<dyn AsyncStore>) -> Can {
    check_store(|| Box::new(BlockOn(make())))
}

/// Panics unless values of the stores that `make` creates are read, replaced and erased as
/// [`Store`] documents. This is for a store that consists of several programs, and promises no
/// more.
pub fn check_values(make: impl Fn() -> Box<dyn Store>) {
    values::check(&make);
}

/// The abilities that a store has, by trying each.
fn probe(store: &dyn Store) -> Can {
    let at = key("probe");
    let put_if = !matches!(
        ok(store.put(&at, &["x".into()], Precondition::Absent)),
        Put::Unsupported
    );
    calls::put(store, "probe", "y");
    let Some((_, pin)) = calls::get(store, "probe") else {
        panic!("it was put")
    };
    let erase_if = !matches!(
        ok(store.erase(&at, Precondition::Current(pin))),
        Put::Unsupported
    );
    let lock = !matches!(ok(store.lock(&at, Wait::Try)), Locked::Unsupported);
    let list = store.list_dir(&Prefix::root()).is_ok();
    Can {
        write: true,
        put_if,
        erase_if,
        lock,
        list,
    }
}
