//! Tests categorize as the codec that gives objects their type: strings of any length as codes.

use ndzarr_codec::{Binding, CodecChain, CodecError, CodecRegistry, Elements, VlenSlot, Workspace};
use ndzarr_model::{
    CodecConfig, DataType, Endian, FillValue, FilterTypes, LabelsConfig, StoredType, VlenConfig,
};

use crate::it::support::{GZIP, hex, specs, transpose};

fn stored(data_type: DataType, endian: Endian) -> StoredType {
    StoredType { data_type, endian }
}

fn uint(bits: u8, endian: Endian) -> StoredType {
    stored(DataType::UInt { bits }, endian)
}

fn u8s() -> StoredType {
    uint(8, Endian::Little)
}

fn categorize(labels: &[&str], astype: StoredType) -> CodecConfig {
    let labels = labels.iter().map(|&label| label.to_owned()).collect();
    CodecConfig::Vlen(VlenConfig::Categorize(LabelsConfig { labels, astype }))
}

fn bind(configs: &[CodecConfig], ndim: usize) -> CodecChain {
    bind_with(configs, ndim, &CodecRegistry::new()).expect("it binds")
}

fn bind_with<'b>(
    configs: &[CodecConfig],
    ndim: usize,
    registry: impl Into<Binding<'b>>,
) -> Result<CodecChain, CodecError> {
    CodecChain::bind(
        &specs(configs),
        &DataType::String,
        &FillValue::defined(""),
        ndim,
        registry,
    )
}

fn encode(chain: &CodecChain, texts: &[&str], shape: &[u64]) -> Result<Vec<u8>, CodecError> {
    let mut slots = Vec::new();
    let mut bytes = Vec::new();
    for text in texts {
        slots.push(VlenSlot {
            start: bytes.len(),
            len: text.len(),
        });
        bytes.extend_from_slice(text.as_bytes());
    }
    let mut out = Vec::new();
    chain
        .encode_vlen(&slots, &bytes, shape, &mut Workspace::new(), &mut out)
        .map(|()| out)
}

/// The elements in stored order.
fn decode(chain: &CodecChain, encoded: &[u8], shape: &[u64]) -> Result<Vec<String>, CodecError> {
    let mut texts = Vec::new();
    chain.decode(encoded, shape, &mut Workspace::new(), |elements, _| {
        let Elements::Vlen { slots, bytes } = elements else {
            panic!("elements of a fixed size")
        };
        let text = |slot: &VlenSlot| String::from_utf8(slot.of(bytes).to_vec()).expect("UTF-8");
        texts = slots.iter().map(text).collect();
        Ok::<_, CodecError>(())
    })?;
    Ok(texts)
}

/// Expected bytes are numcodecs 0.15.1's encoding of these labels and strings, with `dtype=object`.
#[test]
fn v2_119_texts_become_codes() {
    let check = |astype: StoredType, expected: &str| {
        let chain = bind(&[categorize(&["a", "bb"], astype.clone())], 1);
        let codes = hex(expected);
        assert_eq!(
            encode(&chain, &["bb", "a", "zz"], &[3]).expect("codes"),
            codes.clone(),
            "{astype:?}"
        );
        assert_eq!(
            decode(&chain, &codes, &[3]).expect("texts"),
            vec!["bb".into(), "a".into(), String::new()]
        );
    };
    check(u8s(), "020100");
    check(stored(DataType::Int { bits: 8 }, Endian::Little), "020100");
    check(uint(16, Endian::Big), "000200010000");
    check(uint(16, Endian::Little), "020001000000");
    check(
        stored(DataType::Int { bits: 64 }, Endian::Big),
        "000000000000000200000000000000010000000000000000",
    );
    check(
        stored(DataType::Float { bits: 32 }, Endian::Little),
        "000000400000803f00000000",
    );
    let chain = bind(&[categorize(&["a", "bb"], u8s())], 1);
    assert_eq!(
        decode(&chain, &[200, 2, 255], &[3]).expect("texts"),
        vec![String::new(), "bb".into(), String::new()]
    );
    // Of equal labels the last one applies, and an empty one is a label too.
    let chain = bind(&[categorize(&["a", "", "a"], u8s())], 1);
    assert_eq!(
        encode(&chain, &["a", "", "z"], &[3]).expect("codes"),
        vec![3, 2, 0]
    );
    assert_eq!(
        decode(&chain, &[3, 2, 0, 1], &[4]).expect("texts"),
        ["a", "", "", "a"].map(String::from).to_vec()
    );
    // NULs at the end belong to a string, unlike in NumPy.
    let chain = bind(&[categorize(&["a\0", "a"], u8s())], 1);
    assert_eq!(
        encode(&chain, &["a", "a\0"], &[2]).expect("codes"),
        vec![2, 1]
    );
}

/// zarr-python 2.18.7: order F, then numcodecs' delta of the codes; the upper left chunk of 2 x 2.
#[test]
fn v2_092_codes_go_on_to_filters() {
    let codes = uint(16, Endian::Big);
    let delta = CodecConfig::Delta(FilterTypes {
        dtype: codes.clone(),
        astype: codes.clone(),
    });
    let chain = bind(
        &[transpose(&[1, 0]), categorize(&["a", "bb"], codes), delta],
        2,
    );
    let stored = hex("0001ffff00020000");
    assert_eq!(
        encode(&chain, &["a", "", "bb", "bb"], &[2, 2]).expect("codes"),
        stored.clone()
    );
    assert_eq!(
        decode(&chain, &stored, &[2, 2]).expect("texts"),
        ["a", "", "bb", "bb"].map(String::from).to_vec()
    );
}

#[test]
fn codes_that_do_not_fit_are_errors() {
    let labels: Vec<String> = (0..300).map(|n| n.to_string()).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    for (astype, fits, beyond) in [
        (u8s(), "254", "255"),
        (
            stored(DataType::Int { bits: 8 }, Endian::Little),
            "126",
            "127",
        ),
        (stored(DataType::Bool, Endian::Little), "0", "1"),
    ] {
        let chain = bind(&[categorize(&labels, astype)], 1);
        let encoded = encode(&chain, &[fits], &[1]).expect(fits);
        assert_eq!(
            decode(&chain, &encoded, &[1]).expect("texts"),
            vec![fits.to_owned()]
        );
        let error = encode(&chain, &[beyond], &[1])
            .expect_err(beyond)
            .to_string();
        assert!(error.contains("does not fit"), "{error}");
    }
    // Above 2048 not every integer is a float16.
    let labels: Vec<String> = (0..2050).map(|n| n.to_string()).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let chain = bind(
        &[categorize(
            &labels,
            stored(DataType::Float { bits: 16 }, Endian::Little),
        )],
        1,
    );
    assert_eq!(encode(&chain, &["2047"], &[1]).expect("codes"), hex("0068"));
    encode(&chain, &["2048"], &[1]).expect_err("2049 is no float16");
}

#[test]
fn v2_085_a_chunk_has_a_code_for_each_element() {
    let chain = bind(&[categorize(&["a"], uint(16, Endian::Little))], 1);
    for len in (0..12).filter(|&len| len != 6) {
        let error = decode(&chain, &vec![0; len], &[3]).expect_err("three codes are six bytes");
        assert!(
            error.is_corrupt() && error.codec() == Some("categorize"),
            "{len}: {error}"
        );
    }
    let compressed = bind(&[categorize(&["a"], u8s()), GZIP], 1);
    let long = encode(&compressed, &["a"; 4096], &[4096]).expect("texts");
    assert!(decode(&compressed, &long, &[4095]).is_err_and(|error| error.is_corrupt()));
    assert!(decode(&compressed, &long, &[4097]).is_err_and(|error| error.is_corrupt()));
    for cut in 0..long.len() {
        decode(&compressed, &long[..cut], &[4096]).expect_err("cut off");
    }
}

/// A code of one byte may stand for a string of any length, and a shape may imply any number of
/// them.
#[test]
fn what_codes_stand_for_is_bounded() {
    let long = "x".repeat(1000);
    let registry = CodecRegistry::new();
    let limited = Binding::from(&registry).vlen_limit(4000);
    let chain = bind_with(&[categorize(&[&long], u8s())], 1, limited).expect("it binds");
    assert_eq!(decode(&chain, &[1; 4], &[4]).expect("4000 bytes").len(), 4);
    assert!(decode(&chain, &[1; 5], &[5]).is_err_and(|error| error.to_string().contains("4000")));
    assert_eq!(
        decode(&chain, &[0; 200], &[200])
            .expect("nothing but empty texts")
            .len(),
        200
    );
    for huge in [1 << 40, u64::MAX] {
        decode(&chain, &[1; 4], &[huge]).expect_err("no chunk has so many");
    }
}

#[test]
fn what_no_codes_can_be_is_refused() {
    for astype in [DataType::Complex { bits: 64 }, DataType::Raw { bytes: 1 }] {
        let config = categorize(&["a"], stored(astype, Endian::Little));
        bind_with(&[config], 1, &CodecRegistry::new()).expect_err("no numbers");
    }
    let config = specs(&[categorize(&["a"], u8s())]);
    let bytes = FillValue::defined("");
    CodecChain::bind(&config, &DataType::Bytes, &bytes, 1, &CodecRegistry::new())
        .expect_err("no texts");
}
