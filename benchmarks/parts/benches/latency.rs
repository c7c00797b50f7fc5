//! 1,000 chunks of a store that answers after 10 ms, 64 requests in flight, against 1,000 / 64 * 10
//! ms. Prints the factors.

#![allow(clippy::print_stdout)]

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use ndarray::{ArrayD, IxDyn};
use ndzarr::{Array, RunOptions, Storage, codec};
use ndzarr_testkit::{AsyncMemoryStore, Latency};

fn main() {
    let latency = Latency {
        request: Duration::from_millis(10),
        ..Latency::default()
    };
    let ideal = 1000.0 / 64.0 * 10.0;
    for (name, shards, rounds, limit) in [("chunks", false, 1.0, 1.3), ("shards", true, 2.0, 1.3)] {
        let memory = ndzarr::MemoryStore::new();
        let builder = Array::<u16>::builder([1000, 32, 32]).codecs([codec::zstd(1)]);
        let builder = if shards {
            builder.chunks([1, 16, 32]).shards([1, 32, 32])
        } else {
            builder.chunks([1, 32, 32])
        };
        let data =
            ArrayD::from_shape_fn(IxDyn(&[1000, 32, 32]), |at| (at[0] + at[1] * at[2]) as u16);
        builder
            .create((&memory, "a"))
            .and_then(|array| array.write(.., &data))
            .expect("an array");
        let slow = Storage::asynchronous(AsyncMemoryStore::over(memory, latency));
        let options =
            RunOptions::default().requests_in_flight(NonZeroUsize::new(64).expect("not zero"));
        let mut times: Vec<f64> = (0..7)
            .map(|_| {
                // Opened anew, so that no index is known.
                let array = Array::<u16>::open((&slow, "a"))
                    .expect("an array")
                    .with_options(options.clone());
                let start = Instant::now();
                let read = array.read(..).expect("a read");
                let time = start.elapsed().as_secs_f64() * 1000.0;
                assert_eq!(read, data);
                time
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let factor = times[3] / (ideal * rounds);
        println!(
            "1,000 {name}, 10 ms, 64 in flight: median {:.0} ms [{:.0} to {:.0}], {factor:.2} of the ideal {:.0} ms (at most {limit})",
            times[3],
            times[0],
            times[6],
            ideal * rounds
        );
    }
}
