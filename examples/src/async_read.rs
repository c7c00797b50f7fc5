//! Concurrent reads from a store with a high latency, such as one in the network.
//!
//! ```sh
//! cargo run --release -p examples --features all async_read
//! ```
//!
//! The library does not depend on a runtime. This example waits with the simple `block_on` of
//! `ndzarr-store`; in a program with tokio or smol the same futures are awaited there.
#![allow(clippy::print_stdout)]

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use ndarray::Array3;
use ndzarr::asynchronous::Array;
use ndzarr::{Result, RunOptions, Storage, codec, s};
use ndzarr_testkit::{AsyncMemoryStore, Latency, block_on};

/// Runs the example.
///
/// # Errors
/// The store never fails.
pub fn main() -> Result<()> {
    let latency = Duration::from_millis(20);
    let store = AsyncMemoryStore::new(Latency::per_request(latency));
    block_on(run(&store, latency))
}

async fn run(store: &AsyncMemoryStore, latency: Duration) -> Result<()> {
    let storage = Storage::asynchronous(store.clone());
    println!("Every request takes {latency:?}.\n");

    let started = Instant::now();
    let volume = Array::<u16>::builder([64, 64, 64])
        .chunks([8, 8, 8])
        .shards([32, 32, 32])
        .codecs([codec::zstd(1)])
        .create((&storage, "volume"))
        .await?;
    let elements =
        Array3::from_shape_fn((64, 64, 64), |(z, y, x)| (z * 64 * 64 + y * 64 + x) as u16);
    volume.write(s![.., .., ..], &elements).await?;
    report("created and written in 8 shards", store, started);

    // The indexes of the shards that the plane overlaps, then its inner chunks, with neighbours
    // merged.
    let volume = Array::<u16>::open((&storage, "volume")).await?;
    store.reset();
    let started = Instant::now();
    let plane = volume.read(s![10, .., ..]).await?;
    assert_eq!(plane, elements.slice(s![10, .., ..]));
    report("one plane of 64 inner chunks", store, started);

    // The indexes are cached now: requests name the value that they came from.
    let started = Instant::now();
    let (first, second, third) = futures_util::future::join3(
        volume.read(s![11, .., ..]),
        volume.read(s![.., 40, ..]),
        volume.read(s![.., .., 63]),
    )
    .await;
    assert_eq!(first?, elements.slice(s![11, .., ..]));
    assert_eq!(second?, elements.slice(s![.., 40, ..]));
    assert_eq!(third?, elements.slice(s![.., .., 63]));
    report("three planes side by side", store, started);

    // One request at a time, for comparison.
    let one = NonZeroUsize::new(1).expect("one is not zero");
    let careful = volume.with_options(RunOptions::default().requests_in_flight(one));
    let started = Instant::now();
    careful.read(s![10, .., ..]).await?;
    report("one plane, one request at a time", store, started);
    Ok(())
}

fn report(what: &str, store: &AsyncMemoryStore, started: Instant) {
    let took = started.elapsed();
    let counts = store.reset();
    let requests = counts.fetches + counts.puts;
    let at_once = counts.max_in_flight;
    println!(
        "{what:<34} {:>4} ms, {requests:>2} requests, up to {at_once} at once",
        took.as_millis()
    );
}
