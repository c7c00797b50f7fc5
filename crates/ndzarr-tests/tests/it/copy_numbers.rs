//! Numbers that become others in a copy.

use ndarray::array;
use ndzarr::{
    AnyArray, Array, Cast, CopyOptions, DataType, Existing, Format, Group, MemoryStore, copy, s,
};

#[test]
fn numbers_are_converted_on_the_way() {
    let store = MemoryStore::new();
    let a = Array::<i16>::builder([3, 40])
        .chunks([2, 7])
        .fill_value(-5)
        .create((&store, "a"))
        .expect("a new array");
    let data = ndarray::Array2::from_shape_fn((3, 40), |(i, j)| (i * 100 + j) as i16);
    a.write(s![.., 0..40], &data).expect("elements");
    a.fill(s![0, 0], -5).expect("an element");
    let float = DataType::Float { bits: 64 };
    let options = CopyOptions::new()
        .chunks([1, 9])
        .data_type(float)
        .scale(0.5)
        .offset(10.0);
    copy((&store, "a"), (&store, "b"), &options).expect("a copy");
    let b = Array::<f64>::open((&store, "b")).expect("floats");
    assert_eq!(b.fill_value(), 7.5);
    let mut expected = data.mapv(|n| f64::from(n) / 2.0 + 10.0);
    expected[[0, 0]] = 7.5;
    assert_eq!(b.read(..).expect("elements"), expected.into_dyn());

    let byte = DataType::UInt { bits: 8 };
    let options = CopyOptions::new().data_type(byte);
    let error = copy((&store, "a"), (&store, "c"), &options).expect_err("the fill value");
    assert!(error.to_string().contains("fill value -5"), "{error}");
    assert!(AnyArray::open((&store, "c")).is_err());
    let options = options.offset(30.0);
    let error = copy((&store, "a"), (&store, "c"), &options).expect_err("too large");
    // The first block with such numbers, and there the first.
    assert!(
        error.to_string().contains(" is out of range of uint8")
            && error.to_string().contains(" becomes "),
        "{error}"
    );
    let options = options.cast(Cast::Saturating).existing(Existing::Replace);
    copy((&store, "a"), (&store, "c"), &options).expect("a copy");
    let c = Array::<u8>::open((&store, "c")).expect("bytes");
    assert_eq!(c.fill_value(), 25);
    assert_eq!(
        c.read(s![2, 23..27]).expect("elements"),
        array![253, 254, 255, 255]
    );

    let texts = Array::<String>::builder([2])
        .create((&store, "t"))
        .expect("a new array");
    let error = copy((&store, texts.path()), (&store, "u"), &options).expect_err("no numbers");
    assert!(
        error.to_string().contains("not a type of real numbers"),
        "{error}"
    );
}

#[test]
fn bools_stay_bools_unless_another_type_is_requested() {
    let store = MemoryStore::new();
    let root = Group::create((&store, "g"), Format::Zarr3).expect("a new group");
    let mask = root
        .create_array("mask", Array::<bool>::builder([3]))
        .expect("a new array");
    mask.write(.., &array![true, false, true])
        .expect("elements");
    root.create_array("line", Array::<f64>::builder([3]))
        .expect("a new array")
        .fill(.., 2.0)
        .expect("elements");
    let options = CopyOptions::new().scale(0.5);
    let report = copy((&store, "g"), (&store, "h"), &options).expect("a copy");
    let of_mask = report
        .nodes
        .iter()
        .find(|node| node.source == "g/mask")
        .expect("the mask");
    assert_eq!(of_mask.notes, ["its elements stay bool"]);
    let copied = Group::open((&store, "h")).expect("the copy");
    assert_eq!(
        copied
            .array::<bool>("mask")
            .expect("bools")
            .read(..)
            .expect("elements")
            .into_raw_vec_and_offset()
            .0,
        [true, false, true]
    );
    assert_eq!(
        copied
            .array::<f64>("line")
            .expect("floats")
            .read(..)
            .expect("elements")
            .sum(),
        3.0
    );
    let error = copy((&store, "g/mask"), (&store, "m"), &options).expect_err("a single array");
    assert!(
        error
            .to_string()
            .contains("bool is not a type of real numbers"),
        "{error}"
    );
    // A bool is a number on the way to another type.
    let options = options.data_type(DataType::Float { bits: 32 });
    copy((&store, "g/mask"), (&store, "m"), &options).expect("a copy");
    let floats = Array::<f32>::open((&store, "m"))
        .expect("floats")
        .read(..)
        .expect("elements");
    assert_eq!(floats, array![0.5, 0.0, 0.5].into_dyn());
}
