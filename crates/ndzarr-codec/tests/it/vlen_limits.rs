//! Tests that elements of variable size take no more memory than their limit, whatever the size of
//! their encoded form.

use ndzarr_codec::{Binding, CodecChain, CodecError, CodecRegistry, Elements, VlenSlot, Workspace};
use ndzarr_model::{CodecConfig, DataType, FillValue, IndexLocation, VlenConfig};

use crate::it::support::{LITTLE, hex, sharded, sharding, specs};

/// A chain for elements that may have at most `limit` bytes together.
fn bind(config: &CodecConfig, limit: usize) -> CodecChain {
    let is_json = matches!(
        config,
        CodecConfig::Vlen(VlenConfig::Json2 | VlenConfig::Msgpack2)
    );
    let data_type = if is_json {
        DataType::Json
    } else {
        DataType::String
    };
    let registry = CodecRegistry::new();
    let binding = Binding::from(&registry).vlen_limit(limit);
    let config = specs(std::slice::from_ref(config));
    CodecChain::bind(&config, &data_type, &FillValue::defined(""), 1, binding).expect("it binds")
}

fn decode(
    config: &CodecConfig,
    value: &[u8],
    n: u64,
    limit: usize,
) -> Result<Vec<String>, CodecError> {
    let chain = bind(config, limit);
    let mut texts = Vec::new();
    chain.decode(value, &[n], &mut Workspace::new(), |elements, _| {
        let Elements::Vlen { slots, bytes } = elements else {
            panic!("elements of a fixed size")
        };
        let text = |slot: &VlenSlot| String::from_utf8(slot.of(bytes).to_vec()).expect("UTF-8");
        texts = slots.iter().map(text).collect();
        Ok::<_, CodecError>(())
    })?;
    Ok(texts)
}

/// Checks that a value decodes to these texts if `least` bytes are allowed, but not with one less.
fn check(config: &CodecConfig, value: &[u8], texts: &[String], least: usize) {
    let n = texts.len() as u64;
    assert_eq!(
        decode(config, value, n, least).as_deref().ok(),
        Some(texts),
        "{config:?}"
    );
    decode(config, value, n, least - 1).expect_err("the limit is lower");
}

fn msgpack2(elements: &str, n: u8) -> Vec<u8> {
    let list = hex(elements);
    // A list of the elements, the type and the shape.
    let mut value = if n < 14 {
        vec![0x90 | (n + 2)]
    } else {
        vec![0xdc, 0, n + 2]
    };
    value.extend_from_slice(&list);
    value.extend_from_slice(b"\xa2|O\x91");
    value.push(n);
    value
}

#[test]
fn texts_may_be_longer_than_their_encoded_form() {
    let config = CodecConfig::Vlen(VlenConfig::Msgpack2);
    // 11 bytes before, 100 numbers, 99 commas and 2 bytes after them.
    let bytes = format!("{{\"$bytes\":[{}]}}", ["255"; 100].join(","));
    check(
        &config,
        &msgpack2(&format!("c464{}", "ff".repeat(100)), 1),
        &[bytes],
        11 + 300 + 99 + 2,
    );
    // 6 bytes for each character, and the quotes.
    let text = format!("\"{}\"", "\\u0001".repeat(50));
    check(
        &config,
        &msgpack2(&format!("d932{}", "01".repeat(50)), 1),
        &[text],
        302,
    );
    // All elements together.
    let texts = ["false".to_owned(), format!("[{}]", ["null"; 10].join(","))];
    check(
        &config,
        &msgpack2(&format!("c2 9a{}", "c0".repeat(10)), 2),
        &texts,
        5 + 2 + 40 + 9,
    );
}

/// The memory of 100 elements without content, in bytes: a start and a length for each.
const SLOTS_LEN: usize = 100 * 2 * size_of::<usize>();

#[test]
fn elements_without_content_take_memory_too() {
    let zeros = vec!["0".to_owned(); 100];
    let empty = vec![String::new(); 100];
    let json2 = format!("[{},\"|O\",[100]]", zeros.join(","));
    check(
        &CodecConfig::Vlen(VlenConfig::Json2),
        json2.as_bytes(),
        &zeros,
        SLOTS_LEN,
    );
    check(
        &CodecConfig::Vlen(VlenConfig::Msgpack2),
        &msgpack2(&"00".repeat(100), 100),
        &zeros,
        SLOTS_LEN,
    );
    let framed = [&100u32.to_le_bytes()[..], &[0; 400]].concat();
    check(
        &CodecConfig::Vlen(VlenConfig::Utf8),
        &framed,
        &empty,
        SLOTS_LEN,
    );
}

#[test]
fn elements_that_could_not_be_read_are_not_written() {
    let encode = |limit| {
        let chain = bind(&CodecConfig::Vlen(VlenConfig::Utf8), limit);
        let slots = [VlenSlot::default(); 100];
        chain.encode_vlen(&slots, &[], &[100], &mut Workspace::new(), &mut Vec::new())
    };
    encode(SLOTS_LEN).expect("it encodes");
    encode(SLOTS_LEN - 1).expect_err("it could not be decoded");
}

/// Four inner chunks in the same bytes.
#[test]
fn inner_chunks_that_share_bytes_count_each() {
    let mut config = sharding(
        &[1],
        &[CodecConfig::Vlen(VlenConfig::Utf8)],
        IndexLocation::End,
    );
    config.index_codecs = specs(&[LITTLE]);
    let mut value = hex("01000000 64000000");
    value.extend_from_slice(&[b'a'; 100]);
    for _ in 0..4 {
        value.extend_from_slice(&0u64.to_le_bytes());
        value.extend_from_slice(&108u64.to_le_bytes());
    }
    check(&sharded(config), &value, &vec!["a".repeat(100); 4], 400);
}
