//! Fields of structures: texts, bools, and by their paths.

use ndarray::{arr1, array};
use ndzarr::{
    AnyArray, Array, DataType, ErrorKind, Field, Format, MemoryStore, StructType, s, structured,
};

use crate::structures::{Bar, Tested, any_case};

#[test]
fn texts_are_fields_too() -> Tested {
    #[derive(Clone, Debug, PartialEq)]
    struct Named {
        name: String,
        code: Vec<u8>,
    }
    structured!(Named { name: String, code: Vec<u8> });
    let fields = [
        Field::new("name", DataType::FixedUtf32 { chars: 3 }),
        Field::new("code", DataType::FixedBytes { bytes: 2 }),
    ];
    let data_type = DataType::Struct(StructType::new(fields).expect("two fields"));
    let a = Array::<Named>::builder([2])
        .data_type(data_type)
        .format(Format::Zarr2);
    let a = a.create((MemoryStore::new(), "a"))?;
    let named = |name: &str, code: &[u8]| Named {
        name: name.to_owned(),
        code: code.to_owned(),
    };
    a.write(s![1..], &array![named("Åse", b"x")])?;
    assert_eq!(a.read(s![..])?, array![named("", b""), named("Åse", b"x")]);
    let error = a
        .write(s![..1], &array![named("Grace", b"")])
        .expect_err("five characters");
    assert!(
        error.to_string().contains(r#"in the field "name""#),
        "{error}"
    );
    Ok(())
}

#[test]
fn a_bool_that_is_neither_0_nor_1_is_an_error() -> Tested {
    #[derive(Clone, Debug, PartialEq)]
    struct Flag {
        n: u8,
        flag: bool,
    }
    structured!(Flag { n: u8, flag: bool });
    let store = MemoryStore::new();
    let a = Array::<Flag>::builder([1]).create((&store, "a"))?;
    store.set("a/c/0", vec![7, 1])?;
    assert_eq!(a.read(s![..])?, array![Flag { n: 7, flag: true }]);
    store.set("a/c/0", vec![7, 2])?;
    let error = Array::<Flag>::open((&store, "a"))?
        .read(s![..])
        .expect_err("a bool of 2");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    // One field is read without the values of the others.
    let any = AnyArray::open((&store, "a"))?;
    assert_eq!(any.read_field::<u8, _>("n", s![..])?, array![7]);
    let error = any
        .read_field::<bool, _>("flag", s![..])
        .expect_err("a bool of 2");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    Ok(())
}

#[test]
fn fields_are_found_by_paths() -> Tested {
    let nested = any_case("zarr2/zp2-dtype-struct-nested")?;
    assert_eq!(
        nested.read_field::<i32, _>("bar.qux", s![..])?,
        array![3, -6, 9]
    );
    assert_eq!(
        nested.read_field::<f32, _>("foo", s![1..])?,
        array![4.0, 7.0]
    );
    let inner = nested.read_field::<Bar, _>("bar", s![0])?.into_scalar();
    assert_eq!(inner, Bar { baz: 2.0, qux: 3 });
    for path in ["qux", "bar.", ".bar", "bar.qux.x", "foo.x", ""] {
        let error = nested.read_field::<i32, _>(path, s![..]).expect_err(path);
        assert!(
            error.to_string().contains(&format!("no field {path:?}")),
            "{error}"
        );
    }
    let error = nested
        .read_field::<f32, _>("bar.qux", s![..])
        .expect_err("numbers of another type");
    assert!(
        error
            .to_string()
            .contains(r#"the field "bar.qux" is int32, not float32"#),
        "{error}"
    );

    let mixed = any_case("zarr2/zp2-dtype-struct-mixed-endian")?;
    let floats = mixed.read_field::<[f32; 2], _>("c", s![..])?;
    assert_eq!(
        floats,
        arr1(&[[1.5, 2.5], [3.0, 4.0], [f32::INFINITY, -0.0]])
    );
    assert!(mixed.read_field::<f32, _>("c", s![..]).is_err());
    assert_eq!(
        mixed.read_field::<Vec<u8>, _>("b", s![..2])?,
        array![b"x".to_vec(), b"c".to_vec()]
    );
    Ok(())
}
