//! The deflate encoder on any content, checked with the decoder for single streams.

use arbitrary::{Result, Unstructured};
use ndzarr_deflate::{Container, Deflater, Inflater};

use super::large_chunk::content;

/// Memory limit for an input: content has up to 4 MiB.
pub const MAX_BYTES: usize = 64 << 20;

/// Runs an input.
pub fn check(data: &[u8]) {
    // An input that is too short describes no content.
    let _ = run(&mut Unstructured::new(data));
}

fn run(choices: &mut Unstructured<'_>) -> Result<()> {
    let container = if choices.arbitrary()? {
        Container::Raw
    } else {
        Container::Zlib
    };
    // Mostly level 1, which has its own implementation.
    let level = if choices.ratio(3, 4)? {
        1
    } else {
        choices.int_in_range(0..=9)?
    };
    let content = content(choices)?;
    let mut encoded = Vec::new();
    Deflater::new()
        .append(&content, level, container, &mut encoded)
        .expect("the level exists");
    let mut decoded = vec![0; content.len()];
    assert!(
        Inflater::new().fill(&encoded, container, &mut decoded),
        "it decodes"
    );
    assert!(decoded == content, "to the same");
    Ok(())
}
