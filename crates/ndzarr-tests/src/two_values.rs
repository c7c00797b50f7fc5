//! Two values of deflate decoded together. A few bytes describe their content and their damage.

use arbitrary::{Result, Unstructured};
use ndzarr::CodecRegistry;
use ndzarr::codec::{CodecConfig, CodecSpec};
use ndzarr::codec::{CodecError, Workspace};
use ndzarr::{DataType, FillValue};
use ndzarr_codec::CodecChain;
use ndzarr_codec::Elements;

use super::large_chunk::{content, damage};

/// Memory limit for an input: values have up to 4 MiB.
pub const MAX_BYTES: usize = 64 << 20;

/// Runs an input.
pub fn check(data: &[u8]) {
    let mut choices = Unstructured::new(data);
    // An input that is too short describes no values.
    let _ = run(&mut choices);
}

fn run(choices: &mut Unstructured<'_>) -> Result<()> {
    let codec = if choices.arbitrary()? {
        CodecConfig::Gzip {
            level: choices.int_in_range(0..=9)?,
        }
    } else {
        CodecConfig::Zlib {
            level: choices.int_in_range(0..=9)?,
        }
    };
    let data_type = DataType::UInt { bits: 8 };
    let specs = [CodecConfig::Bytes { endian: None }, codec].map(CodecSpec::from);
    let fill = FillValue::zero(&data_type);
    let chain = CodecChain::bind(&specs, &data_type, &fill, 1, &CodecRegistry::new())
        .expect("the chain is valid");
    let mut workspace = Workspace::new();
    let mut values = [Vec::new(), Vec::new()];
    let mut shapes = [[0], [0]];
    for (value, shape) in values.iter_mut().zip(&mut shapes) {
        let content = content(choices)?;
        *shape = [content.len() as u64];
        chain
            .encode(&content, shape, &mut workspace, value)
            .expect("the chain encodes any numbers");
        damage(value, choices)?;
    }
    let encoded = values.each_ref().map(|value| &value[..]);
    let Some(both) = chain.decode_two(
        encoded,
        shapes.each_ref().map(|shape| &shape[..]),
        &mut workspace,
    ) else {
        return Ok(());
    };
    for ((ahead, value), shape) in both.into_iter().zip(&values).zip(&shapes) {
        let mut found = Vec::new();
        let put = chain.put_ahead(ahead, &mut workspace, |elements, _| {
            let Elements::Fixed { bytes, .. } = elements else {
                panic!("integers have a fixed size")
            };
            found.extend_from_slice(bytes);
            Ok::<_, CodecError>(())
        });
        put.expect("it was put without an error");
        let alone = chain.decode(value, shape, &mut workspace, |elements, _| {
            let Elements::Fixed { bytes, .. } = elements else {
                panic!("integers have a fixed size")
            };
            assert!(bytes == found, "by itself it decodes to the same");
            Ok::<_, CodecError>(())
        });
        alone.expect("what is decoded with another is decoded by itself");
    }
    Ok(())
}
