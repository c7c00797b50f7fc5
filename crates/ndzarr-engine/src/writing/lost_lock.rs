//! Repeats a write whose lock was lost.

use ndzarr_store::StoreError;

use crate::EngineCause;

/// How often a value is written again because its lock was lost. Each time took longer than a
/// lease.
const MAX_REPEATS: u32 = 2;

/// Repeats a write if a lock was lost before anything was published: the value has to be merged
/// with what others wrote in the meantime.
pub(crate) async fn repeat_if_lock_lost<T, F>(
    write: impl Fn() -> F + Send + Sync,
) -> Result<T, EngineCause>
where
    F: Future<Output = Result<T, EngineCause>> + Send,
{
    for _ in 0..MAX_REPEATS {
        match write().await {
            Err(cause) if matches!(cause.of_store(), Some(StoreError::LockLost { .. })) => {}
            written => return written,
        }
    }
    write().await
}
