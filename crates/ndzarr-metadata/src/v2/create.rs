//! Makes the documents of new arrays and groups of Zarr v2.

use ndzarr_model::{Attributes, CodecSpec, Endian};

use crate::json::{Json, Members, json, object};
use crate::known::Stop;
use crate::operations::site::Site;
use crate::request::NewNode;
use crate::shared::attribute_texts::of_request;
use crate::shared::dtype::Stored;
use crate::shared::names::{ARRAY, ATTRIBUTES, DIMENSION_NAMES, GROUP};
use crate::shared::request_parts;
use crate::shared::stage::{Stage, stage};
use crate::shared::{dtype, numcodecs};
use crate::v2::{document, fill, objects};
use crate::{
    ArrayRequest, Claim, CodecRequest, CreateOptions, Creation, Document, ExistingDocument, Format,
    Known, MetadataError, NodePath, OpenOptions, Order, json as document_json,
};

const FORMAT: Format = Format::Zarr2;

/// The documents of a new node and of the groups above it that are missing.
pub(crate) fn create(
    path: &NodePath,
    new: NewNode<'_>,
    known: &Known,
    options: &CreateOptions,
) -> Result<Creation, Stop> {
    check_names(path)?;
    let key_of = |name: &str| format!("{}{name}", path.prefix());
    let (key, value, attributes) = match new {
        NewNode::Array(request) => {
            let key = key_of(ARRAY);
            let value = array_document(&key, request, options)?;
            (key, value, array_attributes(request)?)
        }
        NewNode::Group(attributes) => (key_of(GROUP), group_document(), attributes.clone()),
    };
    let put_new = |key, value, existing| Document {
        key,
        value,
        existing,
    };
    let value = document_json::write(&key, &value)?;
    let mut own = vec![];
    if !attributes.is_empty() {
        let key = key_of(ATTRIBUTES);
        let value = document_json::write_object(&key, of_request(&attributes, options))?;
        own.push(put_new(key, value, ExistingDocument::Replace));
    }
    // The document that makes the node comes last, so that readers never find the node without its
    // attributes.
    own.push(put_new(key, value, options.existing.of_document()));
    let site = Site::survey(path, known, options)?;
    // The documents must open before they are written, and the opened node is the result.
    let mut written = Known::new();
    for name in [ARRAY, GROUP, ATTRIBUTES] {
        written.add_document(key_of(name), None);
    }
    for document in &own {
        written.add_document(&document.key, Some(document.value.clone()));
    }
    let open_options = OpenOptions {
        n5_axes: options.n5_axes,
        ..OpenOptions::default()
    };
    let mut node = crate::v2::open(path, &written, &open_options)?
        .ok_or_else(|| MetadataError::inexpressible(FORMAT, "nothing was written"))?;
    if !path.as_str().is_ascii() {
        node.warnings.push(format!(
            "the path {path} is not ASCII, as Zarr v2 requires of keys"
        ));
    }
    let group = document_json::write(ARRAY, &group_document())?;
    let mut put: Vec<Document> = site
        .missing_groups
        .into_iter()
        .map(|key| Document {
            key,
            value: group.clone(),
            existing: ExistingDocument::Keep,
        })
        .collect();
    put.extend(own);
    let group = put_new(key_of(GROUP), group, ExistingDocument::Refuse);
    let claim = Some(Claim {
        group,
        array: key_of(ARRAY),
    });
    let foreign = options.foreign;
    Ok(Creation {
        erase: site.erase,
        erase_prefixes: site.erase_prefixes,
        foreign,
        put,
        claim,
        node,
    })
}

fn group_document() -> Json<'static> {
    json!({"zarr_format": 2})
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
    if request.shard_shape.is_some() {
        return Err(inexpressible("shards cannot be expressed".to_owned()));
    }
    if let Some(encoding) = request
        .key_encoding
        .as_deref()
        .filter(|&encoding| encoding != "v2")
    {
        return Err(inexpressible(format!("chunk key encoding {encoding:?}")));
    }
    let separator = request.separator.unwrap_or('.');
    if !matches!(separator, '/' | '.') {
        return Err(inexpressible(format!("separator {separator:?}")));
    }
    let endian = request.endian.unwrap_or(Endian::Little);
    let stored = Stored::One((data_type.swap_width() > 1).then_some(endian));
    let dtype = dtype::write(data_type, endian)
        .ok_or_else(|| inexpressible(format!("data type {data_type} cannot be expressed")))?;
    let dtype = same_dtype(&dtype, options).unwrap_or(dtype);
    let chunks = request_parts::chunk_shape(FORMAT, shape, &request.chunk_shape)?;
    let fill_value = request_parts::fill_value(key, FORMAT, data_type, &request.fill_value)?;
    let Encoding {
        order,
        mut filters,
        compressor,
    } = encoding(key, request)?;
    if let Some(codec) = objects::write(data_type, endian) {
        filters = with_object_codec(codec, filters);
    }
    let order = match order {
        Order::C => "C",
        Order::F => "F",
    };
    Ok(object([
        ("zarr_format", 2.into()),
        ("shape", json!(shape)),
        ("chunks", json!(chunks)),
        ("dtype", json!(dtype)),
        ("compressor", compressor),
        ("filters", filters),
        (
            "fill_value",
            fill::write(FORMAT, data_type, &stored, &fill_value)?,
        ),
        ("order", order.into()),
        ("dimension_separator", separator.to_string().into()),
    ]))
}

/// A data type as the array that is copied spells it, if it means the same: to NCZarr `>S1` is a
/// character, and `|S1` a string.
fn same_dtype(dtype: &Json<'_>, options: &CreateOptions) -> Option<Json<'static>> {
    let node = options
        .attributes_of
        .as_ref()
        .filter(|node| node.format == FORMAT)?;
    let (key, bytes) = node
        .documents
        .iter()
        .find(|(key, _)| key.ends_with(ARRAY))?;
    let document =
        document_json::parse_object(key, bytes, document_json::NonFinite::Accept).ok()?;
    let original = document.get("dtype")?;
    let is_same = dtype::parse(key, original).ok()? == dtype::parse(key, dtype).ok()?;
    is_same.then(|| original.to_owned())
}

/// The filters with the object codec in front, unless one is requested.
pub(crate) fn with_object_codec(codec: Json<'static>, filters: Json<'static>) -> Json<'static> {
    let mut filters = match filters {
        Json::Array(filters) => filters,
        _ => Vec::new(),
    };
    if !filters.first().is_some_and(objects::is_codec) {
        filters.insert(0, codec);
    }
    filters.into()
}

/// The encoding of a chunk as a v2 document states it.
pub(crate) struct Encoding {
    pub(crate) order: Order,
    pub(crate) filters: Json<'static>,
    pub(crate) compressor: Json<'static>,
}

/// `order`, `filters` and `compressor` for a request.
fn encoding(key: &str, request: &ArrayRequest) -> Result<Encoding, MetadataError> {
    match &request.codecs {
        CodecRequest::Neutral(specs) => {
            let (order, codecs) = request_parts::order_and_filters(FORMAT, request, specs)?;
            let mut filters = codecs
                .iter()
                .map(|spec| codec_json(FORMAT, spec))
                .collect::<Result<Vec<Json<'static>>, _>>()?;
            let is_filter = |spec: &CodecSpec| stage(&spec.config) == Some(Stage::ArrayToArray);
            let compressor = filters
                .pop_if(|_| !codecs.last().is_some_and(is_filter))
                .unwrap_or(Json::Null);
            let filters = if filters.is_empty() {
                Json::Null
            } else {
                filters.into()
            };
            Ok(Encoding {
                order,
                filters,
                compressor,
            })
        }
        CodecRequest::Json(value) => {
            let (filters, compressor) = json_codecs(key, &value.into())?;
            Ok(Encoding {
                order: request.order,
                filters,
                compressor,
            })
        }
    }
}

/// A codec with its id, as in `compressor` and `filters`.
pub(crate) fn codec_json(format: Format, spec: &CodecSpec) -> Result<Json<'static>, MetadataError> {
    if let Some(why) = &spec.unwritable {
        return Err(MetadataError::inexpressible(format, why));
    }
    let (id, configuration) = numcodecs::configuration(&spec.config).ok_or_else(|| {
        MetadataError::inexpressible(
            format,
            format_args!("codec {:?} cannot be expressed", spec.config.name()),
        )
    })?;
    let mut members = Members::from_iter([("id".to_owned(), Json::from(id))]);
    members.extend(configuration);
    Ok(members.into())
}

/// `filters` and `compressor` of a request in the format's own form, checked.
pub(crate) fn json_codecs<'a>(
    key: &str,
    value: &Json<'a>,
) -> Result<(Json<'a>, Json<'a>), MetadataError> {
    let Json::Object(members) = value else {
        return Err(MetadataError::invalid(
            key,
            "the requested codecs are not an object of filters and compressor",
        ));
    };
    if let Some(name) = members
        .keys()
        .find(|name| !matches!(*name, "filters" | "compressor"))
    {
        let what = format_args!("the requested codecs have an unknown member {name:?}");
        return Err(MetadataError::invalid(key, what));
    }
    let filters = members.get("filters");
    let compressor = members.get("compressor");
    // The type determines the object codec.
    let others = filters.map(|filters| match filters.as_array() {
        Some(list) => list
            .iter()
            .filter(|codec| !objects::is_codec(codec))
            .cloned()
            .collect(),
        None => filters.clone(),
    });
    for codec in document::bytes_codecs(key, others.as_ref(), compressor)? {
        if let Some(why) = codec.unwritable {
            return Err(MetadataError::inexpressible(FORMAT, why));
        }
    }
    // An empty list of filters can be read, but is never written.
    let filters = filters.filter(|filters| filters.as_array().is_none_or(|list| !list.is_empty()));
    Ok((
        filters.cloned().unwrap_or(Json::Null),
        compressor.cloned().unwrap_or(Json::Null),
    ))
}

/// The attributes, including the dimension names in xarray's form.
fn array_attributes(request: &ArrayRequest) -> Result<Attributes, MetadataError> {
    let inexpressible = |what: &str| Err(MetadataError::inexpressible(FORMAT, what));
    let mut attributes = request.attributes.clone();
    let Some(names) = &request.dimension_names else {
        return Ok(attributes);
    };
    if names.len() != request.shape.len() {
        return inexpressible("the number of dimension names differs from that of dimensions");
    }
    if !names.is_empty() && names.iter().all(Option::is_none) {
        return Ok(attributes);
    }
    let Some(names) = names
        .iter()
        .map(|name| name.clone().map(Json::from))
        .collect::<Option<Json<'static>>>()
    else {
        return inexpressible("names for some of the dimensions cannot be expressed");
    };
    match attributes.get(DIMENSION_NAMES) {
        Some(stated) if Json::from(stated) != names => {
            return inexpressible(
                "the attribute _ARRAY_DIMENSIONS differs from the dimension names",
            );
        }
        _ => attributes.insert(DIMENSION_NAMES.to_owned(), names.to_value()),
    };
    Ok(attributes)
}

fn check_names(path: &NodePath) -> Result<(), MetadataError> {
    let reserved = [ARRAY, GROUP, ATTRIBUTES, ".zmetadata"];
    match path.segments().find(|name| reserved.contains(name)) {
        None => Ok(()),
        Some(name) => {
            let what = format!("{name:?} is the name of a document");
            Err(MetadataError::Path {
                path: path.to_string(),
                what,
            })
        }
    }
}
