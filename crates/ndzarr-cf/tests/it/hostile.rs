//! Attributes and arrays that do not comply: errors that name variable and attribute.

use ndarray::array;
use ndzarr::{Array, DataType, Format, Group, MemoryStore};
use ndzarr_cf::{Dataset, Error, Labels};
use serde_json::json;

use crate::it::{INT16, array as stored, no_attributes, refusal, single};

#[test]
fn attributes_that_are_not_what_they_should_be() {
    for (attributes, attribute, what) in [
        (
            json!({"scale_factor": "x"}),
            "scale_factor",
            r#"is "x", which is not a number"#,
        ),
        (
            json!({"scale_factor": {}}),
            "scale_factor",
            "is {}, which is not a number",
        ),
        (
            json!({"scale_factor": true}),
            "scale_factor",
            "is true, which is not a number",
        ),
        (
            json!({"scale_factor": []}),
            "scale_factor",
            "has 0 numbers, not one",
        ),
        (
            json!({"scale_factor": [1, 2]}),
            "scale_factor",
            "has 2 numbers, not one",
        ),
        (json!({"scale_factor": 0}), "scale_factor", "is 0"),
        (json!({"scale_factor": "NaN"}), "scale_factor", "is NaN"),
        (
            json!({"scale_factor": "Infinity"}),
            "scale_factor",
            "is inf",
        ),
        (json!({"add_offset": "-Infinity"}), "add_offset", "is -inf"),
        (
            json!({"_FillValue": [1, 2]}),
            "_FillValue",
            "has 2 numbers, not one",
        ),
        (
            json!({"_FillValue": {"a": 1}}),
            "_FillValue",
            r#"is {"a":1}, which is not a number"#,
        ),
        (
            json!({"missing_value": [1, "y"]}),
            "missing_value",
            r#"is "y", which is not a number"#,
        ),
        (
            json!({"_Unsigned": 3}),
            "_Unsigned",
            r#"is 3, not "true" or "false""#,
        ),
        (
            json!({"units": "days since 2000-01-01", "calendar": "mayan"}),
            "calendar",
            r#"is "mayan", not one of standard"#,
        ),
        (
            json!({"units": "days since 2000-01-01", "calendar": 360}),
            "calendar",
            "is 360, not one of standard",
        ),
        (
            json!({"units": "days since the flood"}),
            "units",
            r#"is "days since the flood": it does not begin with a year"#,
        ),
        (
            json!({"units": "days since 2000-02-30"}),
            "units",
            r#"is "days since 2000-02-30": the calendar standard has no such day"#,
        ),
        (
            json!({"units": "months since 2000-01-01"}),
            "units",
            "has no fixed length in the calendar standard",
        ),
        (
            json!({"units": "days since 9999-12-31"}),
            "units",
            "has no time for the count 3",
        ),
        (
            json!({"units": "days since 2000-01-01", "scale_factor": 1e300}),
            "units",
            "has no time for the count",
        ),
        (
            json!({"units": "days since 99999999999999999999-01-01"}),
            "units",
            "does not begin with a year",
        ),
    ] {
        let error = refusal(&[3_i16, -1, 0], attributes.clone());
        let named = format!("the attribute {attribute:?} of the variable \"v\" ");
        assert!(
            error.starts_with(&named) && error.contains(what),
            "{attributes}: {error}"
        );
    }
}

#[test]
fn attributes_that_mean_nothing_for_the_elements_are_ignored() {
    let texts = ["a".to_owned(), String::new()];
    let read = single(
        &texts,
        json!({"scale_factor": "x", "missing_value": "", "units": "days since x"}),
    );
    assert_eq!(
        read.variable("v")
            .expect("it is there")
            .read()
            .expect("it is text")
            .shape(),
        [2]
    );
    // As in xarray, only a text is a unit, and null is ignored.
    let read = single(
        &[1_u8],
        json!({"units": 1, "scale_factor": null, "_FillValue": null, "dtype": 8}),
    );
    let v = read.variable("v").expect("it is there");
    assert_eq!(
        v.data_type().expect("it is valid"),
        DataType::UInt { bits: 8 }
    );
}

#[test]
fn counts_that_are_no_times_are_missing_or_refused() {
    let units = json!({"units": "hours since 2000-01-01"});
    let v = single(&[0.5, f64::NAN], units.clone())
        .variable("v")
        .expect("it is there");
    assert_eq!(
        v.read_times()
            .expect("they are times")
            .iter()
            .filter(|time| time.is_none())
            .count(),
        1
    );
    for count in [f64::INFINITY, -f64::MAX, 1e12] {
        assert!(refusal(&[count], units.clone()).contains("\"units\""));
    }
    assert!(refusal(&[i64::MAX], units.clone()).contains("count"));
    assert!(refusal(&[u64::MAX], units).contains("count"));
    let no_times = single(&[1.0], no_attributes())
        .variable("v")
        .expect("it is there")
        .read_times();
    assert!(
        no_times
            .expect_err("there are none")
            .to_string()
            .contains("\"v\" has no times")
    );
}

#[test]
fn names_of_dimensions_that_do_not_fit() {
    let store = MemoryStore::new();
    Group::create(&store, Format::Zarr2).expect("memory never fails");
    let array = Array::<u8>::builder([2, 2])
        .format(Format::Zarr2)
        .attributes(json!({"_ARRAY_DIMENSIONS": ["x"]}));
    array.create((&store, "v")).expect("it is an array");
    let v = Dataset::open(&store)
        .expect("it is a dataset")
        .variable("v")
        .expect("it is there");
    let error = v.dimensions().expect_err("one is missing").to_string();
    assert_eq!(
        error,
        r#"the attribute "_ARRAY_DIMENSIONS" of the variable "v" is ["x"], not a name for each of 2 dimensions"#
    );
    assert!(v.isel("x", 0..1).is_err());
    assert_eq!(v.read_as::<f32>().expect("the elements are fine").len(), 4);
}

#[test]
fn coordinates_that_cannot_be_searched() {
    let store = MemoryStore::new();
    stored(&store, "v", "x", &[1_u8, 2, 3], no_attributes());
    stored(&store, "short", "x", &[1.0, 2.0], no_attributes());
    stored(
        &store,
        "up_and_down",
        "x",
        &[1.0, 3.0, 2.0],
        no_attributes(),
    );
    stored(&store, "twice", "x", &[1.0, 1.0, 2.0], no_attributes());
    stored(&store, "gap", "x", &[1.0, f64::NAN, 2.0], no_attributes());
    stored(&store, "other", "y", &[1.0], no_attributes());
    let complex = Array::<[u8; 2]>::builder([3])
        .dimension_names(["x"])
        .data_type(DataType::Raw { bytes: 2 });
    complex.create((&store, "raw")).expect("it is an array");
    let square = Array::<u8>::builder([3, 3]).dimension_names(["x", "y"]);
    square.create((&store, "square")).expect("it is an array");
    let dataset = Dataset::open(&store).expect("it is a dataset");
    let v = dataset.variable("v").expect("it is there");
    let refused = |coordinate: &str, labels: Labels| {
        let read = v.sel(coordinate, labels).and_then(|v| v.read_as::<u8>());
        read.expect_err(coordinate).to_string()
    };
    for (coordinate, labels, what) in [
        (
            "short",
            1.0.into(),
            r#"the coordinate "short" has 2 values, but the dimension "x" of "v" has length 3"#,
        ),
        (
            "up_and_down",
            (1.0..=2.0).into(),
            r#""up_and_down" neither increases nor decreases"#,
        ),
        (
            "gap",
            (1.0..=2.0).into(),
            r#""gap" neither increases nor decreases"#,
        ),
        (
            "twice",
            (1.0..).into(),
            r#""twice" neither increases nor decreases"#,
        ),
        (
            "twice",
            1.0.into(),
            r#""twice" has the value 1 more than once"#,
        ),
        (
            "up_and_down",
            4.0.into(),
            r#""up_and_down" does not have the value 4"#,
        ),
        ("up_and_down", f64::NAN.into(), "is searched for NaN"),
        (
            "up_and_down",
            "2001".into(),
            r#""up_and_down" has numbers, and "2001" is none"#,
        ),
        (
            "other",
            1.0.into(),
            r#"the variable "v" has no dimension "y", but x"#,
        ),
        ("square", 1.0.into(), r#""square" has 2 dimensions"#),
        ("raw", 1.0.into(), r#""raw" has elements of"#),
        (
            "nowhere",
            1.0.into(),
            r#"the variable "nowhere" does not exist; there are: gap, other"#,
        ),
        (
            "x",
            1.0.into(),
            r#"the coordinate "x" does not exist: the dimension has no labels"#,
        ),
    ] {
        let error = refused(coordinate, labels);
        assert!(error.contains(what), "{error}");
    }
    assert_eq!(
        v.sel("gap", 2.0)
            .and_then(|v| v.read_as::<u8>())
            .expect("it is there once")[[]],
        3
    );
    assert_eq!(
        v.sel("gap", Labels::nearest(9.0))
            .and_then(|v| v.read_as::<u8>())
            .expect("2 is nearest")[[]],
        3
    );
    let twice = v
        .sel("gap", 2.0)
        .and_then(|v| v.isel("x", 0..1))
        .expect_err("once is enough");
    assert!(twice.to_string().contains("selected twice"));
}

#[test]
fn variables_that_cannot_be_opened_do_not_hide_the_others() {
    let store = MemoryStore::new();
    stored(&store, "v", "x", &[1_u8], no_attributes());
    store
        .set(
            "broken/zarr.json",
            r#"{"zarr_format": 3, "node_type": "array"}"#,
        )
        .expect("memory never fails");
    let dataset = Dataset::open(&store).expect("it is a dataset");
    assert_eq!(dataset.data_variables(), ["broken", "v"]);
    let error = dataset
        .variable("broken")
        .expect_err("it is broken")
        .to_string();
    assert!(
        error.starts_with(r#"the variable "broken" cannot be opened: "#),
        "{error}"
    );
}

#[test]
fn valid_ranges_that_are_none() {
    for (range, what) in [
        (json!({"valid_range": [1]}), "has 1 numbers, not two"),
        (
            json!({"valid_range": "0 to 5"}),
            r#"is "0 to 5", which is not a number"#,
        ),
        (json!({"valid_min": [1, 2]}), "has 2 numbers, not one"),
    ] {
        let v = single(&[1_u8], range).variable("v").expect("it is there");
        assert!(v.read().is_ok());
        let error = v
            .valid_only()
            .read()
            .expect_err("the range is none")
            .to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn new_variables_that_do_not_fit() {
    let mut dataset =
        Dataset::create(MemoryStore::new(), Format::Zarr3).expect("memory never fails");
    let float = DataType::Float { bits: 64 };
    dataset
        .create_variable("x", float, [("x", 3)], no_attributes(), |layout| layout)
        .expect("it is valid");
    let mut refused = |name: &str, dimensions: &[(&str, u64)], attributes| {
        let new = dataset.create_variable(
            name,
            INT16,
            dimensions.iter().copied(),
            attributes,
            |layout| layout,
        );
        let error = new.expect_err(name);
        assert!(!matches!(error, Error::Array(_)), "{error}");
        error.to_string()
    };
    assert!(
        refused("a", &[("x", 4)], no_attributes())
            .contains(r#"has 4 for the dimension "x", and "x" has 3"#)
    );
    assert!(refused("a", &[("y", 4), ("y", 4)], no_attributes()).contains("twice"));
    assert!(refused("a/b", &[], no_attributes()).contains("\"/\""));
    assert!(refused("a", &[], json!([1])).contains("not a JSON object"));
    assert!(refused("a", &[], json!({"scale_factor": 0})).contains("\"scale_factor\""));
    assert!(refused("a", &[], json!({"valid_range": 0})).contains("\"valid_range\""));
    assert_eq!(
        (dataset.coordinates(), dataset.data_variables().len()),
        (vec!["x"], 0)
    );
}

#[test]
fn elements_that_cannot_be_stored() {
    let mut dataset =
        Dataset::create(MemoryStore::new(), Format::Zarr2).expect("memory never fails");
    let packed = json!({"scale_factor": 0.5});
    let v = dataset
        .create_variable("v", INT16, [("x", 2)], packed, |layout| layout)
        .expect("it is valid");
    let refused = v
        .write(array![1.0, f64::NAN])
        .expect_err("it has no fill value")
        .to_string();
    assert!(
        refused.starts_with(r#"the attribute "_FillValue" of the variable "v" is needed"#),
        "{refused}"
    );
    let refused = v
        .write(array![0.0, 1e6])
        .expect_err("it is too large")
        .to_string();
    assert!(
        refused.contains("2000000.0 at [1] is out of range of int16"),
        "{refused}"
    );
    assert!(v.write(array![1.0]).is_err());
    assert!(v.write(array!["a".to_owned(), String::new()]).is_err());
    let hours = json!({"units": "hours since 2000-01-01", "calendar": "noleap"});
    let time = dataset
        .create_variable("time", INT16, [("time", 1)], hours, |layout| layout)
        .expect("it is valid");
    let minute = jiff::civil::date(2000, 1, 1).at(0, 1, 0, 0);
    let refused = time
        .write_times(&array![ndzarr_cf::Time::from(minute)])
        .expect_err("a minute is not a whole hour");
    assert!(refused.to_string().contains("\"units\""), "{refused}");
    let leap_day = ndzarr_cf::Time::from(jiff::civil::date(2000, 2, 29));
    let refused = time
        .write_times(&array![leap_day])
        .expect_err("noleap has no such day")
        .to_string();
    assert!(refused.contains("its calendar is noleap"), "{refused}");
    assert!(time.write(array![1.0]).is_err());
}

#[test]
fn numbers_that_would_be_missing() {
    let mut dataset =
        Dataset::create(MemoryStore::new(), Format::Zarr3).expect("memory never fails");
    let uint8 = DataType::UInt { bits: 8 };
    let float = DataType::Float { bits: 64 };
    for (name, data_type, attributes, number, stored) in [
        (
            "rounded",
            uint8.clone(),
            json!({"_FillValue": 255}),
            254.6,
            "255",
        ),
        (
            "packed",
            INT16,
            json!({"scale_factor": 0.5, "missing_value": [7, 9]}),
            4.5,
            "9",
        ),
        ("zero", uint8, json!({"_FillValue": 0}), 0.25, "0"),
        (
            "float",
            float,
            json!({"_FillValue": -9999.0}),
            -9999.0,
            "-9999",
        ),
    ] {
        let v = dataset
            .create_variable(name, data_type, [("x", 2)], attributes, |layout| layout)
            .expect(name);
        v.write(array![f64::NAN, 4.0]).expect(name);
        let refused = v.write(array![f64::NAN, number]).expect_err(name);
        assert_eq!(
            refused.to_string(),
            format!(
                "the variable {name:?} cannot hold {number}: it would be stored as {stored}, \
                 which says that an element is missing"
            )
        );
    }
    // Integers have no other number for missing elements.
    let plain = dataset
        .create_variable(
            "plain",
            INT16,
            [("x", 2)],
            json!({"_FillValue": -1}),
            |layout| layout,
        )
        .expect("it is valid");
    plain.write(array![-1_i16, 2]).expect("it fits");
    let read = plain.read_as::<f64>().expect("they are numbers");
    assert!(read[[0]].is_nan());
}

#[test]
fn times_that_would_be_missing() {
    let mut dataset =
        Dataset::create(MemoryStore::new(), Format::Zarr3).expect("memory never fails");
    let hours = json!({"units": "hours since 2001-01-01", "_FillValue": 5});
    let time = dataset
        .create_variable("time", INT16, [("time", 1)], hours, |layout| layout)
        .expect("it is valid");
    let at = |hour| ndzarr_cf::Time::from(jiff::civil::date(2001, 1, 1).at(hour, 0, 0, 0));
    time.write_times(&array![at(4)]).expect("it fits");
    let refused = time
        .write_times(&array![at(5)])
        .expect_err("5 hours are the number for missing ones");
    assert_eq!(
        refused.to_string(),
        r#"the variable "time" cannot hold 2001-01-01T05:00:00: it would be stored as 5, which says that an element is missing"#
    );
}
