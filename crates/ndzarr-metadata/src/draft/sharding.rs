//! Sharding as a storage transformer.

use ndzarr_model::{
    CodecConfig, CodecSpec, DataType, Endian, IndexLocation, PayloadBounds, ShardingConfig,
};

use crate::MetadataError;
use crate::draft::extensions::check_members;
use crate::draft::layout::Dialect;
use crate::json::{Json, as_u64_list, json, show};
use crate::shared::chunk_grid;

const URI_A: &str = "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.0";
const URI_EXAMPLE: &str = "https://purl.org/zarr/spec/extensions/storage_transformers/sharding/1.0";
const URI_B: &str = "https://purl.org/zarr/spec/storage_transformers/sharding/1.0";

/// Limit on nested shards: each level is a chain within a chain.
const MAX_LEVELS: usize = 8;

/// Wraps the chunks of an array and their codecs in the shards that `storage_transformers` asks
/// for: the shape of what is stored under one key, and its whole chain.
pub(crate) fn parse(
    key: &str,
    dialect: Dialect,
    value: Option<&Json<'_>>,
    data_type: &DataType,
    mut chunk_shape: Vec<u64>,
    mut codecs: Vec<CodecSpec>,
) -> Result<(Vec<u64>, Vec<CodecSpec>), MetadataError> {
    let items = match value {
        None => &[][..],
        Some(Json::Array(items)) => items,
        Some(other) => {
            let what = format_args!("storage_transformers is {}, not a list", other.kind());
            return Err(MetadataError::invalid(key, what));
        }
    };
    if items.len() > MAX_LEVELS {
        let name =
            format_args!("storage_transformers of more than {MAX_LEVELS} levels").to_string();
        return Err(MetadataError::unsupported(key, "list", name));
    }
    for (i, item) in items.iter().enumerate() {
        let place = format!("storage_transformers[{i}]");
        let invalid = |what: String| MetadataError::invalid(key, format_args!("{place} {what}"));
        let counts = chunks_per_shard(key, &place, dialect, item, chunk_shape.len())?;
        // A chunk may be empty where the array is, but no codec can handle that.
        for length in &mut chunk_shape {
            *length = (*length).max(1);
        }
        let shard_shape: Option<Vec<u64>> = chunk_shape
            .iter()
            .zip(&counts)
            .map(|(length, count)| length.checked_mul(*count))
            .collect();
        let shard_shape =
            shard_shape.ok_or_else(|| invalid(format!("has too large shards: {counts:?}")))?;
        chunk_grid::check_byte_len(key, &shard_shape, data_type.elem_size().unwrap_or(1))?;
        chunk_grid::check_byte_len(key, &counts, 16)?;
        let config = ShardingConfig {
            chunk_shape: std::mem::replace(&mut chunk_shape, shard_shape),
            codecs: std::mem::take(&mut codecs),
            index_codecs: vec![
                CodecConfig::Bytes {
                    endian: Some(Endian::Little),
                }
                .into(),
            ],
            index_location: IndexLocation::End,
            payload: PayloadBounds::BeforeIndex,
        };
        codecs = vec![CodecConfig::Sharding(Box::new(config)).into()];
    }
    Ok((chunk_shape, codecs))
}

/// The counts of one transformer, one per dimension.
fn chunks_per_shard(
    key: &str,
    place: &str,
    dialect: Dialect,
    item: &Json<'_>,
    ndim: usize,
) -> Result<Vec<u64>, MetadataError> {
    let invalid = |what: String| MetadataError::invalid(key, format_args!("{place} {what}"));
    let Json::Object(members) = item else {
        return Err(invalid(format!("is {}, not an object", show(item))));
    };
    let Some(Json::String(uri)) = members.get("extension") else {
        return Err(invalid("has no URI as its extension".to_owned()));
    };
    if ![URI_A, URI_EXAMPLE, URI_B].contains(&&**uri) {
        return Err(MetadataError::unsupported(key, "storage transformer", uri));
    }
    match members.get("type") {
        Some(Json::String(name)) if name == "indexed" => {}
        Some(other) => {
            return Err(MetadataError::unsupported(
                key,
                "type of sharding",
                show(other),
            ));
        }
        None => return Err(invalid("has no type".to_owned())),
    }
    let Some(Json::Object(configuration)) = members.get("configuration") else {
        return Err(invalid(
            "has no configuration with chunks_per_shard".to_owned(),
        ));
    };
    if dialect == Dialect::A {
        check_members(key, place, members, &["extension", "type", "configuration"])?;
        check_members(key, place, configuration, &["chunks_per_shard"])?;
    }
    let given = configuration.get("chunks_per_shard").unwrap_or(&Json::Null);
    let mut counts = as_u64_list(given)
        .filter(|counts| !counts.contains(&0))
        .ok_or_else(|| {
            invalid(format!(
                "has chunks_per_shard {}, not a list of positive integers",
                show(given)
            ))
        })?;
    if dialect == Dialect::B {
        // zarr-python 2 writes [1] for zero dimensions, and fewer counts than dimensions.
        if ndim == 0 && counts == [1] {
            counts.clear();
        }
        while counts.len() < ndim {
            counts.push(1);
        }
    }
    if counts.len() != ndim {
        return Err(invalid(format!(
            "has {} chunks_per_shard for {ndim} dimensions",
            counts.len()
        )));
    }
    Ok(counts)
}

/// The `storage_transformers` of a new document.
///
/// # Errors
/// A shard does not consist of whole chunks.
pub(crate) fn write(
    dialect: Dialect,
    shard_shape: &[u64],
    chunk_shape: &[u64],
) -> Result<Json<'static>, String> {
    let count = |(shard, chunk): (&u64, &u64)| match shard.checked_rem(*chunk) {
        Some(0) if *shard > 0 => Some(shard / chunk),
        _ => None,
    };
    let counts: Option<Vec<u64>> = shard_shape.iter().zip(chunk_shape).map(count).collect();
    let Some(mut counts) = counts
        .filter(|counts| counts.len() == chunk_shape.len() && shard_shape.len() == counts.len())
    else {
        return Err(format!(
            "shards {shard_shape:?} are not made of whole chunks {chunk_shape:?}"
        ));
    };
    let uri = match dialect {
        Dialect::A => URI_A,
        Dialect::B => URI_B,
    };
    if counts.is_empty() && dialect == Dialect::B {
        counts.push(1);
    }
    Ok(
        json!([{"extension": uri, "type": "indexed", "configuration": {"chunks_per_shard": counts}}]),
    )
}
