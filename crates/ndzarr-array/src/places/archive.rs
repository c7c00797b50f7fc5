//! ZIP archives in files and in stores.

use std::path::Path;
use std::sync::Arc;

use ndzarr_metadata::Existing;
use ndzarr_store::AsyncStore;
#[cfg(feature = "zip")]
use ndzarr_store::{Key, StoreError};

use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "zip")]
use crate::places::folder_store;
use crate::places::located::Finish;
use crate::places::remote::Environment;
use crate::storage::Storage;

/// Returns `true` for the local path of an archive: a file with such a name.
pub(crate) fn is_archive(path: &Path) -> bool {
    is_named(path) && path.is_file()
}

/// Returns `true` for the local path of a new archive, or of one that may be replaced. A folder may
/// have any name.
pub(crate) fn is_new(path: &Path) -> bool {
    is_named(path) && !path.is_dir()
}

fn is_named(path: &Path) -> bool {
    let ending = path
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default();
    ["zip", "ozx"]
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}

/// Begins an archive.
#[cfg(feature = "zip")]
pub(crate) fn create(
    path: &Path,
    environment: &Environment,
    existing: Existing,
) -> Result<(Storage, Finish)> {
    let named = |error: StoreError| Error::from(error).in_store(|| path.display().to_string());
    if path.exists() && existing != Existing::Replace {
        return Err(Error::new(
            ErrorKind::AlreadyExists,
            format!("{}: a file is there", path.display()),
        ));
    }
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        let what = format!("{}: the name of an archive is not UTF-8", path.display());
        return Err(Error::new(ErrorKind::InvalidArgument, what));
    };
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let folder = folder_store::open(parent.unwrap_or_else(|| Path::new(".")), environment)?;
    let archive = ndzarr_store_zip::ZipWriter::create(folder, Key::new(name)?).map_err(named)?;
    let storage = Storage::from(&archive);
    let name = path.display().to_string();
    let finish = move || {
        archive
            .finish()
            .map_err(|error| Error::from(error).in_store(|| name))
    };
    Ok((storage, Box::new(finish)))
}

#[cfg(not(feature = "zip"))]
pub(crate) fn create(path: &Path, _: &Environment, _: Existing) -> Result<(Storage, Finish)> {
    Err(without_zip(&path.display()))
}

#[cfg(feature = "zip")]
pub(crate) fn open(path: &Path) -> Result<Storage> {
    if !path.is_file() {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("{}: no such archive", path.display()),
        ));
    }
    let archive = ndzarr_store_zip::ZipStore::open_file(path);
    let archive =
        archive.map_err(|error| Error::from(error).in_store(|| path.display().to_string()))?;
    let warnings = warnings(&archive);
    Ok(Storage::blocking(archive).with_warnings(warnings))
}

#[cfg(feature = "zip")]
pub(crate) fn open_in_memory(store: ndzarr_store::MemoryStore, path: &str) -> Result<Storage> {
    let archive = ndzarr_store_zip::ZipStore::open(store, Key::new(path)?);
    let archive = archive.map_err(Error::from)?;
    let warnings = warnings(&archive);
    Ok(Storage::blocking(archive).with_warnings(warnings))
}

#[cfg(feature = "zip")]
pub(crate) fn open_remote(store: Arc<dyn AsyncStore>, name: &str) -> Result<Storage> {
    let storage = Storage::from(Arc::clone(&store));
    let archive = ndzarr_store_zip::ZipStore::open_async(store, Key::new(name)?);
    let archive = storage.named(storage.wait(archive))?;
    let warnings = warnings(&archive);
    Ok(Storage::asynchronous(archive).with_warnings(warnings))
}

/// The most entries that a warning names.
#[cfg(feature = "zip")]
const MAX_NAMES_IN_WARNING: usize = 8;

/// What an archive does not show.
#[cfg(feature = "zip")]
fn warnings<S>(archive: &ndzarr_store_zip::ZipStore<S>) -> Vec<String> {
    let n = archive.n_skipped();
    if n == 0 {
        return Vec::new();
    }
    let first = archive.skipped().iter().take(MAX_NAMES_IN_WARNING);
    let first: Vec<String> = first.map(|name| format!("{name:?}")).collect();
    let more = n - first.len() as u64;
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    vec![format!(
        "entries of the archive whose names cannot be keys are not shown: {}{more}",
        first.join(", ")
    )]
}

#[cfg(not(feature = "zip"))]
pub(crate) fn open(path: &Path) -> Result<Storage> {
    Err(without_zip(&path.display()))
}

#[cfg(not(feature = "zip"))]
pub(crate) fn open_in_memory(_: ndzarr_store::MemoryStore, path: &str) -> Result<Storage> {
    Err(without_zip(&path))
}

#[cfg(not(feature = "zip"))]
pub(crate) fn open_remote(_: Arc<dyn AsyncStore>, name: &str) -> Result<Storage> {
    Err(without_zip(&name))
}

#[cfg(not(feature = "zip"))]
fn without_zip(path: &dyn std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("{path} is an archive: enable the feature `zip`"),
    )
}
