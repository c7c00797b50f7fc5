//! Test helpers of the ndzarr workspace: a behaviour suite that every store must pass, and stores
//! that count, fail, record, lack abilities, are slow or watch the order of locks.
#![forbid(unsafe_code)]

mod async_memory_store;
mod block_on;
mod counting_store;
mod fault_store;
mod forward;
mod lock_order_store;
pub mod object_server;
mod own_process;
mod pieces_store;
mod plain_store;
mod random;
mod recording_store;
pub mod store_suite;

pub use async_memory_store::{AsyncMemoryStore, Latency};
pub use block_on::BlockOn;
pub use counting_store::{Counters, CountingStore, Counts};
pub use fault_store::{Call, FaultStore};
pub use lock_order_store::{LockOrder, LockOrderStore};
pub use ndzarr_store::block_on;
pub use object_server::ObjectServer;
#[cfg(target_os = "linux")]
pub use own_process::run_without_root;
pub use own_process::{OwnProcess, has_own_process, has_started, run_with_variables};
pub use pieces_store::PiecesStore;
pub use plain_store::PlainStore;
pub use random::Random;
pub use recording_store::{Change, RecordingStore};
pub use store_suite::{check_async_store, check_store, check_values};
/// The crates that the macros refer to.
#[doc(hidden)]
pub use {bytes, ndzarr_store};
