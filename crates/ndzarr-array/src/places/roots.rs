//! Opens the stores that URLs name.

use std::path::Path;

use ndzarr_store::MemoryStore;
use ndzarr_store_fs::{Durability, FsStore};
use once_cell::race::OnceBox;

use crate::error::{Error, ErrorKind, Result};
use crate::places::archive;
use crate::places::located::Located;
use crate::places::remote::{self, Environment};
use crate::places::url::{Root, Url};
use crate::storage::Storage;

/// The stores of `memory://`, which live as long as the process: a list without locks, which a forked
/// child could find locked for ever.
static MEMORY: OnceBox<Named> = OnceBox::new();

struct Named {
    name: String,
    store: MemoryStore,
    next: OnceBox<Named>,
}

/// The store of this name, made when it is first asked for.
fn in_memory(name: &str) -> MemoryStore {
    let new = || Box::new(Named { name: name.to_owned(), store: MemoryStore::new(), next: OnceBox::new() });
    let mut named = MEMORY.get_or_init(new);
    while named.name != name {
        named = named.next.get_or_init(new);
    }
    named.store.clone()
}

/// The variable that says how safe from power cuts the writes to a folder are.
const DURABILITY: &str = "NDZARR_DURABILITY";

/// The store of a folder, which syncs what the environment says.
///
/// # Errors
/// The variable has no level.
pub(crate) fn folder(root: &Path, environment: &Environment) -> Result<FsStore> {
    let store = FsStore::builder(root);
    let Some(name) = environment.variable(DURABILITY).filter(|name| !name.is_empty()) else {
        return Ok(store.build());
    };
    let level = Durability::from_name(&name).ok_or_else(|| {
        let what = format!("{DURABILITY} is none, documents, data or full, not {name:?}");
        Error::new(ErrorKind::InvalidArgument, what)
    })?;
    Ok(store.durability(level).build())
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
        (Root::File(file), None) if archive::is_archive(&file) => (archive::open(&file)?, joined("")),
        (Root::File(file), None) => {
            // A node behind an adapter belongs to the hierarchy of the folder.
            folder = url.node.is_empty().then(|| file.clone());
            (Storage::from(self::folder(&file, environment)?), joined(""))
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
            (archive::open_remote(remote::open(&root, environment)?, &archive)?, joined(inside))
        }
        (Root::Remote(root), None) => (Storage::from(remote::open(&root, environment)?), joined("")),
    };
    Ok(Located { storage, path, folder, format: url.format })
}
