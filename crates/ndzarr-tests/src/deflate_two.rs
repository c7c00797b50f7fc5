//! Two streams decoded together, compared with decoding each by itself. A few bytes describe their
//! content and damage.

use arbitrary::{Result, Unstructured};
use ndzarr_deflate::{Container, Deflater, Inflater};

use super::large_chunk::{content, damage};

/// Memory limit for an input: contents have up to 4 MiB.
pub const MAX_BYTES: usize = 64 << 20;

/// Runs an input.
pub fn check(data: &[u8]) {
    // An input that is too short describes no streams.
    let _ = run(&mut Unstructured::new(data));
}

fn run(choices: &mut Unstructured<'_>) -> Result<()> {
    let container = if choices.arbitrary()? {
        Container::Raw
    } else {
        Container::Zlib
    };
    let level = choices.int_in_range(0..=9)?;
    let mut streams = [Vec::new(), Vec::new()];
    let mut out = [Vec::new(), Vec::new()];
    for (stream, out) in streams.iter_mut().zip(&mut out) {
        let content = content(choices)?;
        Deflater::new()
            .append(&content, level, container, stream)
            .expect("the level exists");
        damage(stream, choices)?;
        out.resize(content.len(), 0);
    }
    let mut inflater = Inflater::new();
    let src = streams.each_ref().map(|stream| &stream[..]);
    if inflater.fill_two(src, container, out.each_mut().map(|out| &mut out[..])) {
        for (stream, out) in streams.iter().zip(&out) {
            let mut alone = vec![0; out.len()];
            assert!(
                inflater.fill(stream, container, &mut alone),
                "it decodes by itself"
            );
            assert!(alone == *out, "to the same");
        }
    }
    Ok(())
}
