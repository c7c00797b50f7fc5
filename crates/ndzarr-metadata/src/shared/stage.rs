//! The stage of a chain that a codec belongs to, the same in all formats.

use ndzarr_model::CodecConfig;

/// Array→array codecs come first, then one from elements to bytes, then bytes→bytes codecs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    ArrayToArray,
    ArrayToBytes,
    BytesToBytes,
}

/// The stage of a chain that a codec belongs to; `None` for an unknown one.
pub(crate) fn stage(config: &CodecConfig) -> Option<Stage> {
    match config {
        CodecConfig::Transpose { .. }
        | CodecConfig::Delta(_)
        | CodecConfig::FixedScaleOffset(_)
        | CodecConfig::Quantize { .. }
        | CodecConfig::AsType(_)
        | CodecConfig::Categorize(_)
        | CodecConfig::NumcodecsPackbits
        | CodecConfig::Bitround { .. }
        | CodecConfig::CastValue(_)
        | CodecConfig::ScaleOffset(_)
        | CodecConfig::Reshape { .. } => Some(Stage::ArrayToArray),
        CodecConfig::Bytes { .. }
        | CodecConfig::LeafBytes { .. }
        | CodecConfig::Vlen(_)
        | CodecConfig::Sharding(_)
        | CodecConfig::N5Block(_)
        | CodecConfig::Packbits(_)
        | CodecConfig::Pcodec(_)
        | CodecConfig::Zfpy(_)
        | CodecConfig::Zfp(_) => Some(Stage::ArrayToBytes),
        CodecConfig::Unknown { .. } => None,
        _ => Some(Stage::BytesToBytes),
    }
}
