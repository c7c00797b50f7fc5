//! Coordinates that are written again: labels are those of the last write.

use std::task::{Context, Waker};

use ndarray::{Array1, arr0, array};
use ndzarr::store::{StoreError, block_on};
use ndzarr::{DataType, Format, MemoryStore, Storage};
use ndzarr_cf::{Dataset, asynchronous as cf};
use ndzarr_testkit::{AsyncMemoryStore, Call, FaultStore, Latency};
use serde_json::json;

const FLOAT: DataType = DataType::Float { bits: 64 };

/// `lat` in chunks of two, not written yet, and `t`, which is 1 to 4.
fn dataset(storage: impl Into<Storage>) -> Dataset {
    let mut new = Dataset::create(storage.into(), Format::Zarr3).expect("memory never fails");
    new.create_variable("lat", FLOAT, [("lat", 4)], json!({}), |layout| {
        layout.chunks([2])
    })
    .expect("it is valid");
    let t = new
        .create_variable("t", FLOAT, [("lat", 4)], json!({}), |layout| layout)
        .expect("it is valid");
    t.write(array![1.0, 2.0, 3.0, 4.0]).expect("it fits");
    new
}

fn numbers(dataset: &Dataset, name: &str) -> Array1<f64> {
    dataset
        .variable(name)
        .and_then(|v| v.read_as::<f64>())
        .expect("they are numbers")
        .into_iter()
        .collect()
}

#[test]
fn labels_are_those_of_the_last_write() {
    let dataset = dataset(MemoryStore::new());
    let lat = dataset.variable("lat").expect("it is there");
    let t = dataset.variable("t").expect("it is there");
    lat.write(array![60.0, 50.0, 40.0, 30.0]).expect("it fits");
    let at_60 = t.sel("lat", 60.0).expect("it fits");
    assert_eq!(
        at_60.read_as::<f64>().expect("it is there"),
        arr0(1.0).into_dyn()
    );
    lat.write(array![30.0, 40.0, 50.0, 60.0]).expect("it fits");
    assert_eq!(
        at_60.read_as::<f64>().expect("it is there"),
        arr0(4.0).into_dyn()
    );
    t.sel("lat", 60.0)
        .and_then(|t| t.write(arr0(9.0)))
        .expect("it is there");
    assert_eq!(numbers(&dataset, "t"), array![1.0, 2.0, 3.0, 9.0]);
    // A part, selected by its own labels, through a clone of the dataset.
    let again = dataset.clone();
    again
        .variable("lat")
        .and_then(|lat| lat.sel("lat", 60.0)?.write(arr0(70.0)))
        .expect("it is there");
    t.sel("lat", 70.0)
        .and_then(|t| t.write(arr0(8.0)))
        .expect("it is there");
    assert_eq!(numbers(&dataset, "t"), array![1.0, 2.0, 3.0, 8.0]);
    assert!(at_60.read().is_err());
}

#[test]
fn times_are_forgotten_too() {
    let mut dataset = dataset(MemoryStore::new());
    let days = json!({"units": "days since 2001-01-01"});
    let int = DataType::Int { bits: 32 };
    let time = dataset
        .create_variable("time", int, [("lat", 4)], days, |layout| layout)
        .expect("it is valid");
    let day = |day| ndzarr_cf::Time::from(jiff::civil::date(2001, 1, day));
    time.write_times(&array![1, 2, 3, 4].mapv(day))
        .expect("they fit");
    let second = dataset
        .variable("t")
        .and_then(|t| t.sel("time", "2001-01-02"))
        .expect("it fits");
    assert_eq!(
        second.read_as::<f64>().expect("it is there"),
        arr0(2.0).into_dyn()
    );
    time.write_times(&array![4, 3, 2, 1].mapv(day))
        .expect("they fit");
    assert_eq!(
        second.read_as::<f64>().expect("it is there"),
        arr0(3.0).into_dyn()
    );
}

/// Before the write, all are the fill value, a label that occurs four times.
#[test]
fn labels_are_found_after_the_first_write() {
    let dataset = dataset(MemoryStore::new());
    let at_60 = dataset
        .variable("t")
        .and_then(|t| t.sel("lat", 60.0))
        .expect("it fits");
    assert!(at_60.read().is_err());
    dataset
        .variable("lat")
        .and_then(|lat| lat.write(array![30.0, 40.0, 50.0, 60.0]))
        .expect("it fits");
    assert_eq!(
        at_60.read_as::<f64>().expect("it is there"),
        arr0(4.0).into_dyn()
    );
}

const OLD: [f64; 4] = [40.0, 30.0, 20.0, 10.0];
const NEW: [f64; 4] = [80.0, 70.0, 60.0, 50.0];

/// One chunk is stored, the other is not, whichever comes first.
#[test]
fn a_failed_write_may_have_written_a_part() {
    let store = FaultStore::new(MemoryStore::new());
    let dataset = dataset(Storage::blocking(store.clone()));
    let lat = dataset.variable("lat").expect("it is there");
    let t = dataset.variable("t").expect("it is there");
    lat.write(Array1::from(OLD.to_vec())).expect("it fits");
    assert!(t.sel("lat", 99.0).and_then(|t| t.read()).is_err());
    store.fail_nth(Call::Put, 1, StoreError::Unsupported("a second chunk"));
    lat.write(Array1::from(NEW.to_vec()))
        .expect_err("a chunk cannot be stored");
    let stored = numbers(&dataset, "lat").to_vec();
    assert!(
        stored[..2] != OLD[..2] || stored[2..] != OLD[2..],
        "a part is stored"
    );
    for (label, expected) in stored.into_iter().zip([1.0, 2.0, 3.0, 4.0]) {
        let read = t
            .sel("lat", label)
            .and_then(|t| t.read_as::<f64>())
            .expect("it is there");
        assert_eq!(read, arr0(expected).into_dyn());
    }
}

#[test]
fn futures_forget_the_same() {
    let store = FaultStore::new(MemoryStore::new());
    let written = dataset(Storage::blocking(store.clone()));
    block_on(async {
        let dataset = cf::Dataset::open(Storage::blocking(store.clone()))
            .await
            .expect("it is a dataset");
        let lat = dataset.variable("lat").expect("it is there");
        let t = dataset.variable("t").expect("it is there");
        let at_40 = t.sel("lat", 40.0).expect("it fits");
        assert!(at_40.read().await.is_err());
        lat.write(Array1::from(OLD.to_vec()))
            .await
            .expect("it fits");
        assert_eq!(
            at_40.read_as::<f64>().await.expect("it is there"),
            arr0(1.0).into_dyn()
        );
        store.fail_nth(Call::Put, 1, StoreError::Unsupported("a second chunk"));
        lat.write(Array1::from(NEW.to_vec()))
            .await
            .expect_err("a chunk cannot be stored");
        for (label, expected) in numbers(&written, "lat")
            .into_iter()
            .zip([1.0, 2.0, 3.0, 4.0])
        {
            let found = t.sel("lat", label).expect("it fits");
            assert_eq!(
                found.read_as::<f64>().await.expect("it is there"),
                arr0(expected).into_dyn()
            );
        }
        lat.write(Array1::from(NEW.to_vec()))
            .await
            .expect("it fits");
        t.sel("lat", 70.0)
            .expect("it fits")
            .write(arr0(9.0))
            .await
            .expect("it is there");
        assert_eq!(numbers(&written, "t"), array![1.0, 9.0, 3.0, 4.0]);
    });
}

#[test]
fn abandoned_writes_forget_too() {
    let store = MemoryStore::new();
    let other = dataset(&store);
    let write = |values| {
        other
            .variable("lat")
            .and_then(|lat| lat.write(values))
            .expect("it fits")
    };
    write(array![60.0, 50.0, 40.0, 30.0]);
    block_on(async {
        let storage =
            Storage::asynchronous(AsyncMemoryStore::over(store.clone(), Latency::default()));
        let dataset = cf::Dataset::open(storage).await.expect("it is a dataset");
        let at_60 = dataset
            .variable("t")
            .and_then(|t| t.sel("lat", 60.0))
            .expect("it fits");
        assert_eq!(
            at_60.read_as::<f64>().await.expect("it is there"),
            arr0(1.0).into_dyn()
        );
        let lat = dataset.variable("lat").expect("it is there");
        let mut begun = Box::pin(lat.write(array![1.0, 2.0, 3.0, 4.0]));
        // On a fast machine it may end at once.
        let _ = begun.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        drop(begun);
        write(array![30.0, 40.0, 50.0, 60.0]);
        assert_eq!(
            at_60.read_as::<f64>().await.expect("it is there"),
            arr0(4.0).into_dyn()
        );
    });
}
