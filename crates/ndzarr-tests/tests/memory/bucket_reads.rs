//! Reads of large chunks from a bucket: memory is what may be in flight, however much is read.

use std::thread;

use ndarray::s;
use ndzarr::store::{ObjectStore, RemoteOptions};
use ndzarr::{Array, RunOptions, codec};
use ndzarr_testkit::object_server::{BUCKET, Dialect, ObjectServer};
use ndzarr_testkit::{Random, in_own_process};

use crate::with_peak;

const CHUNK: usize = 1 << 20;
const N_CHUNKS: usize = 128;
/// As many chunks, while the store takes 256 requests at once.
const IN_FLIGHT: usize = 8 << 20;
/// Chunks that are decoded, and buffers of connections.
const CONSTANT: usize = 16 << 20;

/// One element of each chunk is wanted, and all of the chunk is fetched.
#[test]
fn rs_50_reads_of_a_bucket_take_the_bytes_in_flight_and_their_results() {
    in_own_process!();
    // Its ETags are no hashes, which take long.
    let server = ObjectServer::start(Dialect::Azure);
    let options = RemoteOptions::new()
        .endpoint(server.url())
        .account("lab")
        .requests_in_flight(256);
    let store = ObjectStore::azure(BUCKET, "", &options).expect("the options fit");
    let shape = [(N_CHUNKS * CHUNK) as u64];
    let a = Array::<u8>::builder(shape)
        .chunks([CHUNK as u64])
        .codecs([codec::zstd(1)]);
    let a = a.create((&store, "a")).expect("it is new");
    // Bytes that do not compress.
    let mut random = Random::seeded("chunks");
    let chunk: Vec<u8> = (0..CHUNK).map(|_| random.below(256) as u8).collect();
    let first = chunk[0];
    let chunk = ndarray::Array1::from(chunk);
    for at in 0..N_CHUNKS {
        a.write([(at * CHUNK) as u64..((at + 1) * CHUNK) as u64], &chunk)
            .expect("a write");
    }
    let run = RunOptions::default().bytes_in_flight(IN_FLIGHT as u64);
    let extra = |call: &dyn Fn()| {
        server.forget();
        let ((), peak) = with_peak(call);
        (peak, server.traffic())
    };
    let read = |a: &Array<u8>| {
        let found = a.read(s![..;CHUNK as i64]).expect("a read");
        assert!(found.len() == N_CHUNKS && found.iter().all(|&element| element == first));
    };
    let one = a.clone().with_options(run.clone());
    let (peak, traffic) = extra(&|| read(&one));
    assert!(
        traffic.most_in_flight <= IN_FLIGHT / CHUNK && traffic.bytes_sent > shape[0],
        "{traffic:?}"
    );
    assert!(peak < IN_FLIGHT + CONSTANT, "{} MiB", peak >> 20);

    // The limit is that of several calls, if they are to share it.
    let shared = a.with_options(run.shared());
    let (peak, traffic) = extra(&|| {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| read(&shared));
            }
        });
    });
    assert!(
        traffic.most_in_flight <= IN_FLIGHT / CHUNK && traffic.bytes_sent > 4 * shape[0],
        "{traffic:?}"
    );
    assert!(peak < IN_FLIGHT + 4 * CONSTANT, "{} MiB", peak >> 20);
}
