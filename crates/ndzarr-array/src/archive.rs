//! Finds ZIP archives in paths: `a.zip`, and `a.zip|zip:path` for a node in it.

use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::storage::Storage;
use crate::url::{local_path, percent_decoded};

/// Between the path of an archive and a path in it.
const ADAPTER: &str = "|zip:";

/// The archive that a path names, and the path in it; `None` if it names something else.
pub(crate) fn locate(path: &Path) -> Result<Option<(Storage, String)>> {
    let adapter = path.to_str().and_then(|text| text.split_once(ADAPTER));
    let Some((file, inside)) = adapter else {
        let path = local_path(path)?;
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let is_archive = ["zip", "ozx"].iter().any(|known| ending.eq_ignore_ascii_case(known));
        return if is_archive && path.is_file() { Ok(Some((open(&path)?, String::new()))) } else { Ok(None) };
    };
    if inside.contains('|') {
        let what = format!("{:?}: nothing can follow the path in an archive", path.display());
        return Err(Error::new(ErrorKind::InvalidArgument, what));
    }
    let inside = match file.contains("://") {
        true => percent_decoded(inside),
        false => Some(inside.to_owned()),
    };
    let inside = inside.ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, format!("{:?} is not a valid URL", path.display()))
    })?;
    Ok(Some((open(&local_path(Path::new(file))?)?, inside.trim_end_matches('/').to_owned())))
}

#[cfg(feature = "zip")]
fn open(path: &Path) -> Result<Storage> {
    if !path.is_file() {
        return Err(Error::new(ErrorKind::NotFound, format!("{}: no such archive", path.display())));
    }
    let archive = ndzarr_store_zip::ZipStore::open_file(path);
    archive.map(Storage::blocking).map_err(|error| Error::from(error).in_store(|| path.display().to_string()))
}

#[cfg(not(feature = "zip"))]
fn open(path: &Path) -> Result<Storage> {
    let what = format!("{} is an archive: enable the feature `zip`", path.display());
    Err(Error::new(ErrorKind::Unsupported, what))
}
