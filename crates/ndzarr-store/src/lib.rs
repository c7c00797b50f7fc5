//! What a key-value store of chunks and documents must do, and a store in memory.
mod error;
mod fetch;
mod key;
mod memory;
mod store;

pub use error::StoreError;
pub use fetch::{Fetch, Fetched, Of, Pin, Want};
pub use key::{Key, Prefix};
pub use memory::MemoryStore;
pub use store::{AsyncStore, DirListing, KeyLock, Locked, Precondition, Put, RangeMerging, Store, Wait};
