//! Opens folders, whose writes are as durable as the environment says.

use std::path::Path;

use ndzarr_store_fs::{Durability, FsStore};

use crate::error::{Error, ErrorKind, Result};
use crate::places::remote::Environment;

/// The variable that says how safe from power cuts the writes to a folder are.
const DURABILITY: &str = "NDZARR_DURABILITY";

/// The store of a folder, which syncs what the environment says.
///
/// # Errors
/// The variable has no level.
pub(crate) fn open(root: &Path, environment: &Environment) -> Result<FsStore> {
    let store = FsStore::builder(root);
    let Some(name) = environment
        .variable(DURABILITY)
        .filter(|name| !name.is_empty())
    else {
        return Ok(store.build());
    };
    let level = Durability::from_name(&name).ok_or_else(|| {
        let what = format!("{DURABILITY} is none, documents, data or full, not {name:?}");
        Error::new(ErrorKind::InvalidArgument, what)
    })?;
    Ok(store.durability(level).build())
}
