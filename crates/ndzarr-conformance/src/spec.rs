//! The array that `write` creates.

use ndzarr::{
    AnyArray, ArrayBuilder, ArrayRequest, ChunkEdges, CodecRequest, DataType, EdgeBlocks, Endian,
    Existing, FillRequest, Format, N5Axes, Order,
};
use ndzarr_metadata::parse_data_type_json;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::failure::Failure;

/// The JSON of `--spec`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spec {
    format: FormatName,
    shape: Vec<u64>,
    chunk_shape: Option<Vec<u64>>,
    shard_shape: Option<Vec<u64>>,
    /// As `chunk_shapes` of a rectilinear grid.
    chunk_edges: Option<Vec<AxisEdges>>,
    data_type: Value,
    endian: Option<EndianName>,
    order: Option<OrderName>,
    /// `Some(Null)` is not the same as absent.
    #[serde(default, deserialize_with = "given")]
    fill_value: Option<Value>,
    codecs: Option<Value>,
    chunk_key_encoding: Option<Value>,
    dimension_separator: Option<char>,
    dimension_names: Option<Vec<Option<String>>>,
    attributes: Option<serde_json::Map<String, serde_json::Value>>,
    n5_axes: Option<AxesName>,
    edge_blocks: Option<EdgeBlocksName>,
    n5_group_documents: Option<GroupDocumentsName>,
    existing: Option<ExistingName>,
}

/// Lengths of the chunks along an axis.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum AxisEdges {
    Repeated(u64),
    Listed(Vec<Run>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Run {
    One(u64),
    Several(u64, u64),
}

impl AxisEdges {
    fn edges(&self) -> ChunkEdges {
        match self {
            Self::Repeated(len) => ChunkEdges::Repeated(*len),
            Self::Listed(runs) => ChunkEdges::Listed(
                runs.iter()
                    .map(|run| match run {
                        Run::One(len) => (*len, 1),
                        Run::Several(len, count) => (*len, *count),
                    })
                    .collect(),
            ),
        }
    }
}

fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Defines an enum of names in JSON and what they stand for.
macro_rules! names {
    ($name:ident => $target:ident { $($text:literal => $variant:ident),+ $(,)? }) => {
        #[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
        enum $name { $(#[serde(rename = $text)] $variant),+ }

        impl From<$name> for $target {
            fn from(name: $name) -> Self {
                match name { $($name::$variant => Self::$variant),+ }
            }
        }
    };
}

/// Which groups of an N5 container get a document.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum GroupDocumentsName {
    Root,
    All,
}

names!(FormatName => Format {
    "zarr2" => Zarr2,
    "zarr3" => Zarr3,
    "zarr3-draft-a" => DraftA,
    "zarr3-draft-b" => DraftB,
    "n5" => N5,
});
names!(EndianName => Endian { "little" => Little, "big" => Big });
names!(OrderName => Order { "C" => C, "F" => F });
names!(AxesName => N5Axes { "native" => Native, "reversed" => Reversed });
names!(EdgeBlocksName => EdgeBlocks { "truncated" => Truncated, "padded" => Padded });
names!(ExistingName => Existing { "refuse" => Refuse, "replace" => Replace });

impl Spec {
    /// The request for the new array.
    pub(crate) fn request(&self) -> Result<ArrayRequest, Failure> {
        // An array without elements still has a chunk shape.
        let one_chunk = || self.shape.iter().map(|&length| length.max(1)).collect();
        let chunk_shape = self.chunk_shape.clone().unwrap_or_else(one_chunk);
        let (key_encoding, separator) = self.chunk_keys()?;
        let mut request = ArrayRequest::new(self.shape.clone(), chunk_shape, self.data_type()?);
        request.shard_shape.clone_from(&self.shard_shape);
        let edges = |axes: &Vec<AxisEdges>| axes.iter().map(AxisEdges::edges).collect();
        request.chunk_edges = self.chunk_edges.as_ref().map(edges);
        request.endian = self.endian.map(Into::into);
        request.order = self.order.map_or(Order::C, Into::into);
        request.fill_value = self.fill_value();
        request.separator = separator;
        request.key_encoding = key_encoding;
        request.dimension_names.clone_from(&self.dimension_names);
        request.attributes = self.attributes.clone().unwrap_or_default();
        request.edge_blocks = self.edge_blocks.map(Into::into).unwrap_or_default();
        if let Some(codecs) = &self.codecs {
            request.codecs = CodecRequest::Json(codecs.clone());
            if self.format == FormatName::Zarr3 {
                self.complete_codec_list(&mut request, codecs)?;
            }
        }
        Ok(request)
    }

    /// The new array.
    pub(crate) fn builder(&self, request: ArrayRequest) -> ArrayBuilder {
        let builder = AnyArray::builder(&self.shape)
            .request(request)
            .format(self.format.into())
            .n5_axes(self.n5_axes.map(Into::into).unwrap_or_default())
            .existing(self.existing.map(Into::into).unwrap_or_default());
        match self.n5_group_documents {
            Some(GroupDocumentsName::All) => builder.n5_all_group_documents(),
            Some(GroupDocumentsName::Root) | None => builder,
        }
    }

    fn data_type(&self) -> Result<DataType, Failure> {
        parse_data_type_json(&self.data_type)
            .map_err(|_| Failure::new(format_args!("unsupported data type {}", self.data_type)))
    }

    fn fill_value(&self) -> FillRequest {
        match &self.fill_value {
            None => FillRequest::Zero,
            // The format has no fill value; missing elements are zero.
            Some(Value::Null) if self.format == FormatName::N5 => FillRequest::Zero,
            Some(Value::Null) => FillRequest::Undefined,
            Some(value) => FillRequest::Json(value.clone()),
        }
    }

    /// The name of the chunk key encoding and the separator.
    fn chunk_keys(&self) -> Result<(Option<String>, Option<char>), Failure> {
        let invalid = |value: &Value| Failure::new(format_args!("no chunk key encoding: {value}"));
        let (name, separator) = match &self.chunk_key_encoding {
            None | Some(Value::Null) => (None, None),
            Some(Value::String(name)) => (Some(name.clone()), None),
            Some(value @ Value::Object(_)) => {
                let name = value["name"].as_str().ok_or_else(|| invalid(value))?;
                let separator = match &value["configuration"]["separator"] {
                    Value::Null => None,
                    Value::String(text) if text.chars().count() == 1 => text.chars().next(),
                    _ => return Err(invalid(value)),
                };
                (Some(name.to_owned()), separator)
            }
            Some(other) => return Err(invalid(other)),
        };
        if separator.is_some()
            && self
                .dimension_separator
                .is_some_and(|given| Some(given) != separator)
        {
            return Err(Failure::new(
                "chunk_key_encoding and dimension_separator differ",
            ));
        }
        Ok((name, separator.or(self.dimension_separator)))
    }

    /// Completes a v3 list of codecs by `endian` and `order`: a list of only compressors gets its
    /// array→bytes codec from them. A whole list states order and byte order itself.
    fn complete_codec_list(
        &self,
        request: &mut ArrayRequest,
        codecs: &Value,
    ) -> Result<(), Failure> {
        let Some(list) = codecs.as_array() else {
            return Ok(());
        };
        let name = |codec: &Value| {
            codec
                .get("name")
                .unwrap_or(codec)
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        const ARRAY_TO_BYTES: [&str; 9] = [
            "bytes",
            "endian",
            "vlen-utf8",
            "vlen-bytes",
            "packbits",
            "numcodecs.pcodec",
            "pcodec",
            "zfp",
            "n5_default",
        ];
        let bytes = list
            .iter()
            .find(|codec| ARRAY_TO_BYTES.contains(&&*name(codec)));
        let whole = bytes.is_some() || list.iter().any(|codec| name(codec) == "sharding_indexed");
        if whole {
            let stated = bytes.and_then(|codec| codec["configuration"]["endian"].as_str());
            let requested = self.endian.map(|endian| match endian {
                EndianName::Little => "little",
                EndianName::Big => "big",
            });
            if stated.is_none() || requested == stated {
                request.endian = None;
            }
            return Ok(());
        }
        let mut all = Vec::new();
        if request.order == Order::F {
            let order: Vec<usize> = (0..self.shape.len()).rev().collect();
            all.push(json!({"name": "transpose", "configuration": {"order": order}}));
        }
        let is_array_codec = |codec: &&Value| name(codec) == "transpose";
        all.extend(list.iter().filter(is_array_codec).cloned());
        all.push(match (request.data_type.swap_width(), request.endian) {
            _ if request.data_type == DataType::String => json!({"name": "vlen-utf8"}),
            _ if request.data_type == DataType::Bytes => json!({"name": "vlen-bytes"}),
            (1, _) => json!({"name": "bytes"}),
            (_, Some(Endian::Big)) => json!({"name": "bytes", "configuration": {"endian": "big"}}),
            _ => json!({"name": "bytes", "configuration": {"endian": "little"}}),
        });
        all.extend(list.iter().filter(|codec| !is_array_codec(codec)).cloned());
        request.codecs = CodecRequest::Json(all.into());
        request.endian = None;
        request.order = Order::C;
        Ok(())
    }
}
