//! Specs survive being written to documents and read again.

use ndzarr_metadata::{CodecRequest, FillRequest, Format, Order};
use ndzarr_model::{
    BloscCname, BloscConfig, BloscShuffle, ChecksumLocation, CodecConfig, CodecSpec, DataType,
    Endian, FillValue, LzmaConfig, LzmaFilter, LzmaFormat,
};

use crate::it::store::{Store, create, request};

const TYPES: [&str; 17] = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "complex64",
    "complex128",
    "r8",
    "r72",
];

fn codecs() -> Vec<CodecConfig> {
    let lzma = LzmaConfig {
        format: LzmaFormat::Xz,
        check: -1,
        preset: Some(3),
        filters: None,
    };
    let raw = LzmaConfig {
        format: LzmaFormat::Raw,
        filters: Some(vec![LzmaFilter {
            id: 33,
            options: vec![("preset".into(), 1)],
        }]),
        ..lzma.clone()
    };
    let blosc = BloscConfig {
        cname: BloscCname::BloscLz,
        clevel: 1,
        shuffle: BloscShuffle::Bit,
        typesize: Some(4),
        blocksize: 64,
    };
    vec![
        CodecConfig::Gzip { level: 3 },
        CodecConfig::Zlib { level: -1 },
        CodecConfig::Zstd {
            level: -5,
            checksum: true,
        },
        CodecConfig::Bz2 { level: 9 },
        CodecConfig::Lz4 { acceleration: 2 },
        CodecConfig::Blosc(blosc),
        CodecConfig::Lzma(lzma),
        CodecConfig::Lzma(raw),
        CodecConfig::Crc32c {
            location: ChecksumLocation::End,
        },
        CodecConfig::Crc32c {
            location: ChecksumLocation::Start,
        },
    ]
}

#[test]
fn every_type_and_fill_value() {
    for format in [Format::Zarr2, Format::Zarr3] {
        for name in TYPES {
            if format == Format::Zarr2 && name == "bfloat16" {
                continue;
            }
            let data_type = DataType::from_name(name).expect("a known type");
            let size = data_type.elem_size().expect("a fixed size");
            // 0x01 repeated is a value of every type; so is 0, and 0xff of all but floats in v2 (a
            // NaN) and bool.
            for byte in [0x00, 0x01, 0x3f, 0x80, 0xff] {
                if name == "bool" && byte > 1 {
                    continue;
                }
                if format == Format::Zarr2
                    && byte == 0xff
                    && (name.starts_with("float") || name.starts_with("complex"))
                {
                    continue;
                }
                let fill = FillValue::defined(vec![byte; size]);
                let array = request_with!(
                    request(&[5, 0], &[2, 3], name),
                    fill_value = FillRequest::Value(fill.clone()),
                    endian = Some(Endian::Big)
                );
                let mut store = Store::new(&[]);
                create(&mut store, format, "x/y", &array).expect(name);
                let node = store.open("x/y").expect(name);
                let spec = node.kind.array().expect("an array");
                assert_eq!(spec.fill_value, fill, "{format} {name} {byte:x}");
                assert_eq!(spec.data_type, data_type);
                assert_eq!(
                    (&spec.shape, &spec.unit_shape),
                    (&array.shape, &array.chunk_shape)
                );
                let endian = (data_type.swap_width() > 1).then_some(Endian::Big);
                assert_eq!(spec.codecs[..], [CodecConfig::Bytes { endian }.into()]);
            }
        }
    }
}

#[test]
fn every_codec() {
    for format in [Format::Zarr2, Format::Zarr3] {
        for config in codecs() {
            let array = request_with!(
                request(&[8, 8], &[4, 4], "float32"),
                codecs = CodecRequest::Neutral(vec![config.clone().into()]),
                order = Order::F
            );
            let mut store = Store::new(&[]);
            create(&mut store, format, "x", &array).expect("writable");
            let node = store.open("x").expect("opens");
            let spec = node.kind.array().expect("an array");
            let expected = match config {
                // v2 does not record the size of elements.
                CodecConfig::Blosc(blosc) if format == Format::Zarr2 => {
                    CodecConfig::Blosc(BloscConfig {
                        typesize: None,
                        ..blosc
                    })
                }
                config => config,
            };
            let chain: Vec<CodecSpec> = vec![
                CodecConfig::Transpose { order: vec![1, 0] }.into(),
                CodecConfig::Bytes {
                    endian: Some(Endian::Little),
                }
                .into(),
                expected.into(),
            ];
            assert_eq!(spec.codecs[..], chain, "{format}");
        }
    }
}
