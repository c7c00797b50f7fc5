//! New arrays and groups: their own document, preceded by the entry point if there is none yet.

use bytes::Bytes;
use ndzarr_model::{CodecConfig, CodecSpec, Endian, IndexLocation};

use crate::draft::layout::{Dialect, Layout, is_name};
use crate::draft::{codecs, data_type, document, entry, fill, sharding};
use crate::json::{Json, Members, json};
use crate::known::Stop;
use crate::request::NewNode;
use crate::shared::attribute_texts::of_request;
use crate::shared::dtype::Stored;
use crate::shared::request_parts;
use crate::v2::create::{codec_json, json_codecs};
use crate::v2::objects;
use crate::{
    ArrayRequest, Claim, CodecRequest, CreateOptions, Creation, Document, Existing,
    ExistingDocument, FillRequest, Format, Known, MetadataError, Node, NodePath, Order,
    json as document_json,
};

pub(crate) fn create(
    path: &NodePath,
    new: NewNode<'_>,
    known: &Known,
    options: &CreateOptions,
) -> Result<Creation, Stop> {
    let site = Site::survey(path, known, options)?;
    let layout = &site.layout;
    let (key, value, node) = match new {
        NewNode::Array(request) => {
            let key = layout.array_key(path);
            let members = array_document(&key, layout.dialect, request, options)?;
            let value = document_json::write_object(&key, members)?;
            let node = document::array_node(layout, path, &value)?;
            check_endian(request, &node)?;
            if options.existing == Existing::Refuse {
                // An array cannot contain nodes and would hide all nodes below it.
                let listing = known.listing(&layout.meta_prefix(path))?;
                let named =
                    |key: &String| layout.array_name(key).or(layout.group_name(key)).is_some();
                if listing.prefixes.iter().any(|name| is_name(name))
                    || listing.keys.iter().any(named)
                {
                    return Err(MetadataError::occupied(
                        path,
                        "a group with nodes below it is there",
                    )
                    .into());
                }
            }
            (key, value, node)
        }
        NewNode::Group(attributes) => {
            let key = layout.group_key(path);
            let attributes = of_request(attributes, options).into();
            let value =
                document_json::write(&key, &document_json::object([("attributes", attributes)]))?;
            let node = document::group_node(layout, path, &value)?;
            (key, value, node)
        }
    };
    Ok(site.creation(path, key, value, node, options))
}

/// The state of the store where a node is to be created.
struct Site {
    layout: Layout,
    /// The entry point, if it has to be written.
    entry: Option<Bytes>,
}

impl Site {
    fn survey(path: &NodePath, known: &Known, options: &CreateOptions) -> Result<Self, Stop> {
        let dialect = Dialect::of(options.format).unwrap_or(Dialect::A);
        let (layout, entry) = match known.documents([entry::KEY])? {
            [None] => {
                let (layout, entry) = entry::new(dialect)?;
                (layout, Some(entry))
            }
            [Some(bytes)] => match entry::read(bytes, None)? {
                Some(layout) if layout.dialect == dialect => (layout, None),
                Some(layout) => {
                    let what = format!("the store is a hierarchy of {}", layout.dialect.format());
                    return Err(MetadataError::occupied(&NodePath::root(), &what).into());
                }
                None => {
                    let what = "a node of the final v3 exists, whose document the draft needs too";
                    return Err(MetadataError::occupied(&NodePath::root(), what).into());
                }
            },
        };
        layout.check_new(path)?;
        let mut keys = vec![layout.array_key(path), layout.group_key(path)];
        let ancestors = path.ancestors();
        keys.extend(ancestors.iter().map(|ancestor| layout.array_key(ancestor)));
        let documents = known.many_documents(&keys)?;
        for (ancestor, document) in ancestors.iter().zip(documents.iter().skip(2)) {
            if document.is_some() {
                return Err(MetadataError::occupied(
                    ancestor,
                    "an array exists, and arrays contain no nodes",
                )
                .into());
            }
        }
        if options.existing != Existing::Replace {
            for (kind, document) in ["an array is there", "a group is there"]
                .into_iter()
                .zip(documents)
            {
                if document.is_some() {
                    return Err(MetadataError::occupied(path, kind).into());
                }
            }
        }
        Ok(Self { layout, entry })
    }

    fn creation(
        self,
        path: &NodePath,
        key: String,
        value: Bytes,
        node: Node,
        options: &CreateOptions,
    ) -> Creation {
        let Self { layout, entry } = self;
        let mut erase = Vec::new();
        let mut erase_prefixes = Vec::new();
        if options.existing == Existing::Replace {
            erase = vec![layout.array_key(path), layout.group_key(path)];
            erase_prefixes = vec![layout.meta_prefix(path), layout.data_prefix(path)];
        }
        let mut put = Vec::new();
        if let Some(value) = entry {
            put.push(Document {
                key: entry::KEY.to_owned(),
                value,
                existing: ExistingDocument::Keep,
            });
        }
        put.push(Document {
            key,
            value,
            existing: options.existing.of_document(),
        });
        let group = Document {
            key: layout.group_key(path),
            value: Bytes::from_static(br#"{"attributes":{}}"#),
            existing: ExistingDocument::Refuse,
        };
        let claim = Some(Claim {
            group,
            array: layout.array_key(path),
        });
        let foreign = options.foreign;
        Creation {
            erase,
            erase_prefixes,
            foreign,
            put,
            claim,
            node,
        }
    }
}

/// Refuses what the draft cannot express.
fn check_expressible(dialect: Dialect, request: &ArrayRequest) -> Result<(), MetadataError> {
    let refuse = |what: String| MetadataError::inexpressible(dialect.format(), what);
    if let Some(name) = &request.key_encoding {
        return Err(refuse(format!("has no chunk key encoding {name:?}")));
    }
    if request
        .dimension_names
        .as_ref()
        .is_some_and(|names| names.iter().any(Option::is_some))
    {
        return Err(refuse("has no dimension names".to_owned()));
    }
    if dialect == Dialect::A && request.fill_value == FillRequest::Undefined {
        return Err(refuse("has no undefined fill value".to_owned()));
    }
    Ok(())
}

/// The members of a new array's document.
fn array_document(
    key: &str,
    dialect: Dialect,
    request: &ArrayRequest,
    options: &CreateOptions,
) -> Result<Members<'static>, MetadataError> {
    let format = dialect.format();
    let refuse = |what: String| MetadataError::inexpressible(format, what);
    check_expressible(dialect, request)?;
    let separator = request.separator.unwrap_or('/');
    if !matches!(separator, '/' | '.') {
        return Err(refuse(format!("has no separator {separator:?}")));
    }
    let chunk_shape = request_parts::chunk_shape(format, &request.shape, &request.chunk_shape)?;
    let endian = request.endian.unwrap_or(Endian::Little);
    let name = data_type::write(dialect, &request.data_type, endian)
        .ok_or_else(|| refuse(format!("has no data type {}", request.data_type)))?;
    let stored = Stored::One((request.data_type.swap_width() > 1).then_some(endian));
    let fill_value =
        request_parts::fill_value(key, format, &request.data_type, &request.fill_value)?;
    let mut attributes = of_request(&request.attributes, options);
    let mut document = Members::from_iter([
        ("shape".to_owned(), json!(&request.shape)),
        ("data_type".to_owned(), name),
        (
            "chunk_grid".to_owned(),
            json!({"type": "regular", "chunk_shape": &chunk_shape, "separator": separator.to_string()}),
        ),
        (
            "fill_value".to_owned(),
            fill::write(dialect, &request.data_type, &stored, &fill_value)?,
        ),
        ("extensions".to_owned(), json!([])),
    ]);
    if let Some(shard_shape) = &request.shard_shape {
        if request.index_location != IndexLocation::End {
            return Err(refuse("has the index of a shard at its end".to_owned()));
        }
        let transformers = sharding::write(dialect, shard_shape, &chunk_shape).map_err(refuse)?;
        document.insert("storage_transformers".to_owned(), transformers);
    }
    let order = match dialect {
        Dialect::A => {
            let (order, list) = codecs_a(request, endian)?;
            document.insert("codecs".to_owned(), list);
            order
        }
        Dialect::B => {
            if attributes.contains_key(document::FILTERS) {
                return Err(refuse("reserves the attribute filters".to_owned()));
            }
            let CodecsB {
                order,
                mut filters,
                compressor,
            } = codecs_b(key, request)?;
            if let Some(codec) = objects::write(&request.data_type, endian)
                && !filters.first().is_some_and(objects::is_codec)
            {
                filters.insert(0, codec);
            }
            if let Some(compressor) = compressor {
                document.insert("compressor".to_owned(), compressor);
            }
            if !filters.is_empty() {
                attributes.insert(document::FILTERS.to_owned(), filters.into());
            }
            order
        }
    };
    let order = match order {
        Order::C => "C",
        Order::F => "F",
    };
    document.insert("chunk_memory_layout".to_owned(), json!(order));
    document.insert("attributes".to_owned(), attributes.into());
    document.sort_keys();
    Ok(document)
}

fn codecs_a(
    request: &ArrayRequest,
    endian: Endian,
) -> Result<(Order, Json<'static>), MetadataError> {
    match &request.codecs {
        CodecRequest::Json(list) => Ok((request.order, list.into())),
        CodecRequest::Neutral(specs) => {
            let (order, filters) =
                request_parts::order_and_filters(Format::DraftA, request, specs)?;
            let list = codecs::write(&filters, &request.data_type, endian)
                .map_err(|what| MetadataError::inexpressible(Format::DraftA, what))?;
            Ok((order, list))
        }
    }
}

struct CodecsB {
    order: Order,
    filters: Vec<Json<'static>>,
    compressor: Option<Json<'static>>,
}

fn codecs_b(key: &str, request: &ArrayRequest) -> Result<CodecsB, MetadataError> {
    match &request.codecs {
        CodecRequest::Neutral(specs) => {
            let (order, specs) = request_parts::order_and_filters(Format::DraftB, request, specs)?;
            let mut filters = specs
                .iter()
                .map(|spec| codec_json(Format::DraftB, spec))
                .collect::<Result<Vec<_>, _>>()?;
            let compressor = filters.pop_if(|last| is_compressor(last)).map(with_uri);
            Ok(CodecsB {
                order,
                filters,
                compressor,
            })
        }
        CodecRequest::Json(value) => {
            // Of the two forms of a compressor, the draft's has a `codec`, v2's an `id`.
            let mut value = Json::from(value);
            let of_draft = value
                .get_mut("compressor")
                .filter(|compressor| compressor.get("codec").is_some());
            let of_draft = of_draft.map(std::mem::take);
            let (filters, compressor) = json_codecs(key, &value)?;
            let compressor = match (of_draft, compressor) {
                (Some(compressor), _) => Some(compressor),
                (None, Json::Null) => None,
                (None, compressor) if is_compressor(&compressor) => Some(with_uri(compressor)),
                (None, other) => {
                    let what = format!("has no URI for the compressor {other}");
                    return Err(MetadataError::inexpressible(Format::DraftB, what));
                }
            };
            let filters = filters.as_array().cloned().unwrap_or_default();
            Ok(CodecsB {
                order: request.order,
                filters,
                compressor,
            })
        }
    }
}

fn is_compressor(codec: &Json<'_>) -> bool {
    codec
        .get("id")
        .and_then(Json::as_str)
        .is_some_and(|id| codecs::COMPRESSORS_B.contains(&id))
}

/// A v2 configuration with its `id` as `codec` and `configuration`.
fn with_uri(codec: Json<'static>) -> Json<'static> {
    let mut configuration = codec.as_object().cloned().unwrap_or_default();
    let id = configuration.remove("id").unwrap_or_default();
    document_json::object([
        (
            "codec",
            codecs::uri(Dialect::B, id.as_str().unwrap_or_default()).into(),
        ),
        ("configuration", configuration.into()),
    ])
}

/// A list of codecs given whole states the byte order itself: it must match the requested one.
fn check_endian(request: &ArrayRequest, node: &Node) -> Result<(), MetadataError> {
    let mut chain = node
        .kind
        .array()
        .map(|spec| &spec.codecs[..])
        .unwrap_or_default();
    while let [
        CodecSpec {
            config: CodecConfig::Sharding(sharding),
            ..
        },
    ] = chain
    {
        chain = &sharding.codecs;
    }
    let stored = chain.iter().find_map(|codec| match codec.config {
        CodecConfig::Bytes { endian } => endian,
        _ => None,
    });
    match (request.endian, stored) {
        (Some(requested), Some(stored)) if requested != stored => {
            let what =
                format!("byte order {requested:?} is requested, but the codecs state {stored:?}");
            Err(MetadataError::inexpressible(node.format, what))
        }
        _ => Ok(()),
    }
}
