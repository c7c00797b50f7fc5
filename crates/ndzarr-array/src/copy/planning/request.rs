//! Describes an array of the target: as the source is, with what the options say, as far as the
//! format can express it.

use std::fmt::Display;

use ndzarr_metadata::{
    ArrayRequest, CodecRequest, CreateOptions, FillRequest, Format, KeptKeys, MISSING_VALUE,
    MetadataError, Node, NodePath, Order, are_n5_blocks, check_request, dimension_attributes,
    fill_request, fill_value_is_missing, is_always_missing, keep_chunks, missing_attribute,
    missing_element,
};
use ndzarr_model::{
    ArraySpec, Attributes, CodecConfig, CodecSpec, Endian, FillValue, ShardingConfig,
};

use crate::copy::options::Layout;
use crate::copy::planning::compressors;
use crate::copy::planning::conversion::Conversion;
use crate::copy::report::CopiedNode;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::Storage;

/// What decides about the documents of a node.
pub(crate) struct Requests<'o> {
    pub(crate) source: &'o Storage,
    pub(crate) node: &'o Node,
    pub(crate) create: &'o CreateOptions,
    pub(crate) record_losses: bool,
}

impl Layout {
    /// Returns `true` if an array can keep its chunks.
    pub(crate) fn is_of(&self, spec: &ArraySpec) -> bool {
        let inner = spec.inner_chunk_shape();
        let chunks = inner.as_ref().unwrap_or(&spec.unit_shape);
        let shards = inner.is_some().then_some(&spec.unit_shape);
        let is_grid = spec.edges().is_none();
        self.chunks
            .as_ref()
            .is_none_or(|own| own == chunks && (is_grid || inner.is_some()))
            && self
                .shards
                .as_ref()
                .is_none_or(|own| own.as_ref() == shards && (is_grid || own.is_none()))
            && self.codecs.is_none()
            && self
                .index
                .is_none_or(|own| sharding(&spec.codecs).is_none_or(|it| it.index_location == own))
    }

    /// The part of it that applies to an array with this number of axes.
    pub(crate) fn for_axes(&self, ndim: usize) -> Self {
        let fits = |shape: &Vec<u64>| shape.len() == ndim;
        Self {
            chunks: self.chunks.clone().filter(fits),
            shards: self
                .shards
                .clone()
                .filter(|shards| shards.as_ref().is_none_or(fits)),
            codecs: self.codecs.clone(),
            index: self.index,
        }
    }
}

impl Requests<'_> {
    fn check(&self, request: &ArrayRequest) -> Result<(), MetadataError> {
        check_request(&NodePath::root(), request, self.create).map(drop)
    }

    /// The request for an array whose chunks are encoded again.
    pub(crate) fn encode_again(
        &self,
        spec: &ArraySpec,
        layout: &Layout,
        conversion: Option<&Conversion>,
        notes: &mut Vec<String>,
    ) -> Result<ArrayRequest> {
        let shapes = self.shapes(spec, layout);
        let codecs = spec
            .inner_chunks()
            .pop()
            .map_or(&spec.codecs[..], |(_, codecs)| codecs);
        let mut why = None;
        let index = sharding(&spec.codecs).filter(|_| self.node.format == self.create.format);
        for (chunk_shape, shard_shape) in shapes {
            let shaped = |mut request: ArrayRequest| {
                request.chunk_shape.clone_from(&chunk_shape);
                request.shard_shape.clone_from(&shard_shape);
                if let Some(index) = index.filter(|_| shard_shape.is_some()) {
                    request.index_location = index.index_location;
                    request.index_codecs = Some(index.index_codecs.clone());
                }
                if let Some(location) = layout.index {
                    request.index_location = location;
                }
                if let Some(conversion) = conversion {
                    request.data_type = conversion.to.clone();
                    request.fill_value = FillRequest::Zero;
                }
                request
            };
            for (request, note) in self.encodings(spec, codecs, layout, conversion, &chunk_shape) {
                let request = shaped(request);
                match check_request(&NodePath::root(), &request, self.create) {
                    Ok(made) => {
                        notes.extend(note);
                        notes.extend(
                            made.kind
                                .array()
                                .into_iter()
                                .flat_map(|made| unsaid(spec, layout, made)),
                        );
                        return Ok(request);
                    }
                    Err(error) => why = why.or(Some(error)),
                }
            }
        }
        Err(self.refuse(&why.map(|error| error.to_string()).unwrap_or_default()))
    }

    /// Shapes of chunks and shards to try, those most like the source's and the options' first.
    fn shapes(&self, spec: &ArraySpec, layout: &Layout) -> Vec<(Vec<u64>, Option<Vec<u64>>)> {
        let stored: Vec<u64> = spec.unit_shape.iter().map(|&n| n.max(1)).collect();
        let inner = spec.inner_chunks().pop().map(|(inner, _)| inner);
        let chunks = layout
            .chunks
            .clone()
            .or_else(|| inner.clone())
            .unwrap_or_else(|| stored.clone());
        match (&layout.shards, &layout.chunks) {
            (Some(shards), _) => vec![(chunks, shards.clone())],
            (None, Some(_)) => {
                let divides = |shards: &Vec<u64>| {
                    shards
                        .iter()
                        .zip(&chunks)
                        .all(|(shard, &chunk)| chunk > 0 && shard.is_multiple_of(chunk))
                };
                let shards = inner.is_some().then_some(stored).filter(divides);
                let with = shards.map(|shards| (chunks.clone(), Some(shards)));
                with.into_iter().chain([(chunks, None)]).collect()
            }
            (None, None) => {
                let with = inner
                    .is_some()
                    .then(|| [(chunks.clone(), Some(stored.clone())), (chunks, None)]);
                with.into_iter().flatten().chain([(stored, None)]).collect()
            }
        }
    }

    /// Requests with each way to encode chunks that is to be tried, and what a report says of it.
    fn encodings(
        &self,
        spec: &ArraySpec,
        codecs: &[CodecSpec],
        layout: &Layout,
        conversion: Option<&Conversion>,
        chunk_shape: &[u64],
    ) -> Vec<(ArrayRequest, Option<String>)> {
        let with = |codecs: CodecRequest| {
            let mut request = ArrayRequest::like(spec);
            (request.codecs, request.order) = (codecs, Order::C);
            request
        };
        let is_big = is_big(codecs);
        // In the byte order of the source, where that can be had.
        let in_order = |(request, note): (ArrayRequest, Option<String>)| {
            let is_given =
                matches!(request.codecs, CodecRequest::Json(_)) || request.endian.is_some();
            let mut big = request.clone();
            big.endian = Some(Endian::Big);
            let big = Some((big, note.clone())).filter(|_| is_big && !is_given);
            big.into_iter().chain([(request, note)])
        };
        if let Some(codecs) = &layout.codecs {
            return in_order((with(codecs.clone()), None)).collect();
        }
        let mut all = Vec::new();
        if conversion.is_none() && !are_n5_blocks(codecs, self.create.format) {
            // All of the source's codecs, as if its chunks were of this shape.
            let mut like = spec.clone();
            (like.chunk_edges, like.custom_grid) = (None, None);
            like.unit_shape = chunk_shape.to_vec();
            like.codecs = codecs.into();
            all.extend(
                keep_chunks(&like, self.create, KeptKeys::Usual).map(|request| (request, None)),
            );
        }
        for (i, compressor) in compressors::candidates(codecs).into_iter().enumerate() {
            let names: Vec<&str> = compressor.iter().map(|codec| codec.config.name()).collect();
            let others = compressors::others(codecs);
            let note = match others.is_empty() {
                _ if i > 0 => Some(format!("chunks are encoded with [{}]", names.join(", "))),
                true => None,
                false => Some(format!(
                    "chunks are encoded without [{}]",
                    others.join(", ")
                )),
            };
            all.push((with(CodecRequest::Neutral(compressor)), note));
        }
        all.into_iter().flat_map(in_order).collect()
    }

    /// Fill value, names and attributes, as far as the format supports them.
    pub(crate) fn describe_remaining(
        &self,
        spec: &ArraySpec,
        conversion: Option<&Conversion>,
        request: &mut ArrayRequest,
        out: &mut CopiedNode,
    ) -> Result<()> {
        request.fill_value = match conversion {
            None => fill_request(spec, self.create.format),
            Some(conversion) => self.converted_fill(&spec.fill_value, conversion)?,
        };
        let mut attributes = self.node.attributes.clone();
        self.describe_missing(spec, conversion, request, &mut attributes, out)?;
        if let Err(error) = self.check(request) {
            self.lose("the fill value", &error, &mut out.losses)?;
            request.fill_value = FillRequest::Zero;
        }
        if !spec.fill_value.is_defined() && request.fill_value != FillRequest::Undefined {
            let is = if spec.fill_value.is_zero() {
                "zero"
            } else {
                "what null is read as"
            };
            out.notes
                .push(format!("the fill value was null and is {is}"));
        }
        self.describe_names(spec, request, &mut attributes, out)?;
        let base = request.clone();
        let try_with = |attributes: &Attributes| {
            let mut request = base.clone();
            request.attributes.clone_from(attributes);
            self.check(&request)
        };
        request.attributes = self.attributes(&attributes, &mut out.losses, &try_with)?;
        Ok(self.check(request)?)
    }

    fn converted_fill(&self, stored: &FillValue, conversion: &Conversion) -> Result<FillRequest> {
        let fill = conversion
            .fill(stored)
            .map_err(|error| self.refuse(&error.to_string()))?;
        Ok(match self.create.format {
            Format::Zarr2 | Format::DraftB if !stored.is_defined() && fill.is_zero() => {
                FillRequest::Undefined
            }
            _ if fill.is_zero() => FillRequest::Zero,
            _ => FillRequest::Value(fill),
        })
    }

    /// Dimension names, which are stored in only one place: those of the target leave the
    /// attributes.
    fn describe_names(
        &self,
        spec: &ArraySpec,
        request: &mut ArrayRequest,
        attributes: &mut Attributes,
        out: &mut CopiedNode,
    ) -> Result<()> {
        let format = self.node.format;
        // In Zarr v2 an attribute has to say that there are no axes, and no names.
        let is_said = fill_value_is_missing(self.create.format) && !fill_value_is_missing(format);
        let of_none = (is_said && spec.shape.is_empty()).then(Vec::new);
        let Some(names) = spec.dimension_names.clone().or(of_none) else {
            return Ok(());
        };
        request.dimension_names = Some(names);
        let Err(error) = self.check(request) else {
            for name in dimension_attributes(format) {
                attributes.remove(*name);
            }
            return Ok(());
        };
        request.dimension_names = None;
        if dimension_attributes(format)
            .iter()
            .any(|name| attributes.contains_key(*name))
        {
            out.notes
                .push("dimension names are an attribute".to_owned());
            return Ok(());
        }
        self.lose("the dimension names", &error, &mut out.losses)
    }

    /// Has xarray show the same elements as missing, in the variables that it opens: those whose
    /// axes have names.
    fn describe_missing(
        &self,
        spec: &ArraySpec,
        conversion: Option<&Conversion>,
        request: &mut ArrayRequest,
        attributes: &mut Attributes,
        out: &mut CopiedNode,
    ) -> Result<()> {
        let in_fill = fill_value_is_missing(self.create.format);
        let was_in_fill = fill_value_is_missing(self.node.format);
        let is_named = spec
            .dimension_names
            .as_ref()
            .is_some_and(|names| names.iter().all(Option::is_some));
        let is_variable = is_named || spec.shape.is_empty() && !was_in_fill;
        // In a fill value it was converted already. N5 has numbers where xarray writes base64 in
        // Zarr v3.
        let is_same_form = self.node.format == self.create.format && conversion.is_none();
        let is_same = if in_fill { was_in_fill } else { is_same_form };
        if is_same || !is_variable {
            return Ok(());
        }
        let what = "what xarray shows as missing";
        let is_number = attributes
            .get(MISSING_VALUE)
            .is_some_and(serde_json::Value::is_number);
        let missing = match missing_element(self.node.format, spec, attributes) {
            Ok(missing) => missing,
            // A number beyond the type, with `_Unsigned`: where there is no fill value, it counts
            // as it stands.
            Err(_) if in_fill && spec.fill_value.is_zero() && is_number => {
                request.fill_value = FillRequest::Undefined;
                return Ok(());
            }
            Err(why) => return self.lose(what, &why, &mut out.losses),
        };
        let converted = |element: &FillValue| match conversion {
            Some(conversion) => conversion
                .fill(element)
                .map_err(|error| self.refuse(&error.to_string())),
            None => Ok(element.clone()),
        };
        let missing = missing.as_ref().map(converted).transpose()?;
        let data_type = &request.data_type;
        let name = MISSING_VALUE;
        match (missing, in_fill) {
            (None, false) => {}
            (Some(missing), false) => match missing_attribute(data_type, &missing) {
                Some(value) => drop(attributes.insert(name.to_owned(), value)),
                None if is_always_missing(data_type, &missing) => drop(attributes.remove(name)),
                None => {
                    let why = format!("there is no attribute {name:?} of {data_type}");
                    return self.lose(what, &why, &mut out.losses);
                }
            },
            (Some(missing), true) => {
                attributes.remove(name);
                request.fill_value = FillRequest::Value(missing);
            }
            (None, true) => {
                attributes.remove(name);
                let fill = converted(&spec.fill_value)?;
                if request.fill_value != FillRequest::Undefined
                    && !is_always_missing(data_type, &fill)
                {
                    request.fill_value = FillRequest::Undefined;
                    out.notes
                        .push("its fill value is null: xarray would show it as missing".to_owned());
                }
            }
        }
        Ok(())
    }

    /// The attributes of a group.
    pub(crate) fn group(&self, losses: &mut Vec<String>) -> Result<Attributes> {
        let try_with = |attributes: &Attributes| {
            // Attributes are checked with an array, which reserves more of them.
            let mut request =
                ArrayRequest::new(vec![1], vec![1], ndzarr_model::DataType::UInt { bits: 8 });
            request.attributes.clone_from(attributes);
            self.check(&request)
        };
        self.attributes(&self.node.attributes, losses, &try_with)
    }

    /// The attributes that the format can express.
    fn attributes(
        &self,
        attributes: &Attributes,
        losses: &mut Vec<String>,
        check: &dyn Fn(&Attributes) -> Result<(), MetadataError>,
    ) -> Result<Attributes> {
        if check(attributes).is_ok() {
            return Ok(attributes.clone());
        }
        let mut kept = Attributes::new();
        for (name, value) in attributes {
            match check(&Attributes::from_iter([(name.clone(), value.clone())])) {
                Ok(()) => drop(kept.insert(name.clone(), value.clone())),
                Err(error) => self.lose(&format!("the attribute {name:?}"), &error, losses)?,
            }
        }
        Ok(kept)
    }

    fn lose(&self, what: &str, why: &dyn Display, losses: &mut Vec<String>) -> Result<()> {
        let what = format!("{what}: {why}");
        if !self.record_losses {
            return Err(self.refuse(&what));
        }
        losses.push(what);
        Ok(())
    }

    pub(crate) fn refuse(&self, what: &str) -> Error {
        let what = format!(
            "{} cannot be {}: {what}",
            self.node.path, self.create.format
        );
        Error::new(ErrorKind::InvalidArgument, what).in_store(|| self.source.name())
    }
}

/// What becomes different though the options do not say so.
fn unsaid(spec: &ArraySpec, layout: &Layout, made: &ArraySpec) -> Vec<String> {
    let mut notes = Vec::new();
    let is_regular = |spec: &ArraySpec| spec.edges().is_none();
    if !is_regular(spec) && is_regular(made) && layout.chunks.is_none() && layout.shards.is_none() {
        let chunks = made
            .inner_chunk_shape()
            .unwrap_or_else(|| made.unit_shape.clone());
        notes.push(format!("its chunks become regular, of {chunks:?}"));
    }
    let transposes = |spec: &ArraySpec| {
        let inner = spec.inner_chunks().pop();
        let codecs = inner
            .as_ref()
            .map_or(&spec.codecs[..], |(_, codecs)| codecs);
        codecs
            .iter()
            .any(|codec| matches!(codec.config, CodecConfig::Transpose { .. }))
    };
    if transposes(spec) && !transposes(made) {
        notes.push("its elements are stored in C order".to_owned());
    }
    let is_ordered = spec.data_type == made.data_type && spec.data_type.swap_width() > 1;
    let is_big = |spec: &ArraySpec| match spec.inner_chunks().pop() {
        Some((_, codecs)) => is_big(codecs),
        None => is_big(&spec.codecs),
    };
    if is_ordered && is_big(spec) && !is_big(made) {
        notes.push("its elements are stored in little endian".to_owned());
    }
    if let (Some(was), Some(is)) = (sharding(&spec.codecs), sharding(&made.codecs)) {
        if was.index_codecs != is.index_codecs {
            let names: Vec<&str> = is
                .index_codecs
                .iter()
                .map(|codec| codec.config.name())
                .collect();
            notes.push(format!(
                "the index of a shard is encoded with [{}]",
                names.join(", ")
            ));
        }
        if was.index_location != is.index_location && layout.index.is_none() {
            notes.push(
                format!("the index of a shard is at its {:?}", is.index_location).to_lowercase(),
            );
        }
    }
    notes
}

/// The outermost shards of a chain.
pub(crate) fn sharding(codecs: &[CodecSpec]) -> Option<&ShardingConfig> {
    codecs.iter().find_map(|codec| match &codec.config {
        CodecConfig::Sharding(sharding) => Some(&**sharding),
        _ => None,
    })
}

/// Returns `true` if a chain without shards stores numbers in big endian.
fn is_big(codecs: &[CodecSpec]) -> bool {
    codecs.iter().any(|codec| {
        codec.config
            == CodecConfig::Bytes {
                endian: Some(Endian::Big),
            }
    })
}
