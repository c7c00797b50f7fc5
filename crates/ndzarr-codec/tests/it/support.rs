use ndzarr_codec::{CodecChain, CodecError, CodecRegistry, Elements, Layout, Swap, Workspace};
use ndzarr_model::{
    ChecksumLocation, CodecConfig, CodecSpec, DataType, Endian, FillValue, IndexLocation,
    PayloadBounds, ShardingConfig,
};

pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .split_whitespace()
        .flat_map(str::chars)
        .map(|c| c.to_digit(16).expect("a hex digit") as u8)
        .collect();
    assert_eq!(digits.len() % 2, 0);
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

pub(crate) const LITTLE: CodecConfig = CodecConfig::Bytes {
    endian: Some(Endian::Little),
};
pub(crate) const BIG: CodecConfig = CodecConfig::Bytes {
    endian: Some(Endian::Big),
};
pub(crate) const PLAIN: CodecConfig = CodecConfig::Bytes { endian: None };
pub(crate) const GZIP: CodecConfig = CodecConfig::Gzip { level: 5 };
pub(crate) const ZSTD: CodecConfig = CodecConfig::Zstd {
    level: 1,
    checksum: false,
};
pub(crate) const CRC32C: CodecConfig = CodecConfig::Crc32c {
    location: ChecksumLocation::End,
};
pub(crate) const U8: DataType = DataType::UInt { bits: 8 };
pub(crate) const U16: DataType = DataType::UInt { bits: 16 };

pub(crate) fn transpose(order: &[usize]) -> CodecConfig {
    CodecConfig::Transpose {
        order: order.to_vec(),
    }
}

pub(crate) fn specs(configs: &[CodecConfig]) -> Vec<CodecSpec> {
    configs.iter().cloned().map(CodecSpec::from).collect()
}

/// Sharding with an index of `bytes` (little) and `crc32c`.
pub(crate) fn sharding(
    chunk_shape: &[u64],
    codecs: &[CodecConfig],
    location: IndexLocation,
) -> ShardingConfig {
    ShardingConfig {
        chunk_shape: chunk_shape.to_vec(),
        codecs: specs(codecs),
        index_codecs: specs(&[LITTLE, CRC32C]),
        index_location: location,
        payload: PayloadBounds::Shard,
    }
}

pub(crate) fn sharded(config: ShardingConfig) -> CodecConfig {
    CodecConfig::Sharding(Box::new(config))
}

pub(crate) fn try_bind(
    configs: &[CodecConfig],
    data_type: &DataType,
    fill: &[u8],
    ndim: usize,
) -> Result<CodecChain, CodecError> {
    CodecChain::bind(
        &specs(configs),
        data_type,
        &FillValue::defined(fill),
        ndim,
        &CodecRegistry::new(),
    )
}

/// A chain whose fill value is zero.
pub(crate) fn bind(configs: &[CodecConfig], data_type: &DataType, ndim: usize) -> CodecChain {
    let fill = vec![0; data_type.elem_size().expect("a fixed size")];
    try_bind(configs, data_type, &fill, ndim).expect("it binds")
}

/// Every index of an array, in C order.
pub(crate) fn indices(extent: &[usize]) -> Vec<Vec<usize>> {
    extent.iter().fold(vec![vec![]], |all, &n| {
        all.iter()
            .flat_map(|index| (0..n).map(move |i| [&index[..], &[i]].concat()))
            .collect()
    })
}

/// The elements in C order and native byte order, collected one by one, and their extent.
pub(crate) fn gather(elements: Elements<'_>, layout: &Layout) -> (Vec<u8>, Vec<usize>) {
    let Elements::Fixed { bytes, size } = elements else {
        panic!("no elements of fixed size")
    };
    let mut out = Vec::new();
    for index in indices(&layout.extent) {
        let at: isize = index
            .iter()
            .zip(&layout.strides)
            .map(|(&i, &stride)| i as isize * stride)
            .sum();
        let at = at as usize * size;
        let mut element = bytes[at..at + size].to_vec();
        if let Swap::Every(width) = layout.swap {
            element.chunks_mut(width).for_each(<[u8]>::reverse);
        }
        out.extend(element);
    }
    (out, layout.extent.clone())
}

pub(crate) fn decode(
    chain: &CodecChain,
    encoded: &[u8],
    shape: &[u64],
) -> Result<(Vec<u8>, Vec<usize>), CodecError> {
    let mut decoded = None;
    chain.decode(encoded, shape, &mut Workspace::new(), |elements, layout| {
        decoded = Some(gather(elements, layout));
        Ok::<_, CodecError>(())
    })?;
    Ok(decoded.expect("put was called"))
}

/// The elements of an array of the full shape.
pub(crate) fn decode_full(
    chain: &CodecChain,
    encoded: &[u8],
    shape: &[u64],
) -> Result<Vec<u8>, CodecError> {
    let (bytes, extent) = decode(chain, encoded, shape)?;
    assert!(extent.iter().map(|&n| n as u64).eq(shape.iter().copied()));
    // Decoding into memory gives the same result, where it is possible.
    let mut out = vec![0x5a; bytes.len()];
    if chain.decode_into(encoded, shape, &mut out, &mut Workspace::new())? {
        assert_eq!(out, bytes);
    }
    Ok(bytes)
}

pub(crate) fn encode(
    chain: &CodecChain,
    elements: &[u8],
    shape: &[u64],
) -> Result<Vec<u8>, CodecError> {
    let mut out = vec![1, 2, 3];
    chain.encode(elements, shape, &mut Workspace::new(), &mut out)?;
    Ok(out)
}

/// Checks that an array encodes to exactly these bytes, and decodes from them.
pub(crate) fn check(chain: &CodecChain, elements: &[u8], shape: &[u64], encoded: &str) {
    chain.check(shape).expect("the shape fits");
    let encoded = hex(encoded);
    assert_eq!(encode(chain, elements, shape).expect("it encodes"), encoded);
    assert_eq!(
        decode_full(chain, &encoded, shape).expect("it decodes"),
        elements
    );
}

/// Elements of `u16` in native form.
pub(crate) fn u16s(values: impl IntoIterator<Item = u16>) -> Vec<u8> {
    values.into_iter().flat_map(u16::to_ne_bytes).collect()
}
