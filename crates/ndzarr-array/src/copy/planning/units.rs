//! How many chunks, or shards, an array has, and which of them are stored.

use ndzarr_grid::Region;

use crate::arrays::chunks::Chunks;
use crate::arrays::info::ArrayInfo;
use crate::error::{Error, ErrorKind, Result};

/// How many chunks, or shards, an array has.
///
/// # Errors
/// They are too many to be numbered.
pub(crate) fn n_units(array: &ArrayInfo) -> Result<u64> {
    array
        .grid()?
        .n_overlaps(&Region::whole(array.shape()))
        .ok_or_else(|| {
            let what = format!(
                "an array of shape {:?} has too many chunks to be copied",
                array.shape()
            );
            array.name(Error::new(ErrorKind::Unsupported, what))
        })
}

/// The stored units inside an array; `None` if the store cannot list, or may not.
pub(crate) async fn listed(array: &ArrayInfo) -> Result<Option<Chunks>> {
    match array.listed_units().await {
        Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Denied) => {
            Ok(None)
        }
        units => units.map(Some),
    }
}
