//! Calls from the threads of the caller's pools: each ends, and none loses an element.

use std::path::Path;

use ndarray::{Array2, Array3, Axis};
use ndzarr::{Array, CopyOptions, Format, FsStore, Group, asynchronous, codec, copy};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use serde_json::json;

use crate::named_thread::ends;

/// How a caller spreads its calls over threads.
#[derive(Clone, Copy, Debug)]
enum Spread {
    ParIter,
    ParBridge,
    Join,
    Scope,
    /// Within a task of another pool.
    Nested,
}

const SPREADS: [Spread; 5] = [
    Spread::ParIter,
    Spread::ParBridge,
    Spread::Join,
    Spread::Scope,
    Spread::Nested,
];

/// Runs `each` for all numbers below `n` on a pool of `threads` threads.
fn call_each(spread: Spread, threads: usize, n: u64, each: impl Fn(u64) + Send + Sync) {
    fn halves(range: std::ops::Range<u64>, each: &(impl Fn(u64) + Sync)) {
        let middle = range.start + (range.end - range.start) / 2;
        match range.end - range.start {
            0 => {}
            1 => each(range.start),
            _ => drop(rayon::join(
                || halves(range.start..middle, each),
                || halves(middle..range.end, each),
            )),
        }
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("a pool");
    pool.install(|| match spread {
        Spread::ParIter => (0..n).into_par_iter().for_each(&each),
        Spread::ParBridge => (0..n).par_bridge().for_each(&each),
        Spread::Join => halves(0..n, &each),
        Spread::Scope => rayon::scope(|scope| {
            (0..n).for_each(|i| {
                scope.spawn({
                    let each = &each;
                    move |_| each(i)
                })
            })
        }),
        Spread::Nested => {
            let inner = ThreadPoolBuilder::new()
                .num_threads(2)
                .build()
                .expect("a pool");
            (0..4u64).into_par_iter().for_each(|part| {
                inner.install(|| {
                    (part * n / 4..(part + 1) * n / 4)
                        .into_par_iter()
                        .for_each(&each)
                });
            });
        }
    });
}

fn sharded(folder: &Path, planes: u64) -> Array<u16> {
    Array::<u16>::builder([planes, 24, 24])
        .chunks([4, 12, 12])
        .shards([16, 24, 24])
        .codecs([codec::zstd(1)])
        .create((folder, "a"))
        .expect("an array")
}

fn plane(z: u64) -> Array3<u16> {
    Array3::from_elem((1, 24, 24), z as u16 + 1)
}

fn planes_of(array: &Array<u16>) -> Vec<u16> {
    let all = array.read(..).expect("elements");
    all.axis_iter(Axis(0))
        .map(|plane| {
            let first = plane.iter().copied().next().expect("planes have elements");
            assert!(plane.iter().all(|&n| n == first), "a plane is whole");
            first
        })
        .collect()
}

fn with_each_spread(
    what: &'static str,
    run: impl Fn(Spread, usize, &Path) + Send + Sync + Copy + 'static,
) {
    for spread in SPREADS {
        for threads in [1, 2, 8] {
            ends(
                &format!("{what}, {spread:?} on {threads} threads"),
                move || {
                    let folder = tempfile::tempdir().expect("a folder");
                    run(spread, threads, folder.path());
                },
            );
        }
    }
}

#[test]
fn writes_of_parts_of_shared_shards_lose_nothing() {
    with_each_spread("writing", |spread, threads, folder| {
        let a = sharded(folder, 40);
        call_each(spread, threads, 40, |z| {
            a.write([z..z + 1, 0..24, 0..24], &plane(z))
                .expect("a write")
        });
        assert_eq!(planes_of(&a), (1..=40).collect::<Vec<u16>>());
    });
}

#[test]
fn appends_lose_nothing() {
    with_each_spread("appending", |spread, threads, folder| {
        let a = sharded(folder, 0);
        call_each(spread, threads, 24, |z| {
            a.clone().append(0, &plane(z)).expect("an append")
        });
        let mut all = planes_of(&Array::open((folder, "a")).expect("the array"));
        all.sort_unstable();
        assert_eq!(all, (1..=24).collect::<Vec<u16>>());
    });
}

#[test]
fn resizes_and_reads_at_the_same_time_end() {
    with_each_spread("resizing", |spread, threads, folder| {
        let a = sharded(folder, 40);
        a.fill(.., 7).expect("a fill");
        call_each(spread, threads, 16, |i| {
            if i % 2 == 0 {
                a.clone().resize([20 + i, 24, 24]).expect("a resize");
            } else {
                a.read([0..16, 0..24, 0..24]).expect("elements");
            }
        });
        let a = Array::<u16>::open((folder, "a")).expect("the array");
        assert_eq!(planes_of(&a)[..20], [7; 20]);
    });
}

#[test]
fn changes_of_attributes_lose_nothing() {
    with_each_spread("changing attributes", |spread, threads, folder| {
        let group = Group::create(folder, Format::Zarr3).expect("a group");
        call_each(spread, threads, 24, |i| {
            let mut attributes = serde_json::Map::new();
            attributes.insert(format!("k{i}"), json!(i));
            group
                .clone()
                .merge_attributes(attributes.into())
                .expect("a change");
        });
        assert_eq!(
            Group::open(folder).expect("the group").attributes().len(),
            24
        );
    });
}

#[test]
fn shard_writers_lose_nothing() {
    with_each_spread("shard writers", |spread, threads, folder| {
        let a = sharded(folder, 40);
        call_each(spread, threads, 12, |i| {
            let writer = a.shard_writer(&[i % 3, 0, 0]).expect("a writer");
            for chunk in writer.chunks() {
                let shape: Vec<usize> = chunk
                    .ranges
                    .iter()
                    .map(|r| (r.end - r.start) as usize)
                    .collect();
                writer
                    .write_chunk(&chunk.index, &ndarray::ArrayD::from_elem(shape, 5))
                    .expect("an inner chunk");
            }
            writer.finish().expect("a shard");
        });
        assert_eq!(planes_of(&a), [5; 40]);
    });
}

#[test]
fn copies_are_complete() {
    with_each_spread("converting", |spread, threads, folder| {
        let a = sharded(folder, 20);
        a.fill(.., 7).expect("a fill");
        call_each(spread, threads, 4, |i| {
            let target = FsStore::new(folder.join(format!("copy-{i}")));
            copy(
                (folder, "a"),
                (target, "a"),
                &CopyOptions::new().format(Format::Zarr2),
            )
            .expect("a conversion");
        });
        for i in 0..4 {
            let copy = Array::<u16>::open((folder.join(format!("copy-{i}")).as_path(), "a"))
                .expect("a copy");
            assert_eq!(planes_of(&copy), [7; 20]);
        }
    });
}

#[test]
fn blocking_calls_on_a_runtime_lose_nothing() {
    ends("tokio", || {
        let folder = tempfile::tempdir().expect("a folder");
        let a = sharded(folder.path(), 40);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let mut tasks = Vec::new();
            for z in 0..40 {
                let a = a.clone();
                let write = move || {
                    a.write([z..z + 1, 0..24, 0..24], &plane(z))
                        .expect("a write")
                };
                tasks.push(if z % 2 == 0 {
                    tokio::task::spawn_blocking(write)
                } else {
                    tokio::spawn(async move { tokio::task::block_in_place(write) })
                });
            }
            for task in tasks {
                task.await.expect("no panic");
            }
        });
        assert_eq!(planes_of(&a), (1..=40).collect::<Vec<u16>>());
    });
}

#[test]
fn futures_in_tasks_lose_nothing() {
    ends("futures on both runtimes", || {
        for threads in [0, 2] {
            let runtime = match threads {
                0 => tokio::runtime::Builder::new_current_thread().build(),
                n => tokio::runtime::Builder::new_multi_thread()
                    .worker_threads(n)
                    .build(),
            };
            let folder = tempfile::tempdir().expect("a folder");
            let a = sharded(folder.path(), 0);
            runtime.expect("a runtime").block_on(async {
                let appends: Vec<_> = (0..20)
                    .map(|z| {
                        let mut a = asynchronous::Array::from(a.clone());
                        tokio::spawn(async move {
                            a.append(0, &plane(z)).await.expect("an append");
                            a.read(..).await.expect("elements");
                        })
                    })
                    .collect();
                for append in appends {
                    append.await.expect("no panic");
                }
            });
            let mut all = planes_of(&Array::open((folder.path(), "a")).expect("the array"));
            all.sort_unstable();
            assert_eq!(all, (1..=20).collect::<Vec<u16>>());
        }
    });
}

/// Every future can be spawned in executors that move tasks between threads.
#[test]
fn futures_are_send() {
    use ndzarr::asynchronous::{AnyArray, AnyNode, Array, Group, OpenOptions, copy};

    fn send<T: Send>(_: T) {}
    let store = ndzarr::MemoryStore::new();
    let a = ndzarr::Array::<u8>::builder([4, 4])
        .chunks([2, 2])
        .shards([4, 4]);
    let mut a = Array::from(a.create((&store, "a")).expect("an array"));
    let data = Array2::<u8>::zeros((1, 4));
    let all = Array2::<u8>::zeros((4, 4)).into_dyn();
    send(Array::<u8>::open((&store, "a")));
    send(Array::<u8>::builder([4]).create((&store, "b")));
    send(OpenOptions::new().open_array::<u8>((&store, "a")));
    send(OpenOptions::new().open_group(&store));
    send(a.read([0..1, 0..4]));
    send(a.read_many([[0..1, 0..4]]));
    send(a.read_into([0..1, 0..4], &mut data.clone()));
    send(a.write([0..1, 0..4], &data));
    send(a.fill(.., 1));
    send(a.read_chunk(&[0, 0]));
    send(a.write_chunk(&[0, 0], &all));
    send(a.units().is_stored(&[0, 0]));
    send(a.units().stored());
    send(a.units().encoded(&[0, 0]));
    send(a.units().write_encoded(&[0, 0], vec![0]));
    send(a.units().erase(&[0, 0]));
    send(a.n5_blocks().read(&[0, 0]));
    send(a.resize([4, 4]));
    send(a.append(0, &data));
    send(a.merge_attributes(json!({})));
    send(a.shard_writer(&[0, 0]));
    send(a.appender(0));
    let mut appender = ndzarr::store::block_on(a.appender(0)).expect("an appender");
    send(appender.push(&data));
    send(appender.publish());
    send(appender.finish());
    let writer = ndzarr::Array::from(a.clone())
        .shard_writer(&[0, 0])
        .expect("a writer");
    let writer = ndzarr::asynchronous::ShardWriter::from(writer);
    send(writer.write_chunk(&[0, 0], &data));
    send(writer.finish());
    send(AnyArray::open((&store, "a")));
    send(AnyNode::open((&store, "a")));
    let mut any = AnyArray::from(a);
    send(any.read_bytes(&[0..1, 0..1]));
    send(any.write_bytes(&[0..1, 0..1], &[1]));
    send(any.read_vlen(&[0..1, 0..1]));
    send(any.write_vlen(&[0..1, 0..1], &[]));
    send(any.read_field::<u8, _>("a", [0..1, 0..1]));
    send(any.resize([4, 4]));
    send(any.append_bytes(0, &[0; 4]));
    send(Group::open(&store));
    send(Group::create((&store, "g"), Format::Zarr3));
    let mut group = Group::from(ndzarr::Group::open(&store).expect("a group"));
    send(group.children());
    send(group.walk());
    send(group.array::<u8>("a"));
    send(group.group("g"));
    send(group.create_array("c", Array::<u8>::builder([1])));
    send(group.create_group("h"));
    send(group.merge_attributes(json!({})));
    send(group.consolidate());
    send(group.erase("a"));
    send(group.erase_self());
    send(copy(
        (&store, "a"),
        (&store, "z"),
        &CopyOptions::new().format(Format::Zarr2),
    ));
}
