//! The request to an engine, as JSON in a file that its argument names.

use serde::Deserialize;

/// The operation of a row. Only `open` and the lists begin without a connection.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Open an array.
    Open,
    /// Read the first chunk along the first axis.
    OneChunk,
    /// Read everything.
    Everything,
    /// Read each tenth index of the first axis, as one selection.
    Strided,
    /// Read each tenth index of the first axis, in one call for several regions.
    Batch,
    /// Open a group and all arrays in it.
    List,
    /// Read planes across the first axis, one after the other, with a cache.
    Planes,
    /// Read planes as `Planes` does, with a frozen cache.
    PlanesFrozen,
    /// Open an archive, without anything in it.
    Archive,
}

/// The request of one run.
#[derive(Clone, Debug, Deserialize)]
pub struct Request {
    /// The operation.
    pub operation: Operation,
    /// `http://host:port` of the proxy.
    pub endpoint: String,
    /// The bucket.
    pub bucket: String,
    /// The path of the array or group.
    pub path: String,
    /// `zarr2`, `zarr3` or `n5`, for peers that do not detect it.
    pub format: String,
    /// An array that is read first: its requests open the connections.
    pub warm: Option<String>,
    /// The port for [`control`](crate::control).
    pub control: String,
}

impl Request {
    /// The request that the command line names.
    ///
    /// # Panics
    /// The file does not exist or is invalid.
    #[must_use]
    pub fn from_arguments() -> Self {
        let path = std::env::args_os()
            .nth(1)
            .expect("usage: engine request.json");
        let text = std::fs::read(&path).expect("the request is readable");
        serde_json::from_slice(&text).expect("the request is as above")
    }
}
