//! Conversion as a future.

use crate::copy::{CopyOptions, CopyReport, check_archive, copy_by};
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
    let source = source.located().await?;
    let (target, finish) = target.located_target(options.existing_nodes()).await?;
    check_archive(&source, &target, finish.is_some())?;
    let finish = finish.filter(|_| !options.is_dry_run());
    let (stop, options) = options.stoppable();
    let copied = Call::new(Some(stop.cancel()));
    let storage = target.storage.clone();
    if source.storage.is_blocking() && target.storage.is_blocking() {
        let call = || async move {
            let report = Box::pin(copy_by(source, target, &options, Colour::Blocking)).await?;
            finish.map_or(Ok(()), |finish| finish()).map(|()| report)
        };
        return copied.run(storage.handed_change(call)).await;
    }
    let report = copied.run(Box::pin(copy_by(source, target, &options, Colour::Async))).await?;
    if let Some(finish) = finish {
        storage.handed_change(move || async move { finish() }).await?;
    }
    Ok(report)
}
