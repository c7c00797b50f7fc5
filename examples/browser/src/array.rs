//! The two calls of the page: to open an array, and to read part of it.

use std::ops::Range;

use ndzarr::Storage;
use ndzarr::asynchronous::AnyArray;
use serde_json::json;

use crate::store::WebStore;

/// Opens the array at a place, given as JSON: `[URL of the store, path of the array in it]`.
pub(crate) async fn open(place: String) -> Result<AnyArray, String> {
    let [url, path]: [String; 2] =
        serde_json::from_str(&place).map_err(|error| format!("{place}: {error}"))?;
    let storage = Storage::asynchronous(WebStore(url));
    AnyArray::open((&storage, path.as_str()))
        .await
        .map_err(chain)
}

/// The description of an array that the page shows, as JSON.
pub(crate) fn about(array: &AnyArray) -> Vec<u8> {
    let about = json!({
        "format": format!("{:?}", array.format()),
        "data_type": array.data_type().to_string(),
        "shape": array.shape(),
        "chunk_shape": array.chunk_shape(),
        "shard_shape": array.shard_shape(),
        "attributes": serde_json::Value::from(array.attributes().clone()),
    });
    about.to_string().into_bytes()
}

/// Reads a region, given as JSON: `[[start, end], …]`. Returns the elements in C order,
/// little-endian as WebAssembly is.
pub(crate) async fn read(array: AnyArray, region: String) -> Result<Vec<u8>, String> {
    let region: Vec<Range<u64>> = serde_json::from_str::<Vec<[u64; 2]>>(&region)
        .map(|ranges| ranges.into_iter().map(|[start, end]| start..end).collect())
        .map_err(|error| format!("{region}: {error}"))?;
    array.read_bytes(&region).await.map_err(chain)
}

/// The error with its causes.
fn chain(error: ndzarr::Error) -> String {
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| {
        error.source()
    });
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
