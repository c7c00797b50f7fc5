//! The traits of key-value stores for chunks and documents, and a store in memory.
//!
//! [`Store`] is for stores whose calls block, [`AsyncStore`] for those whose calls are futures.
//! Both read by [`Fetch`], which can ask for several parts of a value and can insist on one state
//! of it, and write whole values, conditionally if needed.
//!
//! # A custom store
//! Three methods make a store. One that cannot write says so:
//!
//! ```
//! use bytes::Bytes;
//! use ndzarr_store::{Fetch, Fetched, Key, Of, Pin, Precondition, Put, Store, StoreError, Want};
//!
//! /// The same document under every key that ends in `.json`.
//! #[derive(Debug)]
//! struct OneDocument(&'static str);
//!
//! impl Store for OneDocument {
//!     fn name(&self) -> String {
//!         "one document".to_owned()
//!     }
//!
//!     fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
//!         if !fetch.key.as_str().ends_with(".json") {
//!             return Ok(Fetched::Missing);
//!         }
//!         // It never changes, so every pin of this store is current.
//!         let pin = match &fetch.of {
//!             Of::Any => Pin::new(()),
//!             Of::Snapshot(pin) | Of::IfCurrent(pin) if pin.get::<()>().is_some() => pin.clone(),
//!             _ => return Ok(Fetched::Changed),
//!         };
//!         let (size, parts) = fetch.want.cut(&fetch.key, &Bytes::from_static(self.0.as_bytes()))?;
//!         Ok(Fetched::Parts { pin, size, parts })
//!     }
//!
//!     fn put(&self, _: &Key, _: &[Bytes], _: Precondition) -> Result<Put, StoreError> {
//!         Err(StoreError::Unsupported("write"))
//!     }
//!
//!     fn erase(&self, _: &Key, _: Precondition) -> Result<Put, StoreError> {
//!         Err(StoreError::Unsupported("erase"))
//!     }
//! }
//!
//! # fn main() -> Result<(), StoreError> {
//! let store = OneDocument("{}");
//! let fetch = Fetch { key: Key::new("a/zarr.json")?, of: Of::Any, want: Want::Whole { limit: 100 } };
//! assert!(matches!(store.fetch(&fetch)?, Fetched::Parts { parts, .. } if parts == ["{}"]));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod async_store;
mod block_on;
mod capabilities;
mod error;
mod fetch;
mod forward;
mod key;
mod listing;
mod lock;
mod memory;
mod per_process;
mod put;
mod store;

/// What a store's author needs from other crates: the bytes of values, and the futures of
/// [`AsyncStore`].
pub use bytes;
pub use futures_util::future::BoxFuture;
pub use futures_util::stream::BoxStream;

pub use async_store::AsyncStore;
pub use block_on::block_on;
pub use capabilities::{Can, RangeMerging};
pub use error::StoreError;
pub use fetch::{Fetch, Fetched, FetchedPieces, Of, Pin, Want};
pub use key::{Key, Prefix, is_numbered};
pub use listing::{DirListing, Listed};
#[doc(hidden)]
#[expect(deprecated, reason = "the name of before")]
pub use lock::Exchanged;
pub use lock::{KeyLock, Locked, Temporary, Wait};
pub use memory::MemoryStore;
#[doc(hidden)]
pub use per_process::PerProcess;
pub use put::{Precondition, Put};
pub use store::Store;
