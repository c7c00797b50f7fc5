//! Documents of N5. The first byte chooses the place of the document.

use super::document;

/// Memory limit for an input.
pub const MAX_BYTES: usize = document::MAX_BYTES;

const CHILD: &[u8] =
    br#"{"dimensions":[20],"blockSize":[10],"dataType":"uint16","compression":{"type":"raw"}}"#;

/// Runs an input.
pub fn check(data: &[u8]) {
    let Some((&place, document)) = data.split_first() else {
        return;
    };
    match place % 3 {
        0 => document::check(&[("attributes.json", document)], ""),
        1 => document::check(
            &[("attributes.json", document), ("a/attributes.json", CHILD)],
            "a",
        ),
        _ => document::check(
            &[
                ("attributes.json", br#"{"n5":"4.0.0"}"#),
                ("a/attributes.json", document),
            ],
            "a",
        ),
    }
}
