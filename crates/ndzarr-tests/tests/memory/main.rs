//! Memory use of calls, counted by the allocator: each test runs in a separate process.
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
