//! Conversion as a future.

use crate::convert::{ConvertOptions, ConvertReport, convert_by};
use crate::error::Result;
use crate::place::Place;
use crate::storage::{Call, Colour};

/// Like [`convert`](crate::convert()).
///
/// # Errors
/// The same as for [`convert`](crate::convert()).
pub async fn convert(
    source: impl Into<Place>,
    target: impl Into<Place>,
    options: &ConvertOptions,
) -> Result<ConvertReport> {
    let (source, target): (Place, Place) = (source.into(), target.into());
    let (source, target) = (source.located().await?, target.located().await?);
    let (stop, options) = options.stoppable();
    let convert = Call::new(Some(stop.cancel()));
    if source.storage.is_blocking() && target.storage.is_blocking() {
        let storage = target.storage.clone();
        let call = || async move { convert_by(source, target, &options, Colour::Blocking).await };
        return convert.run(storage.handed_change(call)).await;
    }
    convert.run(convert_by(source, target, &options, Colour::Async)).await
}
