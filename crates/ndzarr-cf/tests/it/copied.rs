//! Variables copied from one dataset to another by their attributes.

use ndarray::{ArrayD, array};
use ndzarr::{DataType, Format, MemoryStore, codec};
use ndzarr_cf::{Dataset, Time, Variable};
use serde_json::{Value, json};

use crate::it::INT16;

const FLOAT: DataType = DataType::Float { bits: 64 };
const FORMATS: [Format; 2] = [Format::Zarr2, Format::Zarr3];

fn made(format: Format) -> Dataset {
    let mut new = Dataset::create(MemoryStore::new(), format).expect("memory never fails");
    let mut variable = |name: &str, data_type: DataType, attributes: Value| {
        new.create_variable(name, data_type, [("x", 3)], attributes, |layout| layout)
            .expect("it is valid")
    };
    let t = variable(
        "t",
        INT16,
        json!({"scale_factor": 0.5, "_FillValue": -32768, "units": "K"}),
    );
    t.write(array![1.5, f64::NAN, -3.0]).expect("it is packed");
    let lat = variable(
        "lat",
        FLOAT,
        json!({"_FillValue": "NaN", "units": "degrees_north"}),
    );
    lat.write(array![10.0, 20.0, f64::NAN]).expect("it fits");
    let depth = variable("depth", FLOAT, json!({"_FillValue": -9999.0}));
    depth.write(array![0.0, f64::NAN, 7.0]).expect("it fits");
    let far = variable("far", FLOAT, json!({"_FillValue": "-Infinity"}));
    far.write(array![0.0, f64::NAN, 7.0]).expect("it fits");
    let n = variable("n", INT16, json!({"long_name": "count"}));
    n.write(array![1_i16, 2, 3]).expect("it fits");
    let time = variable(
        "time",
        DataType::Int { bits: 64 },
        json!({"units": "days since 2000-01-01"}),
    );
    let days = array![1, 2, 3].mapv(|day| Time::from(jiff::civil::date(2000, 1, day)));
    time.write_times(&days).expect("they fit");
    new
}

fn copied(v: &Variable, attributes: Value, to: &mut Dataset) -> Variable {
    let data_type = v.array().data_type().clone();
    let layout = |layout: ndzarr::ArrayBuilder| layout.codecs([codec::gzip(1)]);
    let new = to
        .create_variable(v.name(), data_type, [("x", 3)], attributes, layout)
        .expect("it is valid");
    match v.name() {
        "time" => new
            .write_times(&v.read_times().expect("times"))
            .expect("they fit"),
        _ => new.write(v.read().expect("it reads")).expect("it fits"),
    }
    new
}

fn numbers(v: &Variable) -> ArrayD<f64> {
    v.read_as::<f64>().expect("they are numbers")
}

#[test]
fn between_formats() {
    for from in FORMATS {
        for to in FORMATS {
            let source = made(from);
            let mut target = Dataset::create(MemoryStore::new(), to).expect("memory never fails");
            for name in ["t", "lat", "depth", "far", "n", "time"] {
                let what = format!("{from} to {to}: {name}");
                let v = source.variable(name).expect(&what);
                let attributes = v.attributes().expect(&what);
                let new = copied(&v, attributes.clone().into(), &mut target);
                assert_eq!(new.attributes().expect(&what), attributes, "{what}");
                if attributes.contains_key("_FillValue") {
                    assert_eq!(
                        new.array().spec().fill_value,
                        v.array().spec().fill_value,
                        "{what}"
                    );
                }
                match name {
                    "time" => assert_eq!(new.read_times().ok(), v.read_times().ok(), "{what}"),
                    _ => {
                        assert_eq!(
                            numbers(&new).mapv(f64::to_bits),
                            numbers(&v).mapv(f64::to_bits),
                            "{what}"
                        )
                    }
                }
                // An array of Zarr v3 has names of its own for its dimensions.
                let names = new.array().attributes().get("_ARRAY_DIMENSIONS");
                assert_eq!(names.is_some(), to == Format::Zarr2, "{what}");
            }
        }
    }
}

/// The attributes as they are stored: a float's `_FillValue` of Zarr v3 is in base64.
#[test]
fn by_the_stored_attributes() {
    for format in FORMATS {
        let source = made(format);
        let mut target = Dataset::create(MemoryStore::new(), format).expect("memory never fails");
        for name in ["lat", "depth"] {
            let v = source.variable(name).expect("it is there");
            let new = copied(&v, v.array().attributes().clone().into(), &mut target);
            assert_eq!(
                new.array().attributes(),
                v.array().attributes(),
                "{format}: {name}"
            );
            assert_eq!(numbers(&new)[[0]], numbers(&v)[[0]], "{format}: {name}");
        }
    }
}

/// The stored attributes of Zarr v2 lack `_FillValue`, which is the fill value of the array: the
/// error says where it is, before an element is written.
#[test]
fn stored_attributes_without_a_missing_value() {
    let source = made(Format::Zarr2);
    let t = source.variable("t").expect("it was made");
    for format in FORMATS {
        let mut target = Dataset::create(MemoryStore::new(), format).expect("memory never fails");
        let stored = t.array().attributes().clone();
        let new = target.create_variable("t", INT16, [("x", 3)], stored.into(), |layout| layout);
        let new = new.expect("the attributes are valid");
        let error = new
            .write(t.read().expect("it reads"))
            .expect_err("NaN is not packed")
            .to_string();
        assert!(
            error.contains(r#""_FillValue" of the variable "t""#),
            "{error}"
        );
        assert!(
            error.contains("those that its array stores may not"),
            "{error}"
        );
        assert_eq!(
            new.array()
                .units()
                .stored()
                .expect("memory never fails")
                .count(),
            0,
            "{format}"
        );
    }
}

/// xarray takes `false` for missing if it is the fill value of Zarr v2 or `_FillValue` of v3, and
/// `""` if it is the fill value of v2: it reads no such attribute of text.
#[test]
fn bools_and_texts() {
    for from in FORMATS {
        for to in FORMATS {
            let mut source = Dataset::create(MemoryStore::new(), from).expect("memory never fails");
            let mut target = Dataset::create(MemoryStore::new(), to).expect("memory never fails");
            for (name, data_type, fill) in [
                ("flag", DataType::Bool, json!(false)),
                ("plain", DataType::Bool, json!(null)),
                ("text", DataType::String, json!("")),
                ("words", DataType::String, json!(null)),
            ] {
                let is_filled_text = !fill.is_null() && data_type == DataType::String;
                if is_filled_text && from != Format::Zarr2 {
                    continue;
                }
                let what = format!("{from} to {to}: {name}");
                let attributes = if fill.is_null() {
                    json!({})
                } else {
                    json!({"_FillValue": fill})
                };
                let v = source.create_variable(
                    name,
                    data_type.clone(),
                    [("x", 2)],
                    attributes.clone(),
                    |layout| layout,
                );
                let v = v.expect(&what);
                let copied = v.attributes().expect(&what);
                assert_eq!(Value::from(copied.clone()), attributes, "{what}");
                let new =
                    target.create_variable(name, data_type, [("x", 2)], copied.into(), |layout| {
                        layout
                    });
                if is_filled_text && to != Format::Zarr2 {
                    let error = new
                        .map(drop)
                        .expect_err("xarray cannot read it")
                        .to_string();
                    assert!(
                        error.contains("\"_FillValue\" of the variable \"text\""),
                        "{error}"
                    );
                    continue;
                }
                let array = new.expect(&what);
                let array = array.array();
                let missing = match to {
                    Format::Zarr2 => array.spec().fill_value.is_defined(),
                    _ => array.attributes().get("_FillValue") == Some(&fill),
                };
                assert_eq!(missing, !fill.is_null(), "{what}");
            }
        }
    }
}

/// xarray opens an array without axes of Zarr v2 only with an empty list of their names.
#[test]
fn without_dimensions() {
    for format in FORMATS {
        let mut new = Dataset::create(MemoryStore::new(), format).expect("memory never fails");
        let none: [(&str, u64); 0] = [];
        let v = new
            .create_variable("v", FLOAT, none, json!({}), |layout| layout)
            .expect("it is valid");
        let names = v.array().attributes().get("_ARRAY_DIMENSIONS").cloned();
        assert_eq!(names, (format == Format::Zarr2).then(|| json!([])));
        assert!(v.dimensions().expect("there are none").is_empty());
    }
}

#[test]
fn names_of_other_dimensions_are_refused() {
    let mut new = Dataset::create(MemoryStore::new(), Format::Zarr3).expect("memory never fails");
    let named = |name: &str| json!({"_ARRAY_DIMENSIONS": [name]});
    new.create_variable("a", INT16, [("x", 3)], named("x"), |layout| layout)
        .expect("the same");
    let other = new.create_variable("b", INT16, [("x", 3)], named("y"), |layout| layout);
    let error = other.map(drop).expect_err("another").to_string();
    assert_eq!(
        error,
        r#"the attribute "_ARRAY_DIMENSIONS" of the variable "b" is ["y"], and the dimensions are ["x"]"#
    );
}
