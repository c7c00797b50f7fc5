//! Tests filters of numcodecs on stored bytes.

use ndzarr_model::{
    CategorizeConfig, CodecSpec, FillValue, FilterNumber, FilterTypes, FixedScaleOffsetConfig,
    ShardingConfig,
};

use super::*;
use crate::pipe::Pipe;
use crate::{CodecChain, CodecRegistry};

/// A stored type by its NumPy name.
fn stored(name: &str) -> StoredType {
    let endian = if name.starts_with('>') {
        Endian::Big
    } else {
        Endian::Little
    };
    let bits = name[2..].parse::<u8>().expect("a size") * 8;
    let data_type = match &name[1..2] {
        "b" => DataType::Bool,
        "i" => DataType::Int { bits },
        "u" => DataType::UInt { bits },
        _ => DataType::Float { bits },
    };
    StoredType { data_type, endian }
}

fn types(dtype: &str, astype: &str) -> FilterTypes {
    FilterTypes {
        dtype: stored(dtype),
        astype: stored(astype),
    }
}

fn delta(dtype: &str, astype: &str) -> CodecConfig {
    CodecConfig::Delta(types(dtype, astype))
}

fn scaled(offset: FilterNumber, scale: FilterNumber, dtype: &str, astype: &str) -> CodecConfig {
    CodecConfig::FixedScaleOffset(FixedScaleOffsetConfig {
        offset,
        scale,
        types: types(dtype, astype),
    })
}

fn bytes<const N: usize, T>(values: &[T], to: impl Fn(&T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(to).collect()
}

fn f64s(values: &[f64]) -> Vec<u8> {
    bytes(values, |x| x.to_le_bytes())
}

fn f32s(values: &[f32]) -> Vec<u8> {
    bytes(values, |x| x.to_le_bytes())
}

fn u16s(values: &[u16]) -> Vec<u8> {
    bytes(values, |x| x.to_le_bytes())
}

/// Checks that content encodes to `chunk` and decodes to `decoded`, and that no other length is
/// accepted.
fn check(config: &CodecConfig, content: &[u8], chunk: &str, decoded: &[u8]) {
    let chunk = hex(chunk);
    assert_eq!(encoded(config, content), chunk, "{config:?}");
    check_decodes(config, &chunk, decoded);
}

pub(super) fn check_decodes(config: &CodecConfig, chunk: &[u8], decoded: &[u8]) {
    assert_eq!(
        exact(config, chunk, decoded.len()).as_deref().ok(),
        Some(decoded),
        "{config:?}"
    );
    assert_eq!(
        grown(config, chunk, decoded.len()).as_deref().ok(),
        Some(decoded),
        "{config:?}"
    );
    let stated = codec(config)
        .decoded_len(chunk)
        .expect("its header is right");
    assert!(stated.is_none_or(|len| len == decoded.len() as u64));
    for len in 0..chunk.len() {
        exact(config, &chunk[..len], decoded.len()).expect_err("it is cut off");
    }
    exact(config, chunk, decoded.len() + 1).expect_err("another length");
    grown(config, chunk, decoded.len() - 1).expect_err("the limit is lower");
    for bit in 0..8 * chunk.len() {
        let mut flipped = chunk.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let _ = exact(config, &flipped, decoded.len());
        let _ = grown(config, &flipped, 2 * decoded.len());
    }
}

pub(super) fn refuse_to_encode(config: &CodecConfig, content: &[u8]) {
    let error = codec(config).encode(content, &mut Vec::new(), &mut Workspace::new());
    assert!(
        matches!(error, Err(CodecError::Encode { .. })),
        "{config:?}: {error:?}"
    );
}

#[test]
fn delta_v2_t04_v2_t34() {
    check(
        &delta("|u1", "|u1"),
        &[5, 3, 255, 0],
        "05fefc01",
        &[5, 3, 255, 0],
    );
    let floats = f64s(&[1.5, 2.25, 0.0]);
    check(
        &delta("<f8", "<f4"),
        &floats,
        "0000c03f0000403f000010c0",
        &floats,
    );
    // V2-T04: big endian on both sides.
    let big = hex("000000030001000400020005");
    check(&delta(">u2", ">u2"), &big, "00000003fffe0003fffe0003", &big);
    check(
        &delta("<u2", "<u2"),
        &u16s(&[0, 3, 1, 4, 2, 5]),
        "00000300feff0300feff0300",
        &u16s(&[0, 3, 1, 4, 2, 5]),
    );
    // V2-T34: the sum runs in u2.
    check(
        &delta("<u2", "|i1"),
        &u16s(&[10, 12, 9]),
        "0a02fd",
        &u16s(&[10, 12, 9]),
    );
}

/// Differences are exclusive ORs, but sums ORs, so that nothing after a true comes back as false.
#[test]
fn delta_of_bools_loses_none() {
    let bools = delta("|b1", "|b1");
    check(&bools, &[0, 0, 1, 1], "00000100", &[0, 0, 1, 1]);
    refuse_to_encode(&bools, &[1, 1, 0, 1, 0, 0]);
    refuse_to_encode(&delta("|b1", "<f4"), &[0, 1, 0]);
    // What numcodecs wrote for 1, 1, 0, 1, 0, 0, and how it reads that.
    check_decodes(&bools, &hex("010001010100"), &[1, 1, 1, 1, 1, 1]);
}

fn bind(codecs: &[CodecConfig]) -> CodecChain {
    let specs: Vec<CodecSpec> = codecs.iter().cloned().map(CodecSpec::from).collect();
    let u8s = DataType::UInt { bits: 8 };
    let fill = FillValue::defined([0]);
    CodecChain::bind(&specs, &u8s, &fill, 1, &CodecRegistry::new()).expect("it binds")
}

/// 1 MiB of bytes become 8 MiB of floats.
#[test]
fn filters_may_widen_elements() {
    let plain = CodecConfig::Bytes { endian: None };
    let widen = CodecConfig::AsType(types("|u1", "<f8"));
    let little = CodecConfig::Bytes {
        endian: Some(Endian::Little),
    };
    assert!(bind(&[plain, widen.clone()]).encoded_limit(&[1 << 20]) >= 8 << 20);
    assert!(bind(&[widen.clone(), little.clone()]).encoded_limit(&[1 << 20]) >= 8 << 20);
    let shards = CodecConfig::Sharding(Box::new(ShardingConfig {
        chunk_shape: vec![1 << 20],
        codecs: vec![widen.clone().into(), little.clone().into()],
        index_codecs: vec![little.into()],
        index_location: Default::default(),
        payload: Default::default(),
    }));
    assert!(bind(&[shards]).encoded_limit(&[4 << 20]) >= 32 << 20);
    // Where memory grows with the content.
    let zstd = CodecConfig::Zstd {
        level: 1,
        checksum: false,
    };
    let codecs = [codec(&widen), codec(&zstd)];
    let content = vec![7; 1 << 20];
    let pipe = Pipe::new(&codecs).trusting(0);
    let mut value = Vec::new();
    pipe.encode(&content, &mut value, &mut Workspace::new())
        .expect("it encodes");
    assert!(value.len() < content.len() / 256, "{}", value.len());
    let mut decoded = Vec::new();
    pipe.decode_chunk(&value, content.len(), &mut Workspace::new(), |bytes| {
        decoded = bytes.to_vec()
    })
    .expect("it decodes");
    assert!(decoded == content);
}

#[test]
fn delta_v2_t50() {
    let narrow = delta("<u2", "|i1");
    refuse_to_encode(&narrow, &u16s(&[300, 301]));
    refuse_to_encode(&narrow, &u16s(&[1, 301]));
    check_decodes(&narrow, &hex("012c"), &u16s(&[1, 45]));
    check(
        &delta("<u2", "<u2"),
        &u16s(&[1, 0]),
        "0100ffff",
        &u16s(&[1, 0]),
    );
    refuse_to_encode(&delta("<u2", "<u2"), &[1, 2, 3]);
    refuse_to_encode(&delta("<f8", "|i1"), &f64s(&[0.0, 300.0]));
}

#[test]
fn delta_keeps_what_a_type_of_64_bits_holds_v2_t50() {
    // 2^63 - 1024 is the greatest float64 that is an int64.
    let two_63 = 63f64.exp2();
    let int = delta("<f8", "<i8");
    let least = f64s(&[-two_63]);
    check(&int, &least, "0000000000000080", &least);
    let greatest = f64s(&[two_63 - 1024.0]);
    check(&int, &greatest, "00fcffffffffff7f", &greatest);
    refuse_to_encode(&int, &f64s(&[two_63]));
    refuse_to_encode(&int, &f64s(&[f64::NAN]));
    let uint = delta("<f8", "<u8");
    check(
        &uint,
        &f64s(&[two_63]),
        "0000000000000080",
        &f64s(&[two_63]),
    );
    refuse_to_encode(&uint, &f64s(&[2.0 * two_63]));
}

#[test]
fn delta_stores_no_integer_as_another_float_v2_t50() {
    let i64s = |values: &[i64]| bytes(values, |x| x.to_le_bytes());
    // A float32 has 24 bits, a float64 53 and a float16 11.
    let exact = i64s(&[0, 1 << 24]);
    check(&delta("<i8", "<f4"), &exact, "000000000000804b", &exact);
    refuse_to_encode(&delta("<i8", "<f4"), &i64s(&[0, (1 << 24) + 1]));
    let exact = i64s(&[i64::MIN]);
    check(&delta("<i8", "<f8"), &exact, "000000000000e0c3", &exact);
    refuse_to_encode(&delta("<i8", "<f8"), &i64s(&[(1 << 53) + 1]));
    refuse_to_encode(&delta("<i8", "<f8"), &i64s(&[i64::MAX]));
    refuse_to_encode(&delta("<u8", "<f8"), &i64s(&[-1]));
    let half = delta("<i8", "<f2");
    check(&half, &i64s(&[2048]), "0068", &i64s(&[2048]));
    for lost in [2049, 65_536, i64::MIN] {
        refuse_to_encode(&half, &i64s(&[lost]));
    }
}

#[test]
fn fixedscaleoffset_v2_t35_v2_t51() {
    use FilterNumber::{Float, Int};
    let content = f64s(&[1000.0, 1000.05, 1000.15, 1012.34, 1025.5]);
    let decoded = f64s(&[1000.0, 1000.0, 1000.1, 1012.3, 1025.5]);
    check(
        &scaled(Int(1000), Int(10), "<f8", "|u1"),
        &content,
        "0000017bff",
        &decoded,
    );
    check(
        &scaled(Float(1000.0), Float(10.0), "<f8", "|u1"),
        &content,
        "0000017bff",
        &decoded,
    );
    // V2-T35: the quotient is truncated.
    check_decodes(
        &scaled(Int(0), Int(3), "|i1", "|i1"),
        &[4, 5, 0xfc],
        &[1, 1, 0xff],
    );
    // V2-T51
    check(
        &scaled(Int(3), Int(1), "|u1", "|u1"),
        &[1, 5],
        "fe02",
        &[1, 5],
    );
    let config = scaled(Int(300), Int(1), "|u1", "|u1");
    let error = bytes_codec(&config, None).expect_err("300 is no u1");
    assert!(
        error.to_string().contains("300 does not fit uint8"),
        "{error}"
    );
}

#[test]
// The value is from the checklist.
#[allow(clippy::approx_constant)]
fn quantize() {
    let config = |digits| CodecConfig::Quantize {
        digits,
        types: types("<f8", "<f4"),
    };
    let content = f64s(&[0.1, 1.23456, -2.71828]);
    check(
        &config(1),
        &content,
        "0000003e0000a03f00002cc0",
        &f64s(&[0.125, 1.25, -2.6875]),
    );
    // 5 and -1 digits round to 2^17 and 2^-3.
    let config = |digits| CodecConfig::Quantize {
        digits,
        types: types("<f8", "<f8"),
    };
    let unit = 17f64.exp2().recip();
    assert_eq!(encoded(&config(5), &f64s(&[unit * 0.75])), f64s(&[unit]));
    assert_eq!(
        encoded(&config(-1), &f64s(&[11.0, 12.0, 13.0])),
        f64s(&[8.0, 16.0, 16.0])
    );
    assert_eq!(encoded(&config(0), &f64s(&[0.5, 1.5])), f64s(&[0.0, 2.0]));
}

#[test]
fn astype() {
    let config = CodecConfig::AsType(types("<f4", "<i2"));
    check(
        &config,
        &f32s(&[1.9, -1.9]),
        "0100ffff",
        &f32s(&[1.0, -1.0]),
    );
    let config = CodecConfig::AsType(types(">i2", "<f8"));
    check(&config, &hex("fffe"), "00000000000000c0", &hex("fffe"));
}

#[test]
fn categorize() {
    let config = |code_points, endian| {
        let labels = vec!["a".into(), "bb".into()];
        CodecConfig::Categorize(CategorizeConfig {
            labels,
            code_points,
            endian,
            astype: stored("|u1"),
        })
    };
    let content = hex("6200000062000000 6100000000000000 7a0000007a000000");
    let decoded = hex("6200000062000000 6100000000000000 0000000000000000");
    check(&config(2, Endian::Little), &content, "020100", &decoded);
    check_decodes(
        &config(2, Endian::Big),
        &[1, 9],
        &hex("0000006100000000 0000000000000000"),
    );
    // A label too long for the elements is truncated, and no element equals it.
    check_decodes(&config(1, Endian::Little), &[2], &hex("62000000"));
    assert_eq!(encoded(&config(1, Endian::Little), &hex("62000000")), [0]);
    // In big endian, a code point may end with a zero.
    let config = CodecConfig::Categorize(CategorizeConfig {
        labels: vec!["\u{100}".into(), "\0a".into(), String::new()],
        code_points: 3,
        endian: Endian::Big,
        astype: stored("|u1"),
    });
    let content = hex("000001000000000000000000 000000000000006100000000 000000000000000000000000");
    check(&config, &content, "010203", &content);
}

#[test]
fn packbits_v2_t27() {
    let config = CodecConfig::NumcodecsPackbits;
    check(&config, &[1, 0, 1], "05a0", &[1, 0, 1]);
    check(
        &config,
        &[1, 0, 0, 0, 0, 0, 0, 0],
        "0080",
        &[1, 0, 0, 0, 0, 0, 0, 0],
    );
    check(
        &config,
        &[1, 0, 1, 0, 0, 0, 0, 0, 1],
        "07a080",
        &[1, 0, 1, 0, 0, 0, 0, 0, 1],
    );
    // V2-T27
    for broken in ["08a080", "ffa080", "01", "", "0780"] {
        exact(&config, &hex(broken), 9).expect_err("not 9 bits");
    }
    grown(&config, &hex("01"), 9).expect_err("fewer bits than none");
}

#[test]
fn shuffle_v2_t36() {
    let shuffle = |elementsize| CodecConfig::Shuffle { elementsize };
    let content = hex("04030201 08070605");
    check(&shuffle(Some(4)), &content, "0408030702060105", &content);
    // The input elements have 4 bytes: NCZarr's meaning of 0.
    check(&shuffle(None), &content, "0408030702060105", &content);
    check(&shuffle(Some(1)), &content, "0403020108070605", &content);
    refuse_to_encode(&shuffle(Some(4)), &[0; 10]);
    exact(&shuffle(Some(4)), &[0; 10], 10).expect_err("10 bytes are not whole elements of 4");
    // V2-120: after a compressor there are no elements.
    let error = bytes_codec(&shuffle(None), None).expect_err("the size is unknown");
    assert!(matches!(error, CodecError::Config { .. }), "{error}");
    bytes_codec(&shuffle(Some(2)), None).expect("the size is stated");
    // Wider and longer than a block, against the definition.
    for (n, size) in [(10_000, 3), (7, 9000), (1, 5), (5, 1)] {
        let content: Vec<u8> = (0..n * size).map(|i| (i * 7 + i / 251) as u8).collect();
        let expected: Vec<u8> = (0..size)
            .flat_map(|b| (0..n).map(move |i| (i, b)))
            .map(|(i, b)| content[i * size + b])
            .collect();
        assert!(encoded(&shuffle(Some(size)), &content) == expected);
        assert!(
            exact(&shuffle(Some(size)), &expected, content.len()).is_ok_and(|out| out == content)
        );
    }
}

#[test]
fn bitround() {
    let config = |keepbits| CodecConfig::Bitround { keepbits };
    let content = f32s(&[0.1, 1.2, 123.4, f32::INFINITY, f32::NAN]);
    let chunk = "0000d03d0000a03f0000f0420000807f0000c07f";
    check(&config(3), &content, chunk, &hex(chunk));
    // A NaN of any payload stays; keeping all bits does nothing; keeping more is an error only when
    // encoding.
    assert_eq!(
        encoded(&config(3), &hex("ffffff7f 010080ff")),
        hex("ffffff7f 010080ff")
    );
    assert_eq!(encoded(&config(23), &content), content);
    refuse_to_encode(&config(24), &content);
    check_decodes(&config(24), &content, &content);
    assert_eq!(
        encoded(&config(0), &f32s(&[1.5, 1.25, 3.5])),
        f32s(&[2.0, 1.0, 4.0])
    );
}

#[test]
fn base64() {
    check(
        &CodecConfig::Base64,
        &hex("ffee00"),
        &hex_of("/+4A"),
        &hex("ffee00"),
    );
    check(&CodecConfig::Base64, b"a", &hex_of("YQ=="), b"a");
    check(&CodecConfig::Base64, b"ab", &hex_of("YWI="), b"ab");
    for broken in [
        "YQ=",
        "Y===",
        "====",
        "YR==",
        "YWJ=",
        "YQ==YQ==",
        "Y Q=",
        "Y-==",
        "\u{7f}AAA",
    ] {
        grown(&CodecConfig::Base64, broken.as_bytes(), 100).expect_err(broken);
    }
}

fn hex_of(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}
