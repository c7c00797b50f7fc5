//! Elements of every kind through the typed interface: written, partly overwritten, read back by
//! another handle, in every format that supports them.

use ndarray::{Array1, Array2, ArrayD, array};
use ndzarr::MemoryStore;
use ndzarr::{
    AnyArray, Array, DataType, Datetime64, Element, ErrorKind, Format, N5Axes, Order, SmallFloat,
    Storage, TimeUnit, Timedelta64, asynchronous, codec, s,
};
use ndzarr_testkit::{AsyncMemoryStore, Latency, block_on};
use serde_json::{Value, json};

const ZARR: [Format; 3] = [Format::Zarr2, Format::Zarr3, Format::DraftB];

fn texts(texts: &[&str]) -> Array1<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Compares with a model in memory: elements that were not written are the fill value.
fn overwrite_in_parts<T: Element + PartialEq + std::fmt::Debug>(
    a: &Array<T>,
    values: [T; 4],
    fill: &T,
) -> Result<(), ndzarr::Error> {
    let mut model = ArrayD::from_elem(vec![5, 7], fill.clone());
    for (n, (rows, columns)) in [
        (0..5usize, 0..7usize),
        (1..3, 2..6),
        (4..5, 6..7),
        (0..2, 0..3),
    ]
    .into_iter()
    .enumerate()
    {
        let value = values[n].clone();
        let part = Array2::from_elem((rows.len(), columns.len()), value.clone());
        a.write(s![rows.clone(), columns.clone()], &part)?;
        model.slice_mut(s![rows, columns]).fill(value);
        assert_eq!(a.read(..)?, model);
        assert_eq!(
            a.read(s![1..5;2, ..;-3])?.into_dyn(),
            model.slice(s![1..5;2, ..;-3]).into_dyn()
        );
    }
    Ok(())
}

#[test]
fn texts_are_merged_into_chunks_of_every_layout() -> Result<(), ndzarr::Error> {
    let values = || ["a", "", "bé", "日本語"].map(str::to_owned);
    for format in ZARR {
        for order in [Order::C, Order::F] {
            let a = Array::<String>::builder([5, 7])
                .chunks([2, 3])
                .format(format)
                .order(order);
            let a = a
                .codecs([codec::zstd(1)])
                .fill_value("-".to_owned())
                .create((MemoryStore::new(), "a"))?;
            assert_eq!(a.fill_value(), "-");
            overwrite_in_parts(&a, values(), &"-".to_owned())?;
        }
    }
    let a = Array::<String>::builder([5, 7])
        .chunks([2, 3])
        .shards([4, 6])
        .codecs([codec::gzip(1)]);
    overwrite_in_parts(
        &a.create((MemoryStore::new(), "a"))?,
        values(),
        &String::new(),
    )?;
    for axes in [N5Axes::Native, N5Axes::Reversed] {
        let a = Array::<String>::builder([5, 7])
            .chunks([2, 3])
            .format(Format::N5)
            .n5_axes(axes);
        overwrite_in_parts(
            &a.create((MemoryStore::new(), "a"))?,
            values(),
            &String::new(),
        )?;
    }
    Ok(())
}

/// A reshape keeps the row-major sequence of the elements, here that of the transposed chunk.
#[test]
fn v3_148_texts_are_reshaped() -> Result<(), ndzarr::Error> {
    let store = MemoryStore::new();
    let codecs = serde_json::json!([
        {"name": "transpose", "configuration": {"order": [1, 0]}},
        {"name": "reshape", "configuration": {"shape": [[0, 1]]}},
        {"name": "vlen-utf8"},
    ]);
    let array = Array::<String>::builder([2, 2])
        .chunks([2, 2])
        .codecs_json(codecs)
        .create(&store)?;
    array.write(
        ndarray::s![.., ..],
        &texts(&["a", "bb", "", "d"])
            .into_shape_with_order((2, 2))
            .expect("four"),
    )?;
    // The count, then each string with its length: a, "", bb, d.
    let expected = b"\x04\0\0\0\x01\0\0\0a\0\0\0\0\x02\0\0\0bb\x01\0\0\0d";
    assert_eq!(store.get("c/0/0").as_deref(), Some(&expected[..]));
    assert_eq!(
        array.read(ndarray::s![.., ..])?.iter().collect::<Vec<_>>(),
        ["a", "bb", "", "d"]
    );
    assert_eq!(
        array.read(ndarray::s![1, ..])?.iter().collect::<Vec<_>>(),
        ["", "d"]
    );
    // Refused before a codec that depends on the shape.
    let codecs = serde_json::json!([
        {"name": "reshape", "configuration": {"shape": [[0, 1]]}},
        {"name": "transpose", "configuration": {"order": [0]}},
        {"name": "vlen-utf8"},
    ]);
    let refused = Array::<String>::builder([2, 2])
        .chunks([2, 2])
        .codecs_json(codecs)
        .create(MemoryStore::new());
    assert!(
        refused
            .expect_err("refused")
            .to_string()
            .contains("reshape")
    );
    Ok(())
}

#[test]
fn texts_go_through_asynchronous_stores() -> Result<(), ndzarr::Error> {
    let storage = Storage::asynchronous(AsyncMemoryStore::over(
        MemoryStore::new(),
        Latency::default(),
    ));
    block_on(async {
        let a = asynchronous::Array::<String>::builder([6])
            .chunks([2])
            .shards([4])
            .create((&storage, "a"))
            .await?;
        a.write(s![1..4], &texts(&["x", "yz", ""])).await?;
        a.write(s![3..6], &texts(&["w", "", "v"])).await?;
        let read = asynchronous::Array::<String>::open((&storage, "a"))
            .await?
            .read(..)
            .await?;
        assert_eq!(read, texts(&["", "x", "yz", "w", "", "v"]).into_dyn());
        Ok(())
    })
}

#[test]
fn chunks_of_nothing_but_the_fill_value_are_not_stored() -> Result<(), ndzarr::Error> {
    let store = MemoryStore::new();
    let a = Array::<String>::builder([4])
        .chunks([2])
        .fill_value("f".to_owned())
        .create((&store, "a"))?;
    a.write(.., &texts(&["f", "f", "", "f"]).into_dyn())?;
    assert_eq!(store.keys(), ["a/c/1", "a/zarr.json", "zarr.json"]);
    a.write(s![2..3], &texts(&["f"]))?;
    assert_eq!(store.keys(), ["a/zarr.json", "zarr.json"]);
    Ok(())
}

#[test]
fn byte_strings_lists_and_json_are_merged_into_chunks() -> Result<(), ndzarr::Error> {
    for format in ZARR {
        let a = Array::<Vec<u8>>::builder([5, 7])
            .chunks([2, 3])
            .format(format)
            .create((MemoryStore::new(), "a"))?;
        overwrite_in_parts(
            &a,
            [vec![0], vec![], vec![0, 255, 0], b"abc".to_vec()],
            &vec![],
        )?;
    }
    for format in [Format::Zarr2, Format::DraftB] {
        for order in [Order::C, Order::F] {
            let a = Array::<Vec<i16>>::builder([5, 7])
                .chunks([2, 3])
                .format(format)
                .order(order);
            let a = a
                .endian(ndzarr::Endian::Big)
                .create((MemoryStore::new(), "a"))?;
            overwrite_in_parts(
                &a,
                [vec![-1, 2], vec![], vec![3], vec![i16::MIN; 9]],
                &vec![],
            )?;
            let a = Array::<Value>::builder([5, 7])
                .chunks([2, 3])
                .format(format)
                .order(order);
            let a = a.create((MemoryStore::new(), "a"))?;
            let values = [
                json!({"x": [1, -2.5, null]}),
                Value::Null,
                json!("é\n"),
                json!([[], {}]),
            ];
            overwrite_in_parts(&a, values, &Value::Null)?;
        }
    }
    let refused = Array::<Value>::builder([2]).create((MemoryStore::new(), "a"));
    assert_eq!(
        refused.expect_err("v3 has no such type").kind(),
        ErrorKind::InvalidArgument
    );
    Ok(())
}

/// Strings that are stored as codes, of any type and byte order.
#[test]
fn v2_119_texts_are_stored_as_codes() -> Result<(), ndzarr::Error> {
    let values = || ["a", "", "日本語", "bb"].map(str::to_owned);
    let first = |astype: &str| json!({"id": "categorize", "labels": ["a", "bb", "日本語", "f"], "dtype": "|O", "astype": astype});
    for format in [Format::Zarr2, Format::DraftB] {
        for (order, codecs) in [
            (
                Order::C,
                json!({"filters": [first("|u1")], "compressor": null}),
            ),
            (
                Order::F,
                json!({"filters": [first(">u2")], "compressor": {"id": "zlib", "level": 1}}),
            ),
            (
                Order::F,
                json!({"filters": [first("<i4"), {"id": "delta", "dtype": "<i4", "astype": ">i2"}, {"id": "crc32"}]}),
            ),
        ] {
            let a = Array::<String>::builder([5, 7])
                .chunks([2, 3])
                .format(format)
                .order(order);
            let a = a
                .codecs_json(codecs)
                .fill_value("f".to_owned())
                .create((MemoryStore::new(), "a"))?;
            overwrite_in_parts(&a, values(), &"f".to_owned())?;
        }
    }
    Ok(())
}

#[test]
fn texts_as_codes_are_like_other_texts() -> Result<(), ndzarr::Error> {
    let store = MemoryStore::new();
    let filters =
        json!([{"id": "categorize", "labels": ["a", "bb"], "dtype": "|O", "astype": "|u1"}]);
    let a = Array::<String>::builder([3])
        .chunks([2])
        .format(Format::Zarr2);
    let mut a = a
        .codecs_json(json!({"filters": filters, "compressor": null}))
        .create((&store, "a"))?;
    let document: Value =
        serde_json::from_slice(&store.get("a/.zarray").expect("it was made")).expect("JSON");
    assert_eq!(
        (&document["dtype"], &document["filters"]),
        (&json!("|O"), &filters)
    );
    assert_eq!(a.data_type(), &DataType::String);
    a.write(s![..], &texts(&["bb", "a", "bb"]))?;
    assert_eq!(
        (store.get("a/0").as_deref(), store.get("a/1").as_deref()),
        (Some(&[2, 1][..]), Some(&[2, 0][..]))
    );
    // A string without a label is stored as 0, which reads as the empty string: the codec has no
    // other.
    a.append(0, &texts(&["a", "zz"]))?;
    assert_eq!(store.get("a/1").as_deref(), Some(&[2, 1][..]));
    assert_eq!(store.get("a/2").as_deref(), Some(&[0, 0][..]));
    assert_eq!(a.read(s![..])?, texts(&["bb", "a", "bb", "a", ""]));
    a.resize([2])?;
    a.resize([4])?;
    assert_eq!(a.read(s![..;-1])?, texts(&["", "", "a", "bb"]));
    let any = AnyArray::open((&store, "a"))?;
    assert_eq!(any.read_vlen(&[0..2])?, [b"bb".to_vec(), b"a".to_vec()]);
    any.write_vlen(&[1..3], &[b"bb".to_vec(), b"a".to_vec()])?;
    assert_eq!(a.read(s![..])?, texts(&["bb", "bb", "a", ""]));
    for damaged in [&[1][..], &[1, 2, 0], &[]] {
        store.set("a/0", damaged.to_vec()).expect("a key");
        let error = a.read(..).expect_err("two codes");
        assert_eq!(
            (error.kind(), error.codec()),
            (ErrorKind::Corrupt, Some("categorize"))
        );
    }
    Ok(())
}

/// The payload of msgpack for `["a", b"b", 1, None]`.
#[test]
fn message_pack_values_are_json() -> Result<(), ndzarr::Error> {
    let store = MemoryStore::new();
    let document = r#"{"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "|O", "order": "C", "compressor": null,
        "filters": [{"id": "msgpack2"}], "fill_value": null}"#;
    store
        .set(".zarray", document.as_bytes().to_vec())
        .expect("a key");
    let payload = [
        0x96, 0xa1, 0x61, 0xc4, 1, 0x62, 1, 0xc0, 0xa2, 0x7c, 0x4f, 0x91, 4,
    ];
    store.set("0", payload.to_vec()).expect("a key");
    let a = Array::<Value>::open(&store)?;
    let values = a.read(s![..])?;
    assert_eq!(
        values.to_vec(),
        [json!("a"), json!({"$bytes": [98]}), json!(1), Value::Null]
    );
    a.write(s![..], &values)?;
    assert_eq!(store.get("0").as_deref(), Some(&payload[..]));
    let other = array![
        json!(-300),
        json!(u64::MAX),
        json!([1.5, true]),
        json!({"k": "x".repeat(40)})
    ];
    a.write(s![..], &other)?;
    assert_eq!(a.read(s![..])?, other);
    Ok(())
}

/// V2-T25, V3-T43: a stated count or length by itself does not allocate memory.
#[test]
fn v2_t25_v3_t43_hostile_counts_are_errors() -> Result<(), ndzarr::Error> {
    let store = MemoryStore::new();
    let a = Array::<String>::builder([2]).create((&store, "a"))?;
    a.write(s![..], &texts(&["é", "b"]))?;
    let good = store.get("a/c/0").expect("the chunk").to_vec();
    assert_eq!(good, [2, 0, 0, 0, 2, 0, 0, 0, 0xc3, 0xa9, 1, 0, 0, 0, b'b']);
    let with = |at: usize, bytes: &[u8]| {
        let mut value = good.clone();
        value[at..at + bytes.len()].copy_from_slice(bytes);
        value
    };
    let mut values: Vec<Vec<u8>> = (0..good.len()).map(|n| good[..n].to_vec()).collect();
    values.extend([
        with(0, &[0xff; 4]),
        with(0, &[1]),
        with(0, &[3]),
        with(4, &[0xff; 4]),
        with(10, &[2]),
        with(8, &[0xff]),
    ]);
    for value in values {
        store.set("a/c/0", value.clone()).expect("a key");
        assert_eq!(
            a.read(..).expect_err("no chunk").kind(),
            ErrorKind::Corrupt,
            "{value:?}"
        );
    }
    Ok(())
}

/// V2-T22: objects without a codec, or with one that would run them.
#[test]
fn v2_t22_objects_without_a_type_are_refused() {
    for (filters, named) in [
        ("null", "object codec"),
        (r#"[{"id": "pickle"}]"#, "pickle"),
    ] {
        let store = MemoryStore::new();
        let document = format!(
            r#"{{"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|O", "order": "C", "compressor": null,
                "filters": {filters}, "fill_value": null}}"#
        );
        store.set(".zarray", document.into_bytes()).expect("a key");
        let error = AnyArray::open(&store).expect_err("no type");
        assert!(error.to_string().contains(named), "{error}");
    }
}

#[test]
fn dates_and_durations_have_their_unit_from_the_array() -> Result<(), ndzarr::Error> {
    let unit = DataType::DateTime64 {
        unit: TimeUnit::Second,
        scale: 25,
    };
    for format in [Format::Zarr2, Format::Zarr3, Format::DraftA, Format::DraftB] {
        let a = Array::<Datetime64>::builder([5, 7])
            .chunks([2, 3])
            .format(format)
            .data_type(unit.clone());
        let a = a
            .fill_value(Datetime64::NAT)
            .create((MemoryStore::new(), "a"))?;
        assert_eq!(a.data_type().to_string(), "numpy.datetime64[25s]");
        overwrite_in_parts(
            &a,
            [0, -1, i64::MAX, i64::MIN].map(Datetime64),
            &Datetime64::NAT,
        )?;
    }
    assert!(
        Array::<Timedelta64>::builder([2])
            .create((MemoryStore::new(), "a"))
            .is_err(),
        "no unit"
    );
    let store = MemoryStore::new();
    Array::<Datetime64>::builder([2])
        .data_type(unit)
        .create((&store, "a"))?;
    assert_eq!(
        Array::<i64>::open((&store, "a"))
            .expect_err("no number")
            .kind(),
        ErrorKind::WrongType
    );
    Ok(())
}

#[test]
fn texts_and_byte_strings_of_fixed_length_are_merged_into_chunks() -> Result<(), ndzarr::Error> {
    for format in [Format::Zarr2, Format::Zarr3, Format::DraftA, Format::DraftB] {
        let text = DataType::FixedUtf32 { chars: 3 };
        for endian in [ndzarr::Endian::Little, ndzarr::Endian::Big] {
            let a = Array::<String>::builder([5, 7])
                .chunks([2, 3])
                .format(format)
                .data_type(text.clone());
            let a = a
                .endian(endian)
                .fill_value("f".to_owned())
                .create((MemoryStore::new(), "a"))?;
            overwrite_in_parts(
                &a,
                ["", "a", "日本語", "x𝄞"].map(str::to_owned),
                &"f".to_owned(),
            )?;
            let long: Array2<String> = Array2::from_elem((1, 1), "abcd".to_owned());
            let error = a.write(s![..1, ..1], &long).expect_err("too long");
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        }
        let bytes = DataType::FixedBytes { bytes: 3 };
        let a = Array::<Vec<u8>>::builder([5, 7])
            .chunks([2, 3])
            .format(format)
            .data_type(bytes);
        let a = a.create((MemoryStore::new(), "a"))?;
        overwrite_in_parts(&a, [vec![], vec![1], vec![0, 0, 7], vec![255; 3]], &vec![])?;
    }
    Ok(())
}

/// Elements below 8 bits are bytes, checked when they are written.
#[test]
fn small_numbers_are_checked() -> Result<(), ndzarr::Error> {
    let a = Array::<i8>::builder([3]).data_type(DataType::Int { bits: 4 });
    let a = a.create((MemoryStore::new(), "a"))?;
    a.write(s![..], &array![-8, 7, 0])?;
    assert_eq!(a.read(s![..])?, array![-8, 7, 0]);
    for wrong in [8, -9] {
        assert_eq!(
            a.write(s![..1], &array![wrong])
                .expect_err("too large")
                .kind(),
            ErrorKind::InvalidArgument
        );
        assert!(a.fill(s![..1], wrong).is_err());
    }
    let e2m1 = DataType::SmallFloat(SmallFloat::E2M1Fn);
    let a = Array::<u8>::builder([2])
        .data_type(e2m1)
        .fill_value(7)
        .create((MemoryStore::new(), "a"))?;
    assert_eq!(
        a.read(s![..])?.map(|code| SmallFloat::E2M1Fn.to_f32(*code)),
        array![6.0, 6.0]
    );
    assert!(a.write(s![..1], &array![16]).is_err());
    Ok(())
}
