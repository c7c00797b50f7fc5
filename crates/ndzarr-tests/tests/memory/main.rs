//! Memory use of calls, counted by the allocator: each test runs in a process of its own.
#![deny(unsafe_code)]

mod archive_bombs;
mod bombs;
mod bucket_reads;
mod copies;
mod damaged;
mod documents;
mod hostile_servers;
mod many_chunks;
mod masks;
mod shards;

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Runs a call. Returns its result, and the most memory that was in use beyond what was before, in
/// bytes.
fn with_peak<T>(call: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let result = call();
    (result, ALLOCATOR.peak_usage().saturating_sub(before))
}
