//! Codec lists in v3 documents, read and checked as far as possible without the codecs themselves.

use ndzarr_model::{
    BloscCname, BloscConfig, BloscShuffle, ChecksumLocation, CodecConfig, CodecSpec, DataType,
    Endian, PayloadBounds, ShardingConfig, VlenConfig,
};

use crate::json::{Json, as_u64, as_u64_list, show};
use crate::shared::chunk_grid;
use crate::shared::fields::{Fields, Place};
use crate::shared::numcodecs;
use crate::shared::stage::{Stage, stage};
use crate::v3::codecs::flow::Input;
use crate::v3::extension::Extension;
use crate::{Limits, MetadataError};

mod arranged;
mod arrays;
mod flow;
mod n5_default;
mod write;

pub(crate) use arranged::zarr3_chain;
pub(crate) use flow::encoded_type;
pub(crate) use n5_default::raise;
pub(crate) use write::{check_writable, list as write};

const INDEX_TYPE: DataType = DataType::UInt { bits: 64 };

/// Reads the `codecs` of a document, for chunks of this shape and type.
pub(crate) fn parse(
    key: &str,
    value: &Json<'_>,
    data_type: &DataType,
    chunk_shape: &[u64],
    limits: &Limits,
) -> Result<Vec<CodecSpec>, MetadataError> {
    check_lengths(key, value, limits)?;
    // Codecs see the layout of the elements.
    let input = Input {
        data_type: data_type.layout().into_owned(),
        shape: chunk_shape.to_vec(),
    };
    chain(key, "codecs", value, Some(input))
}

/// Checks the length of a list of codecs and of those within it.
pub(crate) fn check_lengths(
    key: &str,
    codecs: &Json<'_>,
    limits: &Limits,
) -> Result<(), MetadataError> {
    let Some(items) = codecs.as_array() else {
        return Ok(());
    };
    limits.check_n_codecs(key, items.len())?;
    for configuration in items.iter().filter_map(|item| item.get("configuration")) {
        for codecs in ["codecs", "index_codecs"]
            .into_iter()
            .filter_map(|name| configuration.get(name))
        {
            check_lengths(key, codecs, limits)?;
        }
    }
    Ok(())
}

fn chain(
    key: &str,
    place: &str,
    value: &Json<'_>,
    mut input: Option<Input>,
) -> Result<Vec<CodecSpec>, MetadataError> {
    let invalid = |what: String| MetadataError::invalid(key, format_args!("{place} {what}"));
    let items = value
        .as_array()
        .ok_or_else(|| invalid(format!("is {}, not a list", show(value))))?;
    let mut specs: Vec<CodecSpec> = Vec::with_capacity(items.len());
    let mut any_unknown = false;
    let mut any_bytes = false;
    for (i, item) in items.iter().enumerate() {
        let place = Place::Item(place, i);
        let config = codec(key, place, item, input.as_ref())?;
        if let Some(input) = &mut input {
            input
                .pass(&config)
                .map_err(|what| MetadataError::invalid(key, format_args!("{place} {what}")))?;
        }
        let out_of_order = match stage(&config) {
            Some(Stage::ArrayToArray) => any_bytes,
            Some(Stage::ArrayToBytes) => std::mem::replace(&mut any_bytes, true),
            // An unknown codec may be the array→bytes codec.
            Some(Stage::BytesToBytes) => !any_bytes && !any_unknown,
            None => {
                any_unknown = true;
                input = None;
                false
            }
        };
        if out_of_order {
            return Err(invalid(format!(
                "{} are not array→array codecs, one array→bytes codec and bytes→bytes codecs in this order",
                names(items)
            )));
        }
        if let CodecConfig::N5Block(block) = config {
            // Zarr's n5_default reverses the dimensions first.
            specs.push(arrays::n5_reversal(item, input.as_ref()).into());
            specs.push(CodecConfig::N5Block(block).into());
        } else {
            specs.push(config.into());
        }
    }
    if !any_bytes && !any_unknown {
        return Err(invalid(format!(
            "{} have no array→bytes codec, such as \"bytes\"",
            names(items)
        )));
    }
    Ok(specs)
}

/// The names in a list of codecs, for messages.
fn names(items: &[Json<'_>]) -> String {
    let name = |item: &Json<'_>| {
        item.get("name")
            .unwrap_or(item)
            .as_str()
            .unwrap_or("?")
            .to_owned()
    };
    format!(
        "[{}]",
        items.iter().map(name).collect::<Vec<_>>().join(", ")
    )
}

/// Reads one codec; `input` is what reaches it, if it is known.
pub(crate) fn codec(
    key: &str,
    place: Place<'_>,
    value: &Json<'_>,
    input: Option<&Input>,
) -> Result<CodecConfig, MetadataError> {
    let extension = Extension::parse(key, place, value)?;
    let mut configuration = extension.configuration(key, place);
    let config = match extension.name {
        "bytes" | "endian" => bytes(&mut configuration, input)?,
        "transpose" => transpose(&mut configuration, input)?,
        "sharding_indexed" => sharding(key, place, &mut configuration, input)?,
        "gzip" => CodecConfig::Gzip {
            level: configuration.integer("level", 0..=9)?,
        },
        "zstd" => CodecConfig::Zstd {
            level: configuration.integer("level", -131_072..=22)?,
            checksum: configuration
                .optional("checksum", "a boolean", Json::as_bool)?
                .unwrap_or(false),
        },
        "blosc" => CodecConfig::Blosc(blosc(&mut configuration)?),
        "crc32c" => CodecConfig::Crc32c {
            location: ChecksumLocation::End,
        },
        "bitround" | "numcodecs.bitround" => arrays::bitround(&mut configuration)?,
        "packbits" => CodecConfig::Packbits(arrays::packbits(&mut configuration)?),
        "cast_value" => arrays::cast_value(key, &mut configuration, input)?,
        "scale_offset" => arrays::scale_offset(&mut configuration, input)?,
        "reshape" => arrays::reshape(&mut configuration)?,
        "vlen-utf8" => CodecConfig::Vlen(VlenConfig::Utf8),
        "vlen-bytes" => CodecConfig::Vlen(VlenConfig::Bytes),
        "zfp" => CodecConfig::Zfp(arrays::zfp(&mut configuration)?),
        "n5_default" => arrays::n5_default(key, place, &mut configuration, input)?,
        name => return numcodecs_or_unknown(key, place, name, &extension, input),
    };
    configuration.end()?;
    Ok(config)
}

/// The codecs of numcodecs under their v3 names, checked strictly, and all unknown ones.
fn numcodecs_or_unknown(
    key: &str,
    place: Place<'_>,
    name: &str,
    extension: &Extension<'_>,
    input: Option<&Input>,
) -> Result<CodecConfig, MetadataError> {
    let unknown = || CodecConfig::Unknown {
        name: name.to_owned(),
        configuration: extension.raw_configuration(),
    };
    let Some(id) = name.strip_prefix("numcodecs.") else {
        return Ok(unknown());
    };
    if !numcodecs::is_known(id) || matches!(id, "base64" | "categorize") {
        return Ok(unknown());
    }
    let mut members = extension.members();
    if let Some(stated) = members.get("id")
        && stated.as_str() != Some(id)
    {
        let what = format_args!("{place} {name:?} has the id {}", show(stated));
        return Err(MetadataError::invalid(key, what));
    }
    members.remove("id");
    if let Some(member) = numcodecs::unknown_member(id, &members) {
        let what =
            format_args!("{place} {name:?} has an unknown member {member:?} in its configuration");
        return Err(MetadataError::invalid(key, what));
    }
    if let Some(input) = input {
        input.complete(id, &mut members);
    }
    let spec = numcodecs::parse_configuration(key, place, id, &members)?;
    match spec.unwritable {
        None => Ok(spec.config),
        Some(why) => Err(MetadataError::invalid(
            key,
            format_args!("{place} {name:?}: {why}"),
        )),
    }
}

fn bytes(
    configuration: &mut Fields<'_>,
    input: Option<&Input>,
) -> Result<CodecConfig, MetadataError> {
    let endian = configuration.named("endian")?;
    Ok(CodecConfig::Bytes {
        endian: match input {
            Some(input) if input.data_type.swap_width() == 1 => None,
            Some(input) if endian.is_none() => {
                return Err(configuration.invalid(format_args!(
                    "has no endian, which {} needs",
                    input.data_type
                )));
            }
            _ => endian,
        },
    })
}

fn transpose(
    configuration: &mut Fields<'_>,
    input: Option<&Input>,
) -> Result<CodecConfig, MetadataError> {
    let ndim = input.map(|input| input.shape.len());
    let order = configuration.required("order", "a permutation of the dimensions", |value| {
        let order: Vec<usize> = match (value.as_str(), ndim) {
            (Some("C"), Some(ndim)) => (0..ndim).collect(),
            (Some("F"), Some(ndim)) => (0..ndim).rev().collect(),
            _ => as_u64_list(value)?
                .into_iter()
                .map(usize::try_from)
                .collect::<Result<_, _>>()
                .ok()?,
        };
        is_permutation(&order, ndim.unwrap_or(order.len())).then_some(order)
    })?;
    Ok(CodecConfig::Transpose { order })
}

/// True if each of `0..ndim` occurs exactly once.
pub(crate) fn is_permutation(order: &[usize], ndim: usize) -> bool {
    let mut seen = vec![false; ndim];
    order.len() == ndim
        && order
            .iter()
            .all(|&axis| axis < ndim && !std::mem::replace(&mut seen[axis], true))
}

fn blosc(configuration: &mut Fields<'_>) -> Result<BloscConfig, MetadataError> {
    let size = |value: &Json<'_>| as_u64(value).and_then(|size| usize::try_from(size).ok());
    let cname = configuration.required("cname", "a compressor of blosc", |value| {
        BloscCname::from_name(value.as_str()?)
    })?;
    let clevel = configuration.integer("clevel", 0..=9)?;
    let shuffle = configuration
        .named("shuffle")?
        .ok_or_else(|| configuration.invalid("has no shuffle"))?;
    let typesize = configuration.optional("typesize", "a positive integer", |value| {
        size(value).filter(|&n| n > 0)
    })?;
    if typesize.is_none() && shuffle != BloscShuffle::None {
        return Err(configuration.invalid("has no typesize"));
    }
    let blocksize = configuration.required("blocksize", "a size in bytes", size)?;
    Ok(BloscConfig {
        cname,
        clevel: u8::try_from(clevel).unwrap_or(9),
        shuffle,
        typesize,
        blocksize,
    })
}

fn sharding(
    key: &str,
    place: Place<'_>,
    configuration: &mut Fields<'_>,
    input: Option<&Input>,
) -> Result<CodecConfig, MetadataError> {
    let chunk_shape =
        configuration.required("chunk_shape", "a list of positive lengths", |value| {
            as_u64_list(value).filter(|shape| !shape.contains(&0))
        })?;
    let index_location = configuration.named("index_location")?.unwrap_or_default();
    let mut index_shape = None;
    if let Some(Input { data_type, shape }) = input {
        let divides = shape.len() == chunk_shape.len()
            && shape
                .iter()
                .zip(&chunk_shape)
                .all(|(shard, chunk)| shard % chunk == 0);
        if !divides {
            return Err(configuration.invalid(format_args!(
                "has chunk_shape {chunk_shape:?}, which does not divide the shard {shape:?}"
            )));
        }
        chunk_grid::check_byte_len(key, &chunk_shape, data_type.elem_size().unwrap_or(1))?;
        let mut counts: Vec<u64> = shape
            .iter()
            .zip(&chunk_shape)
            .map(|(shard, chunk)| shard / chunk)
            .collect();
        counts.push(2);
        chunk_grid::check_byte_len(key, &counts, 8)?;
        index_shape = Some(counts);
    }
    let codecs = configuration.required("codecs", "a list", Some)?;
    let inner = input.map(|input| Input {
        data_type: input.data_type.clone(),
        shape: chunk_shape.clone(),
    });
    let codecs = chain(key, &format!("{place}.configuration.codecs"), codecs, inner)?;
    let index_codecs = index_codecs(key, place, configuration, index_shape)?;
    Ok(CodecConfig::Sharding(Box::new(ShardingConfig {
        chunk_shape,
        codecs,
        index_codecs,
        index_location,
        payload: PayloadBounds::default(),
    })))
}

fn index_codecs(
    key: &str,
    place: Place<'_>,
    configuration: &mut Fields<'_>,
    index_shape: Option<Vec<u64>>,
) -> Result<Vec<CodecSpec>, MetadataError> {
    let Some(value) = configuration.get("index_codecs") else {
        // zarr-python's meaning of an absent list.
        return Ok(usual_index_codecs());
    };
    let index = index_shape.map(|shape| Input {
        data_type: INDEX_TYPE,
        shape,
    });
    let codecs = chain(
        key,
        &format!("{place}.configuration.index_codecs"),
        value,
        index,
    )?;
    if let Some(codec) = codecs.iter().find(|codec| !has_fixed_size(&codec.config)) {
        return Err(configuration.invalid(format_args!(
            "has in its index_codecs {}, which has no fixed encoded size",
            codec.config.name(),
        )));
    }
    Ok(codecs)
}

/// The codecs of the index of a shard, unless others are stated.
pub(crate) fn usual_index_codecs() -> Vec<CodecSpec> {
    vec![
        CodecConfig::Bytes {
            endian: Some(Endian::Little),
        }
        .into(),
        CodecConfig::Crc32c {
            location: ChecksumLocation::End,
        }
        .into(),
    ]
}

/// True if the encoded size follows from the decoded one; binding decides for an unknown codec.
fn has_fixed_size(config: &CodecConfig) -> bool {
    matches!(
        config,
        CodecConfig::Bytes { .. }
            | CodecConfig::Transpose { .. }
            | CodecConfig::Crc32c { .. }
            | CodecConfig::Crc32 { .. }
            | CodecConfig::Adler32 { .. }
            | CodecConfig::Fletcher32
            | CodecConfig::JenkinsLookup3 { .. }
            | CodecConfig::Packbits(_)
            | CodecConfig::Shuffle { .. }
            | CodecConfig::Unknown { .. }
    )
}
