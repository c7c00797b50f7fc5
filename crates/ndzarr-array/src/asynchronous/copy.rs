//! Copies as a future.

use ndzarr_engine::{HAS_THREADS, Relay, pass_dropped_futures, relayed};

use crate::copy::{CopyOptions, CopyReport, check_archive, run_copy};
use crate::error::{Error, ErrorKind, Result};
use crate::places::located::Located;
use crate::places::place::Place;

/// Asynchronous [`copy`](crate::copy()). It runs on a thread for changes; the task that polls the
/// future makes the requests to asynchronous stores.
///
/// # Errors
/// As for [`copy`](crate::copy()). On WebAssembly, which has no threads, neither store may be
/// asynchronous.
pub async fn copy(
    source: impl Into<Place>,
    target: impl Into<Place>,
    options: &CopyOptions,
) -> Result<CopyReport> {
    let (source, target): (Place, Place) = (source.into(), target.into());
    let source = source.located().await?;
    let (target, finish) = target.located_target(options.existing_nodes()).await?;
    check_archive(&source, &target, finish.is_some())?;
    let (stop, mut options) = options.part_of_future(&target.storage.store);
    let temporary = match options.take_temporary() {
        Some(place) => Some(place.located().await?),
        None => None,
    };
    let all = [Some(&source), Some(&target), temporary.as_ref()];
    if let Some(place) = all
        .into_iter()
        .flatten()
        .find(|place| !HAS_THREADS && !place.storage.is_blocking())
    {
        let what = "a copy needs threads, which make requests while others wait for them";
        return Err(Error::new(ErrorKind::Unsupported, what).in_store(|| place.storage.name()));
    }
    for place in all.into_iter().flatten() {
        pass_dropped_futures(&place.storage.store, Some(stop.cancel())).await;
    }
    let storage = target.storage.clone();
    let work = |relay: Relay| {
        let [source, target] = [source, target].map(|place| place.relayed(&relay));
        if let Some(Located { storage, path, .. }) = temporary.map(|place| place.relayed(&relay)) {
            options = options.temporary((storage, path));
        }
        move || run_copy(source, (target, finish), &options)
    };
    let copied = relayed(&storage.name(), Some(stop.cancel()), work).await;
    storage.named(copied)?
}
