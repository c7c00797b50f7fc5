//! Opens the stores that URLs name.

use ndzarr_store::MemoryStore;
use once_cell::race::OnceBox;

use crate::error::Result;
use crate::places::archive;
use crate::places::folder_store;
use crate::places::located::Located;
use crate::places::remote::{self, Environment};
use crate::places::url::{Root, Url};
use crate::storage::Storage;

/// The stores of `memory://`, which live as long as the process: a list without locks, which a
/// forked child could find locked for ever.
static MEMORY: OnceBox<Named> = OnceBox::new();

struct Named {
    name: String,
    store: MemoryStore,
    next: OnceBox<Named>,
}

/// The store of this name, made when it is first asked for.
fn in_memory(name: &str) -> MemoryStore {
    let new = || {
        Box::new(Named {
            name: name.to_owned(),
            store: MemoryStore::new(),
            next: OnceBox::new(),
        })
    };
    let mut named = MEMORY.get_or_init(new);
    while named.name != name {
        named = named.next.get_or_init(new);
    }
    named.store.clone()
}

/// Opens the store that a URL names.
pub(crate) fn open(url: Url, environment: &Environment) -> Result<Located> {
    let joined = |first: &str| match (first, url.node.as_str()) {
        ("", node) => node.to_owned(),
        (first, "") => first.to_owned(),
        (first, node) => format!("{first}/{node}"),
    };
    let mut folder = None;
    let (storage, path) = match (url.root, url.archive.as_deref()) {
        (Root::File(file), Some(inside)) => (archive::open(&file)?, joined(inside)),
        (Root::File(file), None) if archive::is_archive(&file) => {
            (archive::open(&file)?, joined(""))
        }
        (Root::File(file), None) => {
            // A node after an adapter belongs to the hierarchy of the folder.
            folder = url.node.is_empty().then(|| file.clone());
            (
                Storage::from(folder_store::open(&file, environment)?),
                joined(""),
            )
        }
        (Root::Memory { name, path }, inside) => {
            let store = in_memory(&name);
            match inside {
                Some(inside) => (archive::open_in_memory(store, &path)?, joined(inside)),
                None => (Storage::from(store), joined(&path)),
            }
        }
        (Root::Remote(mut root), Some(inside)) => {
            let archive = root.pop()?;
            (
                archive::open_remote(remote::open(&root, environment)?, &archive)?,
                joined(inside),
            )
        }
        (Root::Remote(root), None) => {
            (Storage::from(remote::open(&root, environment)?), joined(""))
        }
    };
    Ok(Located {
        storage,
        path,
        folder,
        format: url.format,
    })
}
