//! Makes the documents of new arrays and groups of Zarr v3.

use bytes::Bytes;
use ndzarr_model::{
    ChunkEdges, CodecConfig, CodecSpec, DataType, Endian, KeyEncoding, PayloadBounds,
    ShardingConfig, VlenConfig,
};

use crate::json::{Json, Members, json};
use crate::known::Stop;
use crate::operations::site::Site;
use crate::request::NewNode;
use crate::shared::attribute_texts::of_request;
use crate::shared::fill;
use crate::shared::request_parts;
use crate::shared::request_parts::Around;
use crate::shared::request_parts::reversal;
use crate::v3::{codecs, document, document_key, dtype, grid, keys};
use crate::{
    ArrayRequest, CodecRequest, CreateOptions, Creation, Document, ExistingDocument, Extensions,
    FillRequest, Format, Known, Limits, MetadataError, NodePath, Order, json as document_json,
};

const FORMAT: Format = Format::Zarr3;

/// The documents of a new node and of the groups above it that are missing.
pub(crate) fn create(
    path: &NodePath,
    new: NewNode<'_>,
    known: &Known,
    options: &CreateOptions,
) -> Result<Creation, Stop> {
    check_names(path)?;
    let key = document_key(path);
    let (document, extensions) = match new {
        NewNode::Array(request) => {
            let extensions =
                Extensions::new().knowing(&request.data_type, request.custom_grid.as_ref());
            (array_document(&key, request, options)?, extensions)
        }
        NewNode::Group(attributes) => (
            group_document(of_request(attributes, options)),
            Extensions::new(),
        ),
    };
    let value = document_json::write(&key, &document)?;
    // The document must open before it is written, and the opened node is the result.
    let (members, attributes) = document_json::read_object(&key, &value)?;
    let mut node = document::node(
        path,
        &key,
        &members,
        attributes,
        (&extensions, &options.limits),
    )?;
    node.documents.push((key.clone(), value.clone()));
    node.context.n5_axes = options.n5_axes;
    node.context.extensions = extensions;
    node.warnings.extend(unusual_name(path));
    let site = Site::survey(path, known, options)?;
    let group = document_json::write(&key, &group_document(Members::new()))?;
    let mut put: Vec<Document> = site
        .missing_groups
        .into_iter()
        .map(|key| new_document(key, &group, ExistingDocument::Keep))
        .collect();
    put.push(new_document(key, &value, options.existing.of_document()));
    let foreign = options.foreign;
    Ok(Creation {
        erase: site.erase,
        erase_prefixes: site.erase_prefixes,
        foreign,
        put,
        claim: None,
        node,
    })
}

fn new_document(key: String, value: &Bytes, existing: ExistingDocument) -> Document {
    Document {
        key,
        value: value.clone(),
        existing,
    }
}

fn group_document(attributes: Members<'static>) -> Json<'static> {
    document_json::object([
        ("zarr_format", 3.into()),
        ("node_type", "group".into()),
        ("attributes", attributes.into()),
    ])
}

fn array_document(
    key: &str,
    request: &ArrayRequest,
    options: &CreateOptions,
) -> Result<Json<'static>, MetadataError> {
    let inexpressible = |what: String| MetadataError::inexpressible(FORMAT, what);
    let ArrayRequest {
        shape, data_type, ..
    } = request;
    if request.fill_value == FillRequest::Undefined {
        return Err(inexpressible(
            "an undefined fill value cannot be expressed".to_owned(),
        ));
    }
    let fill_value = request_parts::fill_value(key, FORMAT, data_type, &request.fill_value)?;
    let grid = grid(request)?;
    let grid_shape = grid.chunk_shape.clone();
    let name = dtype::write(data_type)
        .ok_or_else(|| inexpressible(dtype::why_inexpressible(data_type)))?;
    let encoding = key_encoding(request)?;
    let codecs = codec_list(key, request, &grid_shape, &options.limits)?;
    let mut document = json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": name,
        "chunk_grid": grid::write(&grid),
        "chunk_key_encoding": keys::write(encoding),
        "fill_value": fill::write(data_type, &fill_value),
        "codecs": codecs,
        "attributes": of_request(&request.attributes, options),
    });
    if let (Json::Object(members), Some(names)) = (&mut document, &request.dimension_names) {
        members.insert("dimension_names", names.into());
    }
    Ok(document)
}

fn grid(request: &ArrayRequest) -> Result<grid::Grid, MetadataError> {
    if let Some(custom) = &request.custom_grid {
        let chunk_shape = custom.edges().iter().map(ChunkEdges::max).collect();
        return Ok(grid::Grid {
            chunk_shape,
            edges: None,
            custom: Some(custom.clone()),
        });
    }
    let Some(edges) = &request.chunk_edges else {
        let shape = request.shard_shape.as_ref().unwrap_or(&request.chunk_shape);
        let chunk_shape = request_parts::chunk_shape(FORMAT, &request.shape, shape)?;
        return Ok(grid::Grid {
            chunk_shape,
            edges: None,
            custom: None,
        });
    };
    // An invalid grid is found as in a document that is read.
    let grid = grid::Grid {
        chunk_shape: Vec::new(),
        edges: Some(edges.clone()),
        custom: None,
    };
    grid::parse(
        "the request",
        &(&grid::write(&grid)).into(),
        &request.shape,
        &Extensions::new(),
    )
    .map_err(|error| MetadataError::inexpressible(FORMAT, error))
}

fn key_encoding(request: &ArrayRequest) -> Result<KeyEncoding, MetadataError> {
    let separator = match request.separator {
        Some(separator) if !matches!(separator, '/' | '.') => {
            return Err(MetadataError::inexpressible(
                FORMAT,
                format_args!("separator {separator:?}"),
            ));
        }
        separator => separator,
    };
    match request.key_encoding.as_deref() {
        None | Some("default") => Ok(KeyEncoding::Default {
            separator: separator.unwrap_or('/'),
        }),
        Some("v2") => Ok(KeyEncoding::V2 {
            separator: separator.unwrap_or('.'),
        }),
        Some(other) => Err(MetadataError::inexpressible(
            FORMAT,
            format_args!("chunk key encoding {other:?}"),
        )),
    }
}

/// The whole chain: of a chunk, or of a shard and its inner chunks.
fn codec_list(
    key: &str,
    request: &ArrayRequest,
    grid_shape: &[u64],
    limits: &Limits,
) -> Result<Vec<Json<'static>>, MetadataError> {
    let data_type = &*request.data_type.layout();
    let chunk_shape = match &request.shard_shape {
        None => grid_shape.to_vec(),
        Some(_) => request_parts::chunk_shape(FORMAT, &request.shape, &request.chunk_shape)?,
    };
    let codecs = match &request.codecs {
        CodecRequest::Neutral(codecs) => neutral(request, codecs)?,
        CodecRequest::Json(value) => {
            if request.order == Order::F || request.endian.is_some() {
                let what = "a complete list of codecs determines order and byte order";
                return Err(MetadataError::inexpressible(FORMAT, what));
            }
            codecs::parse(key, &value.into(), data_type, &chunk_shape, limits)?
        }
    };
    let codecs = match &request.shard_shape {
        None => codecs,
        Some(_) => vec![shards(chunk_shape, codecs, request)],
    };
    codecs::raise(&codecs, data_type, grid_shape.len())
        .map_err(|why| MetadataError::inexpressible(FORMAT, why))
}

fn neutral(request: &ArrayRequest, specs: &[CodecSpec]) -> Result<Vec<CodecSpec>, MetadataError> {
    let Around {
        before,
        array_to_bytes,
        after,
    } = request_parts::around(FORMAT, specs)?;
    let mut chain = Vec::new();
    if request.order == Order::F {
        chain.extend(reversal(request.shape.len()));
    }
    let reaching = before.iter().fold(
        request.data_type.layout().into_owned(),
        |data_type, codec| codecs::encoded_type(&codec.config, &data_type),
    );
    chain.extend(before);
    chain.push(array_to_bytes.unwrap_or_else(|| elements(&reaching, request.endian)));
    chain.extend(after);
    Ok(chain)
}

fn elements(data_type: &DataType, endian: Option<Endian>) -> CodecSpec {
    let endian = (data_type.swap_width() > 1).then(|| endian.unwrap_or(Endian::Little));
    match data_type {
        DataType::String => CodecConfig::Vlen(VlenConfig::Utf8),
        DataType::Bytes => CodecConfig::Vlen(VlenConfig::Bytes),
        _ => CodecConfig::Bytes { endian },
    }
    .into()
}

fn shards(chunk_shape: Vec<u64>, codecs: Vec<CodecSpec>, request: &ArrayRequest) -> CodecSpec {
    let index_codecs = request
        .index_codecs
        .clone()
        .unwrap_or_else(codecs::usual_index_codecs);
    let index_location = request.index_location;
    CodecConfig::Sharding(Box::new(ShardingConfig {
        chunk_shape,
        codecs,
        index_codecs,
        index_location,
        payload: PayloadBounds::default(),
    }))
    .into()
}

/// The rules for names on top of those of [`NodePath`].
fn check_names(path: &NodePath) -> Result<(), MetadataError> {
    for name in path.segments() {
        let what = if name.bytes().all(|b| b == b'.') {
            "consists of periods"
        } else if name.starts_with("__") {
            "begins with \"__\""
        } else if name == crate::v3::DOCUMENT {
            "is the name of a document"
        } else {
            continue;
        };
        let what = format!("{name:?} {what}, which Zarr v3 reserves");
        return Err(MetadataError::Path {
            path: path.to_string(),
            what,
        });
    }
    Ok(())
}

/// A warning about characters that some stores cannot handle.
fn unusual_name(path: &NodePath) -> Option<String> {
    let usual = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let name = path.segments().find(|name| !name.bytes().all(usual))?;
    Some(format!(
        "the name {name:?} has characters other than a-z A-Z 0-9 - _ . and may not be portable"
    ))
}
