//! The documents that are written, which xarray understands.

use ndarray::array;
use ndzarr::{AnyElements, Array, DataType, Format, MemoryStore, Timedelta64};
use ndzarr_cf::{Calendar, Dataset, Time};
use serde_json::{Value, json};

use crate::it::{INT16, no_attributes, single};

fn document(store: &MemoryStore, key: &str) -> Value {
    serde_json::from_slice(&store.get(key).expect(key)).expect("it is JSON")
}

/// xarray would take a fill value 0 for missing.
#[test]
fn zarr2_has_a_fill_value_only_if_one_is_stated() {
    let store = MemoryStore::new();
    let mut new = Dataset::create(&store, Format::Zarr2).expect("memory never fails");
    let units = json!({"units": "days since 2000-01-01", "calendar": "standard"});
    let int64 = DataType::Int { bits: 64 };
    let time = new
        .create_variable("time", int64, [("time", 2)], units, |layout| layout)
        .expect("it is valid");
    let days = array![1, 2].mapv(|day| Time::from(jiff::civil::date(2000, 1, day)));
    time.write_times(&days).expect("they fit");
    let names = new.create_variable(
        "name",
        DataType::String,
        [("time", 2)],
        no_attributes(),
        |layout| layout,
    );
    names
        .and_then(|names| names.write(array![String::new(), "b".to_owned()]))
        .expect("it is valid");
    let filled = json!({"_FillValue": -99, "units": "K"});
    new.create_variable("t", INT16, [("time", 2)], filled, |layout| layout)
        .expect("it is valid");
    let float = DataType::Float { bits: 32 };
    new.create_variable(
        "f",
        float,
        [("time", 2)],
        json!({"_FillValue": "NaN"}),
        |layout| layout,
    )
    .expect("it is valid");

    assert_eq!(document(&store, "time/.zarray")["fill_value"], Value::Null);
    assert_eq!(document(&store, "name/.zarray")["fill_value"], Value::Null);
    assert_eq!(document(&store, "t/.zarray")["fill_value"], -99);
    assert_eq!(document(&store, "f/.zarray")["fill_value"], "NaN");
    assert_eq!(
        document(&store, "t/.zattrs"),
        json!({"units": "K", "_ARRAY_DIMENSIONS": ["time"]})
    );
    let consolidated = document(&store, ".zmetadata");
    assert_eq!(consolidated["metadata"]["t/.zarray"]["fill_value"], -99);

    let dataset = Dataset::open(&store).expect("it is a dataset");
    let times = dataset
        .variable("time")
        .and_then(|time| time.read_times())
        .expect("they are times");
    assert_eq!(
        times[[0]].map(|time| time.to_string()).as_deref(),
        Some("2000-01-01T00:00:00")
    );
    let missing = dataset
        .variable("t")
        .and_then(|t| t.read_as::<f32>())
        .expect("they are numbers");
    assert!(missing.iter().all(|number| number.is_nan()));
}

#[test]
fn zarr3_has_the_fill_value_of_xarray() {
    let store = MemoryStore::new();
    let mut new = Dataset::create(&store, Format::Zarr3).expect("memory never fails");
    let float = DataType::Float { bits: 32 };
    new.create_variable(
        "f",
        float,
        [("x", 2)],
        json!({"_FillValue": -9999}),
        |layout| layout,
    )
    .expect("it is valid");
    new.create_variable(
        "i",
        INT16,
        [("x", 2)],
        json!({"_FillValue": -9}),
        |layout| layout,
    )
    .expect("it is valid");
    let f = document(&store, "f/zarr.json");
    assert_eq!(
        (&f["fill_value"], &f["attributes"]),
        (&json!(-9999.0), &json!({"_FillValue": "AAAAAICHw8A="}))
    );
    assert_eq!(f["dimension_names"], json!(["x"]));
    let i = document(&store, "i/zarr.json");
    assert_eq!(
        (&i["fill_value"], &i["attributes"]["_FillValue"]),
        (&json!(-9), &json!(-9))
    );
    // The float32 nearest to 1e20, since xarray compares float32 with float64.
    let missing = json!({"_FillValue": 1e20, "missing_value": [1e20, 1]});
    new.create_variable(
        "m",
        DataType::Float { bits: 32 },
        [("x", 2)],
        missing,
        |layout| layout,
    )
    .expect("it is valid");
    // serde_json itself would read 1e20 less exactly.
    let m = Array::<f32>::open((&store, "m")).expect("an array");
    assert_eq!(
        Value::from(m.attributes().clone()),
        json!({"_FillValue": "AAAAgB2vFUQ=", "missing_value": [100_000_002_004_087_734_272.0, 1.0]})
    );
    let names = document(&store, "zarr.json")["consolidated_metadata"]["metadata"].clone();
    assert_eq!(names.as_object().map(|names| names.len()), Some(3));
}

#[test]
fn what_is_written_is_read() {
    for format in [Format::Zarr2, Format::Zarr3, Format::N5] {
        let store = MemoryStore::new();
        let mut new = Dataset::create(&store, format).expect("memory never fails");
        let packed =
            json!({"scale_factor": 0.5, "add_offset": -1.0, "_FillValue": 0, "_Unsigned": "true"});
        if format == Format::N5 {
            // Its fill value is 0, always.
            assert!(
                new.create_variable("p", INT16, [("x", 1)], json!({"_FillValue": 1}), |layout| {
                    layout
                })
                .is_err()
            );
        }
        let int8 = DataType::Int { bits: 8 };
        let p = new
            .create_variable("p", int8, [("x", 3)], packed, |layout| layout)
            .expect("it is valid");
        p.write(array![f64::NAN, 126.5, 1.75]).expect("it fits");
        assert_eq!(
            Array::<i8>::open((&store, "p"))
                .and_then(|p| p.read([1..3]))
                .expect("it is int8"),
            array![-1, 6]
        );
        let read = p.read_as::<f64>().expect("they are numbers");
        assert!(read[[0]].is_nan());
        assert_eq!((read[[1]], read[[2]]), (126.5, 2.0));
        let bools = new.create_variable(
            "b",
            DataType::Int { bits: 8 },
            [("x", 3)],
            json!({"dtype": "bool"}),
            |layout| layout,
        );
        let bools = bools.expect("it is valid");
        bools.write(array![true, false, true]).expect("it fits");
        assert_eq!(
            bools.read().expect("they are bools"),
            array![true, false, true].into_dyn().into()
        );
    }
}

#[test]
fn times_are_written_in_every_form() {
    let store = MemoryStore::new();
    let mut new = Dataset::create(&store, Format::Zarr3).expect("memory never fails");
    let time = |text| Time::parse(text, Calendar::NoLeap).expect("it is a time");
    let times = array![Some(time("2001-03-01T06:00")), None];
    for (name, data_type, attributes) in [
        (
            "int64",
            DataType::Int { bits: 64 },
            json!({"units": "hours since 2001-03-01"}),
        ),
        (
            "int16",
            INT16,
            json!({"units": "hours since 2001-03-01", "_FillValue": -1}),
        ),
        (
            "float",
            DataType::Float { bits: 64 },
            json!({"units": "days since 2001-02-28"}),
        ),
        (
            "packed",
            INT16,
            json!({"units": "days since 2001-02-28", "scale_factor": 0.25, "_FillValue": -1}),
        ),
        (
            "date",
            DataType::DateTime64 {
                unit: ndzarr::TimeUnit::Second,
                scale: 1,
            },
            json!({}),
        ),
    ] {
        let mut attributes = attributes;
        if name != "date" {
            attributes["calendar"] = "noleap".into();
        }
        let v = new
            .create_variable(name, data_type, [("time", 2)], attributes, |layout| layout)
            .expect(name);
        v.write_times(&times).expect(name);
        let read = v.read_times().expect(name);
        assert_eq!(
            read[[0]].map(|time| time.to_string()).as_deref(),
            Some("2001-03-01T06:00:00"),
            "{name}"
        );
        assert_eq!(read[[1]], None, "{name}");
    }
}

#[test]
fn the_type_is_that_of_what_is_read() {
    let float32 = DataType::Float { bits: 32 };
    let float64 = DataType::Float { bits: 64 };
    let range = json!({"valid_range": [2, 4]});
    let check = |dataset: Dataset, data_type: DataType, valid: (DataType, AnyElements)| {
        let v = dataset.variable("v").expect("it is there");
        assert_eq!(v.data_type().expect("it is valid"), data_type);
        let v = v.valid_only();
        let read = v.read().expect("it is valid").into_dyn();
        assert_eq!((v.data_type().expect("it is valid"), read), valid);
    };
    let single32 = || (float32.clone(), array![2.0_f32, 3.0].into_dyn().into());
    check(single(&[2_i16, 3], range.clone()), INT16, single32());
    check(
        single(&[2_i16, 3], no_attributes()),
        INT16,
        (INT16, array![2_i16, 3].into_dyn().into()),
    );
    let uint32 = DataType::UInt { bits: 32 };
    check(
        single(&[2_u32, 3], range.clone()),
        uint32,
        (float64, array![2.0, 3.0].into_dyn().into()),
    );
    check(
        single(&[2.0_f32, 3.0], range.clone()),
        float32.clone(),
        single32(),
    );
    let unsigned = json!({"valid_range": [2, 4], "_Unsigned": "true"});
    check(
        single(&[2_i16, 3], unsigned),
        DataType::UInt { bits: 16 },
        single32(),
    );
    let bools = json!({"valid_range": [0, 1], "dtype": "bool"});
    let read = (DataType::Bool, array![true, false].into_dyn().into());
    check(single(&[1_i8, 0], bools), DataType::Bool, read);
    let read = (DataType::String, array!["a".to_owned()].into_dyn().into());
    check(
        single(&["a".to_owned()], no_attributes()),
        DataType::String,
        read,
    );
}

/// By the conventions, a range of integers is a range of the stored numbers, and for packed
/// integers, a range of floats is one of the unpacked numbers.
#[test]
fn numbers_outside_the_valid_range_are_missing_if_asked_for() {
    for (attributes, n_missing) in [
        (json!({"valid_range": [2, 4]}), 2),
        (json!({"valid_min": 2}), 1),
        (json!({"valid_max": 2, "scale_factor": 0.5}), 3),
        (json!({"valid_max": 2.0, "scale_factor": 0.5}), 1),
        (json!({}), 0),
    ] {
        let v = single(&[1_i16, 2, 3, 4, 5], attributes.clone())
            .variable("v")
            .expect("it is there");
        let missing = |v: ndzarr_cf::Variable| {
            v.read_as::<f64>()
                .expect("they are numbers")
                .iter()
                .filter(|number| number.is_nan())
                .count()
        };
        assert_eq!(missing(v.valid_only()), n_missing, "{attributes}");
        assert_eq!(missing(v), 0, "{attributes}");
    }
}

/// The range has the stored bits, as `_FillValue` does: -6 is 250, -3 is 253 and -1 is 255. For
/// packed integers, floats are in the unit of the unpacked numbers.
#[test]
fn the_valid_range_is_unsigned_as_the_elements_are() {
    for (attributes, expected) in [
        (
            json!({"valid_range": [0, -6], "_FillValue": -1}),
            [Some(0.0), Some(100.0), None, None],
        ),
        (
            json!({"valid_range": [0, 250], "_FillValue": -1}),
            [Some(0.0), Some(100.0), None, None],
        ),
        (
            json!({"valid_max": -3}),
            [Some(0.0), Some(100.0), Some(253.0), None],
        ),
        (
            json!({"valid_min": -3}),
            [None, None, Some(253.0), Some(255.0)],
        ),
        (
            json!({"valid_range": [1, -3], "scale_factor": 0.5}),
            [None, Some(50.0), Some(126.5), None],
        ),
        (
            json!({"valid_range": [-6.0, 50.0], "scale_factor": 1.0, "add_offset": -6.0}),
            [Some(-6.0), None, None, None],
        ),
    ] {
        let mut attributes = attributes;
        attributes["_Unsigned"] = "true".into();
        let v = single(&[0_i8, 100, -3, -1], attributes.clone())
            .variable("v")
            .expect("it is there");
        let read = v.valid_only().read_as::<f64>().expect("they are numbers");
        let numbers: Vec<_> = read
            .iter()
            .map(|number| (!number.is_nan()).then_some(*number))
            .collect();
        assert_eq!(numbers, expected, "{attributes}");
    }
}

/// Compared as stored: none of these is exact as a float64, or as a float32.
#[test]
fn missing_numbers_are_compared_exactly() {
    let read = |dataset: Dataset| {
        dataset
            .variable("v")
            .and_then(|v| v.read_as::<f64>())
            .expect("they are numbers")
    };
    let numbers = read(single(
        &[i64::MAX, i64::MAX - 1, 7],
        json!({"missing_value": i64::MAX}),
    ));
    assert!(numbers[[0]].is_nan() && !numbers[[1]].is_nan());
    let numbers = read(single(
        &[0.1_f32, 0.2],
        json!({"missing_value": [0.1, "NaN"]}),
    ));
    assert!(numbers[[0]].is_nan() && !numbers[[1]].is_nan());
    let numbers = read(single(&[2_i8, 3], json!({"missing_value": [2.5, 1e30, 3]})));
    assert!(!numbers[[0]].is_nan() && numbers[[1]].is_nan());
    let numbers = read(single(
        &[2_i8, -3],
        json!({"_FillValue": 2.5, "_Unsigned": "true"}),
    ));
    assert_eq!(numbers, array![2.0, 253.0].into_dyn());
}

/// A missing number may be out of range of counts; it is not an error then.
#[test]
fn missing_times_are_found_before_they_are_counted() {
    let units = json!({"units": "hours since 2001-01-01", "_FillValue": u64::MAX});
    let v = single(&[0_u64, u64::MAX], units)
        .variable("v")
        .expect("it is there");
    let read = v.read_times().expect("one is missing");
    let midnight = Time::parse("2001-01-01", Calendar::Standard).expect("it is a time");
    assert_eq!(read, array![Some(midnight), None].into_dyn());
}

#[test]
fn missing_times_may_be_written_as_a_number_that_is_no_count() {
    let units = json!({"units": "hours since 2001-01-01", "_FillValue": u64::MAX});
    let v = single(&[0_u64, 0], units)
        .variable("v")
        .expect("it is there");
    let two = Time::parse("2001-01-01T02", Calendar::Standard).expect("it is a time");
    v.write_times(&array![None, Some(two)])
        .expect("there is a fill value");
    let stored = v
        .array()
        .read_as::<u64, _>(.., Default::default())
        .expect("they are uint64");
    assert_eq!(stored, array![u64::MAX, 2].into_dyn());
}

/// 200 and 255 as int8; 255 is missing.
#[test]
fn durations_may_be_unsigned() {
    let attributes =
        json!({"units": "hours", "dtype": "timedelta64[s]", "_Unsigned": "true", "_FillValue": -1});
    let v = single(&[1_i8, -56, -1], attributes)
        .variable("v")
        .expect("it is there");
    let hours = array![Timedelta64(3600), Timedelta64(200 * 3600), Timedelta64::NAT];
    assert_eq!(
        v.read().expect("they are durations"),
        hours.into_dyn().into()
    );
    let attributes =
        json!({"units": "hours", "dtype": "timedelta64[s]", "missing_value": u64::MAX});
    let v = single(&[1_u64, u64::MAX], attributes)
        .variable("v")
        .expect("it is there");
    let hours = array![Timedelta64(3600), Timedelta64::NAT];
    assert_eq!(
        v.read().expect("they are durations"),
        hours.into_dyn().into()
    );
}
