//! Chooses the compressors that a conversion tries when the target format lacks the source's.

use ndzarr_model::{CodecConfig, CodecSpec};

/// Compressors to try, those most like the source's first.
pub(crate) fn candidates(codecs: &[CodecSpec]) -> Vec<Vec<CodecSpec>> {
    let translated = |config: &CodecConfig| match config {
        CodecConfig::N5Gzip { level, .. } => Some(CodecConfig::Gzip { level: *level }),
        CodecConfig::N5Lz4 { .. } => Some(CodecConfig::Lz4 { acceleration: 1 }),
        config => is_compressor(config).then(|| config.clone()),
    };
    let list: Vec<&CodecSpec> = codecs
        .iter()
        .flat_map(|codec| match &codec.config {
            CodecConfig::N5Block(block) => block.compression.iter().collect(),
            _ => vec![codec],
        })
        .collect();
    let own: Vec<CodecSpec> = list
        .iter()
        .filter_map(|codec| translated(&codec.config))
        .map(Into::into)
        .collect();
    let gzip = CodecConfig::Gzip { level: 6 };
    let mut all = vec![own.clone()];
    if let Some(last) = own.last().filter(|_| own.len() > 1) {
        all.push(vec![last.clone()]);
    }
    if !own.is_empty() {
        all.push(vec![gzip.into()]);
    }
    all.push(Vec::new());
    all
}

/// The names of codecs that no candidate has, but for the layout of elements.
pub(crate) fn others(codecs: &[CodecSpec]) -> Vec<&str> {
    let is_layout = |config: &CodecConfig| {
        use CodecConfig as C;
        matches!(
            config,
            C::Bytes { .. } | C::Vlen(_) | C::N5Block(_) | C::Transpose { .. } | C::Sharding(_)
        )
    };
    let others = codecs.iter().map(|codec| &codec.config);
    others
        .filter(|config| !is_compressor(config) && !is_layout(config))
        .map(CodecConfig::name)
        .collect()
}

fn is_compressor(config: &CodecConfig) -> bool {
    matches!(
        config,
        CodecConfig::Gzip { .. }
            | CodecConfig::Zlib { .. }
            | CodecConfig::Zstd { .. }
            | CodecConfig::Blosc(_)
            | CodecConfig::Lz4 { .. }
            | CodecConfig::Bz2 { .. }
            | CodecConfig::Lzma(_)
    )
}
