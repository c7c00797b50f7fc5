//! Concurrent writers in a bucket.

use std::error::Error;
use std::sync::Barrier;
use std::thread;

use ndarray::array;
use ndzarr::{Array, ErrorKind};
use ndzarr_testkit::object_server::{BUCKET, Dialect, ObjectServer};
use serde_json::json;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const WRITERS: u64 = 8;
const UPDATES: u64 = 15;

/// Runs a writer in each of several threads, all at once.
fn together<T: Send>(writer: impl Fn(u64) -> Outcome<T> + Sync) -> Outcome<Vec<T>> {
    let barrier = Barrier::new(WRITERS as usize);
    thread::scope(|scope| {
        let start = |n| {
            let (writer, barrier) = (&writer, &barrier);
            scope.spawn(move || {
                barrier.wait();
                writer(n)
            })
        };
        let threads: Vec<_> = (0..WRITERS).map(start).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a thread panicked")?)
            .collect()
    })
}

/// Has each writer set elements of its own in one chunk or shard, one by one.
fn update(place: &str) -> Outcome {
    together(|writer| {
        let a = Array::<u8>::open(place)?;
        for n in 0..UPDATES {
            let at = writer * UPDATES + n;
            a.write([at..at + 1], &array![1])?;
        }
        Ok(())
    })?;
    let all = Array::<u8>::open(place)?.read([0..WRITERS * UPDATES])?;
    let lost = all.iter().filter(|&&element| element == 0).count();
    assert_eq!(
        lost,
        0,
        "{lost} of {} updates are lost in {place}",
        all.len()
    );
    Ok(())
}

/// Updates, appends, attributes and new nodes by concurrent writers below a URL.
pub(crate) fn write_concurrently(root: &str) -> Outcome {
    let n = WRITERS * UPDATES;
    Array::<u8>::builder([n])
        .chunks([n])
        .create(format!("{root}/chunk"))?;
    update(&format!("{root}/chunk"))?;
    Array::<u8>::builder([n])
        .chunks([n / 4])
        .shards([n])
        .create(format!("{root}/shard"))?;
    update(&format!("{root}/shard"))?;

    let rows = format!("{root}/rows");
    Array::<u16>::builder([0, 2]).chunks([4, 2]).create(&rows)?;
    together(|writer| {
        let mut a = Array::<u16>::open(&rows)?;
        for n in 0..3 {
            let value = (writer * 100 + n) as u16;
            a.append(0, &array![[value, value]])?;
            a.merge_attributes(json!({ value.to_string(): n }))?;
        }
        Ok(())
    })?;
    let a = Array::<u16>::open(&rows)?;
    let mut found: Vec<[u16; 2]> = a
        .read(..)?
        .into_raw_vec_and_offset()
        .0
        .chunks_exact(2)
        .map(|row| [row[0], row[1]])
        .collect();
    found.sort_unstable();
    let expected: Vec<u16> = (0..WRITERS as u16)
        .flat_map(|writer| [0, 1, 2].map(|n| writer * 100 + n))
        .collect();
    assert_eq!(
        found,
        expected
            .iter()
            .map(|&value| [value, value])
            .collect::<Vec<_>>()
    );
    for value in expected {
        assert_eq!(a.attributes()[&*value.to_string()], value % 100);
    }

    let new = format!("{root}/new");
    let made = together(|_| match Array::<u8>::builder([1]).create(&new) {
        Ok(_) => Ok(1),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(0),
        Err(error) => Err(error.into()),
    })?;
    assert_eq!(made.iter().sum::<u32>(), 1);
    Ok(())
}

#[test]
fn writers_in_a_bucket_lose_nothing() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    write_concurrently(&format!("s3+{}/{BUCKET}", server.url()))
}

/// Without waiting, 120 updates took 1,181 requests.
#[test]
fn rs_41_writers_of_one_chunk_back_off() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    let place = format!("s3+{}/{BUCKET}/a", server.url());
    let n = WRITERS * UPDATES;
    Array::<u8>::builder([n]).chunks([n]).create(&place)?;
    server.forget();
    update(&place)?;
    assert!(server.traffic().requests < 600, "{:?}", server.traffic());
    Ok(())
}
