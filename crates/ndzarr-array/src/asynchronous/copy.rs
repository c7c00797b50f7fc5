//! Conversion as a future.

use crate::copy::{CopyOptions, CopyReport, copy_by};
use crate::error::Result;
use crate::place::Place;
use crate::storage::{Call, Colour};

/// Like [`copy`](crate::copy()).
///
/// # Errors
/// The same as for [`copy`](crate::copy()).
pub async fn copy(
    source: impl Into<Place>,
    target: impl Into<Place>,
    options: &CopyOptions,
) -> Result<CopyReport> {
    let (source, target): (Place, Place) = (source.into(), target.into());
    let (source, target) = (source.located().await?, target.located().await?);
    let (stop, options) = options.stoppable();
    let copied = Call::new(Some(stop.cancel()));
    if source.storage.is_blocking() && target.storage.is_blocking() {
        let storage = target.storage.clone();
        let call = || async move { copy_by(source, target, &options, Colour::Blocking).await };
        return copied.run(storage.handed_change(call)).await;
    }
    copied.run(copy_by(source, target, &options, Colour::Async)).await
}
