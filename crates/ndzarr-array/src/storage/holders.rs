//! The changes of this process that hold a document.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Weak};

use ndzarr_store::{Key, PerProcess};

use super::call::{Change, lock};
use super::sync::{Mutex, MutexGuard};

/// The calls of this process that hold a document now, by its name.
static HOLDERS: PerProcess<Mutex<HashMap<String, Weak<Change>>>> = PerProcess::new();

/// The name of a document. In a folder it is the same whatever links lead there.
pub(crate) fn name_of(store: &str, document: &Key) -> String {
    let name = format!("{store}/{document}");
    let path = Path::new(&name);
    if !path.is_absolute() {
        return name;
    }
    let real = path.ancestors().skip(1).find_map(|folder| {
        let below = path.strip_prefix(folder).ok()?;
        Some(folder.canonicalize().ok()?.join(below).display().to_string())
    });
    real.unwrap_or(name)
}

/// While it lives, the change is registered as the holder of a document.
pub(crate) struct Holding {
    document: String,
    change: Weak<Change>,
}

impl Holding {
    pub(crate) fn new(document: &str, change: &Weak<Change>) -> Self {
        holders().insert(document.to_owned(), Weak::clone(change));
        Self { document: document.to_owned(), change: Weak::clone(change) }
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        // The lock was released before this, so the entry may belong to the next holder.
        let mut holders = holders();
        if holders.get(&self.document).is_some_and(|change| change.ptr_eq(&self.change)) {
            holders.remove(&self.document);
        }
    }
}

/// The change of this process that holds a document and can be helped to release it. One that was
/// given up releases it without help, after a publication that had begun.
pub(crate) fn holder(document: &str) -> Option<Arc<Change>> {
    let change = holders().get(document)?.upgrade()?;
    (!change.has_ended()).then_some(change)
}

fn holders() -> MutexGuard<'static, HashMap<String, Weak<Change>>> {
    lock(HOLDERS.get(|_| Mutex::default()))
}
