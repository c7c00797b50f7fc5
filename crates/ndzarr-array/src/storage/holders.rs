//! The changes of this process that hold a document.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use super::call::{Change, lock};
use super::sync::{Mutex, MutexGuard};

/// The calls of this process that hold a document now, by its name.
static HOLDERS: Mutex<Option<HashMap<String, Weak<Change>>>> = Mutex::new(None);

/// While it lives, the change is registered as the holder of a document.
pub(crate) struct Holding {
    document: String,
    change: Weak<Change>,
}

impl Holding {
    pub(crate) fn new(document: &str, change: &Weak<Change>) -> Self {
        holders().get_or_insert_default().insert(document.to_owned(), Weak::clone(change));
        Self { document: document.to_owned(), change: Weak::clone(change) }
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        // The lock was released before this, so the entry may belong to the next holder.
        if let Some(holders) = &mut *holders()
            && holders.get(&self.document).is_some_and(|change| change.ptr_eq(&self.change))
        {
            holders.remove(&self.document);
        }
    }
}

/// The change of this process that holds a document and can be helped to release it. One that was
/// given up releases it without help, after a publication that had begun.
pub(crate) fn holder(document: &str) -> Option<Arc<Change>> {
    let change = holders().as_ref()?.get(document)?.upgrade()?;
    (!change.has_ended()).then_some(change)
}

fn holders() -> MutexGuard<'static, Option<HashMap<String, Weak<Change>>>> {
    lock(&HOLDERS)
}
