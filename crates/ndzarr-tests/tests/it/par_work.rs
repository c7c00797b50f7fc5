//! Chunk-wise folds and maps.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ndarray::{Array2, ArrayD, array};
use ndzarr::{
    AnyArray, AnyElements, Array, Cancel, DataType, Error, ErrorKind, Format, MemoryStore, Number,
    Order, Region, RunOptions, Storage, for_each_type, par_fold, par_map, par_write, s,
};
use ndzarr_testkit::{AsyncMemoryStore, Latency};

fn data() -> Array2<u32> {
    Array2::from_shape_fn((70, 50), |(i, j)| (i * 50 + j) as u32)
}

fn sum(sum: u64, region: &Region, chunk: ArrayD<u32>) -> u64 {
    let shape: Vec<u64> = chunk.shape().iter().map(|&n| n as u64).collect();
    assert_eq!(shape, region.shape());
    sum + chunk.iter().map(|&n| u64::from(n)).sum::<u64>()
}

fn sources() -> Vec<Array<u32>> {
    let slow = Storage::asynchronous(AsyncMemoryStore::new(Latency::default()));
    let new = || Array::<u32>::builder([70, 50]);
    let arrays = vec![
        new().chunks([9, 8]).create((MemoryStore::new(), "a")),
        new()
            .chunks([5, 4])
            .shards([20, 8])
            .create((MemoryStore::new(), "a")),
        new()
            .chunks([64, 7])
            .format(Format::N5)
            .create((MemoryStore::new(), "a")),
        new()
            .chunks([64, 7])
            .format(Format::Zarr2)
            .order(Order::F)
            .create((MemoryStore::new(), "a")),
        new().chunks([9, 50]).create((slow, "a")),
    ];
    let write = |array: Result<Array<u32>, _>| {
        let array = array.expect("a new array");
        array.write(.., &data()).expect("elements");
        array
    };
    arrays.into_iter().map(write).collect()
}

#[test]
fn folds_see_each_element_once() {
    let expected = (0..3500u64).sum::<u64>();
    for a in sources() {
        for threads in [1, 2, 5] {
            let a = a
                .clone()
                .with_options(RunOptions::default().threads(NonZeroUsize::new(threads)));
            assert_eq!(
                par_fold(&a, || 0, sum, |a, b| a + b).expect("a sum"),
                expected
            );
        }
    }
    let empty = Array::<u32>::builder([0, 3])
        .create((MemoryStore::new(), "a"))
        .expect("a new array");
    assert_eq!(par_fold(&empty, || 7, sum, |a, b| a + b).expect("a sum"), 7);
    let scalar = Array::<u32>::builder([])
        .fill_value(4)
        .create((MemoryStore::new(), "a"))
        .expect("a new array");
    assert_eq!(
        par_fold(&scalar, || 0, sum, |a, b| a + b).expect("a sum"),
        4
    );
}

#[test]
fn threads_of_a_fold_have_names() {
    let a = sources().swap_remove(0);
    let a = a.with_options(RunOptions::default().threads(NonZeroUsize::new(3)));
    let own = std::thread::current().id();
    // Each thread waits for the others, so that all three fold a chunk.
    let barrier = std::sync::Barrier::new(3);
    let n_chunks = AtomicU64::new(0);
    let names = |mut names: Vec<String>, _: &Region, _: ArrayD<u32>| {
        if n_chunks.fetch_add(1, Ordering::Relaxed) < 3 {
            barrier.wait();
            let thread = std::thread::current();
            names.extend(
                thread
                    .name()
                    .filter(|_| thread.id() != own)
                    .map(str::to_owned),
            );
        }
        names
    };
    let names = par_fold(&a, Vec::new, names, |a, b| [a, b].concat()).expect("a fold");
    assert_eq!(names, ["ndzarr-loop", "ndzarr-loop"]);
}

#[test]
fn folds_keep_to_the_options() {
    let a = sources().remove(0);
    let n_reports = Arc::new(AtomicU64::new(0));
    let reports = Arc::clone(&n_reports);
    let options = RunOptions::default().progress(move |progress| {
        assert_eq!(progress.total, 8 * 7);
        reports.fetch_add(1, Ordering::Relaxed);
    });
    let counted = a.clone().with_options(options);
    par_fold(&counted, || 0, sum, |a, b| a + b).expect("a sum");
    assert_eq!(n_reports.load(Ordering::Relaxed), 8 * 7);
    let cancel = Cancel::new();
    let stops = a
        .clone()
        .with_options(RunOptions::default().cancel(cancel.clone()));
    let stop = |_: u64, _: &Region, _: ArrayD<u32>| {
        cancel.cancel();
        0
    };
    let error = par_fold(&stops, || 0, stop, |a, b| a + b).expect_err("it is cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    // One chunk of 9 x 8 elements is in memory at a time.
    let n_inside = AtomicU64::new(0);
    let small = a.with_options(
        RunOptions::default()
            .threads(NonZeroUsize::new(4))
            .bytes_in_flight(600),
    );
    let fold = |value, region: &Region, chunk: ArrayD<u32>| {
        assert_eq!(n_inside.fetch_add(1, Ordering::SeqCst), 0);
        let value = sum(value, region, chunk);
        n_inside.fetch_sub(1, Ordering::SeqCst);
        value
    };
    assert_eq!(
        par_fold(&small, || 0, fold, |a, b| a + b).expect("a sum"),
        (0..3500).sum::<u64>()
    );
}

#[test]
fn maps_write_each_element_once() {
    let expected = data().mapv(|n| f64::from(n) / 2.0).into_dyn();
    for a in sources() {
        for (format, chunks, shards) in [
            (Format::Zarr3, [7, 9], None),
            (Format::Zarr3, [7, 5], Some([14, 25])),
            (Format::N5, [70, 3], None),
            (Format::Zarr2, [100, 100], None),
        ] {
            let store = MemoryStore::new();
            let mut b = Array::<f64>::builder([70, 50])
                .format(format)
                .chunks(chunks);
            if let Some(shards) = shards {
                b = b.shards(shards);
            }
            let b = b.create((&store, "b")).expect("a new array");
            par_map(&a, &b, |_, block| block.mapv(|n| f64::from(n) / 2.0)).expect("a map");
            assert!(
                b.read(..).expect("elements") == expected,
                "{format} {chunks:?}"
            );
        }
    }
    let [a, b] = [[4, 4], [4, 5]]
        .map(|shape| Array::<u32>::builder(shape).create((MemoryStore::new(), "a")));
    let [a, b] = [a, b].map(|array| array.expect("a new array"));
    assert_eq!(
        par_map(&a, &b, |_, block| block)
            .expect_err("two shapes")
            .kind(),
        ErrorKind::WrongShape
    );
    let wrong = |_: &Region, _: ArrayD<u32>| ArrayD::zeros(vec![1, 1]);
    assert_eq!(
        par_map(&a, &a, wrong).expect_err("another shape").kind(),
        ErrorKind::WrongShape
    );
}

#[test]
fn an_array_is_mapped_onto_itself() {
    for a in sources() {
        par_map(&a, &a, |_, block| block + 1).expect("a map");
        assert!(a.read(..).expect("elements") == (data() + 1).into_dyn());
    }
}

/// In tasks of pools with few threads, many at a time, also with rayon in the closures of another
/// pool.
#[test]
fn tasks_of_rayon_fold_and_map() {
    use rayon::prelude::*;

    let arrays = sources();
    let inner = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a pool");
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool");
        let sums: Vec<u64> = pool.install(|| {
            (0..20)
                .into_par_iter()
                .map(|i| {
                    let a = &arrays[i % arrays.len()];
                    let fold = |value: u64, region: &Region, chunk: ArrayD<u32>| {
                        value + inner.install(|| sum(0, region, chunk))
                    };
                    let b = Array::<u32>::builder([70, 50])
                        .chunks([8, 8])
                        .create((MemoryStore::new(), "b"));
                    let b = b.expect("a new array");
                    par_map(a, &b, |_, block| block).expect("a map");
                    par_fold(&b, || 0, fold, |a, b| a + b).expect("a sum")
                })
                .collect()
        });
        assert_eq!(sums, [(0..3500).sum::<u64>(); 20]);
    }
}

#[test]
fn a_panic_stops_the_other_threads() {
    let a = Array::<u8>::builder([200_000])
        .chunks([1])
        .create((MemoryStore::new(), "a"))
        .expect("a new array");
    let a = a.with_options(RunOptions::default().threads(NonZeroUsize::new(2)));
    let called = AtomicU64::new(0);
    let fold = |n: u64, _: &Region, _: ArrayD<u8>| {
        assert!(
            called.fetch_add(1, Ordering::SeqCst) > 0,
            "the first of them"
        );
        n
    };
    let run = AssertUnwindSafe(|| par_fold(&a, || 0, fold, |a, b| a + b));
    let panic = catch_unwind(run).expect_err("it is passed on");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the first of them"));
    let called = called.load(Ordering::SeqCst);
    assert!(called < 100_000, "{called} of 200,000");
}

#[test]
fn arrays_of_any_type_are_folded_and_mapped() {
    for a in sources() {
        let any = AnyArray::from(a.clone());
        let sum = par_fold(
            &any,
            || 0.0,
            |sum, _, chunk| {
                sum + for_each_type!(chunk, |chunk: Number| chunk.iter().map(|n| n.to_f64()).sum::<f64>(), _ => 0.0)
            },
            |a, b| a + b,
        );
        assert_eq!(sum.expect("a sum"), f64::from(3499 * 3500 / 2));
        let b = Array::<u32>::builder([70, 50])
            .chunks([8, 8])
            .create((MemoryStore::new(), "b"));
        let b = AnyArray::from(b.expect("a new array"));
        par_map(&any, &b, |_, block| block).expect("a map");
        assert_eq!(b.read(..).expect("elements"), data().into_dyn().into());
        let wrong = |_: &Region, _: AnyElements| AnyElements::from(array![[1u8]].into_dyn());
        assert_eq!(
            par_map(&any, &b, wrong).expect_err("bytes").kind(),
            ErrorKind::WrongType
        );
    }
    // Elements without a number: texts and raw bits.
    for data_type in [DataType::String, DataType::Raw { bytes: 3 }] {
        let new = || {
            AnyArray::builder([5, 3])
                .chunks([2, 2])
                .data_type(data_type.clone())
        };
        let [a, b] = ["a", "b"].map(|path| {
            new()
                .create((MemoryStore::new(), path))
                .expect("a new array")
        });
        match &data_type {
            DataType::String => a.fill(s![2.., ..], "text").expect("a fill"),
            _ => a
                .write_bytes(.., &(0..45).collect::<Vec<u8>>())
                .expect("bytes"),
        }
        par_map(&a, &b, |_, block| block).expect("a map");
        assert_eq!(a.read(..).expect("elements"), b.read(..).expect("elements"));
        let count = |n, _: &Region, chunk: AnyElements| n + chunk.shape().iter().product::<usize>();
        assert_eq!(
            par_fold(&b, || 0, count, |a, b| a + b).expect("a count"),
            15
        );
    }
}

#[derive(Debug)]
enum Mine {
    Odd(u64),
    Of(Error),
}

impl From<Error> for Mine {
    fn from(error: Error) -> Self {
        Self::Of(error)
    }
}

#[test]
fn an_array_is_computed_from_one_of_another_shape() {
    let expected = data().t().mapv(|n| f64::from(n) + 1.0).into_dyn();
    for a in sources() {
        let b = Array::<f64>::builder([50, 70])
            .chunks([6, 9])
            .create((MemoryStore::new(), "b"));
        let b = b.expect("a new array");
        let transposed = |place: &Region| -> Result<ArrayD<f64>, Mine> {
            let [rows, columns] = [0, 1].map(|axis| place.ranges()[axis].clone());
            Ok(a.read([columns, rows])?
                .reversed_axes()
                .mapv(|n| f64::from(n) + 1.0)
                .into_dyn())
        };
        par_write(&b, transposed).expect("all blocks");
        assert!(b.read(..).expect("elements") == expected);
    }
    // With an error of the caller's own, blocks of another shape, and an array of another type.
    let c = Array::<u8>::builder([9])
        .chunks([2])
        .create((MemoryStore::new(), "c"))
        .expect("a new array");
    let odd = par_write(&c, |place| match place.start()[0] {
        4 => Err(Mine::Odd(4)),
        _ => Ok(ArrayD::ones(vec![place.shape()[0] as usize])),
    });
    assert!(matches!(odd, Err(Mine::Odd(4))), "{odd:?}");
    let wrong = par_write(&c, |_| Ok::<_, Mine>(ArrayD::ones(vec![1, 1])));
    assert!(
        matches!(&wrong, Err(Mine::Of(error)) if error.kind() == ErrorKind::WrongShape),
        "{wrong:?}"
    );
    let any = AnyArray::from(c);
    let wrong = par_write(&any, |_| Ok::<_, Error>(array![1u16, 2].into_dyn().into()));
    assert_eq!(
        wrong.expect_err("another type").kind(),
        ErrorKind::WrongType
    );
}

#[test]
fn computing_keeps_to_the_options() {
    let blocks = AtomicU64::new(0);
    let new = |options: RunOptions| {
        let shards = Array::<u64>::builder([64, 64])
            .chunks([4, 4])
            .shards([16, 16]);
        shards
            .create((MemoryStore::new(), "a"))
            .expect("a new array")
            .with_options(options)
    };
    let ones = |place: &Region| -> Result<ArrayD<u64>, Error> {
        // Whole shards.
        assert!(
            place
                .ranges()
                .iter()
                .all(|range| range.start % 16 == 0 && range.end % 16 == 0),
            "{place:?}"
        );
        blocks.fetch_add(1, Ordering::Relaxed);
        Ok(ArrayD::ones(
            place
                .shape()
                .iter()
                .map(|&len| len as usize)
                .collect::<Vec<_>>(),
        ))
    };
    let last = Arc::new(AtomicU64::new(0));
    let reports = Arc::clone(&last);
    let reporting = RunOptions::default().progress(move |progress| {
        reports.fetch_add(progress.total << 32 | 1, Ordering::Relaxed);
    });
    let a = new(reporting);
    par_write(&a, ones).expect("all blocks");
    let n = blocks.swap(0, Ordering::Relaxed);
    assert_eq!(last.load(Ordering::Relaxed), n * (n << 32 | 1));
    assert!(a.read(..).expect("elements").iter().all(|n| *n == 1));
    let cancel = Cancel::new();
    let stopped = par_write(
        &new(RunOptions::default().cancel(cancel.clone())),
        |place| {
            cancel.cancel();
            ones(place)
        },
    );
    assert_eq!(
        stopped.expect_err("it is cancelled").kind(),
        ErrorKind::Cancelled
    );
    // One shard of 2 KiB, and what is encoded of it, is in memory at a time.
    let n_inside = AtomicU64::new(0);
    let threads = NonZeroUsize::new(4);
    let small = new(RunOptions::default()
        .threads(threads)
        .bytes_in_flight(6 << 10));
    par_write(&small, |place| {
        assert_eq!(n_inside.fetch_add(1, Ordering::SeqCst), 0);
        assert_eq!(place.shape(), [16, 16]);
        let block = ones(place);
        n_inside.fetch_sub(1, Ordering::SeqCst);
        block
    })
    .expect("all blocks");
}
