//! Describes an array of one format in another, as far as its documents go.

use ndzarr_model::{
    ArraySpec, CodecConfig, CodecSpec, DataType, FillValue, KeyEncoding, VlenConfig,
};

use crate::json::Json;
use crate::shared::request_parts::is_identity;
use crate::v3::codecs::zarr3_chain;
use crate::{
    ArrayRequest, CodecRequest, CreateOptions, FillRequest, Format, Known, MetadataError, Node,
    NodePath, Resolved, create_array, v3,
};

/// The node that a request would create in an empty store: checks whether a format can express it
/// without reading anything.
///
/// # Errors
/// The request cannot be expressed in the format; the path is not allowed.
pub fn check_request(
    path: &NodePath,
    request: &ArrayRequest,
    options: &CreateOptions,
) -> Result<Node, MetadataError> {
    let nothing = Known::closed(String::new(), Vec::new());
    match create_array(path, request, &nothing, options)? {
        Resolved::Done(creation) => Ok(creation.node),
        Resolved::Need(need) => Err(MetadataError::inexpressible(
            options.format,
            format_args!("{need:?} cannot be answered"),
        )),
    }
}

/// A request for an array whose encoded chunks are those of the given one, byte for byte; `None` if
/// the format cannot express it. Fill value, names and attributes are not set. The chunk keys are
/// those of the given array if `keys` asks for that and the format can spell them.
#[must_use]
pub fn keep_chunks(
    spec: &ArraySpec,
    options: &CreateOptions,
    keys: KeptKeys,
) -> Option<ArrayRequest> {
    let mut request = ArrayRequest::like(spec);
    request.chunk_edges.clone_from(&spec.chunk_edges);
    request.custom_grid.clone_from(&spec.custom_grid);
    // The effort of a compressor does not matter to readers.
    let codecs: Vec<CodecSpec> = spec
        .codecs
        .iter()
        .map(|codec| codec.config.clone().into())
        .collect();
    match options.format {
        Format::Zarr3 => {
            let codecs = zarr3_chain(&codecs).ok()?;
            let list =
                v3::codecs::raise(&codecs, &spec.data_type.layout(), spec.shape.len()).ok()?;
            request.codecs = CodecRequest::Json(Json::Array(list).to_value());
            if let (KeptKeys::Same, Some(separator)) = (keys, v2_separator(spec.keys.encoding)) {
                request.key_encoding = Some("v2".to_owned());
                request.separator = Some(separator);
            } else if let (KeptKeys::Same, KeyEncoding::Default { separator }) =
                (keys, spec.keys.encoding)
            {
                request.separator = Some(separator);
            }
        }
        Format::Zarr2 => {
            request.codecs = CodecRequest::Neutral(chain(&codecs, &mut request)?);
            if keys == KeptKeys::Same {
                request.separator = v2_separator(spec.keys.encoding);
            }
        }
        Format::DraftA | Format::DraftB => {
            let position = codecs
                .iter()
                .position(|codec| matches!(codec.config, CodecConfig::Sharding(_)));
            let inner = match position.map(|at| (at, &codecs[at].config)) {
                Some((0, CodecConfig::Sharding(sharding))) if codecs.len() == 1 => {
                    request.shard_shape = Some(spec.unit_shape.clone());
                    request.chunk_shape.clone_from(&sharding.chunk_shape);
                    sharding
                        .codecs
                        .iter()
                        .map(|codec| codec.config.clone().into())
                        .collect()
                }
                Some(_) => return None,
                None => codecs,
            };
            request.codecs = CodecRequest::Neutral(chain(&inner, &mut request)?);
        }
        Format::N5 => {
            let (CodecConfig::N5Block(block), _) = codecs
                .split_last()
                .map(|(last, rest)| (&last.config, rest))?
            else {
                return None;
            };
            request.edge_blocks = block.edge_blocks;
            let compression = block
                .compression
                .iter()
                .map(|codec| codec.config.clone().into());
            request.codecs = CodecRequest::Neutral(compression.collect());
        }
    }
    // The document decides: it must describe each chunk identically.
    let made = check_request(&NodePath::root(), &request, options).ok()?;
    let made = made.kind.array()?;
    let same = made.data_type == spec.data_type
        && made.chunk_edges == spec.chunk_edges
        && made.custom_grid == spec.custom_grid
        && made.unit_shape == spec.unit_shape
        && decode_alike(&made.codecs, &spec.codecs, &spec.data_type);
    same.then_some(request)
}

/// True if chunks of an array are N5 blocks in another format than N5: few programs read them
/// there.
#[must_use]
pub fn are_n5_blocks(codecs: &[CodecSpec], format: Format) -> bool {
    format != Format::N5
        && codecs
            .iter()
            .any(|codec| matches!(codec.config, CodecConfig::N5Block(_)))
}

/// Which keys chunks should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptKeys {
    /// Those of the source, where the format can spell them.
    Same,
    /// The format's usual ones.
    Usual,
}

/// True if both encode every index with this number of dimensions the same way.
#[must_use]
pub fn same_keys(a: KeyEncoding, b: KeyEncoding, ndim: usize) -> bool {
    // Indices with several digits, all different, show the separators and the order.
    let probe: Vec<u64> = (0..ndim as u64).map(|axis| 10 + axis).collect();
    let zero = vec![0; ndim];
    a.encode(&probe) == b.encode(&probe) && a.encode(&zero) == b.encode(&zero)
}

fn v2_separator(encoding: KeyEncoding) -> Option<char> {
    match encoding {
        KeyEncoding::V2 { separator } => Some(separator),
        KeyEncoding::N5 { reversed: false } => Some('/'),
        _ => None,
    }
}

/// The codecs around an array→bytes codec that follows from the type; the request takes over its
/// byte order.
fn chain(codecs: &[CodecSpec], request: &mut ArrayRequest) -> Option<Vec<CodecSpec>> {
    let mut around = Vec::new();
    for codec in codecs {
        match &codec.config {
            CodecConfig::Bytes { endian } | CodecConfig::Vlen(VlenConfig::Array { endian }) => {
                request.endian = *endian;
            }
            CodecConfig::Vlen(_) => {}
            CodecConfig::Sharding(_) | CodecConfig::N5Block(_) => return None,
            config if is_identity(config) => {}
            _ => around.push(codec.clone()),
        }
    }
    Some(around)
}

/// True if the second chain decodes what the first encoded: parameters that affect only encoding
/// may differ, and filters may stand on either side of the byte order, as in Zarr v2 and v3.
fn decode_alike(a: &[CodecSpec], b: &[CodecSpec], data_type: &DataType) -> bool {
    let a = comparable(a);
    let b = comparable(b);
    let mut data_type = data_type.layout().into_owned();
    a.len() == b.len()
        && a.iter().zip(&b).all(|(a, b)| {
            let is_alike = alike(&a.config, &b.config, &data_type);
            data_type = v3::codecs::encoded_type(&a.config, &data_type);
            is_alike
        })
}

/// A chain in v3's arrangement, if that is possible, without codecs that do nothing.
fn comparable(codecs: &[CodecSpec]) -> Vec<CodecSpec> {
    let mut chain = zarr3_chain(codecs).unwrap_or_else(|_| codecs.to_vec());
    chain.retain(|codec| !is_identity(&codec.config));
    chain
}

fn alike(a: &CodecConfig, b: &CodecConfig, data_type: &DataType) -> bool {
    use CodecConfig as C;
    match (a, b) {
        (C::Bytes { endian: a }, C::Bytes { endian: b }) => a == b || data_type.swap_width() == 1,
        // These streams describe themselves.
        (C::Gzip { .. }, C::Gzip { .. })
        | (C::Zlib { .. }, C::Zlib { .. })
        | (C::N5Gzip { .. }, C::N5Gzip { .. })
        | (C::Zstd { .. }, C::Zstd { .. })
        | (C::Blosc(_), C::Blosc(_))
        | (C::Lz4 { .. }, C::Lz4 { .. })
        | (C::N5Lz4 { .. }, C::N5Lz4 { .. })
        | (C::Bz2 { .. }, C::Bz2 { .. })
        | (C::Pcodec(_), C::Pcodec(_))
        // Rounding cannot be undone.
        | (C::Bitround { .. }, C::Bitround { .. }) => true,
        (C::Quantize { types: a, .. }, C::Quantize { types: b, .. }) => a == b,
        (C::Lzma(a), C::Lzma(b)) => a.format == b.format && a.filters == b.filters,
        (C::N5Block(a), C::N5Block(b)) => match (&a.compression, &b.compression) {
            (None, None) => true,
            (Some(a), Some(b)) => alike(&a.config, &b.config, data_type),
            _ => false,
        },
        (C::Sharding(a), C::Sharding(b)) => {
            let index = DataType::UInt { bits: 64 };
            a.chunk_shape == b.chunk_shape
                && a.index_location == b.index_location
                && decode_alike(&a.index_codecs, &b.index_codecs, &index)
                && decode_alike(&a.codecs, &b.codecs, data_type)
        }
        (a, b) => a == b,
    }
}

/// The attributes in which a format keeps the names of the dimensions. Other formats have a
/// separate member for them.
///
/// ```
/// use ndzarr_metadata::{Format, dimension_attributes};
///
/// assert!(dimension_attributes(Format::N5).contains(&"axes"));
/// ```
#[must_use]
pub fn dimension_attributes(format: Format) -> &'static [&'static str] {
    match format {
        Format::N5 => &["_ARRAY_DIMENSIONS", "axes"],
        Format::Zarr2 | Format::Zarr3 | Format::DraftA | Format::DraftB => &["_ARRAY_DIMENSIONS"],
    }
}

/// A request for the fill value, in the format's form for it.
#[must_use]
pub fn fill_request(spec: &ArraySpec, format: Format) -> FillRequest {
    let undefined = !spec.fill_value.is_defined();
    match format {
        Format::Zarr2 | Format::DraftB if undefined => FillRequest::Undefined,
        _ if spec.fill_value.is_zero() => FillRequest::Zero,
        // The value that missing chunks read as: "not a time" for dates.
        _ => FillRequest::Value(FillValue::defined(spec.fill_value.bytes())),
    }
}
