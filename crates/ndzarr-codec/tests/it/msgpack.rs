//! Tests msgpack2 on what a value of MessagePack cannot hold, and on values that go on.

use ndzarr_codec::{CodecChain, CodecError, CodecRegistry, Elements, VlenSlot, Workspace};
use ndzarr_model::{CodecConfig, DataType, FillValue, VlenConfig};

use crate::it::support::{hex, specs};

/// A list of one element, and what follows it: the type `|O` and the shape `[1]`.
const HEAD: &str = "93";
const TAIL: &str = "a27c4f 9101";

fn bind() -> CodecChain {
    CodecChain::bind(
        &specs(&[CodecConfig::Vlen(VlenConfig::Msgpack2)]),
        &DataType::Json,
        &FillValue::defined(""),
        1,
        &CodecRegistry::new(),
    )
    .expect("it binds")
}

fn encode(element: &str) -> Result<Vec<u8>, CodecError> {
    let slot = VlenSlot {
        start: 0,
        len: element.len(),
    };
    let mut out = Vec::new();
    bind()
        .encode_vlen(
            &[slot],
            element.as_bytes(),
            &[1],
            &mut Workspace::new(),
            &mut out,
        )
        .map(|()| out)
}

fn decode(encoded: &[u8]) -> Result<String, CodecError> {
    let mut text = String::new();
    bind().decode(encoded, &[1], &mut Workspace::new(), |elements, _| {
        let Elements::Vlen { slots, bytes } = elements else {
            panic!("elements of a fixed size")
        };
        text = String::from_utf8(slots[0].of(bytes).to_vec()).expect("UTF-8");
        Ok::<_, CodecError>(())
    })?;
    Ok(text)
}

/// The tags and widths are those of MessagePack's specification.
#[test]
fn numbers_are_stored_in_64_bits_or_refused() {
    for (number, expected) in [
        ("18446744073709551615", "cf ffffffffffffffff"),
        ("-9223372036854775808", "d3 8000000000000000"),
        ("1e3", "cb 408f400000000000"),
        ("-1.5E0", "cb bff8000000000000"),
        ("Infinity", "cb 7ff0000000000000"),
    ] {
        let expected = hex(&format!("{HEAD}{expected}{TAIL}"));
        assert_eq!(encode(number).expect(number), expected, "{number}");
    }
    let long = "1234567890".repeat(4);
    for number in ["18446744073709551616", "-9223372036854775809", &long] {
        let error = encode(number).expect_err(number).to_string();
        let what = format!("the integer {number} has more than 64 bits");
        assert!(error.contains(&what), "{error}");
    }
    for number in ["1e400", "-1e400", "[1, 2e308]"] {
        let error = encode(number).expect_err(number).to_string();
        assert!(error.contains("too large for a float"), "{error}");
    }
}

#[test]
fn nothing_follows_the_shape() {
    let value = hex(&format!("{HEAD}05{TAIL}"));
    assert_eq!(decode(&value).expect("it is whole"), "5");
    // Another value, and half of one.
    for more in [0x05, 0xcf] {
        let error = decode(&[&value[..], &[more]].concat()).expect_err("it goes on");
        assert!(error.is_corrupt(), "{error}");
        assert_eq!(error.codec(), Some("msgpack2"));
    }
}
