//! Every data type in every format: written with fill values of many bit patterns, and opened with
//! the same bits.

use std::collections::BTreeMap;

use ndzarr_metadata::{ArrayRequest, FillRequest, Format};
use ndzarr_model::{DataType, Endian, Field, FillValue, StructType, TimeUnit};

use crate::it::store::{Store, create};

const FORMATS: [Format; 5] = [
    Format::Zarr2,
    Format::Zarr3,
    Format::DraftA,
    Format::DraftB,
    Format::N5,
];

const UNITS: [&str; 14] = [
    "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic",
];

fn named(names: &str) -> Vec<DataType> {
    names
        .split_whitespace()
        .map(|name| DataType::from_name(name).expect(name))
        .collect()
}

fn small_floats() -> Vec<DataType> {
    named(
        "float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn \
         float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu",
    )
}

fn complex_of(types: &[DataType]) -> Vec<DataType> {
    types
        .iter()
        .map(|part| DataType::from_name(&format!("complex_{part}")).expect("a complex type"))
        .collect()
}

fn times() -> Vec<DataType> {
    let steps = UNITS
        .iter()
        .flat_map(|unit| [1, 25, 0x7fff_ffff].map(|scale| (unit, scale)));
    let types = steps.map(|(unit, scale)| (TimeUnit::from_name(unit).expect("a unit"), scale));
    types
        .flat_map(|(unit, scale)| {
            [
                DataType::DateTime64 { unit, scale },
                DataType::TimeDelta64 { unit, scale },
            ]
        })
        .collect()
}

fn structures() -> Vec<DataType> {
    let of = |fields: Vec<Field>| DataType::Struct(StructType::new(fields).expect("fields"));
    let flat = of(vec![
        Field::new("a", DataType::Int { bits: 16 }),
        Field::new("s", DataType::FixedBytes { bytes: 3 }),
        Field::new(
            "t",
            DataType::DateTime64 {
                unit: TimeUnit::Second,
                scale: 1,
            },
        ),
        Field::new("c", DataType::Complex { bits: 64 }),
    ]);
    vec![
        flat.clone(),
        of(vec![
            Field::new("inner", flat),
            Field::new("b", DataType::Bool),
        ]),
    ]
}

/// Elements of a type that differ in every way that a document could lose.
fn elements(data_type: &DataType) -> Vec<Vec<u8>> {
    let text = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    match data_type {
        DataType::String => text(&["", "a", "é\u{1d11e}\n\"", "NaN"]),
        DataType::Bytes => vec![vec![], vec![0], vec![0, 255, 0]],
        DataType::Json => text(&["null", "0", "\"\"", "[1,{\"a\":null}]"]),
        DataType::VlenArray(_) | DataType::Object => vec![vec![]],
        DataType::FixedUtf32 { chars } => {
            let unit = |c: char| u32::from(c).to_ne_bytes().to_vec();
            vec![
                vec![0; 4 * chars],
                unit('\u{1d11e}').repeat(*chars),
                [unit('a'), vec![0; 4 * (chars - 1)]].concat(),
            ]
        }
        fixed => {
            let size = fixed.elem_size().expect("a fixed size");
            let patterns = [0x00, 0x01, 0x3f, 0x7f, 0x80, 0xc1, 0xff].map(|byte| vec![byte; size]);
            let mut all: Vec<Vec<u8>> = patterns.to_vec();
            // Negative zero, infinity, the usual NaN and one with a payload, of floats of any
            // width; "not a time".
            for top in [
                &[0x80, 0][..],
                &[0x7f, 0x80],
                &[0x7f, 0xc0],
                &[0x7f, 0xf0],
                &[0x7f, 0xf8],
                &[0x7c, 0],
                &[0x7e, 0],
                &[0xfe, 1],
            ] {
                let mut element = vec![0; size];
                for (byte, &bits) in element.iter_mut().rev().zip(top) {
                    *byte = bits;
                }
                all.push(element);
            }
            all.retain(|element| fixed.is_element(element));
            all
        }
    }
}

/// True if an element of floats contains a NaN.
fn is_nan(data_type: &DataType, element: &[u8]) -> bool {
    let nan = |part: &[u8]| match part.len() {
        2 => u16::from_ne_bytes(part.try_into().expect("two bytes")) & 0x7fff > 0x7c00,
        4 => f32::from_ne_bytes(part.try_into().expect("four bytes")).is_nan(),
        _ => f64::from_ne_bytes(part.try_into().expect("eight bytes")).is_nan(),
    };
    match data_type {
        DataType::Float { .. } => nan(element),
        DataType::Complex { .. } => element.chunks(element.len() / 2).any(nan),
        _ => false,
    }
}

/// The types that new arrays of a format can have.
fn written(format: Format) -> Vec<DataType> {
    let vlen_array = DataType::VlenArray(DataType::Int { bits: 16 }.into());
    let numbers = named("int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64");
    let plain = [
        numbers.clone(),
        named("bool float16 complex64 complex128 r8 r72"),
    ]
    .concat();
    let texts = vec![
        DataType::FixedBytes { bytes: 3 },
        DataType::FixedUtf32 { chars: 3 },
    ];
    match format {
        Format::N5 => [numbers, named("string object")].concat(),
        Format::Zarr3 => {
            let small = [small_floats(), named("int2 int4 uint2 uint4 bfloat16")].concat();
            let complex = complex_of(&[small_floats(), named("float16 bfloat16")].concat());
            [
                plain,
                texts,
                times(),
                structures(),
                small,
                complex,
                named("string bytes"),
            ]
            .concat()
        }
        Format::Zarr2 | Format::DraftB => [
            plain,
            texts,
            times(),
            structures(),
            named("string bytes json"),
            vec![vlen_array],
        ]
        .concat(),
        Format::DraftA => [plain, texts, times(), structures()].concat(),
    }
}

fn every() -> Vec<DataType> {
    let mut all: BTreeMap<String, DataType> = BTreeMap::new();
    for format in FORMATS {
        all.extend(
            written(format)
                .into_iter()
                .map(|data_type| (format!("{data_type:?}"), data_type)),
        );
    }
    all.into_values().collect()
}

/// Values that a document cannot express are errors, and are listed here.
#[test]
fn fill_values_of_every_type_keep_their_bits() {
    for format in FORMATS {
        let written = written(format);
        for data_type in every() {
            for element in elements(&data_type) {
                let fill = FillValue::defined(element.clone());
                let request = request_with!(
                    ArrayRequest::new(vec![4], vec![2], data_type.clone()),
                    fill_value = FillRequest::Value(fill.clone()),
                    endian = (format != Format::N5).then_some(Endian::Big)
                );
                let mut store = Store::new(&[]);
                let what = format!("{format} {data_type} {element:02x?}");
                let made = create(&mut store, format, "x", &request);
                let expressible = written.contains(&data_type)
                    && match format {
                        Format::N5 => fill.is_zero(),
                        // These formats have one name for NaN and no bits.
                        Format::Zarr2 | Format::DraftB => {
                            !is_nan(&data_type, &element) || made.is_ok()
                        }
                        _ => true,
                    };
                match (made, expressible) {
                    (Err(_), false) => continue,
                    (Ok(_), false) => panic!("{what}: it can be written"),
                    (Err(error), true) => panic!("{what}: {error}"),
                    (Ok(_), true) => {}
                }
                let node = store.open("x").expect(&what);
                let spec = node.kind.array().expect("an array");
                assert_eq!(spec.data_type, data_type, "{what}");
                assert_eq!(spec.fill_value.bytes(), element, "{what}");
                // The JSON value null and an undefined fill value are the same in v2.
                let undefined = matches!(data_type, DataType::Json) && element == b"null";
                assert_eq!(spec.fill_value.is_defined(), !undefined, "{what}");
            }
        }
    }
}
